#include "transports/ucx/ucx.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "base/clock.hpp"
#include "base/share_host.hpp"
#include "transports/ucx/library.hpp"
#include "transports/ucx/queue.hpp"
#include "transports/ucx/setup.hpp"

namespace rondo {
namespace {

using ucx::payload_offset;
using ucx::Queue;
using ucx::Quiet;
using ucx::Slot;

/// A tag names the sender and the channel; UCX keeps the order of messages with equal tags between two workers.
ucp_tag_t tag_of(std::uint32_t sender, std::uint32_t channel) {
  return static_cast<ucp_tag_t>(sender) << 32 | channel;
}

/// A broken connection counts as the peer's going only after this long: what the peer sent before may still arrive.
constexpr std::int64_t last_words_ns = 200'000'000;

struct Peer {
  ucp_ep_h endpoint = nullptr;
  std::int64_t broken_ns = 0;  ///< since when the connection is; 0: it isn't
  std::atomic<bool> gone{false};
};

void on_broken(void* peer, ucp_ep_h, ucs_status_t) {
  auto& broken_ns = static_cast<Peer*>(peer)->broken_ns;
  if (broken_ns == 0) broken_ns = now_ns();
}

/// UCX reads an address without knowing where it ends, so ours says how long it is and what it sums up to.
struct AddressHead {
  std::uint64_t length;
  std::uint64_t sum;
};

std::uint64_t sum_of(const std::byte* bytes, std::size_t length) {
  std::uint64_t sum = 0xcbf29ce484222325u;  // FNV-1a
  for (std::size_t i = 0; i < length; ++i) sum = (sum ^ static_cast<std::uint64_t>(bytes[i])) * 0x100000001b3u;
  return sum;
}

bool is_whole(const std::vector<std::byte>& bytes) {
  AddressHead head{};
  if (bytes.size() <= sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::size_t length = bytes.size() - sizeof head;
  return head.length == length && head.sum == sum_of(bytes.data() + sizeof head, length);
}

class UcxTransport final : public Transport {
 public:
  UcxTransport(const ucx::Library& library, const UcxOptions& options) : ucp_(library), options_(options), peers_(options.ranks) {}

  ~UcxTransport() override {
    const Quiet quiet;
    if (worker_ != nullptr) {
      drain();
      for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) close(rank);
      drain();  // of what a forced close has cancelled
      settle();
      ucp_.worker_destroy(worker_);
    }
    if (context_ != nullptr) ucp_.cleanup(context_);
  }

  Result<void> start() {
    const Quiet quiet;
    auto context = ucx::make_context(ucp_);
    if (!context) return context.error();
    context_ = *context;
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // whoever holds the communicator's token
    if (const auto status = ucp_.worker_create(context_, &worker, &worker_); status != UCS_OK)
      return ucx::error_of("cannot make a UCX worker", status);
    return {};
  }

  std::string_view name() const override { return "ucx"; }

  Result<Address> address() override {
    const Quiet quiet;
    ucp_address_t* bytes = nullptr;
    std::size_t length = 0;
    if (const auto status = ucp_.worker_get_address(worker_, &bytes, &length); status != UCS_OK)
      return ucx::error_of("UCX gave no address", status);
    Address address;
    const AddressHead head{length, sum_of(reinterpret_cast<const std::byte*>(bytes), length)};
    address.bytes.resize(sizeof head + length);
    std::memcpy(address.bytes.data(), &head, sizeof head);
    std::memcpy(address.bytes.data() + sizeof head, bytes, length);
    ucp_.worker_release_address(worker_, bytes);
    return address;
  }

  Result<void> connect(const std::vector<Address>& all, std::int64_t /*deadline_ns*/) override {
    const Quiet quiet;
    for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
      if (share_host(options_.hosts, options_.rank, rank)) continue;
      if (!is_whole(all[rank].bytes))
        return Error{Errc::invalid_argument, "rank " + std::to_string(rank) + " sent no usable UCX address", 0, "ucx"};
      ucp_ep_params_t params{};
      params.field_mask =
          UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
      params.address = reinterpret_cast<const ucp_address_t*>(all[rank].bytes.data() + sizeof(AddressHead));
      params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
      params.err_handler.cb = on_broken;
      params.err_handler.arg = &peers_[rank];
      if (const auto status = ucp_.ep_create(worker_, &params, &peers_[rank].endpoint); status != UCS_OK)
        return ucx::error_of("cannot connect to rank " + std::to_string(rank), status);
    }
    return {};
  }

  Message send_slot(std::uint32_t peer, std::uint32_t channel, std::uint64_t bytes) override {
    Queue& queue = sending_[{peer, channel}];
    Slot& slot = queue.slots[queue.next % ucx::window];
    if (!finished(slot) || slot.broken) return {};
    slot.reserve(payload_offset + bytes);
    queue.message_bytes = payload_offset + bytes;
    return view(slot, bytes);
  }

  void post(std::uint32_t peer, std::uint32_t channel) override {
    const Quiet quiet;
    Queue& queue = sending_[{peer, channel}];
    Slot& slot = queue.slots[queue.next++ % ucx::window];
    const ucp_request_param_t params{};
    void* request = ucp_.tag_send_nbx(peers_[peer].endpoint, slot.data(), queue.message_bytes,
                                     tag_of(options_.rank, channel), &params);
    slot.broken = UCS_PTR_IS_ERR(request);
    if (slot.broken) on_broken(&peers_[peer], nullptr, UCS_PTR_STATUS(request));
    else slot.request = request;
  }

  Message receive_slot(std::uint32_t peer, std::uint32_t channel) override {
    const Quiet quiet;
    Queue& queue = receiving_[{peer, channel}];
    Slot& slot = queue.slots[0];
    if (!slot.filled) {
      ucp_tag_recv_info_t info{};
      ucp_tag_message_h message = ucp_.tag_probe_nb(worker_, tag_of(peer, channel), ~ucp_tag_t{0}, 1, &info);
      if (message == nullptr) return {};
      queue.message_bytes = info.length;
      slot.reserve(info.length);
      const ucp_request_param_t params{};
      void* request = ucp_.tag_msg_recv_nbx(worker_, slot.data(), info.length, message, &params);
      slot.request = UCS_PTR_IS_PTR(request) ? request : nullptr;
      slot.broken = UCS_PTR_IS_ERR(request);
      slot.filled = true;
    }
    if (!finished(slot)) return {};
    // A message that broke off, or is too short for a header, never becomes whole: the link is over.
    if (slot.broken || queue.message_bytes < payload_offset) {
      on_broken(&peers_[peer], nullptr, UCS_ERR_CONNECTION_RESET);
      return {};
    }
    return view(slot, queue.message_bytes - payload_offset);
  }

  void release(std::uint32_t peer, std::uint32_t channel) override {
    receiving_[{peer, channel}].slots[0].filled = false;
  }

  void progress() override {
    const Quiet quiet;
    ucp_.worker_progress(worker_);
    for (Peer& peer : peers_)
      if (peer.broken_ns != 0 && now_ns() - peer.broken_ns > last_words_ns)
        peer.gone.store(true, std::memory_order_release);
  }

  // By the requests alone: a flush would wait for answers of peers that may not turn their cranks any more. A message that
  // broke off never leaves.
  bool idle(std::uint32_t peer, std::uint32_t channel) override {
    const auto queue = sending_.find({peer, channel});
    if (queue == sending_.end()) return true;
    auto& slots = queue->second.slots;
    return std::all_of(slots.begin(), slots.end(), [this](Slot& slot) { return finished(slot) && !slot.broken; });
  }

  // pairs with progress()'s release
  bool gone(std::uint32_t rank) const override { return peers_[rank].gone.load(std::memory_order_acquire); }

 private:
  static Message view(Slot& slot, std::uint64_t bytes) {
    return Message{reinterpret_cast<std::uint64_t*>(slot.data()), slot.data() + payload_offset, bytes};
  }

  bool finished(Slot& slot) {
    if (slot.request == nullptr) return true;
    const ucs_status_t status = ucp_.request_check_status(slot.request);
    if (status == UCS_INPROGRESS) return false;
    slot.broken = status != UCS_OK;
    ucp_.request_free(slot.request);
    slot.request = nullptr;
    return true;
  }

  bool has_ended(Queue& queue) {
    return std::all_of(queue.slots.begin(), queue.slots.end(), [this](Slot& slot) { return finished(slot); });
  }

  /// What was posted reaches the peers before this end goes, unless they went first or never take it.
  void drain() {
    const std::int64_t deadline_ns = now_ns() + last_words_ns * 5;
    const auto all_ended = [this] {
      return std::all_of(sending_.begin(), sending_.end(), [this](auto& link) { return has_ended(link.second); });
    };
    while (!all_ended() && now_ns() < deadline_ns) progress();
  }

  /// A peer whose request to connect comes after the close is answered by an endpoint of UCX's own. UCX 1.13 asserts at the end
  /// that no such answer still waits for its connection; a peer that lives makes it at once.
  void settle() {
    const std::int64_t deadline_ns = now_ns() + last_words_ns;
    const ucp_request_param_t params{};
    // The progress that ends a flush may take in the next request; a flush that ends at once leaves nothing.
    for (void* request; UCS_PTR_IS_PTR(request = ucp_.worker_flush_nbx(worker_, &params));)
      if (!ends_by(deadline_ns, request)) return;
  }

  bool ends_by(std::int64_t deadline_ns, void* request) {
    while (ucp_.request_check_status(request) == UCS_INPROGRESS && now_ns() < deadline_ns) ucp_.worker_progress(worker_);
    const bool ended = ucp_.request_check_status(request) != UCS_INPROGRESS;
    ucp_.request_free(request);
    return ended;
  }

  bool has_unfinished(std::uint32_t rank) {
    const auto unfinished = [this, rank](auto& link) { return link.first.first == rank && !has_ended(link.second); };
    return std::any_of(sending_.begin(), sending_.end(), unfinished) ||
           std::any_of(receiving_.begin(), receiving_.end(), unfinished);
  }

  /// A close flushes, but for that of a broken connection. Messages that have begun and don't end must be cancelled by a
  /// forced one: UCX asserts that a worker which is destroyed has none.
  void close(std::uint32_t rank) {
    Peer& peer = peers_[rank];
    if (peer.endpoint == nullptr) return;
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    if (peer.broken_ns != 0 || has_unfinished(rank)) params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* request = ucp_.ep_close_nbx(peer.endpoint, &params);
    if (UCS_PTR_IS_PTR(request)) ends_by(now_ns() + last_words_ns * 5, request);
  }

  using Link = std::pair<std::uint32_t, std::uint32_t>;  // peer, channel
  const ucx::Library& ucp_;
  UcxOptions options_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::vector<Peer> peers_;
  std::map<Link, Queue> sending_;
  std::map<Link, Queue> receiving_;
};

}  // namespace

bool ucx_beats_tcp() {
  std::error_code error;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", error);
  return !error && devices != std::filesystem::directory_iterator() && ucx::knows_infiniband();
}

Result<std::string> ucx_found() {
  const auto& library = ucx::library();
  if (!library) return library.error();
  return std::string(library->get_version_string()) + " (" + library->path + ")";
}

Result<std::unique_ptr<Transport>> make_ucx_transport(const UcxOptions& options) {
  const auto& library = ucx::library();
  if (!library) return library.error();
  auto transport = std::make_unique<UcxTransport>(*library, options);
  if (auto started = transport->start(); !started) return started.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace rondo
