// A simulated job: its ranks, what each is doing, and what happens to them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/approach.hpp"
#include "bootstrap/attendance.hpp"
#include "bootstrap/rounds.hpp"
#include "network.hpp"
#include "simulation.hpp"

using rondo::Approach;
using rondo::Attendance;
using rondo::Error;
using rondo::Letter;
using rondo::Result;
using rondo::Rounds;
using rondo::TreePlace;

inline constexpr std::int64_t ms = 1'000'000;
inline constexpr std::uint32_t look_up = 0;  ///< the number of the round by which ranks hear where their parents listen

/// What passes instead of the bytes of a gift: the ranks whose it is of, the round, and a sum that only the right ones have.
struct Goods {
  std::uint32_t round = 0, begin = 0, end = 0;
  std::uint64_t sum = 0;
};

struct Parcel {
  Letter::Kind kind = Letter::Kind::verdict;
  Goods goods{};
  std::vector<std::uint32_t> ranks{};
  std::shared_ptr<const Error> verdict{};  ///< null: well
};

enum class Phase { calling, holding, in_round, between, ended, crashed };

struct Member {
  Phase phase = Phase::between;
  bool stopped = false;
  bool listens = false;  ///< others may call; they wait until it holds a meeting
  std::unique_ptr<Approach> approach;
  std::uint32_t goal = 0;
  std::uint64_t attempt = 0;
  std::unique_ptr<Attendance> attendance;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> knocking;  ///< who waits at the door, and by which attempt
  std::vector<std::uint32_t> seated;
  std::vector<std::pair<std::uint32_t, std::optional<Parcel>>> unread;  ///< from whom: what it doesn't look at yet; nothing: the connection's end
  bool dismissed = false;
  std::unique_ptr<Rounds> rounds;
  std::uint32_t round = look_up;
  std::int64_t deadline_ns = 0;
  std::map<std::uint32_t, Goods> gifts;
  Goods all;
  std::map<std::uint32_t, std::int64_t> leaves_ns;  ///< by rank: when all that is to be sent there has left
  std::uint32_t heard_whole = 0;                    ///< rounds that ended well
  std::int64_t hung_up_ns = 0;                      ///< when it was first, while it called
  std::string error;
  bool came_nowhere = false;                        ///< it ended while it called a rank that had ended before
  std::int64_t ended_ns = 0;
};

class World {
 public:
  explicit World(const Job& job);
  Outcome run();

 private:
  /// In the tree by which rounds go after the first.
  TreePlace place_of(std::uint32_t rank) const { return rondo::place_in_tree(rank, job_.ranks, job_.fan_out); }

  // Faults, and whether all did as they must: simulation.cpp.
  std::int64_t chance(std::int64_t most) { return static_cast<std::int64_t>(network_.random() % static_cast<std::uint64_t>(most)); }
  /// At some moment, of which there are as many in each phase as things happen in it; to any rank that lives.
  void fault(const std::function<void(std::uint32_t)>& what);
  void crash(std::uint32_t rank);
  void stop(std::uint32_t rank);
  void cut(std::uint32_t rank);
  bool is_up(std::uint32_t rank) const;
  void judge(std::uint32_t rank, Outcome& outcome);

  // Ways to another rank, and meetings: world_meeting.cpp.
  void start(std::uint32_t rank);
  void approach(std::uint32_t rank, std::uint32_t goal);
  std::int64_t patience(std::uint32_t rank) const;
  void call(std::uint32_t rank);
  /// The attempt fails then, unless something comes of it before.
  void miss(std::uint32_t rank, std::uint64_t attempt, std::int64_t in_ns, Approach::Failure failure);
  void fail_attempt(std::uint32_t rank, Approach::Failure failure);
  void knock(std::uint32_t rank, std::uint64_t attempt);
  void hold(std::uint32_t rank, std::vector<std::uint32_t> awaited);
  void open_door(std::uint32_t rank);
  /// Those who are there hear it, those who come within `ns` when they come.
  void dismiss(std::uint32_t rank, std::int64_t ns);

  // Rounds: world_rounds.cpp.
  void enter_soon(std::uint32_t rank, std::uint32_t round);
  void look_at_clock(std::uint32_t rank);
  /// What the machine wants said is on its way; and then on to what comes next.
  void post(std::uint32_t rank);
  void post(std::uint32_t rank, const Letter& letter);
  /// Whether it looks for what comes. Between rounds not all do.
  bool looks(std::uint32_t rank) const { return members_[rank].phase != Phase::between || (rank + job_.seed) % 2 == 0; }
  Goods collect(std::uint32_t rank);
  void finish_round(std::uint32_t rank);
  /// Its parent has taken it in.
  void branch(std::uint32_t rank);
  /// Now and then the sender's kernel has no room at once.
  void send(std::uint32_t from, std::uint32_t to, const Parcel& parcel);
  /// When all has left that was to be sent.
  void close_behind(std::uint32_t from, std::uint32_t to);
  void receive(std::uint32_t rank, std::uint32_t from, const Parcel& parcel);
  /// As src/bootstrap's correspondence.cpp: who spreads listens to nobody.
  bool is_unread(std::uint32_t rank, std::uint32_t from) const;
  void lose(std::uint32_t rank, std::uint32_t peer);
  void give_up(std::uint32_t rank, const Error& error);
  void say_farewell(std::uint32_t rank);
  void end(std::uint32_t rank, const std::string& error);

  Job job_;
  Network network_;
  std::vector<Member> members_;
  bool branches_;
  bool spreading_ = false;
  std::set<std::uint32_t> faulty_;
  bool unseen_ = false;  ///< a rank went that nobody had heard of: it is waited for
  std::string wrong_;
};
