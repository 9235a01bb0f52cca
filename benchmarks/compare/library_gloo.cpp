// Gloo as a participant, over its TCP transport on the loopback interface (the one Debian builds).
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "compare/driver.hpp"

namespace {

class Gloo {
 public:
  explicit Gloo(const compare::RankOptions& options, const std::string& folder)
      : context_(std::make_shared<gloo::rendezvous::Context>(static_cast<int>(options.rank),
                                                             static_cast<int>(options.ranks))),
        bcube_(options.setting.find("bcube") != std::string::npos) {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = "127.0.0.1";
    gloo::rendezvous::FileStore store(folder);
    context_->setTimeout(std::chrono::minutes(2));
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    context_->connectFullMesh(store, device);
  }

  std::uint32_t rank() const { return static_cast<std::uint32_t>(context_->rank); }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(context_->size); }
  // reduce_scatter and scan are not among its current collectives, it sums no bf16, and all_to_all takes two buffers.
  bool supports(const compare::Case& what) const {
    using compare::Operation;
    const bool adds = what.type == compare::Type::f32 || !compare::is_reduction(what.operation);
    const bool two_buffers = what.operation == Operation::all_to_all || what.operation == Operation::all_to_all_v || what.operation == Operation::send_recv;
    const bool placed = what.in_place == 0 || !two_buffers;
    return what.operation != Operation::reduce_scatter && what.operation != Operation::scan && adds && placed;
  }

  void barrier() {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

  void run(const compare::Call& call) { call.type == compare::Type::f32 ? run_as<float>(call) : run_as<std::uint16_t>(call); }

 private:
  template <class T>
  void run_as(const compare::Call& call) {
    switch (call.operation) {
      case compare::Operation::all_reduce: {
        gloo::AllreduceOptions options(context_);
        options.setAlgorithm(bcube_ ? gloo::AllreduceOptions::Algorithm::BCUBE : gloo::AllreduceOptions::Algorithm::RING);
        return reduce_by<T>(options, call, [](auto& ready) { gloo::allreduce(ready); });
      }
      case compare::Operation::reduce: {
        gloo::ReduceOptions options(context_);
        options.setRoot(static_cast<int>(call.root));
        return reduce_by<T>(options, call, [](auto& ready) { gloo::reduce(ready); });
      }
      case compare::Operation::broadcast:
        return broadcast<T>(call);
      case compare::Operation::all_gather: {
        gloo::AllgatherOptions options(context_);
        if (!call.in_place) options.setInput(static_cast<T*>(call.input), call.count);
        options.setOutput(static_cast<T*>(call.output), call.count * ranks());
        return gloo::allgather(options);
      }
      case compare::Operation::all_to_all: {
        gloo::AlltoallOptions options(context_);
        options.setInput(static_cast<T*>(call.input), call.count * ranks());
        options.setOutput(static_cast<T*>(call.output), call.count * ranks());
        return gloo::alltoall(options);
      }
      case compare::Operation::all_to_all_v: {
        const auto& blocks = uneven_.of(call.count, rank(), ranks());
        gloo::AlltoallvOptions options(context_);
        options.setInput(static_cast<T*>(call.input), blocks.sent);
        options.setOutput(static_cast<T*>(call.output), blocks.received);
        return gloo::alltoallv(options);
      }
      case compare::Operation::barrier:
        return barrier();
      case compare::Operation::gather:
        return gather<T>(call);
      case compare::Operation::scatter:
        return scatter<T>(call);
      case compare::Operation::send_recv:
        return exchange<T>(call);
      case compare::Operation::reduce_scatter:
      case compare::Operation::scan:
        break;  // see supports()
    }
  }

  template <class T, class Options, class Start>
  static void reduce_by(Options& options, const compare::Call& call, Start start) {
    if (!call.in_place) options.setInput(static_cast<T*>(call.input), call.count);
    options.setOutput(static_cast<T*>(call.output), call.count);
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<T>));
    start(options);
  }

  template <class T>
  void broadcast(const compare::Call& call) {
    gloo::BroadcastOptions options(context_);
    options.setRoot(static_cast<int>(call.root));
    if (!call.in_place && call.root == rank()) options.setInput(static_cast<T*>(call.input), call.count);
    options.setOutput(static_cast<T*>(call.output), call.count);
    gloo::broadcast(options);
  }

  template <class T>
  void gather(const compare::Call& call) {
    gloo::GatherOptions options(context_);
    options.setRoot(static_cast<int>(call.root));
    options.setInput(static_cast<T*>(call.input), call.count);
    if (call.root == rank()) options.setOutput(static_cast<T*>(call.output), call.count * ranks());
    gloo::gather(options);
  }

  template <class T>
  void scatter(const compare::Call& call) {
    gloo::ScatterOptions options(context_);
    options.setRoot(static_cast<int>(call.root));
    if (call.root == rank()) {
      std::vector<T*> blocks;
      for (std::uint32_t r = 0; r < ranks(); ++r) blocks.push_back(static_cast<T*>(call.input) + r * call.count);
      options.setInputs(blocks, call.count);
    }
    options.setOutput(static_cast<T*>(call.output), call.count);
    gloo::scatter(options);
  }

  // Buffers are registered for each call, as a program does that is handed them.
  template <class T>
  void exchange(const compare::Call& call) {
    const std::size_t bytes = call.count * sizeof(T);
    auto out = context_->createUnboundBuffer(call.input, bytes);
    auto in = context_->createUnboundBuffer(call.output, bytes);
    in->recv(static_cast<int>((rank() + ranks() - 1) % ranks()), 1);
    out->send(static_cast<int>((rank() + 1) % ranks()), 1);
    out->waitSend();
    in->waitRecv();
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  bool bcube_;
  bench_support::UnevenCache<std::int64_t> uneven_;
};

}  // namespace

int main(int argc, char** argv) {
  const compare::RankOptions options = compare::parse_rank_options(argc, argv);
  compare::die_with_parent();
  if (options.pin) compare::pin_rank(options.rank);
  try {
    Gloo library(options, options.folder);
    compare::RankLink link(options, options.rank, "0.5 (Debian's libgloo)");
    compare::Driver<Gloo>(library, link).serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare_gloo: rank %u: %s\n", options.rank, error.what());
    return 1;
  }
  return 0;
}
