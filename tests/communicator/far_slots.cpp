// Slots that are written past the caches, as those of far ranks are: everything that goes through slots is right. A test of its own in CMakeLists.txt, with a
// cache folder of its own, in which it says of this machine that all ranks are far.
#include <numeric>
#include <vector>

#include "communicator/said.hpp"
#include "communicator/trial.hpp"
#include "rondo/calibration.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace rondo;

constexpr std::uint64_t far_count = sanitized ? 110'003 : 1'100'003;

/// Figures by which memory is always nearer than another core.
CoreFigures all_far(const Topology& machine) {
  CoreFigures figures = core_figures(machine);
  figures.links = {{100, 0.1, 0.2, 0.2, 0.05, 0.05}};
  return figures;
}

/// Rank r sends r + 1 blocks of `far_count` / ranks to itself and others alike.
std::string uneven(Communicator& communicator) {
  const std::uint32_t ranks = communicator.size();
  const auto length = [&](std::uint32_t from) { return far_count / ranks * (from + 1); };
  std::vector<std::uint64_t> sent(ranks, length(communicator.rank())), received(ranks), sent_at(ranks), received_at(ranks);
  for (std::uint32_t from = 0; from < ranks; ++from) received[from] = length(from);
  std::exclusive_scan(sent.begin(), sent.end(), sent_at.begin(), std::uint64_t{0});
  std::exclusive_scan(received.begin(), received.end(), received_at.begin(), std::uint64_t{0});
  std::vector<float> in(sent_at.back() + sent.back(), static_cast<float>(communicator.rank())), out(received_at.back() + received.back(), -1);
  if (auto done = communicator.all_to_all_v(in.data(), {sent, sent_at}, out.data(), {received, received_at}, DataType::f32); !done)
    return to_string(done.error());
  for (std::uint32_t from = 0; from < ranks; ++from)
    for (std::uint64_t i = 0; i < received[from]; ++i)
      if (out[received_at[from] + i] != static_cast<float>(from)) return "a wrong element from rank " + std::to_string(from);
  return "";
}

std::string fused(Communicator& communicator, std::optional<DataType> wire) {
  std::vector<std::vector<float>> values;
  std::vector<Tensor> tensors;
  for (std::uint64_t length : {3u, 5000u, 70'001u}) values.emplace_back(length, 1.0f);
  for (auto& value : values) tensors.push_back({value.data(), value.data(), value.size()});
  Bucket bucket;
  bucket.tensors = tensors;
  bucket.wire = wire;
  if (auto done = communicator.all_reduce_fused(bucket); !done) return to_string(done.error());
  for (const auto& value : values)
    for (const float element : value)
      if (element != static_cast<float>(communicator.size())) return "a wrong sum in a list";
  return "";
}

std::string everything(Communicator& communicator) {
  if (auto wrong = perform_all(communicator, false); !wrong.empty()) return wrong;
  if (auto wrong = perform_moving(communicator, {far_count}, false); !wrong.empty()) return wrong;
  if (auto wrong = uneven(communicator); !wrong.empty()) return wrong;
  for (const auto wire : {std::optional<DataType>(), std::optional(DataType::bf16)})
    if (auto wrong = fused(communicator, wire); !wrong.empty()) return wrong;
  return "";
}

}  // namespace

TEST_CASE("what passes through slots that were written past the caches is right", "[.far]") {
  const auto machine = discover_topology();
  REQUIRE(machine);
  const auto file = calibration_file(*machine);
  REQUIRE(file);
  REQUIRE(file->find("/far-cache/") != std::string::npos);  // a user's own calibration stays
  REQUIRE(save_calibration(*machine, all_far(*machine)));
  const CostModel cost = cost_model(*machine, 2, known_core_figures(*machine));
  if (!cost.slots_past_caches) {
    WARN("two ranks have less than a processor each here: their slots stay in the caches, and nothing is tested");
    return;
  }
  const Said far(100);
  for (const char* algorithm : {"", "one_shot", "two_shot", "ring"}) {
    CommunicatorOptions options;
    options.algorithm = algorithm;
    INFO(algorithm);
    CHECK(complaints(run_processes(2, everything, options)) == "");
  }
}
