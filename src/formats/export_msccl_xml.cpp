// Plan → MSCCL XML. A lane with one peer each way becomes a thread block as it is; another lane's steps are dealt out to a block for each peer, which wait for
// one another where the lane has them follow one another.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "formats/msccl_actions.hpp"
#include "formats/names.hpp"
#include "rondo/formats.hpp"

namespace rondo {
namespace {

using formats::Action;

Error not_in_msccl(const std::string& what) { return Error{Errc::unsupported, what + " (MSCCL XML)", 0, "export_msccl_xml"}; }

struct Place {
  std::uint32_t block = 0;
  std::uint32_t step = 0;  // among the block's actions
  bool operator==(const Place&) const = default;
};

struct Entry {
  Action action;
  std::vector<Place> after;  // in other blocks
  bool awaited = false;      // another block waits for it
};

struct Block {
  std::int64_t send = -1;
  std::int64_t receive = -1;
  std::uint32_t channel = 0;
  std::vector<Entry> entries;
};

/// The credits that import adds are left out: signals, and waits for earlier pieces.
bool is_credit(const Step& step) { return step.kind == StepKind::signal || (step.kind == StepKind::wait && step.wait.lag > 0); }

class GpuWriter {
 public:
  GpuWriter(const PlanHeader& header, std::uint32_t rank, const Program& program)
      : header_(header), rank_(rank), program_(program), scratch_(header.scratch_chunks) {}

  Result<void> deal() {
    ends_.resize(program_.lanes.size());
    for (std::uint32_t lane = 0; lane < program_.lanes.size(); ++lane)
      if (auto done = deal_lane(lane); !done) return done;
    return order_lanes();
  }

  std::uint32_t scratch() const { return scratch_; }
  std::uint32_t channels() const {
    std::uint32_t most = 1;
    for (const Block& block : blocks_) most = std::max(most, block.channel + 1);
    return most;
  }

  void write(std::uint32_t scratch, std::string& text) const;

 private:
  Error fail(std::uint32_t lane, std::uint32_t step, const std::string& what) const {
    return not_in_msccl("rank " + std::to_string(rank_) + ", lane " + std::to_string(lane) + ", step " + std::to_string(step) + ": " + what);
  }

  static bool one_peer_each_way(const Lane& lane) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> to, from;
    std::set<std::uint32_t> channels;
    for (const Step& step : lane.steps)
      for (const auto* operands : {&step.sources, &step.destinations})
        for (const Operand& operand : *operands) {
          if (operand.buffer != Buffer::link) continue;
          (operands == &step.sources ? from : to).emplace(operand.rank, operand.index);
          channels.insert(operand.index);
        }
    return to.size() <= 1 && from.size() <= 1 && channels.size() <= 1;
  }

  /// MSCCL does one piece after the other, so a step that is turns late comes after those that aren't.
  static std::vector<std::uint32_t> one_piece_order(const Lane& lane) {
    std::vector<std::uint32_t> order(lane.steps.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return lane.steps[a].skew < lane.steps[b].skew; });
    return order;
  }

  Result<void> deal_lane(std::uint32_t number) {
    const Lane& lane = program_.lanes[number];
    const bool whole = one_peer_each_way(lane);
    formats::ActionMaker maker(header_, rank_, whole, scratch_);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> by_link;  // rank and channel → block
    const auto first = static_cast<std::uint32_t>(blocks_.size());
    blocks_.emplace_back();
    Place last{first, 0};
    bool any = false;
    ends_[number].resize(lane.steps.size());
    for (const std::uint32_t s : one_piece_order(lane)) {
      const Step& step = lane.steps[s];
      ends_[number][s] = last;
      if (is_credit(step)) continue;
      if (step.kind == StepKind::wait) return fail(number, s, "a wait for a signal can't be said; only messages and steps of the same rank order steps");
      std::vector<Action> actions;
      if (const std::string wrong = maker.add(step, actions); !wrong.empty()) return fail(number, s, wrong);
      for (const Action& action : actions) {
        const std::uint32_t block = whole ? first : block_of(action, by_link, first, any ? last.block : first);
        if (action.send) blocks_[block].send = action.send->rank;
        if (action.receive) blocks_[block].receive = action.receive->rank;
        if (action.send || action.receive) blocks_[block].channel = (action.send ? action.send : action.receive)->index;
        Entry entry{action, {}, false};
        if (any && last.block != block) entry.after.push_back(last);
        blocks_[block].entries.push_back(std::move(entry));
        last = {block, static_cast<std::uint32_t>(blocks_[block].entries.size() - 1)};
        if (&action == &actions.front()) begins_[{number, s}] = last;
        any = true;
      }
      ends_[number][s] = last;
    }
    return {};
  }

  /// Messages of one peer and channel have a block; what has none stays where the lane is.
  std::uint32_t block_of(const Action& action, std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>& by_link, std::uint32_t first,
                         std::uint32_t here) {
    if (!action.send && !action.receive) return here;
    const Operand& link = action.send ? *action.send : *action.receive;
    const bool unclaimed = by_link.empty();
    const auto [at, fresh] = by_link.emplace(std::pair{link.rank, link.index}, unclaimed ? first : static_cast<std::uint32_t>(blocks_.size()));
    if (fresh && !unclaimed) blocks_.emplace_back();
    return at->second;
  }

  /// Steps that the plan has wait for steps of other lanes.
  Result<void> order_lanes() {
    for (std::uint32_t lane = 0; lane < program_.lanes.size(); ++lane)
      for (std::uint32_t s = 0; s < program_.lanes[lane].steps.size(); ++s) {
        const Step& step = program_.lanes[lane].steps[s];
        if (step.after.empty()) continue;
        const auto begin = begins_.find({lane, s});
        if (begin == begins_.end()) return fail(lane, s, "what has no step of its own can't wait for others");
        Entry& entry = blocks_[begin->second.block].entries[begin->second.step];
        for (const After& after : step.after) {
          if (is_credit(program_.lanes[after.lane].steps[after.step])) return fail(lane, s, "a wait for a signal's step can't be said");
          entry.after.push_back(ends_[after.lane][after.step]);
        }
      }
    for (Block& block : blocks_)
      for (Entry& entry : block.entries)
        for (const Place& place : entry.after) blocks_[place.block].entries[place.step].awaited = true;
    return {};
  }

  const PlanHeader& header_;
  const std::uint32_t rank_;
  const Program& program_;
  std::uint32_t scratch_;
  std::vector<Block> blocks_;
  std::vector<std::vector<Place>> ends_;                             // by lane and step: its last action, or the one before it
  std::map<std::pair<std::uint32_t, std::uint32_t>, Place> begins_;  // by lane and step: its first action
};

std::string attribute(const char* name, std::int64_t value) { return std::string(" ") + name + "=\"" + std::to_string(value) + "\""; }

std::string buffer(const char* name, const char* offset, const std::optional<Operand>& operand, const std::optional<Operand>& otherwise) {
  const Operand shown = operand ? *operand : otherwise ? *otherwise : Operand{};
  const char* const letter = shown.buffer == Buffer::input ? "i" : shown.buffer == Buffer::output ? "o" : "s";
  return std::string(" ") + name + "=\"" + letter + "\"" + attribute(offset, shown.index);
}

/// A nop carries each dependency but an entry's last; blocks count nops as steps.
void GpuWriter::write(std::uint32_t scratch, std::string& text) const {
  const bool gives = has_input(header_, rank_), takes = has_output(header_, rank_);
  text += "  <gpu" + attribute("id", rank_) + attribute("i_chunks", gives ? input_chunks(header_) : 0) +
          attribute("o_chunks", takes ? output_chunks(header_) : 0) + attribute("s_chunks", scratch) + ">\n";
  std::vector<std::vector<std::uint32_t>> numbers;
  for (const Block& block : blocks_) {
    std::uint32_t next = 0;
    auto& own = numbers.emplace_back();
    for (const Entry& entry : block.entries) {
      next += entry.after.empty() ? 0 : static_cast<std::uint32_t>(entry.after.size() - 1);
      own.push_back(next++);
    }
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    text += "    <tb" + attribute("id", static_cast<std::int64_t>(b)) + attribute("send", block.send) + attribute("recv", block.receive) +
            attribute("chan", block.channel) + ">\n";
    std::uint32_t number = 0;
    const auto line = [&](const char* type, const std::string& operands, std::int64_t count, const Place* after, bool awaited) {
      text += "      <step" + attribute("s", number++) + " type=\"" + type + "\"" + operands + attribute("cnt", count) +
              attribute("depid", after ? static_cast<std::int64_t>(after->block) : -1) +
              attribute("deps", after ? static_cast<std::int64_t>(numbers[after->block][after->step]) : -1) + attribute("hasdep", awaited ? 1 : 0) + "/>\n";
    };
    for (const Entry& entry : block.entries) {
      const Action& action = entry.action;
      for (std::size_t k = 0; k + 1 < entry.after.size(); ++k)
        line("nop", " srcbuf=\"i\" srcoff=\"-1\" dstbuf=\"o\" dstoff=\"-1\"", 0, &entry.after[k], false);
      line(action.type, buffer("srcbuf", "srcoff", action.source, action.destination) + buffer("dstbuf", "dstoff", action.destination, action.source),
           action.count, entry.after.empty() ? nullptr : &entry.after.back(), entry.awaited);
    }
    text += "    </tb>\n";
  }
  text += "  </gpu>\n";
}

std::string escaped(const std::string& name) {
  std::string text;
  for (const char letter : name) {
    if (letter == '&' || letter == '<' || letter == '>' || letter == '"' || static_cast<unsigned char>(letter) < ' ')
      text += "&#" + std::to_string(static_cast<unsigned char>(letter)) + ";";
    else
      text += letter;
  }
  return text;
}

}  // namespace

Result<std::string> export_msccl_xml(const Plan& plan) {
  if (auto fine = check_form(plan); !fine) return fine.error();
  const PlanHeader& header = plan.header;
  const auto name = formats::name_of(header.collective);
  if (!name) return not_in_msccl(std::string(to_string(header.collective)) + " has no name; those that have: " + formats::collective_choices);
  if (header.wire) return not_in_msccl("scratch of " + std::string(to_string(*header.wire)) + " can't be said");
  std::vector<GpuWriter> gpus;
  std::vector<Program> programs;
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) programs.push_back(plan.program(rank));
  std::uint32_t scratch = header.scratch_chunks, channels = 1;
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) {
    gpus.emplace_back(header, rank, programs[rank]);
    if (auto done = gpus.back().deal(); !done) return done.error();
    scratch = std::max(scratch, gpus.back().scratch());
    channels = std::max(channels, gpus.back().channels());
  }
  const BlockCounts blocks = block_counts(header.collective, header.ranks);
  std::string text = "<algo name=\"" + escaped(header.algorithm) + "\" proto=\"Simple\"" + attribute("nchannels", channels) +
                     attribute("nchunksperloop", std::int64_t{header.chunks_per_block} * std::max(blocks.input, blocks.output)) +
                     attribute("ngpus", header.ranks) + " coll=\"" + std::string(*name) + "\"" + attribute("inplace", header.in_place ? 1 : 0) +
                     attribute("outofplace", header.out_of_place ? 1 : 0) + attribute("minBytes", static_cast<std::int64_t>(header.min_bytes)) +
                     attribute("maxBytes", static_cast<std::int64_t>(header.max_bytes));
  if (is_rooted(header.collective)) text += attribute("root", header.root);
  text += ">\n";
  for (const GpuWriter& gpu : gpus) gpu.write(scratch, text);
  return text + "</algo>\n";
}

}  // namespace rondo
