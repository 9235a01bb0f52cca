#include "cuda/trials.hpp"

#include <algorithm>

#include "support/catch.hpp"

namespace rondo::test {
namespace {

std::string named(const Trial& trial) {
  return std::string(to_string(trial.collective)) + " of " + std::to_string(trial.count) + " " + std::string(to_string(trial.type)) + " by " +
         std::string(to_string(trial.op)) + ", root " + std::to_string(trial.root) + (trial.in_place ? ", in place" : "");
}

}  // namespace

const std::vector<Collective> all_collectives{Collective::all_reduce, Collective::reduce,     Collective::broadcast, Collective::reduce_scatter,
                                              Collective::all_gather, Collective::all_to_all, Collective::gather,    Collective::scatter,
                                              Collective::scan};

std::unique_ptr<Prepared> prepare(const GpuRank& rank, const Trial& trial, std::uint64_t seed) {
  const BlockCounts blocks = block_counts(trial.collective, rank.gpu.size());
  const std::uint64_t bytes = trial.count * size_of(trial.type);
  const Shape shape{trial.collective, trial.type, trial.op, rank.gpu.size(), rank.gpu.rank(), trial.root, trial.count};
  std::vector<std::byte> data(std::max(blocks.input, blocks.output) * bytes + 16, std::byte{0xa5});
  auto made = std::make_unique<Prepared>(Prepared{trial, shape, seed, GpuBuffer(data.size()), GpuBuffer(data.size()), blocks.output * bytes});
  made->output.put(data.data(), data.size());
  if (has_input(trial.collective, trial.root, rank.gpu.rank())) fill_input(shape, seed, data.data());
  (trial.in_place ? made->output : made->input).put(data.data(), data.size());
  return made;
}

Result<void> start(GpuRank& rank, const Prepared& call) {
  const std::byte* input = call.trial.in_place ? call.output.data() : call.input.data();
  return rank.gpu.run({call.trial.collective, input, call.output.data(), call.trial.count, call.trial.type, call.trial.op, call.trial.root,
                       factor_of(call.shape, rank.gpu.rank())}, rank.stream);
}

std::string judge(const Prepared& call) {
  std::vector<std::byte> result(call.output_bytes + 16);
  call.output.get(result.data(), call.output_bytes);
  const std::uint64_t wrong = count_wrong(call.shape, call.seed, result.data());
  return wrong == 0 ? "" : named(call.trial) + ": " + std::to_string(wrong) + " elements are wrong";
}

std::string try_once(GpuRank& rank, const Trial& trial, std::uint64_t seed) {
  const auto call = prepare(rank, trial, seed);
  if (auto started = start(rank, *call); !started)
    return started.error().code == Errc::unsupported ? "" : named(trial) + ": " + to_string(started.error());
  if (const std::string said = rank.synchronize(); !said.empty()) return named(trial) + ": " + said;
  return judge(*call);
}

std::string try_together(GpuRank& rank, const std::vector<std::unique_ptr<Prepared>>& calls) {
  for (const auto& call : calls)
    if (auto started = start(rank, *call); !started) return to_string(started.error());
  if (auto said = rank.synchronize(); !said.empty()) return said;
  for (const auto& call : calls)
    if (auto said = judge(*call); !said.empty()) return said;
  return "";
}

void check_all(const std::vector<std::string>& said) {
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    INFO("rank " << rank);
    CHECK(said[rank] == "");
  }
}

}  // namespace rondo::test
