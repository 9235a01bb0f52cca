// Messages between ranks with GPUs: those of an exchange are checked, dealt out to blocks, and enqueued together.
#include <algorithm>
#include <string>
#include <vector>

#include "communicator/blocks_check.hpp"
#include "communicator/check.hpp"
#include "communicator/cuda/impl.hpp"
#include "device/cuda/launch.hpp"

namespace rondo {
namespace {

/// "message 3, from rank 1".
std::string name_of(const CudaMessage& message, std::size_t number) {
  return "message " + std::to_string(number) + (message.sends ? ", to rank " : ", from rank ") + std::to_string(message.peer);
}

std::optional<Error> wrong_message(const CudaMessage& message, std::uint32_t ranks) {
  if (message.peer >= ranks) return wrong_call("its peer is not below " + std::to_string(ranks) + " ranks");
  if (auto error = wrong_key({message.count, 0, Collective::send_recv, message.type}, 2)) return error;
  if (message.count != 0 && message.memory == nullptr) return wrong_call("its memory is null");
  if (reinterpret_cast<std::uintptr_t>(message.memory) % size_of(message.type) != 0)
    return wrong_call("its memory is not aligned to its elements (" + std::to_string(size_of(message.type)) + " bytes)");
  return std::nullopt;
}

}  // namespace

/// What a rank sends itself: the k-th message that it sends is the k-th that it receives.
Result<std::vector<OwnCopy>> CudaCommunicator::Impl::own_copies(std::span<const CudaMessage> messages) const {
  std::vector<const CudaMessage*> sent, received;
  for (const CudaMessage& message : messages)
    if (message.peer == parts_.group.rank) (message.sends ? sent : received).push_back(&message);
  const std::string rank = "rank " + std::to_string(parts_.group.rank);
  if (sent.size() != received.size())
    return wrong_call(rank + " sends itself " + std::to_string(sent.size()) + " messages and receives " + std::to_string(received.size()) +
                      " from itself in one exchange; accepted: as many");
  std::vector<OwnCopy> copies;
  for (std::size_t k = 0; k < sent.size(); ++k) {
    if (sent[k]->count != received[k]->count || sent[k]->type != received[k]->type)
      return Error{Errc::mismatch, rank + " sends itself " + std::to_string(sent[k]->count) + " " + std::string(to_string(sent[k]->type)) +
                                       " and receives " + std::to_string(received[k]->count) + " " + std::string(to_string(received[k]->type)), 0, "call"};
    const std::uint64_t bytes = sent[k]->count * size_of(sent[k]->type);
    if (bytes != 0 && sent[k]->memory != received[k]->memory) copies.push_back({sent[k]->memory, received[k]->memory, bytes});
  }
  return copies;
}

Result<std::vector<device::Message>> CudaCommunicator::Impl::ends_of(std::span<const CudaMessage> messages, Collective collective) {
  std::vector<device::Message> ends;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const CudaMessage& message = messages[m];
    const auto amiss = [&](Error error) {
      error.detail = name_of(message, m) + ": " + error.detail;
      return error;
    };
    if (auto error = wrong_message(message, parts_.group.ranks)) return amiss(std::move(*error));
    if (message.count != 0)
      if (auto place = wrong_memory(message.memory, "its memory"); !place) return amiss(place.error());
    if (message.peer == parts_.group.rank) continue;
    auto end = messages_.end({collective, message.type, message.count}, message.sends, parts_.own_stream.get());
    if (!end) return amiss(end.error());
    end->peer = message.peer;
    end->buffer = static_cast<std::byte*>(message.memory);
    ends.push_back(*end);
  }
  if (ends.size() <= device::most_messages) return ends;
  return Error{Errc::unsupported, std::to_string(ends.size()) + " messages of one rank in an exchange; up to " + std::to_string(device::most_messages) +
                                      " are served on GPUs", 0, "CUDA"};
}

Result<void> CudaCommunicator::Impl::run_messages(std::span<const CudaMessage> messages, Collective collective) {
  if (messages.empty()) return check();
  if (auto fine = check(); !fine) return fine;
  const OnDevice on(parts_.device);
  if (auto current = on.result(); !current) return current;
  auto ends = ends_of(messages, collective);
  if (!ends) return ends.error();
  const auto copies = own_copies(messages);
  if (!copies) return copies.error();
  device::Exchange exchange;
  exchange.group = parts_.group;
  exchange.areas = parts_.pairs;
  exchange.messages = static_cast<std::uint32_t>(ends->size());
  exchange.blocks = deal_blocks(*ends, parts_.group.ranks);
  exchange.threads = parts_.threads;
  exchange.number = ++exchanges_;
  exchange.by_turns = parts_.by_turns;
  if (exchange.blocks > parts_.room && !parts_.by_turns)
    return Error{Errc::unsupported, "an exchange that takes " + std::to_string(exchange.blocks) + " thread blocks; the GPU runs " +
                                        std::to_string(parts_.room) + " at once for each of its ranks", 0, "CUDA"};
  std::vector<cudaStream_t> streams;
  for (const CudaMessage& message : messages) streams.push_back(static_cast<cudaStream_t>(message.stream));
  std::sort(streams.begin(), streams.end());
  streams.erase(std::unique(streams.begin(), streams.end()), streams.end());
  return enqueue_exchange(exchange, *ends, *copies, streams);
}

/// On the first of the streams, for which it waits, and which wait for its end.
Result<void> CudaCommunicator::Impl::enqueue_exchange(const device::Exchange& exchange, const std::vector<device::Message>& ends,
                                                      const std::vector<OwnCopy>& copies, const std::vector<cudaStream_t>& streams) {
  const cudaStream_t first = streams.front();
  const auto captured = captures(first);
  if (!captured) return captured.error();
  if (turns_ && *captured) return captured_by_turns();
  const auto after = [&](cudaStream_t one, cudaStream_t other) -> Result<void> {
    if (auto marked = cuda_result(cudaEventRecord(parts_.joined.get(), other), "marking how far a stream is"); !marked) return marked;
    return cuda_result(cudaStreamWaitEvent(one, parts_.joined.get(), 0), "making a stream wait for another");
  };
  for (const cudaStream_t other : streams)
    if (other != first)
      if (auto waits = after(first, other); !waits) return waits;
  for (const OwnCopy& copy : copies)
    if (auto copied = cuda_result(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyDeviceToDevice, first), "copying a rank's own message"); !copied)
      return copied;
  if (exchange.messages != 0)
    if (auto enqueued = enqueue_messages(exchange, ends, *captured, first); !enqueued) return enqueued;
  for (const cudaStream_t other : streams)
    if (other != first)
      if (auto waits = after(other, first); !waits) return waits;
  return {};
}

Result<void> CudaCommunicator::Impl::enqueue_messages(const device::Exchange& exchange, const std::vector<device::Message>& ends, bool captured,
                                                      cudaStream_t stream) {
  if (turns_) return turns_->enqueue(exchange, ends, stream);
  if (!captured)
    if (auto waits = follow_last_call(stream); !waits) return waits;
  if (auto started = device::launch_exchange(exchange, ends.data(), stream); !started) return started;
  return captured ? Result<void>() : mark_last_call(stream);
}

Result<void> CudaCommunicator::Impl::all_to_all_v(const void* input, const Blocks& sent, void* output, const Blocks& received, DataType type, void* stream) {
  const auto blocks = lay_out_blocks({parts_.group.rank, parts_.group.ranks, input, sent, output, received, type});
  if (!blocks) return blocks.error();
  std::vector<CudaMessage> messages;
  for (std::uint32_t k = 0; k < parts_.group.ranks; ++k) {
    const std::uint32_t to = (parts_.group.rank + k) % parts_.group.ranks;
    const std::uint32_t from = (parts_.group.rank + parts_.group.ranks - k) % parts_.group.ranks;
    const Block &out = blocks->sent[to], &in = blocks->received[from];
    const std::uint64_t element = size_of(type);
    messages.push_back(CudaMessage::send(static_cast<const std::byte*>(input) + out.offset, out.bytes / element, type, to, stream));
    messages.push_back(CudaMessage::receive(static_cast<std::byte*>(output) + in.offset, in.bytes / element, type, from, stream));
  }
  return run_messages(messages, Collective::all_to_all_v);
}

}  // namespace rondo
