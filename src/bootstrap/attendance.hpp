// Who has come to a meeting, who is awaited, and what whoever says that it is a rank is answered. Pure: neither sockets nor a clock (see rounds.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/hello.hpp"
#include "rondo/result.hpp"

namespace rondo {

/// A job, as its members name it in errors.
struct JobName {
  std::string job;
  std::uint32_t size = 1;
};

class Attendance {
 public:
  /// Held by the process `whom`, which is rank `holder`; `awaited` ascends.
  Attendance(JobName job, std::uint32_t holder, std::string whom, std::vector<std::uint32_t> awaited);

  /// "rank 0 (process 77)"
  const std::string& holder() const { return holders_name_; }

  struct Answer {
    Result<void> verdict;              ///< what the other is told
    std::optional<std::size_t> seat{}; ///< where it is taken in: its place among the awaited
  };
  Answer hear(const Hello& hello, const std::string& whom);

  std::size_t seats() const { return awaited_.size(); }
  std::uint32_t rank_at(std::size_t seat) const { return awaited_[seat]; }
  bool is_awaited(std::size_t seat) const { return !come_[seat]; }
  /// Whether nobody is awaited any more; those who were refused aren't.
  bool is_complete() const { return missing_ == 0; }
  /// Why the job comes to nothing. Whoever comes from then on is told so.
  const std::optional<Error>& refusal() const { return refusal_; }
  /// Who isn't there, for an error when the time is over.
  Error missing() const;

  /// The first refusal stays.
  void refuse(const Error& error);
  /// One who has come has gone; `last_words`: why, if it said so.
  void lose(std::size_t seat, const Result<void>& last_words = {});
  /// One won't come. It isn't waited for, not even to tell it that the job comes to nothing because of it.
  void strike(std::size_t seat);
  /// Somebody who was no rank of the job, as a hint for those who miss one.
  void note_stranger(std::string complaint) { stranger_ = std::move(complaint); }

 private:
  std::optional<std::size_t> seat_of(std::uint32_t rank) const;
  void count(std::size_t seat);

  JobName job_;
  std::uint32_t holder_;
  std::string holders_name_;
  std::vector<std::uint32_t> awaited_;
  std::vector<std::string> whom_;  ///< by seat
  std::vector<bool> come_;         ///< by seat, also those that were refused
  std::size_t missing_;
  std::optional<Error> refusal_;
  std::string stranger_;
};

}  // namespace rondo
