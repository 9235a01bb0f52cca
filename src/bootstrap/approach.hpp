// What a rank does on its way to the one that takes it in, over a network: when it tries again, and when it gives up. Pure (see rounds.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "rondo/result.hpp"

namespace rondo {

class Approach {
 public:
  /// How an attempt failed.
  enum class Failure {
    unreached,      ///< nobody was there, or who was there hung up
    stranger,       ///< who was there is of another job
    no_descriptor,
    hung_up,        ///< when this rank was to be taken in: there were too many others, or that rank has gone
    refused,        ///< the answer was no
  };

  /// To rank `goal` of `job`. `give_up_ns`: its deadline; sooner where it has `own_trouble` and comes to say so.
  Approach(std::uint32_t goal, std::string job, std::int64_t give_up_ns, Result<void> own_trouble)
      : goal_(goal), job_(std::move(job)), give_up_ns_(give_up_ns), own_trouble_(std::move(own_trouble)) {}

  std::int64_t give_up_ns() const { return give_up_ns_; }
  /// What this rank ends with, after an attempt that failed at `now_ns` by `why`; nothing: it tries again after pause_ns().
  std::optional<Error> fail(Failure failure, const Error& why, std::int64_t now_ns);
  /// Longer each time.
  std::int64_t pause_ns();
  /// After the pause.
  std::optional<Error> expire(std::int64_t now_ns) const;

 private:
  std::uint32_t goal_;
  std::string job_;
  std::int64_t give_up_ns_;
  Result<void> own_trouble_;
  std::string why_;
  std::int64_t stranger_since_ns_ = -1;
  std::int64_t hung_up_ns_ = 0;
  std::optional<Error> hung_up_;
  std::int64_t pause_ns_ = 0;
};

}  // namespace rondo
