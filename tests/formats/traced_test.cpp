// What ranks do that run an imported plan is what its file says: as many moves and bytes of each kind on each rank, whatever the plan and its
// channels are called.
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>

#include "benchmarks/bench/data.hpp"
#include "perform.hpp"
#include "rondo/formats.hpp"
#include "support/catch.hpp"
#include "support/folders.hpp"
#include "support/ranks.hpp"
#include "support/sanitized.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Of one rank: chunks that copies and reductions make.
struct Moves {
  std::uint64_t copies = 0, reductions = 0;
  bool operator==(const Moves&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Moves& moves) { return out << moves.copies << " copied, " << moves.reductions << " reduced"; }

/// By rank, from an MSCCL file's text.
std::vector<Moves> moves_of_xml(const std::string& text) {
  static const std::regex element("<(gpu|step)\\b[^>]*>"), type("type=\"(\\w+)\""), count("cnt=\"(\\d+)\"");
  std::vector<Moves> moves;
  for (std::sregex_iterator at(text.begin(), text.end(), element), end; at != end; ++at) {
    if ((*at)[1] == "gpu") {
      moves.emplace_back();
      continue;
    }
    const std::string step = at->str();
    std::smatch kind, chunks;
    if (!std::regex_search(step, kind, type) || !std::regex_search(step, chunks, count) || kind[1] == "nop") continue;
    const bool reduces = kind[1].str().starts_with("rr") || kind[1] == "re";
    (reduces ? moves.back().reductions : moves.back().copies) += std::stoull(chunks[1]);
  }
  return moves;
}

/// Chunks of the plan that one of the file is cut into: thread blocks of a group do a slice each.
std::uint64_t slices_of(const nlohmann::json& file) {
  std::uint64_t slices = 1;
  for (const auto& gpu : file["gpus"])
    for (const auto& block : gpu["threadblocks"])
      for (const auto& operation : block["ops"])
        if (operation.contains("tbg_info")) slices = std::lcm(slices, operation["tbg_info"]["tbg_size"].get<std::uint64_t>());
  return slices;
}

/// By rank, from an MSCCL++ file's text.
std::vector<Moves> moves_of_json(const std::string& text) {
  const auto file = nlohmann::json::parse(text);
  const std::uint64_t slices = slices_of(file);
  std::vector<Moves> moves;
  for (const auto& gpu : file["gpus"]) {
    Moves& of = moves.emplace_back();
    for (const auto& block : gpu["threadblocks"])
      for (const auto& operation : block["ops"]) {
        if (!operation.contains("src_buff")) continue;
        const std::uint64_t parts = operation.contains("tbg_info") ? operation["tbg_info"]["tbg_size"].get<std::uint64_t>() : 1;
        const bool reduces = operation["name"].get<std::string>().starts_with("re") || operation["name"].get<std::string>().starts_with("rr");
        for (const auto& source : operation["src_buff"]) {
          (reduces ? of.reductions : of.copies) += source["size"].get<std::uint64_t>() * slices / parts;
          if (reduces) break;  // all sources make one result
        }
      }
  }
  return moves;
}

/// Runs the plan, and counts what ranks did; where a chunk has 64 bytes, so has each move.
std::string traced(const Plan& plan, std::vector<Moves>& moves) {
  constexpr std::uint64_t chunk_bytes = 64;
  const std::uint64_t count = plan.header.chunks_per_block * chunk_bytes / sizeof(float);
  const bool in_place = !plan.header.out_of_place;
  moves.assign(plan.header.ranks, {});
  const auto body = [&](Communicator& communicator) -> std::string {
    if (auto used = communicator.use_plan(plan); !used) return to_string(used.error());
    const Shape shape{plan.header.collective, DataType::f32, ReduceOp::sum, communicator.size(), communicator.rank(), plan.header.root, count};
    const BlockCounts blocks = block_counts(shape.collective, shape.ranks);
    // Memory that peers map: ordinary buffers would be copied to scratch first where a plan reads peers' inputs.
    const auto first = communicator.allocate(count * std::max(blocks.input, blocks.output) * sizeof(float));
    const auto second = communicator.allocate(count * blocks.output * sizeof(float));
    if (!first || !second) return "no memory";
    float* const memory = static_cast<float*>(first->get());
    float* const output = in_place ? memory : static_cast<float*>(second->get());
    float* const input = in_place && shape.collective == Collective::all_gather ? memory + shape.rank * count : memory;
    fill_input(shape, count, input);
    if (auto started = communicator.start_trace(1u << 16); !started) return to_string(started.error());
    if (auto done = communicator.run({shape.collective, input, output, count, shape.type, shape.op, shape.root}); !done) return to_string(done.error());
    const auto trace = communicator.stop_trace();
    if (!trace || trace->dropped != 0) return "the trace isn't whole";
    for (const TraceEvent& event : trace->events) {
      if (event.kind != TraceKind::copy && event.kind != TraceKind::reduce) continue;
      if (event.bytes != chunk_bytes || event.piece != 0) return "a move of " + std::to_string(event.bytes) + " bytes";
      ++(event.kind == TraceKind::copy ? moves[shape.rank].copies : moves[shape.rank].reductions);
    }
    return count_wrong(shape, count, output) == 0 ? "" : "the result is wrong";
  };
  return complaints(run_threads(plan.header.ranks, body));
}

std::vector<std::string> files() {
  std::vector<std::string> paths;
  for (const char* folder : {"/../shared/corpora/msccl", "/../shared/corpora/mscclpp", "/tests/formats/data"}) {
    const std::filesystem::path path = std::string(RONDO_SOURCE_DIR) + folder;
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) paths.push_back(entry.path().string());
  }
  return paths;
}

/// Another name, and every channel by another number.
std::string renamed(const std::string& text) {
  static const std::regex name("(name\"?[=:] ?)\"[^\"]*\""), channel("chan=\"(\\d+)\"");
  std::string changed = std::regex_replace(text, name, "$1\"something else\"", std::regex_constants::format_first_only);
  std::uint32_t channels = 0;
  for (std::sregex_iterator at(changed.begin(), changed.end(), channel), end; at != end; ++at)
    channels = std::max<std::uint32_t>(channels, static_cast<std::uint32_t>(std::stoul((*at)[1])) + 1);
  std::string result;
  auto from = changed.cbegin();
  for (std::sregex_iterator at(changed.begin(), changed.end(), channel), end; at != end; ++at) {
    result.append(from, (*at)[0].first);
    result += "chan=\"" + std::to_string(channels - 1 - std::stoul((*at)[1])) + "\"";
    from = (*at)[0].second;
  }
  return result.append(from, changed.cend());
}

}  // namespace

TEST_CASE("ranks make the moves of an imported plan's file, and no others, whatever the plan and its channels are called") {
  REQUIRE(files().size() >= 4);
  for (const std::string& path : files()) {
    INFO(path);
    const std::string text = read_text(path);
    const bool xml = path.ends_with(".xml");
    const auto expected = xml ? moves_of_xml(text) : moves_of_json(text);
    for (const std::string& written : {text, renamed(text)}) {
      const auto plan = import_plan(written);
      REQUIRE(plan);
      CHECK((written == text) == (plan->header.algorithm != "something else"));
      if (plan->header.ranks > (sanitized ? 8 : 16) || plan->header.collective == Collective::all_to_all) continue;
      std::vector<Moves> moves;
      CHECK(traced(*plan, moves) == "");
      CHECK(moves == expected);
    }
  }
}
