#include "verifier/image.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "plan/form.hpp"
#include "plan/limits.hpp"
#include "verifier/symmetry.hpp"

namespace rondo::verifier {
namespace {

Error too_large(const std::string& what) {
  return Error{Errc::invalid_plan, "the plan is too large to prove: " + what, 0, "verify"};
}

class ImageMaker {
 public:
  explicit ImageMaker(const PlanHeader& header) {
    image_.header = header;
    image_.rank_lanes.push_back(0);
    image_.lane_steps.push_back(0);
  }

  Result<Image> make(const Plan& plan) {
    if (auto fine = plan::check_header(plan); !fine) return fine.error();
    plan::ProgramChecks checks(plan.header, Form::whole);
    image_.scratch_chunks.assign(plan.header.ranks, 0);
    for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank) {
      const Program program = plan.program(rank);
      if (auto fine = checks.add(program); !fine) return fine.error();
      if (!add_program(rank, program)) return too_large("more than " + std::to_string(max_steps) + " steps");
      if (image_.accesses > max_work) return too_large("more than " + std::to_string(max_work) + " chunk accesses");
    }
    if (auto fine = checks.end(); !fine) return fine.error();
    return end();
  }

  std::optional<Image> make(Symmetry symmetry) {
    const std::uint32_t ranks = image_.header.ranks;
    image_.shifts = std::move(symmetry.shifts);
    image_.scratch_chunks.assign(1, 0);
    const bool fits = add_program(0, symmetry.program) && image_.steps.size() <= max_steps / ranks && image_.accesses <= max_work / ranks;
    if (!fits || image_.whole_lanes() >= none) return std::nullopt;
    return end();
  }

 private:
  /// False: too many steps.
  bool add_program(std::uint32_t rank, const Program& program) {
    for (const Lane& lane : program.lanes) {
      if (image_.steps.size() + lane.steps.size() > max_steps) return false;
      add_lane(rank, lane);
    }
    image_.rank_lanes.push_back(image_.lanes());
    return true;
  }

  Image end() {
    FlatStep end;
    end.first_after = static_cast<std::uint32_t>(image_.afters.size());
    image_.steps.push_back(end);
    resolve();
    order_links();
    return std::move(image_);
  }

  void add_lane(std::uint32_t rank, const Lane& lane) {
    std::uint32_t low = none;
    std::uint32_t high = 0;
    for (const Step& step : lane.steps) {
      add_step(rank, step);
      low = std::min(low, step.skew);
      high = std::max(high, step.skew);
    }
    if (lane.steps.empty()) low = 0;
    image_.low_skew = image_.lanes() == 0 ? low : std::min(image_.low_skew, low);
    image_.high_skew = std::max(image_.high_skew, high);
    image_.lane_low.push_back(low);
    image_.lane_high.push_back(high);
    image_.lane_rank.push_back(rank);
    image_.lane_steps.push_back(static_cast<std::uint32_t>(image_.steps.size()));
  }

  void add_step(std::uint32_t rank, const Step& step) {
    FlatStep flat;
    flat.kind = step.kind;
    flat.finish = step.finish;
    flat.skew = step.skew;
    flat.first_after = static_cast<std::uint32_t>(image_.afters.size());
    for (const After& after : step.after) image_.afters.push_back({after.lane, after.step});
    if (step.kind == StepKind::wait) {
      waits_.push_back({static_cast<std::uint32_t>(image_.steps.size()), step.wait});
    } else if (step.kind != StepKind::signal) {
      flat.first = static_cast<std::uint32_t>(image_.operands.size());
      flat.sources = static_cast<std::uint16_t>(step.sources.size());
      flat.destinations = static_cast<std::uint16_t>(step.destinations.size());
      flat.count = step.sources[0].count;
      if (step.once) flat.once = step.once->rank * plan::max_once + step.once->index;
      image_.chunk_steps += flat.count;
      image_.accesses += std::uint64_t{flat.count} * (step.sources.size() + step.destinations.size());
      for (const Operand& source : step.sources) add_operand(rank, step, source, false);
      for (const Operand& destination : step.destinations) add_operand(rank, step, destination, true);
    }
    image_.steps.push_back(flat);
  }

  void add_operand(std::uint32_t rank, const Step& step, const Operand& operand, bool destination) {
    const std::uint32_t owner = operand.rank == self ? rank : number_of(operand.rank);
    if (operand.buffer == Buffer::link) {
      const std::uint32_t from = destination || image_.shifts ? rank : owner;
      const std::uint32_t to = destination ? owner : image_.shifts ? image_.inverse(owner) : rank;
      const bool from_peer = image_.shifts && !destination;
      const std::uint32_t channel = from_peer ? image_.shifts->moved_channel(to, operand.index) : operand.index;  // as the sender numbers it
      const std::uint32_t link = link_number(from, to, channel);
      (destination ? image_.links[link].sender : image_.links[link].receiver) = image_.lanes();
      (destination ? image_.sends : image_.receives)
          .push_back({link, step.skew, static_cast<std::uint32_t>(image_.steps.size()), operand.count,
                      static_cast<std::uint32_t>(image_.operands.size())});
      image_.operands.push_back({link, operand.index, operand.buffer});
      return;
    }
    if (operand.buffer == Buffer::scratch)
      count_scratch(owner, operand.index + operand.count);
    image_.operands.push_back({owner, operand.index, operand.buffer});
  }

  void count_scratch(std::uint32_t owner, std::uint32_t chunks) {
    std::uint32_t& counted = image_.scratch_chunks[image_.shifts ? 0 : owner];
    counted = std::max(counted, chunks);
  }

  std::uint32_t number_of(std::uint32_t rank) const { return image_.shifts ? image_.shifts->element(rank) : rank; }

  struct LinkKeyHash {
    std::size_t operator()(const std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>& key) const {
      const auto [from, to, channel] = key;
      return ((std::uint64_t{from} << 32 | to) * 0x9e3779b97f4a7c15u + channel) * 0xbf58476d1ce4e5b9u >> 7;
    }
  };

  std::uint32_t link_number(std::uint32_t from, std::uint32_t to, std::uint32_t channel) {
    const auto [at, fresh] = numbers_.try_emplace({from, to, channel}, static_cast<std::uint32_t>(image_.links.size()));
    if (fresh) {
      Link link;
      link.from = from;
      link.to = to;
      link.channel = channel;
      image_.links.push_back(link);
    }
    return at->second;
  }

  /// Waits and afters name lanes of a rank; from now on they name lanes and steps of the image.
  void resolve() {
    std::vector<std::uint32_t> signals;
    std::vector<std::uint32_t> lane_signals{0};
    for (std::uint32_t lane = 0; lane < image_.lanes(); ++lane) {
      const std::uint32_t rank = image_.lane_rank[lane];
      for (std::uint32_t s = image_.lane_steps[lane]; s < image_.lane_steps[lane + 1]; ++s) {
        if (image_.steps[s].kind == StepKind::signal) signals.push_back(s);
        for (std::uint32_t a = image_.steps[s].first_after; a < image_.steps[s + 1].first_after; ++a) {
          FlatAfter& after = image_.afters[a];
          after.lane += image_.rank_lanes[rank];
          after.step += image_.lane_steps[after.lane];
        }
      }
      lane_signals.push_back(static_cast<std::uint32_t>(signals.size()));
    }
    for (const auto& [step, wait] : waits_) {
      FlatStep& flat = image_.steps[step];
      flat.target_lane = image_.rank_lanes[image_.shifts ? 0 : wait.rank] + wait.lane;
      flat.target_shift = image_.shifts ? number_of(wait.rank) : 0;
      flat.first = signals[lane_signals[flat.target_lane] + wait.signal];
      flat.target_skew = image_.steps[flat.first].skew;
      flat.count = wait.lag;
    }
  }

  void order_links() {
    order(image_.sends, &Link::first_send, &Link::send_count);
    order(image_.receives, &Link::first_receive, &Link::receive_count);
  }

  /// By link, and on each link by skew, then by step. They come by step.
  void order(std::vector<LinkMessage>& messages, std::uint32_t Link::*first, std::uint32_t Link::*count) {
    for (const LinkMessage& message : messages) ++(image_.links[message.link].*count);
    std::uint32_t begin = 0;
    std::vector<std::uint32_t> next;  // by link: where its next message goes
    for (Link& link : image_.links) {
      next.push_back(link.*first = begin);
      begin += link.*count;
    }
    std::vector<LinkMessage> ordered(messages.size());
    for (const LinkMessage& message : messages) ordered[next[message.link]++] = message;
    messages = std::move(ordered);
    const auto earlier = [](const LinkMessage& a, const LinkMessage& b) { return a.skew < b.skew; };
    for (const Link& link : image_.links) {
      const auto from = messages.begin() + link.*first, to = from + link.*count;
      if (!std::is_sorted(from, to, earlier)) std::stable_sort(from, to, earlier);
      for (std::uint32_t n = 0; n < link.*count; ++n) image_.operands[from[n].operand].index = n;
    }
  }

  struct PendingWait {
    std::uint32_t step;
    WaitFor wait;
  };

  Image image_;
  std::vector<PendingWait> waits_;
  std::unordered_map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t, LinkKeyHash> numbers_;
};

}  // namespace

std::uint32_t Image::lane_of(std::uint32_t step) const {
  const auto behind = std::upper_bound(lane_steps.begin(), lane_steps.end(), step);
  return static_cast<std::uint32_t>(behind - lane_steps.begin()) - 1;
}

StepName Image::name(std::uint32_t step) const {
  const std::uint32_t lane = lane_of(step);
  const std::uint32_t rank = lane_rank[lane];
  return {rank, lane - rank_lanes[rank], step - lane_steps[lane]};
}

std::uint64_t Image::work(std::uint64_t pieces) const {
  std::uint64_t work = accesses * pieces;
  for (std::uint32_t lane = 0; lane < lanes(); ++lane)
    work += (lane_steps[lane + 1] - lane_steps[lane]) * turns(lane, pieces);
  return work;
}

Result<Image> make_image(const Plan& plan) {
  return ImageMaker(plan.header).make(plan);
}

std::optional<Image> make_symmetric_image(const PlanHeader& header, Symmetry symmetry) {
  return ImageMaker(header).make(std::move(symmetry));
}

}  // namespace rondo::verifier
