// Plans written as MSCCL XML: read back they are the same, and the text itself does what the collective promises, as performed by an interpreter of its own.
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <random>
#include <sstream>

#include "perform.hpp"
#include "planner/requests.hpp"
#include "rondo/formats.hpp"
#include "rondo/verifier.hpp"
#include "support/catch.hpp"
#include "support/folders.hpp"
#include "support/sanitized.hpp"
#include "text_interpreter.hpp"
#include "texts.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

bool same(const Plan& a, const Plan& b) {
  if (!(a.header == b.header)) return false;
  for (std::uint32_t rank = 0; rank < a.header.ranks; ++rank)
    if (!(a.program(rank) == b.program(rank))) return false;
  return true;
}

std::vector<std::string> msccl_texts() {
  std::vector<std::string> texts;
  for (const char* folder : {"/../shared/corpora/msccl", "/tests/formats/data"}) {
    const std::filesystem::path path = std::string(RONDO_SOURCE_DIR) + folder;
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.path().extension() == ".xml") texts.push_back(read_text(entry.path().string()));
  }
  return texts;
}

}  // namespace

TEST_CASE("a plan that was read from MSCCL XML, written and read again is the same plan") {
  REQUIRE(msccl_texts().size() >= 2);
  for (const std::string& text : msccl_texts()) {
    const Plan plan = from_msccl(text);
    INFO(plan.header.algorithm);
    const std::string written = to_msccl(plan);
    const Plan again = from_msccl(written);
    CHECK(again.header == plan.header);
    CHECK(same(again, plan));
    CHECK(to_msccl(again) == written);
    CHECK(perform(again) == "");
  }
}

TEST_CASE("the planner's plans, written as MSCCL XML, do what they did") {
  std::size_t written = 0;
  for (const std::string_view algorithm : algorithm_names())
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                                        Collective::broadcast, Collective::reduce})
      for (std::uint32_t ranks = 2; ranks <= 8; ++ranks) {
        const auto plan = plan_of(request_of(collective, ranks, 1 << 20, ranks / 2), std::string(algorithm), false);
        if (!plan) continue;
        INFO(algorithm << " " << to_string(collective) << " " << ranks);
        const std::string text = to_msccl(*plan);
        CHECK(judged(text, plan->header, 2) == "");
        const Plan again = from_msccl(text);
        CHECK(again.header.collective == collective);
        CHECK(again.header.root == plan->header.root);
        CHECK(perform(again) == "");
        CHECK(verify(again).proved());
        CHECK(to_msccl(again) == text);
        ++written;
      }
  CHECK(written > 150);
}

namespace {

/// The text with one attribute of its `number`-th step, or of that step's thread block, changed; empty where the edit makes no sense there.
std::string edited(const std::string& text, std::size_t number, std::size_t kind) {
  pugi::xml_document document;
  REQUIRE(document.load_string(text.c_str()));
  std::size_t left = number;
  pugi::xml_node step;
  for (const pugi::xml_node gpu : document.document_element().children("gpu"))
    for (const pugi::xml_node tb : gpu.children("tb"))
      for (const pugi::xml_node one : tb.children("step"))
        if (left-- == 0) step = one;
  const std::string type = step.attribute("type").value();
  const auto shift = [&](pugi::xml_node node, const char* name) { node.attribute(name).set_value(node.attribute(name).as_int() + 1); };
  switch (kind) {
    case 0:
      if (type != "s" && type != "cpy" && type != "re" && !type.starts_with("rr")) return {};
      shift(step, "srcoff");
      break;
    case 1:
      if (type == "s" || type == "rrs" || type == "nop") return {};
      shift(step, "dstoff");
      break;
    case 2:
      if (step.attribute("depid").as_int() < 0) return {};
      step.attribute("depid").set_value(-1);
      step.attribute("deps").set_value(-1);
      break;
    case 3:
      if (!type.starts_with("rr")) return {};
      step.attribute("type").set_value(type == "rrc" ? "r" : type == "rrcs" ? "rcs" : "s");
      break;
    case 4:
      if (type == "nop" || !step.attribute("srcbuf")) return {};
      step.attribute("srcbuf").set_value(std::string(step.attribute("srcbuf").value()) == "i" ? "o" : "i");
      break;
    default:
      if (step.parent().attribute("send").as_int() < 0) return {};
      step.parent().attribute("send").set_value((step.parent().attribute("send").as_int() + 1) % document.document_element().attribute("ngpus").as_int());
      break;
  }
  std::ostringstream edit;
  document.save(edit);
  return edit.str();
}

std::size_t steps_in(const std::string& text) {
  std::size_t steps = 0;
  for (std::size_t at = text.find("<step"); at != std::string::npos; at = text.find("<step", at + 1)) ++steps;
  return steps;
}

bool is_refused(const std::string& text) {
  const auto plan = import_msccl_xml(text);
  return !plan || !verify(*plan).proved();
}

}  // namespace

TEST_CASE("an edit of an MSCCL file that changes what it does is refused, as its text performed in several orders tells") {
  constexpr std::size_t kinds = 6;
  std::array<std::size_t, kinds> wrong{};
  std::mt19937 random(11);
  std::vector<std::string> texts = msccl_texts();
  for (const char* algorithm : {"tree", "halving_doubling", "bine"})
    texts.push_back(to_msccl(*plan_of(request_of(Collective::all_reduce, 6, 1 << 20), algorithm, false)));
  for (const std::string& text : texts) {
    const Plan plan = from_msccl(text);
    INFO(plan.header.algorithm);
    CHECK(judged(text, plan.header, 1) == "");
    CHECK_FALSE(is_refused(text));
    const std::size_t steps = steps_in(text);
    for (std::size_t k = 0; k < (steps > 2000 ? 12u : sanitized ? 60u : 240u); ++k) {
      const std::size_t step = random() % steps, kind = k % kinds;
      const std::string edit = edited(text, step, kind);
      if (edit.empty()) continue;
      if (judged(edit, plan.header, kind == 2 ? 40 : 1).empty()) continue;
      ++wrong[kind];
      INFO("step " << step << " of the file, edit " << kind);
      CHECK(is_refused(edit));
    }
  }
  for (std::size_t kind = 0; kind < kinds; ++kind) CHECK(wrong[kind] >= 5);
}

TEST_CASE("what MSCCL XML can't say is refused with its place") {
  const auto refused = [](const Result<Plan>& plan, const std::string& what) {
    REQUIRE(plan);
    const auto text = export_msccl_xml(*plan);
    REQUIRE_FALSE(text);
    INFO(text.error().detail);
    CHECK(text.error().code == Errc::unsupported);
    return text.error().detail.find(what) != std::string::npos;
  };
  CHECK(refused(plan_of(request_of(Collective::all_reduce, 4, 64 << 10), "two_shot"), "rank 0, lane 0, step"));
  CHECK(refused(plan_of(request_of(Collective::barrier, 4, 0), "dissemination", false), "barrier has no name; those that have: allreduce"));
  CHECK(refused(plan_of(request_of(Collective::all_reduce, 4, 64 << 10), "direct_two_shot"), "rank"));
  Plan strange = *plan_of(request_of(Collective::all_reduce, 3, 1 << 20), "ring", false);
  strange.header.algorithm = "a<b>&\"c\"";
  CHECK(from_msccl(to_msccl(strange)).header.algorithm == strange.header.algorithm);
}
