// Plans written as MSCCL XML: read back they are the same, and the text itself does what the collective promises, as performed by an interpreter of its own.
#include <pugixml.hpp>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <tuple>

#include "perform.hpp"
#include "planner/requests.hpp"
#include "rondo/formats.hpp"
#include "rondo/verifier.hpp"
#include "support/catch.hpp"
#include "support/folders.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

using Contributions = std::map<std::pair<int, int>, int>;  // (rank, chunk) → how often

/// Performs the text of an MSCCL algorithm out of place: thread blocks step by step, links that hold any number of messages. Knows nothing of Rondo's plans.
class TextInterpreter {
 public:
  explicit TextInterpreter(const std::string& text) {
    REQUIRE(document_.load_string(text.c_str()));
    const int chunks = document_.first_child().attribute("nchunksperloop").as_int();
    for (const pugi::xml_node gpu : document_.first_child().children("gpu")) {
      const int id = gpu.attribute("id").as_int();
      for (int c = 0; c < std::max(chunks, gpu.attribute("i_chunks").as_int()); ++c) memory_[{id, 'i', c}] = {{{id, c}, 1}};
      for (const pugi::xml_node tb : gpu.children("tb")) blocks_.push_back({id, tb, tb.first_child(), 0});
    }
  }

  /// False: it got stuck.
  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Block& block : blocks_)
        while (block.step && ready(block)) {
          perform(block);
          ++done_[{block.gpu, block.tb.attribute("id").as_int()}];
          block.step = block.step.next_sibling();
          moved = true;
        }
    }
    return std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return !block.step; });
  }

  const Contributions& at(int gpu, char buffer, int chunk) { return memory_[{gpu, buffer, chunk}]; }
  bool drained() const {
    return std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link.second.empty(); });
  }

 private:
  struct Block {
    int gpu;
    pugi::xml_node tb, step;
    int unused;
  };
  using Message = std::vector<Contributions>;

  std::deque<Message>& incoming(const Block& block) {
    return links_[{block.tb.attribute("recv").as_int(), block.gpu, block.tb.attribute("chan").as_int()}];
  }

  bool ready(const Block& block) {
    const int on = block.step.attribute("depid").as_int();
    if (on >= 0 && done_[{block.gpu, on}] <= block.step.attribute("deps").as_int()) return false;
    const std::string type = block.step.attribute("type").value();
    return type[0] != 'r' || type == "re" || !incoming(block).empty();
  }

  void perform(const Block& block) {
    const std::string type = block.step.attribute("type").value();
    if (type == "nop") return;
    const int count = block.step.attribute("cnt").as_int();
    const auto place = [&](const char* buffer, const char* offset, int k) -> Contributions& {
      return memory_[{block.gpu, block.step.attribute(buffer).value()[0], block.step.attribute(offset).as_int() + k}];
    };
    Message message(static_cast<std::size_t>(count));
    const bool receives = type[0] == 'r' && type != "re";
    if (receives) {
      message = incoming(block).front();
      incoming(block).pop_front();
    }
    REQUIRE(message.size() == static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) {
      Contributions& value = message[static_cast<std::size_t>(k)];
      const bool reads = type == "s" || type == "cpy" || type == "re" || type.starts_with("rr");
      if (reads)
        for (const auto& [whose, times] : place("srcbuf", "srcoff", k)) value[whose] += times;
      if (type == "re")
        for (const auto& [whose, times] : place("dstbuf", "dstoff", k)) value[whose] += times;
      if (type != "s" && type != "rrs") place("dstbuf", "dstoff", k) = value;
    }
    if (type == "s" || type == "rcs" || type == "rrs" || type == "rrcs")
      links_[{block.gpu, block.tb.attribute("send").as_int(), block.tb.attribute("chan").as_int()}].push_back(message);
  }

  pugi::xml_document document_;
  std::vector<Block> blocks_;
  std::map<std::pair<int, int>, int> done_;  // steps by gpu and thread block
  std::map<std::tuple<int, char, int>, Contributions> memory_;
  std::map<std::tuple<int, int, int>, std::deque<Message>> links_;
};

/// What an output chunk has to hold.
Contributions promised(const PlanHeader& header, int rank, int chunk) {
  const int chunks = static_cast<int>(header.chunks_per_block), root = static_cast<int>(header.root);
  Contributions sum;
  switch (header.collective) {
    case Collective::broadcast:
      return {{{root, chunk}, 1}};
    case Collective::all_gather:
      return {{{chunk / chunks, chunk % chunks}, 1}};
    case Collective::all_to_all:
      return {{{chunk / chunks, rank * chunks + chunk % chunks}, 1}};
    default:
      for (int other = 0; other < static_cast<int>(header.ranks); ++other)
        sum[{other, header.collective == Collective::reduce_scatter ? rank * chunks + chunk : chunk}] = 1;
      return sum;
  }
}

std::string judged(const std::string& text, const PlanHeader& header) {
  TextInterpreter interpreter(text);
  if (!interpreter.run()) return "it gets stuck";
  if (!interpreter.drained()) return "messages are left";
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank)
    for (std::uint32_t c = 0; has_output(header, rank) && c < output_chunks(header); ++c)
      if (interpreter.at(static_cast<int>(rank), 'o', static_cast<int>(c)) != promised(header, static_cast<int>(rank), static_cast<int>(c)))
        return "output " + std::to_string(c) + " of gpu " + std::to_string(rank) + " is wrong";
  return "";
}

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

Plan imported(const std::string& text) {
  auto plan = import_msccl_xml(text);
  if (!plan) FAIL(plan.error().detail);
  return std::move(*plan);
}

std::string exported(const Plan& plan) {
  auto text = export_msccl_xml(plan);
  if (!text) FAIL(text.error().detail);
  return std::move(*text);
}

}  // namespace

TEST_CASE("a plan that was read from MSCCL XML, written and read again is the same plan") {
  REQUIRE(msccl_texts().size() >= 2);
  for (const std::string& text : msccl_texts()) {
    const Plan plan = imported(text);
    INFO(plan.header.algorithm);
    const std::string written = exported(plan);
    const Plan again = imported(written);
    CHECK(again.header == plan.header);
    CHECK(same(again, plan));
    CHECK(exported(again) == written);
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
        const std::string text = exported(*plan);
        CHECK(judged(text, plan->header) == "");
        const Plan again = imported(text);
        CHECK(again.header.collective == collective);
        CHECK(again.header.root == plan->header.root);
        CHECK(perform(again) == "");
        CHECK(verify(again).proved());
        CHECK(exported(again) == text);
        ++written;
      }
  CHECK(written > 150);
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
  CHECK(imported(exported(strange)).header.algorithm == strange.header.algorithm);
}
