#include "kernels/cpu/table.hpp"

namespace rondo {
namespace kernels {

KernelTable make_kernel_table() {
  KernelTable table;
  add_float_kernels(table);
  add_half_kernels(table);
  add_byte_kernels(table);
  add_short_kernels(table);
  add_word_kernels(table);
  add_wire_kernels(table);
  add_checked_kernels(table);
  return table;
}

}  // namespace kernels

const KernelTable& cpu_kernels() {
  static const KernelTable table = kernels::make_kernel_table();
  return table;
}

}  // namespace rondo
