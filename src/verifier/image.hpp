// A plan laid flat: all ranks' lanes and steps in a few arrays, names resolved to numbers. What the proof walks over. Of a symmetric plan rank 0's are
// enough: each stands for those of all ranks, and a lane that is waited for, or that meets another, is one of the image as a shift moves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "rondo/plan.hpp"
#include "verifier/shifts.hpp"

namespace rondo::verifier {

inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Beyond these a plan is refused: what a hostile file can cost stays bounded.
inline constexpr std::uint64_t max_steps = std::uint64_t{1} << 26;
inline constexpr std::uint64_t max_work = std::uint64_t{1} << 30;   ///< chunk accesses and turns of one run
inline constexpr std::uint64_t max_cells = std::uint64_t{1} << 26;  ///< chunks of memory followed in one run
inline constexpr std::uint64_t max_clock_words = std::uint64_t{1} << 28;
inline constexpr std::uint64_t max_dense_work = std::uint64_t{1} << 36;  ///< steps × lanes, of exact clocks

struct FlatOperand {
  std::uint32_t rank = 0;   ///< whose buffer (symmetric: as an element of the shifts); for a link: the link's number
  std::uint32_t index = 0;  ///< chunk; for a link: the message's number among those of a body
  Buffer buffer = Buffer::input;
};

struct FlatStep {
  StepKind kind = StepKind::copy;
  bool finish = false;
  std::uint16_t sources = 0;
  std::uint16_t destinations = 0;
  std::uint32_t skew = 0;
  std::uint32_t first = 0;        ///< move: first of its operands, sources before destinations; wait: the signal's step
  std::uint32_t count = 0;        ///< move: chunks; wait: lag
  std::uint32_t target_lane = 0;  ///< wait: the signal's lane
  std::uint32_t target_shift = 0; ///< wait, symmetric: and whose
  std::uint32_t target_skew = 0;  ///< wait: the signal's skew
  std::uint32_t first_after = 0;  ///< its afters end where those of the step behind it begin
  std::uint32_t once = none;      ///< move: the word that ranks share it out by
};

/// "Not before that step": both resolved.
struct FlatAfter {
  std::uint32_t lane = 0;
  std::uint32_t step = 0;
};

/// One end of a message of the body, in the order in which a message of one piece passes the link.
struct LinkMessage {
  std::uint32_t link = 0;
  std::uint32_t skew = 0;
  std::uint32_t step = 0;
  std::uint32_t count = 0;
  std::uint32_t operand = 0;  ///< among Image::operands
};

struct Link {
  std::uint32_t from = 0;  ///< symmetric: 0, so that `to` says how its ends lie to one another
  std::uint32_t to = 0;
  std::uint32_t channel = 0;
  std::uint32_t sender = none;      ///< lane
  std::uint32_t receiver = none;    ///< lane
  std::uint32_t first_send = 0;     ///< among Image::sends
  std::uint32_t first_receive = 0;  ///< among Image::receives
  std::uint32_t send_count = 0;
  std::uint32_t receive_count = 0;
};

/// Where a step is, in the plan's own numbers.
struct StepName {
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t step = 0;
};

/// Lanes and steps are numbered through over all ranks. A *whole* lane is one of the plan: of an image of all ranks its lanes, of a symmetric one's lane
/// l, moved by shift g, number g × lanes() + l.
struct Image {
  PlanHeader header;
  std::optional<Shifts> shifts;  ///< of a symmetric image
  std::vector<FlatStep> steps;  ///< one more than there are, to end the last one's afters
  std::vector<FlatOperand> operands;
  std::vector<FlatAfter> afters;
  std::vector<std::uint32_t> rank_lanes;  ///< first lane of each rank, and the end
  std::vector<std::uint32_t> lane_steps;  ///< first step of each lane, and the end
  std::vector<std::uint32_t> lane_rank;
  std::vector<std::uint32_t> lane_low;   ///< smallest skew
  std::vector<std::uint32_t> lane_high;  ///< largest skew
  std::vector<LinkMessage> sends;
  std::vector<LinkMessage> receives;
  std::vector<Link> links;
  std::vector<std::uint32_t> scratch_chunks;  ///< of each rank, as far as any step touches it
  std::uint32_t low_skew = 0;
  std::uint32_t high_skew = 0;
  std::uint64_t chunk_steps = 0;
  std::uint64_t accesses = 0;  ///< operands × chunks of a body

  std::uint32_t lanes() const { return static_cast<std::uint32_t>(lane_rank.size()); }
  std::uint32_t held_ranks() const { return static_cast<std::uint32_t>(rank_lanes.size() - 1); }
  std::uint64_t whole_lanes() const { return shifts ? std::uint64_t{lanes()} * header.ranks : lanes(); }
  std::uint32_t first_whole_lane(std::uint32_t rank) const { return shifts ? rank * lanes() : rank_lanes[rank]; }
  /// Where a shift takes a lane; where there are no shifts, to itself.
  std::uint32_t moved_lane(std::uint32_t by, std::uint32_t whole) const {
    return shifts && by != 0 ? shifts->moved(by, whole / lanes()) * lanes() + whole % lanes() : whole;
  }
  std::uint32_t inverse(std::uint32_t by) const { return shifts ? shifts->inverse(by) : 0; }

  std::uint32_t step_count() const { return static_cast<std::uint32_t>(steps.size() - 1); }
  std::uint32_t lane_of(std::uint32_t step) const;
  StepName name(std::uint32_t step) const;
  std::uint64_t turns(std::uint32_t lane, std::uint64_t pieces) const {
    return pieces + lane_high[lane] - lane_low[lane];
  }
  /// A number for what a lane does to a piece in a step of this skew: from 1 on, growing as the lane goes on.
  std::uint32_t event(std::uint32_t lane, std::uint32_t step, std::uint32_t skew, std::uint32_t piece) const {
    return (piece + skew - lane_low[lane]) * (lane_steps[lane + 1] - lane_steps[lane]) + step - lane_steps[lane] + 1;
  }
  std::uint32_t step_of_event(std::uint32_t lane, std::uint32_t event) const {
    return lane_steps[lane] + (event - 1) % (lane_steps[lane + 1] - lane_steps[lane]);
  }
  std::uint32_t piece_of_event(std::uint32_t lane, std::uint32_t event) const {
    return (event - 1) / (lane_steps[lane + 1] - lane_steps[lane]) + lane_low[lane] - steps[step_of_event(lane, event)].skew;
  }
  /// Steps looked at and chunks touched in a run over so many pieces.
  std::uint64_t work(std::uint64_t pieces) const;
};

/// Checks a plan's form and lays it flat, in one pass over its programs. Errors (invalid_plan): its form is wrong, or it is larger than the verifier takes.
Result<Image> make_image(const Plan& plan);

struct Symmetry;
/// The image of a symmetric plan. Nothing when all its ranks together are larger than the verifier takes.
std::optional<Image> make_symmetric_image(const PlanHeader& header, Symmetry symmetry);

}  // namespace rondo::verifier
