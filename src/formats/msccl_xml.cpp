// MSCCL XML → Plan. What a step reads and writes follows MSCCL's interpreter: a thread block is a lane, a (peer,
// channel) pair is a link, and a step's unused operand says nothing. hasdep is a hint for its flags, which the IR has
// no use for.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "base/xml_element.hpp"
#include "formats/canonicalise.hpp"
#include "formats/limits.hpp"
#include "formats/names.hpp"
#include "rondo/formats.hpp"

namespace rondo {
namespace {

using Element = XmlElement;

struct StepType {
  std::string_view name;
  bool receives, reads, reads_destination, writes, sends;
};
constexpr std::array step_types{
    StepType{"s", false, true, false, false, true},     StepType{"r", true, false, false, true, false},
    StepType{"rcs", true, false, false, true, true},    StepType{"rrs", true, true, false, false, true},
    StepType{"rrc", true, true, false, true, false},    StepType{"rrcs", true, true, false, true, true},
    StepType{"cpy", false, true, false, true, false},   StepType{"re", false, true, true, true, false},
    StepType{"nop", false, false, false, false, false},
};

constexpr std::int64_t none = -1;

struct Dependency {
  std::int64_t block = none;
  std::int64_t step = none;
};

/// A thread block while it is read. The file counts nops as steps, the lane has none.
struct FileBlock {
  std::int64_t send = none;
  std::int64_t receive = none;
  std::uint32_t channel = 0;
  bool sends = false;
  bool receives = false;
  Lane lane;
  std::vector<std::vector<Dependency>> dependencies;  // by step of the lane
  std::vector<std::uint32_t> step_of;                 // step of the file → the lane's step at or after it
};

class Importer {
 public:
  Result<Plan> run(std::string_view text) {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
    if (!parsed) {
      problem_.report("not well-formed XML at " + line_and_column(text, static_cast<std::size_t>(parsed.offset)) + ": " + parsed.description());
      return problem_.error();
    }
    const pugi::xml_node root = document.document_element();
    if (std::string_view(root.name()) != "algo") {
      problem_.report("expected the root element <algo>, found <" + std::string(root.name()) + ">");
      return problem_.error();
    }
    Element algo(root, nullptr, nullptr, problem_);
    read_header(algo);
    if (!problem_.any()) read_gpus(algo);
    if (problem_.any()) return problem_.error();
    Plan plan = formats::canonicalise(std::move(header_), std::move(programs_), algo.has("root"), problem_);
    if (problem_.any()) return problem_.error();
    return plan;
  }

 private:
  void read_header(Element& algo) {
    header_.algorithm = algo.text("name");
    header_.ranks = algo.count("ngpus", 1, formats::max_ranks);
    const std::string_view collective = algo.text("coll");
    if (collective == "custom") {
      problem_.report("not supported: coll=\"custom\" at algo: it promises nothing that could be proved",
                      Errc::unsupported);
    } else if (const auto known = formats::collective_named(collective)) {
      header_.collective = *known;
    } else {
      algo.expected("coll", formats::collective_choices);
    }
    // nchunksperloop counts the chunks of the larger of a rank's two buffers.
    const BlockCounts counts = block_counts(header_.collective, header_.ranks);
    const std::uint32_t blocks = std::max(counts.input, counts.output);
    const std::uint32_t chunks = algo.count("nchunksperloop", 1, formats::max_chunks);
    if (chunks % blocks != 0)
      algo.expected("nchunksperloop", "a multiple of the collective's " + std::to_string(blocks) + " blocks");
    header_.chunks_per_block = std::max(1u, chunks / blocks);
    read_ranges(algo);
    if (algo.has("root")) header_.root = algo.count("root", 0, header_.ranks - 1);
  }

  // Sizes are recorded, not enforced; a missing attribute and maxBytes = 0 mean no limit, as in the IR. Files without
  // outofplace serve one of the two cases, which inplace says.
  void read_ranges(Element& algo) {
    constexpr std::int64_t any_size = std::int64_t{1} << 62;
    if (algo.has("minBytes")) header_.min_bytes = static_cast<std::uint64_t>(algo.number("minBytes", 0, any_size));
    if (algo.has("maxBytes")) header_.max_bytes = static_cast<std::uint64_t>(algo.number("maxBytes", 0, any_size));
    if (header_.max_bytes != 0 && header_.max_bytes < header_.min_bytes)
      algo.expected("maxBytes", "0 or at least minBytes");
    header_.in_place = algo.number("inplace", 0, 1) == 1;
    header_.out_of_place = algo.has("outofplace") ? algo.number("outofplace", 0, 1) == 1 : !header_.in_place;
    if (!header_.in_place && !header_.out_of_place) algo.expected("outofplace", "1, since inplace is 0");
  }

  void read_gpus(Element& algo) {
    std::map<std::uint32_t, Program> found;  // sized by what the file holds, not by what ngpus claims
    for (const pugi::xml_node node : algo.node().children("gpu")) {
      Element gpu(node, "id", nullptr, problem_);
      const std::uint32_t id = gpu.count("id", 0, header_.ranks - 1);
      if (problem_.any()) return;
      if (found.count(id) != 0) gpu.report("a gpu of this id came before; expected each id once");
      found[id] = read_gpu(gpu, id);
      if (problem_.any()) return;
    }
    for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) {
      const auto at = found.find(rank);
      if (at == found.end()) {
        return problem_.report("algo: gpu " + std::to_string(rank) + " is missing; ngpus is " +
                               std::to_string(header_.ranks));
      }
      programs_.push_back(std::move(at->second));
    }
  }

  Program read_gpu(Element& gpu, std::uint32_t rank) {
    check_chunks(gpu, "i_chunks", input_chunks(header_));
    check_chunks(gpu, "o_chunks", output_chunks(header_));
    scratch_ = gpu.count("s_chunks", 0, formats::max_chunks);
    header_.scratch_chunks = std::max(header_.scratch_chunks, scratch_);
    std::map<std::int64_t, FileBlock> blocks;
    for (const pugi::xml_node node : gpu.node().children("tb")) {
      Element tb(node, "id", &gpu, problem_);
      const std::int64_t id = tb.number("id", 0, formats::max_channels);
      if (!problem_.any() && blocks.count(id) != 0) tb.report("a tb of this id came before; expected each id once");
      if (problem_.any()) return {};
      blocks[id] = read_block(tb, rank);
    }
    check_links(gpu, blocks);
    Program program;
    for (auto& [id, block] : blocks) {
      resolve(gpu, blocks, id, block);
      if (problem_.any()) return {};
    }
    for (auto& [id, block] : blocks) program.lanes.push_back(std::move(block.lane));
    return program;
  }

  // 0 means that the buffer isn't used, or shares the other one's memory.
  void check_chunks(Element& gpu, XmlName name, std::uint32_t chunks) {
    const std::uint32_t said = gpu.count(name, 0, formats::max_chunks);
    if (said != 0 && said != chunks) {
      gpu.expected(name, "0 or " + std::to_string(chunks) + ", which nchunksperloop makes of this collective");
    }
  }

  FileBlock read_block(Element& tb, std::uint32_t rank) {
    FileBlock block;
    block.send = tb.number("send", none, header_.ranks - 1);
    block.receive = tb.number("recv", none, header_.ranks - 1);
    if (block.send == rank) tb.expected("send", "another gpu or -1");
    if (block.receive == rank) tb.expected("recv", "another gpu or -1");
    block.channel = tb.count("chan", 0, formats::max_channels - 1);
    std::vector<Dependency> pending;  // a nop's dependency is the next step's
    for (const pugi::xml_node node : tb.node().children("step")) {
      Element step(node, "s", &tb, problem_);
      const auto expected = static_cast<std::int64_t>(block.step_of.size());
      if (step.number("s", 0, formats::max_channels) != expected) step.expected("s", std::to_string(expected));
      block.step_of.push_back(static_cast<std::uint32_t>(block.lane.steps.size()));
      read_step(step, block, pending);
      if (problem_.any()) break;
    }
    return block;
  }

  void read_step(Element& step, FileBlock& block, std::vector<Dependency>& pending) {
    const std::string_view name = step.text("type");
    const auto type =
        std::find_if(step_types.begin(), step_types.end(), [&](const StepType& t) { return t.name == name; });
    if (type == step_types.end()) return step.expected("type", "one of s r rcs rrs rrc rrcs cpy re nop");
    const Dependency dependency{step.number("depid", none, formats::max_channels),
                                step.number("deps", none, formats::max_channels)};
    if (dependency.block != none) pending.push_back(dependency);
    if (name == "nop") return;
    if (type->sends && block.send == none) step.report("it sends, but its tb has send=\"-1\"");
    if (type->receives && block.receive == none) step.report("it receives, but its tb has recv=\"-1\"");
    const std::uint32_t count = step.count("cnt", 1, formats::max_chunks);
    const Operand incoming{Buffer::link, static_cast<std::uint32_t>(block.receive), block.channel, count};
    Step made;
    if (type->reads_destination) made.sources.push_back(read_operand(step, "dstbuf", "dstoff", count));
    if (type->reads) made.sources.push_back(read_operand(step, "srcbuf", "srcoff", count));
    if (type->receives) made.sources.push_back(incoming);
    if (type->writes) made.destinations.push_back(read_operand(step, "dstbuf", "dstoff", count));
    if (type->sends)
      made.destinations.push_back({Buffer::link, static_cast<std::uint32_t>(block.send), block.channel, count});
    made.kind = made.sources.size() > 1 ? StepKind::reduce : StepKind::copy;
    block.sends |= type->sends;
    block.receives |= type->receives;
    block.lane.steps.push_back(std::move(made));
    block.dependencies.push_back(std::exchange(pending, {}));
  }

  Operand read_operand(Element& step, XmlName buffer_name, XmlName offset_name, std::uint32_t count) {
    const std::string_view name = step.text(buffer_name);
    Operand operand;
    std::uint32_t chunks = 0;
    if (name == "i") {
      operand.buffer = Buffer::input;
      chunks = input_chunks(header_);
    } else if (name == "o") {
      operand.buffer = Buffer::output;
      chunks = output_chunks(header_);
    } else if (name == "s") {
      operand.buffer = Buffer::scratch;
      chunks = scratch_;
    } else {
      step.expected(buffer_name, "i, o or s");
    }
    operand.index = step.count(offset_name, 0, formats::max_chunks);
    operand.count = count;
    if (operand.index + count > chunks) {
      step.expected(offset_name, "with cnt=\"" + std::to_string(count) + "\" to end within the " +
                                     std::to_string(chunks) + " chunks of buffer " + std::string(name));
    }
    return operand;
  }

  // Two thread blocks at one end of a link would have no order between their messages.
  void check_links(Element& gpu, const std::map<std::int64_t, FileBlock>& blocks) {
    std::map<std::pair<std::int64_t, std::uint32_t>, std::int64_t> senders, receivers;
    const auto claim = [&](auto& owners, std::int64_t peer, std::uint32_t channel, std::int64_t id, const char* does) {
      const auto [at, fresh] = owners.emplace(std::pair{peer, channel}, id);
      if (fresh) return;
      gpu.report("tb " + std::to_string(at->second) + " and tb " + std::to_string(id) + " both " + does + " gpu " +
                 std::to_string(peer) + " on channel " + std::to_string(channel));
    };
    for (const auto& [id, block] : blocks) {
      if (block.sends) claim(senders, block.send, block.channel, id, "send to");
      if (block.receives) claim(receivers, block.receive, block.channel, id, "receive from");
    }
  }

  /// Turns depid and deps into `after`.
  void resolve(const Element& gpu, const std::map<std::int64_t, FileBlock>& blocks, std::int64_t id, FileBlock& block) {
    for (std::size_t s = 0; s < block.dependencies.size(); ++s) {
      for (const Dependency& dependency : block.dependencies[s]) {
        const auto at = blocks.find(dependency.block);
        const auto fail = [&](const std::string& what) {
          problem_.report(gpu.place() + ", tb " + std::to_string(id) + ": depid=\"" + std::to_string(dependency.block) +
                          "\" deps=\"" + std::to_string(dependency.step) + "\": " + what);
        };
        if (at == blocks.end()) return fail("expected a tb of this gpu");
        const FileBlock& other = at->second;
        if (dependency.step < 0 || dependency.step >= static_cast<std::int64_t>(other.step_of.size())) {
          return fail("expected one of that tb's " + std::to_string(other.step_of.size()) + " steps");
        }
        // MSCCL folds a nop into the step after it, so whoever names a nop waits for that step.
        const std::uint32_t step = other.step_of[dependency.step];
        if (step >= other.dependencies.size()) return fail("expected a step, found a nop that no step follows");
        const auto lane = static_cast<std::uint32_t>(std::distance(blocks.begin(), at));
        if (at->first != id) {
          block.lane.steps[s].after.push_back({lane, step});
        } else if (step >= s) {
          return fail("expected an earlier step of its own tb");
        }
      }
    }
  }

  PlanHeader header_;
  std::vector<Program> programs_;
  std::uint32_t scratch_ = 0;  // chunks of the gpu that is being read
  Problem problem_{"import_msccl_xml"};
};

}  // namespace

Result<Plan> import_msccl_xml(std::string_view text) {
  if (text.size() > formats::max_file_bytes) {
    return Error{Errc::invalid_plan, "the text has more than " + std::to_string(formats::max_file_bytes) + " bytes", 0,
                 "import_msccl_xml"};
  }
  return Importer().run(text);
}

}  // namespace rondo
