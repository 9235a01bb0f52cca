// Rondo as a participant: the public interface. Settings: default; symmetric, for buffers that its allocate() gives; or the name of a plan
// file that every call runs.
#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "compare/driver.hpp"
#include "rondo/communicator.hpp"
#include "rondo/formats.hpp"
#include "tools/support/version.hpp"

namespace {

class Rondo {
 public:
  static constexpr const char* symmetric = "symmetric";

  Rondo(rondo::Communicator& communicator, const std::string& setting) : communicator_(communicator) {
    if (setting.empty() || setting == "default" || setting == symmetric) return;
    auto plan = rondo::load_plan(setting);
    require(plan ? communicator_.use_plan(*plan) : rondo::Result<void>(plan.error()));
    only_ = plan->header.collective;
  }

  std::uint32_t rank() const { return communicator_.rank(); }
  std::uint32_t ranks() const { return communicator_.size(); }
  bool supports(const compare::Case& what) const {
    if (what.operation == compare::Operation::send_recv || what.operation == compare::Operation::all_to_all_v) return !only_ && what.in_place == 0;
    return !only_ || collective_of(what.operation) == *only_;
  }
  void barrier() { require(communicator_.barrier()); }

  void run(const compare::Call& call) {
    const rondo::DataType type = call.type == compare::Type::f32 ? rondo::DataType::f32 : rondo::DataType::bf16;
    if (call.operation == compare::Operation::send_recv) return exchange(call, type);
    if (call.operation == compare::Operation::all_to_all_v) {
      const auto& blocks = uneven_.of(call.count, rank(), ranks());
      return require(communicator_.all_to_all_v(call.input, {blocks.sent}, call.output, {blocks.received}, type));
    }
    require(communicator_.run({.collective = collective_of(call.operation),
                               .input = call.input,
                               .output = call.output,
                               .count = call.count,
                               .type = type,
                               .root = call.root}));
  }

  compare::Memory allocate(std::size_t bytes) {
    auto memory = communicator_.allocate(bytes);
    require(memory ? rondo::Result<void>() : rondo::Result<void>(memory.error()));
    return *memory;
  }

 private:
  void exchange(const compare::Call& call, rondo::DataType type) {
    communicator_.group_begin();
    require(communicator_.recv(call.output, call.count, type, (rank() + ranks() - 1) % ranks()));
    require(communicator_.send(call.input, call.count, type, (rank() + 1) % ranks()));
    require(communicator_.group_end());
  }

  static constexpr rondo::Collective collective_of(compare::Operation operation) {
    using enum rondo::Collective;
    constexpr std::array order{all_reduce, broadcast, reduce, reduce_scatter, all_gather, all_to_all, gather, scatter, scan, send_recv, all_to_all_v, barrier};
    static_assert(order.size() == compare::operation_names.size());
    return order[static_cast<std::size_t>(operation)];
  }

  void require(const rondo::Result<void>& result) const {
    if (result) return;
    std::fprintf(stderr, "compare_rondo: rank %u: %s\n", rank(), rondo::to_string(result.error()).c_str());
    std::_Exit(1);
  }

  rondo::Communicator& communicator_;
  std::optional<rondo::Collective> only_;  ///< what the plan does
  bench_support::UnevenCache<std::uint64_t> uneven_;
};

}  // namespace

int main(int argc, char** argv) {
  const compare::RankOptions options = compare::parse_rank_options(argc, argv);
  compare::die_with_parent();
  if (options.pin) compare::pin_rank(options.rank);
  const std::string job = options.socket + "-" + std::to_string(options.participant);
  auto communicator = rondo::Communicator::local(options.rank, options.ranks, job);
  if (!communicator) {
    std::fprintf(stderr, "compare_rondo: rank %u: %s\n", options.rank, rondo::to_string(communicator.error()).c_str());
    return 1;
  }
  Rondo library(*communicator, options.setting);
  compare::RankLink link(options, options.rank, tool_support::version_text());
  compare::Allocator allocator = compare::plain_memory;
  if (options.setting == Rondo::symmetric) allocator = [&](std::size_t bytes) { return library.allocate(bytes); };
  compare::Driver<Rondo>(library, link, allocator).serve();
  return 0;
}
