#include "transports/cuda_ipc/cuda_ipc.hpp"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "base/device_memory.hpp"
#include "base/process_number.hpp"

namespace rondo {
namespace {

constexpr std::uint64_t card_magic = 0x3130'6964'7563'6f72;  // "rocudi01"

/// What a rank tells its peers; plain bytes, of one build on one machine.
struct Card {
  std::uint64_t magic = card_magic;
  std::uint64_t process = 0;  ///< a number that no other process has
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::int64_t pid = 0;
  std::int32_t device = 0;
  cudaIpcMemHandle_t handle{};
};

std::string name_of(std::uint32_t rank, const Card& card) { return "rank " + std::to_string(rank) + " (GPU " + std::to_string(card.device) + ")"; }

class CudaIpc final : public Transport {
 public:
  explicit CudaIpc(const CudaIpcOptions& options) : options_(options) {}
  ~CudaIpc() override {
    const OnDevice on(options_.device);
    for (std::byte* opened : opened_) (void)cudaIpcCloseMemHandle(opened);
    own_.reset();
  }
  CudaIpc(const CudaIpc&) = delete;
  CudaIpc& operator=(const CudaIpc&) = delete;

  std::string_view name() const override { return "cuda_ipc"; }

  Result<Address> address() override {
    const OnDevice on(options_.device);
    if (auto current = on.result(); !current) return current.error();
    auto memory = take_device(options_.segment_bytes);
    if (!memory) return memory.error();
    own_ = std::move(*memory);
    if (auto zeroed = cuda_result(cudaMemset(own_.get(), 0, options_.segment_bytes), "zeroing GPU memory"); !zeroed) return zeroed.error();
    if (auto done = cuda_result(cudaDeviceSynchronize(), "zeroing GPU memory"); !done) return done.error();
    Card card;
    card.process = process_number();
    card.address = reinterpret_cast<std::uintptr_t>(own_.get());
    card.bytes = options_.segment_bytes;
    card.pid = getpid();
    card.device = options_.device;
    // Where a machine has no such handles, only processes miss them.
    if (cudaIpcGetMemHandle(&card.handle, own_.get()) != cudaSuccess) (void)cudaGetLastError();
    Address address;
    address.bytes.resize(sizeof card);
    std::memcpy(address.bytes.data(), &card, sizeof card);
    return address;
  }

  Result<void> connect(const std::vector<Address>& all, std::int64_t) override {
    const OnDevice on(options_.device);
    if (auto current = on.result(); !current) return current;
    for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
      Card card;
      if (all[rank].bytes.size() != sizeof card) return Error{Errc::mismatch, "rank " + std::to_string(rank) + " sent no card of this version", 0, "cuda_ipc"};
      std::memcpy(&card, all[rank].bytes.data(), sizeof card);
      if (card.magic != card_magic || card.bytes != options_.segment_bytes)
        return Error{Errc::mismatch, "rank " + std::to_string(rank) + " has another version, or segments of another size", 0, "cuda_ipc"};
      auto mapped = map(rank, card);
      if (!mapped) return mapped.error();
      segments_.push_back(*mapped);
    }
    return {};
  }

  std::byte* segment(std::uint32_t rank) override { return segments_[rank]; }
  std::uint64_t segment_bytes() const override { return options_.segment_bytes; }
  bool gone(std::uint32_t) const override { return false; }  // the communicator that introduced the ranks watches them

 private:
  Result<std::byte*> map(std::uint32_t rank, const Card& card) {
    if (card.process == process_number()) {
      if (auto reached = reach(rank, card); !reached) return reached.error();
      return reinterpret_cast<std::byte*>(card.address);
    }
    void* opened = nullptr;
    const std::string what = "mapping the GPU memory of " + name_of(rank, card) + ", process " + std::to_string(card.pid);
    if (auto done = cuda_result(cudaIpcOpenMemHandle(&opened, card.handle, cudaIpcMemLazyEnablePeerAccess), what); !done) return done.error();
    opened_.push_back(static_cast<std::byte*>(opened));
    return opened_.back();
  }

  /// Another GPU of this process.
  Result<void> reach(std::uint32_t rank, const Card& card) {
    if (card.device == options_.device) return {};
    int may = 0;
    if (auto asked = cuda_result(cudaDeviceCanAccessPeer(&may, options_.device, card.device), "asking for peer access"); !asked) return asked;
    if (may == 0)
      return Error{Errc::unsupported, "GPU " + std::to_string(options_.device) + " can't map the memory of " + name_of(rank, card) +
                                          ": no peer access between them", 0, "cuda_ipc"};
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(card.device, 0);
    if (enabled == cudaErrorPeerAccessAlreadyEnabled) {
      (void)cudaGetLastError();
      return {};
    }
    return cuda_result(enabled, "peer access to " + name_of(rank, card));
  }

  CudaIpcOptions options_;
  DeviceMemory own_;
  std::vector<std::byte*> segments_;
  std::vector<std::byte*> opened_;
};

}  // namespace

std::unique_ptr<Transport> make_cuda_ipc_transport(const CudaIpcOptions& options) { return std::make_unique<CudaIpc>(options); }

}  // namespace rondo
