// Plans written as MSCCL++ JSON: read back they do the same, and the text itself does what the collective promises, call after call.
#include <filesystem>

#include "mscclpp_interpreter.hpp"
#include "perform.hpp"
#include "planner/requests.hpp"
#include "rondo/formats.hpp"
#include "rondo/verifier.hpp"
#include "support/catch.hpp"
#include "support/folders.hpp"
#include "support/sanitized.hpp"
#include "texts.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

std::vector<std::string> texts() {
  std::vector<std::string> found;
  for (const char* folder : {"/../shared/corpora/mscclpp", "/tests/formats/data"}) {
    const std::filesystem::path path = std::string(RONDO_SOURCE_DIR) + folder;
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.path().extension() == ".json") found.push_back(read_text(entry.path().string()));
  }
  return found;
}

/// In a few orders, three calls each.
std::string performed(const std::string& text) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    if (std::string wrong = MscclppInterpreter(text, seed).run(3); !wrong.empty()) return "seed " + std::to_string(seed) + ": " + wrong;
  return "";
}

bool has_packets(const std::string& text) { return text.find("pkt\"") != std::string::npos; }

}  // namespace

TEST_CASE("a plan that was read from MSCCL++ JSON, written and read again is the same plan") {
  REQUIRE(texts().size() >= 2);
  for (const std::string& text : texts()) {
    const Plan plan = from_mscclpp(text);
    INFO(plan.header.algorithm);
    const std::string written = to_mscclpp(plan);
    const Plan again = from_mscclpp(written);
    CHECK(to_mscclpp(again) == written);
    CHECK(performed(written) == "");
    CHECK(verify(again).proved() == verify(plan).proved());
    if (!has_packets(text)) CHECK(write_plan(again) == write_plan(plan));
  }
}

TEST_CASE("the planner's plans, written as MSCCL++ JSON, do what they did, call after call") {
  std::size_t written = 0;
  for (const std::uint32_t ranks : sanitized ? std::vector<std::uint32_t>{2, 3} : std::vector<std::uint32_t>{2, 3, 4, 6})
    for_all_plans(ranks, [&](const Plan& plan, const std::string&) {
      const auto text = export_mscclpp_json(plan);
      if (!text) {
        CHECK(text.error().code == Errc::unsupported);
        return;
      }
      ++written;
      CHECK(performed(*text) == "");
      const Plan again = from_mscclpp(*text);
      CHECK(again.header.collective == plan.header.collective);
      CHECK(again.header.root == plan.header.root);
      const Proof proof = verify(again);
      CHECK((proof.proved() ? "" : to_string(proof.violations[0])) == "");
      CHECK(perform(again) == "");
      const std::string second = to_mscclpp(again);
      CHECK(to_mscclpp(from_mscclpp(second)) == second);
    });
  CHECK(written > (sanitized ? 100 : 500));
}

TEST_CASE("a step that is turns late comes after those that aren't, wherever it stands") {
  PlanHeader header;
  header.collective = Collective::all_gather;
  header.ranks = 2;
  std::vector<Program> programs(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t other = 1 - rank;
    Step receive{StepKind::copy, false, 1, {}, {{Buffer::link, other, 0, 1}}, {{Buffer::output, self, other, 1}}, {}};
    Step send{StepKind::copy, false, 0, {}, {{Buffer::input, self, 0, 1}}, {{Buffer::link, other, 0, 1}, {Buffer::output, self, rank, 1}}, {}};
    programs[rank].lanes.push_back({{receive, send}});
  }
  const Plan plan(header, std::move(programs));
  REQUIRE(verify(plan).proved());
  CHECK(performed(to_mscclpp(plan)) == "");
}

TEST_CASE("a reduction of several local and several peers' chunks is written as two") {
  PlanHeader header;
  header.ranks = 4;
  header.scratch_chunks = 2;
  header.depth = 1;
  std::vector<Program> programs(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto scratch = [&](std::uint32_t owner, std::uint32_t index) { return Operand{Buffer::scratch, (rank + owner) % 4, index, 1}; };
    const Operand input{Buffer::input, self, 0, 1};
    Lane lane;
    lane.steps.push_back({StepKind::copy, false, 0, {}, {input}, {scratch(0, 0), scratch(1, 1)}, {}});
    lane.steps.push_back({StepKind::signal, false, 0, {}, {}, {}, {}});
    for (std::uint32_t k = 1; k < 4; ++k) lane.steps.push_back({StepKind::wait, false, 0, {(rank + k) % 4, 0, 0, 0}, {}, {}, {}});
    const Operands sources{input, scratch(0, 1), scratch(1, 0), scratch(2, 0)};  // from the rank, the one behind it and the two ahead
    lane.steps.push_back({StepKind::reduce, true, 0, {}, sources, {{Buffer::output, self, 0, 1}}, {}});
    programs[rank].lanes.push_back(std::move(lane));
  }
  const Plan plan = add_credits(Plan(header, std::move(programs)));
  REQUIRE(verify(plan).proved());
  const std::string text = to_mscclpp(plan);
  CHECK(text.find("rre\"") != std::string::npos);
  CHECK(performed(text) == "");
  CHECK(verify(from_mscclpp(text)).proved());
}

TEST_CASE("a plan from MSCCL XML becomes one of MSCCL++") {
  const auto plan = import_msccl_xml(data("ring3.xml"));
  REQUIRE(plan);
  const std::string text = to_mscclpp(*plan);
  CHECK(performed(text) == "");
  CHECK(verify(from_mscclpp(text)).proved());
}

TEST_CASE("what MSCCL++ JSON can't say is refused by name") {
  const auto barrier = plan_of(request_of(Collective::barrier, 3, 0));
  REQUIRE(barrier);
  CHECK(export_mscclpp_json(*barrier).error().detail.starts_with("barrier has no name"));
  Plan plan = *plan_of(request_of(Collective::all_reduce, 2, 1u << 20), "ring");
  plan.header.wire = DataType::bf16;
  CHECK(export_mscclpp_json(plan).error().detail.starts_with("scratch of bf16"));
}
