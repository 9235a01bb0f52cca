#include "bootstrap/attendance.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "bootstrap/peers.hpp"

namespace rondo {

Attendance::Attendance(JobName job, std::uint32_t holder, std::string whom, std::vector<std::uint32_t> awaited)
    : job_(std::move(job)), holder_(holder), holders_name_(name_of(holder, whom)), awaited_(std::move(awaited)), whom_(awaited_.size()), come_(awaited_.size()),
      missing_(awaited_.size()) {}

std::optional<std::size_t> Attendance::seat_of(std::uint32_t rank) const {
  const auto found = std::lower_bound(awaited_.begin(), awaited_.end(), rank);
  if (found == awaited_.end() || *found != rank) return std::nullopt;
  return static_cast<std::size_t>(found - awaited_.begin());
}

void Attendance::count(std::size_t seat) {
  if (come_[seat]) return;
  come_[seat] = true;
  --missing_;
}

Attendance::Answer Attendance::hear(const Hello& hello, const std::string& whom) {
  const std::string name = name_of(hello.rank, whom);
  const auto seat = seat_of(hello.rank);
  const bool twice = hello.rank == holder_ || (seat && come_[*seat]);
  if (refusal_) {
    if (seat && !twice) count(*seat);
    return {*refusal_};
  }
  if (auto judged = judge(hello, job_.size, job_.job, name); !judged) {
    if (seat && !twice) count(*seat);
    refuse(judged.error());
    return {judged};
  }
  if (twice || !seat) {
    // Whoever was first is the rank; a second one is told so and harms nobody.
    const std::string first = hello.rank == holder_ ? holders_name_ : seat ? name_of(hello.rank, whom_[*seat]) : "";
    stranger_ = name + " came" + (twice ? " though " + first + " was there" : ", which is out of range");
    return {in_bootstrap(Errc::invalid_argument, stranger_)};
  }
  count(*seat);
  whom_[*seat] = whom;
  return {{}, seat};
}

void Attendance::refuse(const Error& error) {
  if (!refusal_) refusal_ = error;
}

void Attendance::lose(std::size_t seat, const Result<void>& last_words) {
  refuse(last_words ? lost(awaited_[seat], whom_[seat], in_bootstrap(Errc::io, "", ECONNRESET)) : last_words.error());
}

void Attendance::strike(std::size_t seat) {
  count(seat);
  refuse(has_gone(awaited_[seat]));
}

Error Attendance::missing() const {
  std::string names;
  for (std::size_t seat = 0; seat < come_.size(); ++seat)
    if (!come_[seat]) names += (names.empty() ? "" : ", ") + std::to_string(awaited_[seat]);
  return in_bootstrap(Errc::deadline_exceeded, "no sign of rank " + names + " of job '" + job_.job + "'" + (stranger_.empty() ? "" : "; " + stranger_));
}

}  // namespace rondo
