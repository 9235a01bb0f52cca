#include "bootstrap/approach.hpp"

#include <algorithm>

#include "bootstrap/peers.hpp"

namespace rondo {
namespace {

constexpr std::int64_t stranger_ns = 3'000'000'000;  // how long a meeting of another job may take to make room
constexpr std::int64_t loss_ns = 1'000'000'000;      // how long the goal may be unreachable after it hung up on this rank, before it counts as gone
constexpr std::int64_t shortest_pause_ns = 1'000'000;
constexpr std::int64_t longest_pause_ns = 50'000'000;

}  // namespace

std::optional<Error> Approach::fail(Failure failure, const Error& why, std::int64_t now_ns) {
  why_ = why.detail;
  if (failure == Failure::refused) return why;
  if (failure == Failure::hung_up && !own_trouble_) return own_trouble_.error();  // it has been said
  if (failure == Failure::hung_up) {
    hung_up_ = why;
    hung_up_ns_ = now_ns;
  }
  if (hung_up_ && now_ns > hung_up_ns_ + loss_ns) return hung_up_;
  if (!own_trouble_ && now_ns > give_up_ns_) return own_trouble_.error();
  if (failure == Failure::no_descriptor) return own_trouble_ ? why : own_trouble_.error();
  if (failure != Failure::stranger) return std::nullopt;
  if (stranger_since_ns_ < 0) stranger_since_ns_ = now_ns;
  if (now_ns > stranger_since_ns_ + stranger_ns) return in_bootstrap(Errc::invalid_argument, why_);
  return std::nullopt;
}

std::int64_t Approach::pause_ns() { return pause_ns_ = std::clamp(2 * pause_ns_, shortest_pause_ns, longest_pause_ns); }

std::optional<Error> Approach::expire(std::int64_t now_ns) const {
  if (now_ns <= give_up_ns_) return std::nullopt;
  if (!own_trouble_) return own_trouble_.error();
  return in_bootstrap(Errc::deadline_exceeded, "no sign of rank " + std::to_string(goal_) + " of job '" + job_ + "': " + why_);
}

}  // namespace rondo
