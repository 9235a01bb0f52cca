#include "communicator/bucket.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

Error wrong_list(const std::string& detail) { return Error{Errc::invalid_argument, detail, 0, "all_reduce_fused"}; }

namespace {

std::uintptr_t memory_place(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// What is wrong with a tensor by itself, or nothing.
std::string fault_of(const Tensor& tensor, std::uint64_t element_bytes) {
  if (tensor.count == 0) return "";
  const std::string with_count = ", with count " + std::to_string(tensor.count);
  if (tensor.input == nullptr) return "input is null" + with_count;
  if (tensor.output == nullptr) return "output is null" + with_count;
  for (const void* pointer : {tensor.input, static_cast<const void*>(tensor.output)})
    if (memory_place(pointer) % element_bytes != 0)
      return std::string(pointer == tensor.input ? "input" : "output") + " is not aligned to its elements (" + std::to_string(element_bytes) + " bytes)";
  return "";
}

/// An output's memory.
struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t tensor = 0;
};

std::string pair_of(std::size_t a, std::size_t b) { return "tensors " + std::to_string(std::min(a, b)) + " and " + std::to_string(std::max(a, b)); }

/// An output that overlaps another one, or an input that it isn't.
std::optional<std::string> find_overlap(std::span<const Tensor> tensors, std::uint64_t element_bytes) {
  std::vector<Range> outputs;
  outputs.reserve(tensors.size());
  for (std::size_t t = 0; t < tensors.size(); ++t)
    if (tensors[t].count != 0) outputs.push_back({memory_place(tensors[t].output), memory_place(tensors[t].output) + tensors[t].count * element_bytes, t});
  std::sort(outputs.begin(), outputs.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t k = 1; k < outputs.size(); ++k)
    if (outputs[k - 1].end > outputs[k].begin)
      return "the outputs of " + pair_of(outputs[k - 1].tensor, outputs[k].tensor) + " overlap; accepted: memory of its own for each";
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].count == 0) continue;
    const std::uintptr_t begin = memory_place(tensors[t].input);
    const std::uintptr_t end = begin + tensors[t].count * element_bytes;
    const auto behind = std::lower_bound(outputs.begin(), outputs.end(), end, [](const Range& range, std::uintptr_t at) { return range.begin < at; });
    if (behind == outputs.begin()) continue;
    const Range& last = *(behind - 1);  // of the outputs that begin before the input ends: the others end before it begins
    if (last.end <= begin || (last.tensor == t && last.begin == begin)) continue;
    if (last.tensor == t)
      return "input and output of tensor " + std::to_string(t) + " overlap in a way that is not in place; accepted: separate buffers, or the same memory";
    return "the output of tensor " + std::to_string(last.tensor) + " overlaps the input of tensor " + std::to_string(t) + "; accepted: its own alone";
  }
  return std::nullopt;
}

/// What is wrong with a bucket's wire type, or nothing.
std::optional<Error> wrong_wire(const Bucket& bucket) {
  if (!bucket.wire) return std::nullopt;
  if (*bucket.wire != DataType::f16 && *bucket.wire != DataType::bf16)
    return wrong_list("a wire of " + std::string(to_string(*bucket.wire)) + "; accepted: f16 and bf16");
  if (bucket.type != DataType::f32) return wrong_list("a wire type with tensors of " + std::string(to_string(bucket.type)) + "; accepted: f32");
  if (bucket.op != ReduceOp::sum && bucket.op != ReduceOp::avg && bucket.op != ReduceOp::premul_sum)
    return wrong_list("a wire type with " + std::string(to_string(bucket.op)) + "; accepted: sum, avg and premul_sum");
  return std::nullopt;
}

}  // namespace

Result<SegmentTable> table_of(const Bucket& bucket) {
  if (auto error = wrong_wire(bucket)) return *error;
  if (static_cast<std::size_t>(bucket.type) >= data_type_count) return wrong_list("unknown type " + std::to_string(static_cast<int>(bucket.type)));
  if (bucket.scale != 1 && bucket.op != ReduceOp::premul_sum)
    return wrong_list("scale " + std::to_string(bucket.scale) + " without premul_sum; accepted: premul_sum on all ranks, each with a scale of its own");
  const std::uint64_t element_bytes = size_of(bucket.type);
  const std::uint64_t most = (std::uint64_t{1} << 62) / element_bytes;
  std::uint64_t count = 0;
  for (std::size_t t = 0; t < bucket.tensors.size(); ++t) {
    const Tensor& tensor = bucket.tensors[t];
    const std::string fault = fault_of(tensor, element_bytes);
    if (!fault.empty()) return wrong_list("tensor " + std::to_string(t) + ": " + fault);
    if (tensor.count > most - count)
      return wrong_list("tensor " + std::to_string(t) + ", with count " + std::to_string(tensor.count) + " of " + std::string(to_string(bucket.type)) +
                        ", makes the list longer than 2^62 bytes");
    count += tensor.count;
  }
  if (auto overlap = find_overlap(bucket.tensors, element_bytes)) return wrong_list(*overlap);
  SegmentTable table;
  for (const Tensor& tensor : bucket.tensors) table.add(tensor.input, tensor.output, tensor.count * element_bytes);
  return table;
}

PlanKey key_of(const Bucket& bucket, const SegmentTable& table) {
  PlanKey key{table.bytes() / size_of(bucket.type), 0, Collective::all_reduce, bucket.type, bucket.op};
  key.wire = bucket.wire;
  return key;
}

}  // namespace rondo
