#include "memory.hpp"

#include <c10/util/Exception.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "streams.hpp"

namespace made_up_torch {
namespace {

constexpr std::size_t unit = 512;

struct Block {
  void* data = nullptr;
  std::size_t bytes = 0;
  c10::DeviceIndex gpu = 0;
  cudaStream_t stream = nullptr;    ///< that it was taken on
  std::set<cudaStream_t> users;     ///< others
  std::vector<cudaEvent_t> passed;  ///< while it waits to be free: the ends of what they do with it
};

class Memory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::DeviceIndex gpu = current_device();
    const c10::Device device(c10::kPrivateUse1, gpu);
    if (bytes == 0) return {nullptr, nullptr, &Memory::free, device};
    const std::lock_guard lock(mutex_);
    collect();
    auto* const block = take(gpu, handle_of(current_stream()), (bytes + unit - 1) / unit * unit);
    return {block->data, block, &Memory::free, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  void use(Block& block, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    if (stream != block.stream) block.users.insert(stream);
  }

 private:
  using Kind = std::tuple<c10::DeviceIndex, cudaStream_t, std::size_t>;

  static void free(void* context);

  Block* take(c10::DeviceIndex gpu, cudaStream_t stream, std::size_t bytes) {
    auto& fitting = free_[{gpu, stream, bytes}];
    if (!fitting.empty()) {
      Block* const block = fitting.back();
      fitting.pop_back();
      return block;
    }
    auto block = std::make_unique<Block>();
    TORCH_CHECK(cudaMalloc(&block->data, bytes) == cudaSuccess, "a made-up GPU is out of memory");
    block->bytes = bytes;
    block->gpu = gpu;
    block->stream = stream;
    return block.release();
  }

  void give_back(Block& block) {
    const std::lock_guard lock(mutex_);
    if (block.users.empty()) return keep(block);
    for (const cudaStream_t user : block.users) {
      (void)cudaEventCreateWithFlags(&block.passed.emplace_back(), cudaEventDisableTiming);
      (void)cudaEventRecord(block.passed.back(), user);
    }
    block.users.clear();
    waiting_.push_back(&block);
  }

  void keep(Block& block) { free_[{block.gpu, block.stream, block.bytes}].push_back(&block); }

  /// What waited long enough.
  void collect() {
    const auto is_free = [this](Block* block) {
      for (const cudaEvent_t event : block->passed)
        if (cudaEventQuery(event) != cudaSuccess) return false;
      for (const cudaEvent_t event : block->passed) (void)cudaEventDestroy(event);
      block->passed.clear();
      keep(*block);
      return true;
    };
    std::erase_if(waiting_, is_free);
  }

  std::mutex mutex_;
  std::map<Kind, std::vector<Block*>> free_;
  std::deque<Block*> waiting_;
};

Memory& only_memory() {
  static Memory& only = *new Memory;  // never destroyed: tensors may outlive main()
  return only;
}

void Memory::free(void* context) {
  if (context != nullptr) only_memory().give_back(*static_cast<Block*>(context));
}

}  // namespace

c10::Allocator& memory() { return only_memory(); }

void use_on_stream(const c10::DataPtr& memory, const c10::Stream& stream) {
  if (memory.get_context() != nullptr) only_memory().use(*static_cast<Block*>(memory.get_context()), handle_of(stream));
}

}  // namespace made_up_torch
