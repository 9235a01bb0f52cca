#include "device/cuda/run_job.cuh"

namespace rondo::device {

JobKernel byte_kernel(DataType type) {
  switch (type) {
    case DataType::i8: return run_job<std::int8_t>;
    case DataType::i16: return run_job<std::int16_t>;
    case DataType::u16: return run_job<std::uint16_t>;
    default: return run_job<std::uint8_t>;
  }
}

}  // namespace rondo::device
