// Links become scratch, signals and waits; `after` becomes signals and waits.
#include <algorithm>
#include <memory>
#include <vector>

#include "plan/edit.hpp"
#include "plan/shape.hpp"
#include "rondo/plan.hpp"

namespace rondo {
namespace {

using rondo::plan::KeptLinks;
using rondo::plan::LinkEnd;
using rondo::plan::LinkKey;
using rondo::plan::Message;
using rondo::plan::Shape;

constexpr std::uint32_t never = rondo::plan::never;

const LinkEnd* find(const std::map<LinkKey, LinkEnd>& ends, const LinkKey& key) {
  const auto at = ends.find(key);
  return at == ends.end() ? nullptr : &at->second;
}

/// One rank's lowered program.
class Lowering {
 public:
  Lowering(const PlanHeader& header, const std::vector<Shape>& shapes, const KeptLinks& kept, std::uint32_t rank)
      : header_(header), shapes_(shapes), kept_(kept), rank_(rank), shape_(shapes[rank]) {}

  Program run(const Program& program) {
    Program lowered;
    for (lane_ = 0; lane_ < program.lanes.size(); ++lane_) {
      steps_.clear();
      const std::vector<Step>& steps = program.lanes[lane_].steps;
      for (std::uint32_t s = 0; s < steps.size(); ++s) lower_step(steps[s], s);
      lowered.lanes.push_back({std::move(steps_)});
    }
    return lowered;
  }

 private:
  void lower_step(Step step, std::uint32_t s) {
    const Message place{step.skew, lane_, s, 0, 1};
    for (const After& after : step.after)
      wait({rank_, after.lane, shape_.signal_behind(after.lane, after.step), 0}, step);
    step.after.clear();
    if (step.kind == StepKind::wait && step.wait.rank < header_.ranks)
      step.wait.signal = shapes_[step.wait.rank].signal(step.wait.lane, step.wait.signal);
    for (std::uint32_t k = 0; k < step.sources.size(); ++k)
      if (kept_.make_slot(rank_, step.sources[k])) receive(step, k, place);
    for (std::uint32_t k = 0; k < step.destinations.size(); ++k)
      if (kept_.make_slot(rank_, step.destinations[k])) send(step, k, place);
    const std::uint32_t skew = step.skew;
    steps_.push_back(std::move(step));
    if (shape_.trivial || !shape_.inserted[lane_][s]) return;
    steps_.push_back(plan::make_signal(skew));
  }

  void wait(const WaitFor& wait, const Step& step) { steps_.push_back(plan::make_wait(wait, step.skew)); }

  const Shape* shape_of_peer(std::uint32_t rank) const { return rank < header_.ranks ? &shapes_[rank] : nullptr; }

  /// Reads the sender's slot once it is signalled; a message that is never sent is waited for in vain.
  void receive(Step& step, std::uint32_t operand, Message place) {
    place.operand = operand;
    Operand& link = step.sources[operand];
    const std::size_t number = shape_.receives.at({link.rank, link.index}).number(place);
    const Shape* peer = shape_of_peer(link.rank);
    const LinkEnd* end = peer == nullptr ? nullptr : find(peer->sends, {rank_, link.index});
    if (end == nullptr || number >= end->messages.size()) {
      wait({link.rank, 0, never, 0}, step);
      link = {Buffer::scratch, link.rank, 0, link.count};
      return;
    }
    const Message& sent = end->messages[number];
    wait({link.rank, sent.lane, peer->signal_behind(sent.lane, sent.step), 0}, step);
    link = {Buffer::scratch, link.rank, slot(*end, number), link.count};
  }

  /// Writes the slot once its previous tenant was received; what is never received blocks nobody here.
  void send(Step& step, std::uint32_t operand, Message place) {
    place.operand = operand;
    Operand& link = step.destinations[operand];
    const LinkEnd& end = shape_.sends.at({link.rank, link.index});
    const std::size_t number = end.number(place);
    const Shape* peer = shape_of_peer(link.rank);
    const LinkEnd* theirs = peer == nullptr ? nullptr : find(peer->receives, {rank_, link.index});
    // The tenant before: of this piece, or the last one to use the slot `depth` pieces ago.
    const std::size_t last = end.messages.size() - 1;
    const bool this_piece = number >= end.slots;
    const std::size_t tenant = this_piece ? number - end.slots : last - (last - number) % end.slots;
    if (theirs != nullptr && tenant < theirs->messages.size()) {
      const Message& received = theirs->messages[tenant];
      wait(
          {link.rank, received.lane, peer->signal_behind(received.lane, received.step), this_piece ? 0 : header_.depth},
          step);
    }
    link = {Buffer::scratch, self, slot(end, number), link.count};
  }

  static std::uint32_t slot(const LinkEnd& end, std::size_t number) {
    return end.chunk + static_cast<std::uint32_t>(number % end.slots) * end.width;
  }

  const PlanHeader& header_;
  const std::vector<Shape>& shapes_;
  const KeptLinks& kept_;
  const std::uint32_t rank_;
  const Shape& shape_;
  std::uint32_t lane_ = 0;
  std::vector<Step> steps_;
};

/// Lowers one rank's program when it is asked for, so that a rank doesn't pay for all others' steps.
class LoweredPrograms : public ProgramSource {
 public:
  LoweredPrograms(const Plan& plan, std::vector<Shape> shapes, KeptLinks kept) : plan_(plan), shapes_(std::move(shapes)), kept_(std::move(kept)) {}

  Program program(std::uint32_t rank) const override {
    return Lowering(plan_.header, shapes_, kept_, rank).run(plan_.program(rank));
  }

 private:
  const Plan plan_;
  const std::vector<Shape> shapes_;
  const KeptLinks kept_;
};

Plan lower_but(const Plan& plan, KeptLinks kept) {
  if (!plan.header.neutral || !plan.complete()) return plan;
  std::vector<Shape> shapes;
  bool trivial = true;
  bool keeps_links = false;
  std::uint64_t chunks = plan.header.scratch_chunks;
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank) {
    shapes.push_back(rondo::plan::shape_of(plan.header, plan.program(rank), kept, rank));
    trivial &= shapes.back().trivial;
    keeps_links |= shapes.back().keeps_links;
    chunks = std::max(chunks, shapes.back().chunks);
  }
  Plan lowered = plan;
  lowered.header.neutral = keeps_links;
  if (trivial) return lowered;
  lowered = Plan(lowered.header, std::make_shared<LoweredPrograms>(plan, std::move(shapes), std::move(kept)));
  lowered.header.scratch_chunks = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunks, never));
  lowered.predicted_ns = plan.predicted_ns;
  lowered.considered = plan.considered;
  return lowered;
}

}  // namespace

Plan lower(const Plan& plan, bool keep_links) { return lower_but(plan, KeptLinks(keep_links)); }

Plan lower(const Plan& plan, const std::vector<std::uint32_t>& hosts) { return lower_but(plan, KeptLinks(hosts)); }

}  // namespace rondo
