#include "run.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

namespace rondo::nccl {
namespace {

using Kind = Enqueued::Kind;

Error usage(const std::string& what) { return Error{Errc::unsupported, what, 0, "nccl"}; }

bool to_itself(const Enqueued& call) { return call.kind != Kind::collective && call.peer == call.comm->rank; }

/// What a rank sends itself, and where it receives that.
struct OwnMessage {
  const Enqueued* sent = nullptr;
  const Enqueued* received = nullptr;
};

/// Ranks' messages to themselves, in their order.
Result<std::vector<OwnMessage>> match_own(const std::vector<Enqueued>& calls) {
  std::map<ncclComm*, std::pair<std::deque<const Enqueued*>, std::deque<const Enqueued*>>> by_rank;  // sends, receives
  for (const Enqueued& call : calls)
    if (to_itself(call)) {
      auto& [sends, receives] = by_rank[call.comm.get()];
      (call.kind == Kind::send ? sends : receives).push_back(&call);
    }
  std::vector<OwnMessage> matched;
  for (const auto& [comm, messages] : by_rank) {
    const auto& [sends, receives] = messages;
    const std::string rank = "rank " + std::to_string(comm->rank);
    if (sends.size() != receives.size())
      return usage(rank + " has " + std::to_string(sends.size()) + " ncclSend and " + std::to_string(receives.size()) +
                   " ncclRecv with itself in one group; there must be as many of either");
    for (std::size_t k = 0; k < sends.size(); ++k) {
      const Call &sent = sends[k]->call, &received = receives[k]->call;
      if (sent.count != received.count || sent.type != received.type)
        return Error{Errc::mismatch, rank + " sends itself " + std::to_string(sent.count) + " " + std::string(to_string(sent.type)) + " and receives " +
                                         std::to_string(received.count) + " " + std::string(to_string(received.type)), 0, "nccl"};
      matched.push_back({sends[k], receives[k]});
    }
  }
  return matched;
}

Work start(Communicator& host, const Enqueued& call) {
  const Call& what = call.call;
  switch (call.kind) {
    case Kind::collective: return host.start(what);
    case Kind::send: return host.start_send(what.input, what.count, what.type, call.peer);
    case Kind::recv: return host.start_recv(what.output, what.count, what.type, call.peer);
  }
  return {};
}

/// A call by itself: to start it, and to wait for it then, takes longer than a small one.
Result<void> run(Communicator& host, const Enqueued& call) {
  const Call& what = call.call;
  switch (call.kind) {
    case Kind::collective: return host.run(what);
    case Kind::send: return host.send(what.input, what.count, what.type, call.peer);
    case Kind::recv: return host.recv(what.output, what.count, what.type, call.peer);
  }
  return {};
}

/// The first failure; each is also its own communicator's.
class Failures {
 public:
  void note(const Enqueued& call, const Result<void>& result) {
    if (result) return;
    note_failure(*call.comm, result.error());
    if (first_) first_ = result;
  }
  const Result<void>& first() const { return first_; }

 private:
  Result<void> first_;
};

/// One thread may have calls of several ranks, which wait for one another: so all are begun before any is waited for.
Result<void> run_in_host_memory(const std::vector<Enqueued>& calls) {
  const auto own = match_own(calls);
  if (!own) return own.error();
  for (const OwnMessage& message : *own)
    if (const Call& sent = message.sent->call; sent.count != 0) std::memmove(message.received->call.output, sent.input, sent.count * size_of(sent.type));
  Failures failures;
  if (calls.size() == 1) {
    if (!to_itself(calls.front())) failures.note(calls.front(), run(*calls.front().comm->host, calls.front()));
    return failures.first();
  }
  std::vector<Communicator*> begun;
  for (const Enqueued& call : calls)
    if (std::find(begun.begin(), begun.end(), &*call.comm->host) == begun.end()) begun.push_back(&*call.comm->host);
  for (Communicator* const host : begun) host->group_begin();
  std::vector<std::pair<const Enqueued*, Work>> works;
  for (const Enqueued& call : calls)
    if (!to_itself(call)) works.emplace_back(&call, start(*call.comm->host, call));
  for (Communicator* const host : begun) (void)host->group_end();  // each call says itself what became of it
  for (auto& [call, work] : works) failures.note(*call, work.wait());
  return failures.first();
}

CudaMessage message_of(const Enqueued& enqueued) {
  const Call& call = enqueued.call;
  if (enqueued.kind == Kind::send) return CudaMessage::send(call.input, call.count, call.type, enqueued.peer, enqueued.stream);
  return CudaMessage::receive(call.output, call.count, call.type, enqueued.peer, enqueued.stream);
}

/// The ranks' calls by turns: one that were a call ahead of another on the same GPU would wait for it. Then each rank's messages, all at once.
Result<void> run_on_devices(const std::vector<Enqueued>& calls) {
  if (auto own = match_own(calls); !own) return own.error();  // before any is enqueued, for which the peers would wait
  std::map<ncclComm*, std::deque<const Enqueued*>> left;
  std::map<ncclComm*, std::pair<const Enqueued*, std::vector<CudaMessage>>> exchanges;
  for (const Enqueued& call : calls) {
    if (call.kind == Kind::collective) {
      left[call.comm.get()].push_back(&call);
    } else {
      auto& [first, messages] = exchanges[call.comm.get()];
      if (messages.empty()) first = &call;
      messages.push_back(message_of(call));
    }
  }
  Failures failures;
  while (!left.empty())
    for (auto at = left.begin(); at != left.end();) {
      auto& [comm, own] = *at;
      failures.note(*own.front(), comm->device->run(own.front()->call, own.front()->stream));
      own.pop_front();
      at = own.empty() ? left.erase(at) : std::next(at);
    }
  for (const auto& [comm, exchange] : exchanges) failures.note(*exchange.first, comm->device->exchange(exchange.second));
  return failures.first();
}

}  // namespace

Result<void> run_all(const std::vector<Enqueued>& calls) {
  for (const Enqueued& call : calls)
    if (!call.comm->host) return usage("a call on a communicator whose ncclGroupEnd has not made it");
  return calls.front().comm->device ? run_on_devices(calls) : run_in_host_memory(calls);
}

}  // namespace rondo::nccl
