// Gloo as a participant, over its TCP transport on the loopback interface (the one Debian builds).
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

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
  bool supports(compare::Operation operation) const { return operation != compare::Operation::reduce_scatter; }

  void barrier() {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

  void run(const compare::Call& call) {
    float* input = const_cast<float*>(call.input);
    const std::size_t all = call.count * ranks();
    const auto sum = static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>);
    switch (call.operation) {
      case compare::Operation::all_reduce: {
        gloo::AllreduceOptions options(context_);
        options.setAlgorithm(bcube_ ? gloo::AllreduceOptions::Algorithm::BCUBE
                                    : gloo::AllreduceOptions::Algorithm::RING);
        if (!call.in_place) options.setInput(input, call.count);
        options.setOutput(call.output, call.count);
        options.setReduceFunction(sum);
        gloo::allreduce(options);
        break;
      }
      case compare::Operation::broadcast: {
        gloo::BroadcastOptions options(context_);
        options.setRoot(static_cast<int>(call.root));
        if (!call.in_place && call.root == rank()) options.setInput(input, call.count);
        options.setOutput(call.output, call.count);
        gloo::broadcast(options);
        break;
      }
      case compare::Operation::reduce: {
        gloo::ReduceOptions options(context_);
        options.setRoot(static_cast<int>(call.root));
        if (!call.in_place) options.setInput(input, call.count);
        options.setOutput(call.output, call.count);
        options.setReduceFunction(sum);
        gloo::reduce(options);
        break;
      }
      case compare::Operation::all_gather: {
        gloo::AllgatherOptions options(context_);
        if (!call.in_place) options.setInput(input, call.count);
        options.setOutput(call.output, all);
        gloo::allgather(options);
        break;
      }
      case compare::Operation::reduce_scatter:
        break;  // not among its current collectives: see supports()
    }
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
  bool bcube_;
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
