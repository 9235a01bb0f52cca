// How ranks find one another: an all-gather of small messages before any transport exists.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// What every rank gave, by rank. Owns the descriptors that came with it.
class Gathered {
 public:
  explicit Gathered(std::vector<Address> all = {}) : all_(std::move(all)) {}
  Gathered(Gathered&& other) noexcept : all_(std::exchange(other.all_, {})) {}
  Gathered& operator=(Gathered&& other) noexcept {
    std::swap(all_, other.all_);
    return *this;
  }
  ~Gathered() {
    for (const Address& address : all_)
      for (const int fd : address.descriptors) ::close(fd);
  }

  void push_back(Address address) { all_.push_back(std::move(address)); }
  Address take(std::size_t rank) { return std::exchange(all_[rank], {}); }
  bool empty() const { return all_.empty(); }
  const Address& operator[](std::size_t rank) const { return all_[rank]; }
  const std::vector<Address>& all() const { return all_; }

 private:
  std::vector<Address> all_;
};

/// A copy with descriptors of its own. Errors: out_of_resources, nothing left open.
Result<Address> duplicate(const Address& from);

class Lifelines;

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  /// Every rank gives its address and gets all, by rank (its own too). Descriptors are duplicated: the sender keeps its own.
  /// Blocks until all ranks have come or `deadline_ns` (monotonic).
  /// Errors, on every rank: deadline_exceeded (names the ranks that are missing), peer_failed (names the rank, as soon as it has gone),
  /// invalid_argument.
  virtual Result<Gathered> all_gather(const Address& own, std::int64_t deadline_ns) = 0;
  /// Whether a rank is known to have gone, so that the next round will fail and say which. For whoever waits for ranks in another way between two rounds.
  virtual bool is_over() { return false; }
  /// Whether descriptors may be in what is given. Over a network none may.
  virtual bool passes_descriptors() const { return true; }
  /// This rank's machine as the other ranks reach it: a numeric address.
  virtual std::string own_address() const { return "127.0.0.1"; }
  /// The connections of a network's bootstrap, to go on as lifelines when its last round is over; null: there are none.
  virtual std::shared_ptr<Lifelines> into_lifelines() { return nullptr; }
};

/// `n` ends of one in-process bootstrap, for n threads.
std::vector<std::unique_ptr<Bootstrap>> make_in_process_bootstrap(std::uint32_t n);

/// Whether a rank won't come any more, known from elsewhere. Asked while ranks are waited for, some hundred times a second. Empty: nothing is known.
using StaysAway = std::function<bool(std::uint32_t rank)>;

/// Processes of one user on one machine that share `job` (any text). Rank 0 listens on an abstract UNIX socket named from
/// user and job; all others connect to it. Whoever isn't a rank is dropped. Blocks until connected, rank 0 until all are.
/// Errors: out_of_resources (too few descriptors to make a communicator; the others hear of it), mismatch (of library versions or
/// sizes), and those of all_gather.
Result<std::unique_ptr<Bootstrap>> make_local_bootstrap(std::uint32_t rank, std::uint32_t size, const std::string& job, std::int64_t deadline_ns,
                                                        const StaysAway& stays_away = {});

}  // namespace rondo
