// Plans for a hundred thousand ranks: one rank's program is made without the others', and fits those of the ranks that it talks to.
#include <map>
#include <tuple>

#include "requests.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

using Ends = std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint64_t, std::uint64_t>>;  // (rank, channel) → messages, chunks

/// What a program sends to others, or gets from them; of one of them alone where `only` says which.
Ends messages(const Program& program, bool sent, std::uint32_t only = self) {
  Ends ends;
  for (const Lane& lane : program.lanes)
    for (const Step& step : lane.steps)
      for (const Operand& operand : sent ? step.destinations : step.sources) {
        if (operand.buffer != Buffer::link || (only != self && operand.rank != only)) continue;
        auto& [count, chunks] = ends[{operand.rank, operand.index}];
        ++count;
        chunks += operand.count;
      }
  return ends;
}

}  // namespace

TEST_CASE("a rank's program is made by itself for a hundred thousand ranks, and fits its peers' programs") {
  const std::tuple<const char*, Collective, std::uint32_t> large[] = {
      {"ring", Collective::all_reduce, 102'400},     {"ring", Collective::broadcast, 102'400},       {"tree", Collective::all_reduce, 102'400},
      {"tree", Collective::broadcast, 102'400},      {"chain", Collective::all_reduce, 102'400},     {"knomial", Collective::reduce, 102'400},
      {"bine", Collective::broadcast, 102'400},      {"bine", Collective::reduce_scatter, 102'400},  {"swing", Collective::all_reduce, 131'072},
      {"rings", Collective::reduce_scatter, 102'400}, {"halving_doubling", Collective::all_reduce, 131'072},
      {"rail", Collective::all_reduce, 102'400},     {"rail", Collective::reduce_scatter, 102'400}};
  for (const auto& [algorithm, collective, ranks] : large) {
    INFO(algorithm << " " << to_string(collective));
    const auto plan = plan_of(request_of(collective, ranks, 1 << 30), algorithm, false, std::string(algorithm) == "rail" ? GroupSizes{8} : GroupSizes{});
    if (!plan) FAIL(plan.error().detail);
    constexpr std::uint32_t rank = 77'777;
    const Program program = plan->program(rank);
    std::size_t looked_at = 0;
    for (const bool sends : {true, false}) {
      const Ends own = messages(program, sends);
      std::map<std::uint32_t, Ends> theirs;  // by peer: its end of what passes between the two
      for (const auto& [end, carried] : own)
        if (theirs.count(end.first) == 0 && theirs.size() < 3) theirs[end.first] = messages(plan->program(end.first), !sends, rank);
      for (const auto& [end, carried] : own) {
        if (theirs.count(end.first) == 0) continue;
        CHECK(theirs[end.first][{rank, end.second}] == carried);
        ++looked_at;
      }
    }
    CHECK(looked_at > 0);
  }
}
