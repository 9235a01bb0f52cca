#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.hpp"
#include "bootstrap/bootstrap.hpp"

namespace rondo {
namespace {

/// Rounds of an all-gather between threads. A round ends when the last one has taken its copy.
struct Board {
  explicit Board(std::uint32_t n) : posted(n, nullptr) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const Address*> posted;
  std::uint32_t here = 0;
  std::uint32_t taken = 0;
  std::uint64_t round = 0;
  bool broken = false;
};

class InProcessBootstrap final : public Bootstrap {
 public:
  InProcessBootstrap(std::uint32_t rank, std::shared_ptr<Board> board) : rank_(rank), board_(std::move(board)) {}
  ~InProcessBootstrap() override {
    const std::lock_guard lock(board_->mutex);
    board_->broken = true;  // whoever still waits for this rank waits in vain
    board_->changed.notify_all();
  }

  Result<Gathered> all_gather(const Address& own, std::int64_t deadline_ns) override {
    std::unique_lock lock(board_->mutex);
    const std::uint32_t size = static_cast<std::uint32_t>(board_->posted.size());
    const auto deadline = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns));
    const std::uint64_t round = board_->round;
    if (board_->broken) return left();  // what it posted may be gone
    board_->posted[rank_] = &own;
    if (++board_->here == size) board_->changed.notify_all();
    while (board_->here != size) {
      if (board_->broken) return left();
      if (board_->changed.wait_until(lock, deadline) == std::cv_status::timeout && board_->here != size) return missing();
    }
    Gathered all;
    Result<void> copied;
    for (const Address* address : board_->posted) {
      auto copy = duplicate(*address);
      if (!copy) copied = copy.error();
      all.push_back(copy ? std::move(*copy) : Address{});
    }
    // Nobody's address may go before everybody has a copy, and no next round may begin.
    if (++board_->taken == size) {
      board_->here = board_->taken = 0;
      ++board_->round;
      board_->posted.assign(size, nullptr);
      board_->changed.notify_all();
    }
    while (board_->round == round) board_->changed.wait(lock);
    if (!copied) return copied.error();
    return all;
  }

 private:
  static Error left() { return Error{Errc::peer_failed, "a rank of this process left during creation", 0, "bootstrap"}; }

  Error missing() const {
    std::string names;
    for (std::size_t rank = 0; rank < board_->posted.size(); ++rank)
      if (board_->posted[rank] == nullptr) names += (names.empty() ? "" : ", ") + std::to_string(rank);
    board_->broken = true;
    board_->changed.notify_all();
    return Error{Errc::deadline_exceeded, "no sign of rank " + names, 0, "bootstrap"};
  }

  std::uint32_t rank_;
  std::shared_ptr<Board> board_;  // shared: the ranks' threads end in any order
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> make_in_process_bootstrap(std::uint32_t n) {
  const auto board = std::make_shared<Board>(n);
  std::vector<std::unique_ptr<Bootstrap>> ends;
  for (std::uint32_t rank = 0; rank < n; ++rank) ends.push_back(std::make_unique<InProcessBootstrap>(rank, board));
  return ends;
}

}  // namespace rondo
