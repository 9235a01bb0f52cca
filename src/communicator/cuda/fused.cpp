// all_reduce_fused on GPU memory: the tensors ride in the arguments of the call's kernel.
#include <string>

#include "base/on_device.hpp"
#include "communicator/bucket.hpp"
#include "communicator/check.hpp"
#include "communicator/cuda/impl.hpp"
#include "device/list.hpp"

namespace rondo {
namespace {

/// What blocks are made for, on lists.
bool is_listed_type(DataType type) { return type == DataType::f32 || type == DataType::f16 || type == DataType::bf16; }

}  // namespace

Result<void> CudaCommunicator::Impl::wrong_tensors(const Bucket& bucket) const {
  for (std::size_t t = 0; t < bucket.tensors.size(); ++t) {
    const Tensor& tensor = bucket.tensors[t];
    if (tensor.count == 0) continue;
    const std::string name = "tensor " + std::to_string(t);
    if (auto place = wrong_memory(tensor.input, (name + "'s input").c_str()); !place) return place;
    if (tensor.output == tensor.input) continue;
    if (auto place = wrong_memory(tensor.output, (name + "'s output").c_str()); !place) return place;
  }
  return {};
}

Result<void> CudaCommunicator::Impl::run_fused(const Bucket& bucket, cudaStream_t stream) {
  if (auto fine = check(); !fine) return fine;
  auto table = table_of(bucket);
  if (!table) return table.error();
  if (!is_listed_type(bucket.type))
    return Error{Errc::unsupported, "a list of " + std::string(to_string(bucket.type)) + "; on GPUs they are of f32, f16 or bf16", 0, "all_reduce_fused"};
  if (table->segments.size() > device::most_segments)
    return Error{Errc::unsupported, "tensors in " + std::to_string(table->segments.size()) + " places; on GPUs there may be " +
                                        std::to_string(device::most_segments), 0, "all_reduce_fused"};
  const PlanKey key = rondo::key_of(bucket, *table);
  if (auto error = wrong_key(key, parts_.group.ranks)) return *error;
  if (auto error = wrong_scale(key.op, key.type, bucket.scale)) return *error;
  const OnDevice on(parts_.device);
  if (auto current = on.result(); !current) return current;
  if (auto place = wrong_tensors(bucket); !place) return place;
  const auto found = plans_.find(key, CallBuffers::listed, parts_.own_stream.get());
  if (!found) return found.error();
  if (auto error = wrong_placement((*found)->rule, *table)) return *error;
  DeviceCall call = device_call(**found, bucket.scale);
  if (table->segments.size() == 1) {
    call.job.input = table->segments.front().input;
    call.job.output = table->segments.front().output;
  } else {
    call.list = std::move(table->segments);
  }
  return enqueue(call, stream);
}

}  // namespace rondo
