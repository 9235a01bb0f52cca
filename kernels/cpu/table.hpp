// The parts from which the kernel table is put together. Internal to kernels/cpu and its tests.
#pragma once

#include "rondo/kernels.hpp"

namespace rondo::kernels {

/// Each enters its types' kernels for the instruction set that is chosen now (choose.hpp).
void add_float_kernels(KernelTable& table);
void add_half_kernels(KernelTable& table);
void add_byte_kernels(KernelTable& table);
void add_short_kernels(KernelTable& table);
void add_word_kernels(KernelTable& table);
void add_wire_kernels(KernelTable& table);
void add_checked_kernels(KernelTable& table);

/// The whole table for that instruction set. cpu_kernels() calls it once.
KernelTable make_kernel_table();

/// The name of that instruction set.
const char* chosen_target();

}  // namespace rondo::kernels
