// C++20's memory model for a few threads of a few steps, all of whose executions are tried. A word keeps all values it ever had; a load
// may give any that the thread doesn't know to be overwritten, as processors with weak memory do. Plain memory is watched for races.
// Left out: seq_cst fences, and loads that see what is stored because of them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace orders {

inline constexpr std::size_t most_threads = 3;
inline constexpr std::size_t most_words = 6;

/// What a thread knows: of each thread the steps that happened before, of each word the oldest value that it may still see.
struct Knowledge {
  std::array<std::uint32_t, most_threads> steps{};
  std::array<std::uint32_t, most_words> oldest{};

  void join(const Knowledge& other) {
    for (std::size_t i = 0; i < most_threads; ++i) steps[i] = std::max(steps[i], other.steps[i]);
    for (std::size_t i = 0; i < most_words; ++i) oldest[i] = std::max(oldest[i], other.oldest[i]);
  }
};

/// The decisions of one execution, and from them those of the next.
class Choices {
 public:
  std::uint32_t choose(std::uint32_t count) {
    if (at_ == taken_.size()) taken_.push_back({0, count});
    return taken_[at_++].first;
  }
  /// False: all have been tried.
  bool next() {
    at_ = 0;
    while (!taken_.empty() && taken_.back().first + 1 == taken_.back().second) taken_.pop_back();
    if (taken_.empty()) return false;
    ++taken_.back().first;
    return true;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> taken_;
  std::size_t at_ = 0;
};

/// A thread's body: a coroutine that stops before each step.
struct Body {
  struct promise_type {
    Body get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};

class World;

class Thread {
 public:
  Thread(World& world, std::size_t number) : world_(world), number_(number) {}

  /// A step: `act` when its turn comes, which is not before `ready`.
  template <class Act>
  struct Step {
    Thread& thread;
    Act act;
    std::function<bool()> ready;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<>) { thread.ready_ = ready; }
    auto await_resume() {
      ++thread.now_.steps[thread.number_];
      return act();
    }
  };
  template <class Act>
  Step<Act> step(Act act, std::function<bool()> ready = [] { return true; }) {
    return {*this, std::move(act), std::move(ready)};
  }

  auto load(std::size_t word, std::memory_order order) {
    return step([=, this] { return see(word, order, [](std::uint64_t) { return true; }); });
  }
  /// Loads until it gives a value that fits: one that is at least `least`, or another than `old`.
  template <class Fits>
  auto await_until(std::size_t word, Fits fits, std::memory_order order) {
    return step([=, this] { return see(word, order, fits); }, [=, this] { return !visible(word, order, fits).empty(); });
  }
  auto await(std::size_t word, std::uint64_t least, std::memory_order order) {
    return await_until(word, [least](std::uint64_t value) { return value >= least; }, order);
  }
  auto await_other(std::size_t word, std::uint64_t old, std::memory_order order) {
    return await_until(word, [old](std::uint64_t value) { return value != old; }, order);
  }
  auto store(std::size_t word, std::uint64_t value, std::memory_order order) {
    return step([=, this] { put(word, value, order, {}); });
  }
  /// exchange(1) until that gives 0.
  auto take(std::size_t word, std::memory_order order);
  auto fence(std::memory_order order) {
    return step([=, this] {
      if (order == std::memory_order_acquire) now_.join(seen_);
      if (order == std::memory_order_release) fenced_ = now_;
    });
  }
  auto read(std::size_t cell);
  auto write(std::size_t cell, std::uint64_t value);

 private:
  friend class World;
  std::vector<std::uint32_t> visible(std::size_t word, std::memory_order order, const std::function<bool(std::uint64_t)>& fits) const;
  std::uint64_t see(std::size_t word, std::memory_order order, const std::function<bool(std::uint64_t)>& fits);
  std::uint64_t take_in(std::size_t word, std::uint32_t index, std::memory_order order);
  void put(std::size_t word, std::uint64_t value, std::memory_order order, const Knowledge& inherited);

  World& world_;
  std::size_t number_;
  Knowledge now_, seen_, fenced_;  ///< seen_: of all that it loaded, for fences
  std::function<bool()> ready_ = [] { return true; };
  std::coroutine_handle<> handle_;
};

class World {
 public:
  explicit World(Choices& choices) : choices_(choices) {}
  Thread& thread() { return threads_.emplace_back(*this, threads_.size()); }
  void run(const std::vector<Body>& bodies) {
    for (std::size_t i = 0; i < bodies.size(); ++i) threads_[i].handle_ = bodies[i].handle;
    for (std::vector<Thread*> able;; able.clear()) {
      for (Thread& thread : threads_)
        if (!thread.handle_.done() && thread.ready_()) able.push_back(&thread);
      if (able.empty()) break;
      able[choices_.choose(static_cast<std::uint32_t>(able.size()))]->handle_.resume();
    }
    for (const Body& body : bodies) {
      if (!body.handle.done()) expect(false, "a thread waits for ever");
      body.handle.destroy();
    }
  }
  void expect(bool holds, const char* what) {
    if (!holds && violation.empty()) violation = what;
  }
  std::string violation;  ///< the first one

 private:
  friend class Thread;
  struct Value {
    std::uint64_t value = 0;
    Knowledge published;
  };
  struct Cell {
    std::uint64_t value = 0;
    std::size_t writer = 0;
    std::uint32_t written = 0;                        ///< the writer's step
    std::array<std::uint32_t, most_threads> read{};  ///< each reader's last step
  };
  Choices& choices_;
  std::vector<Thread> threads_ = [] { std::vector<Thread> none; none.reserve(most_threads); return none; }();
  std::array<std::vector<Value>, most_words> words_ = [] { std::array<std::vector<Value>, most_words> all; all.fill({Value{}}); return all; }();
  std::array<Cell, 4> cells_;
  std::array<std::uint32_t, most_words> latest_{};  ///< of each word the last sequentially consistent value
};

inline auto Thread::take(std::size_t word, std::memory_order order) {
  auto& values = world_.words_[word];
  return step(
      [=, this, &values] {
        const Knowledge inherited = values.back().published;
        take_in(word, static_cast<std::uint32_t>(values.size() - 1), order);
        put(word, 1, order, inherited);
      },
      [&values] { return values.back().value == 0; });
}

inline auto Thread::read(std::size_t cell) {
  return step([=, this] {
    World::Cell& at = world_.cells_[cell];
    world_.expect(at.written <= now_.steps[at.writer], "a read races with a write");
    at.read[number_] = now_.steps[number_];
    return at.value;
  });
}

inline auto Thread::write(std::size_t cell, std::uint64_t value) {
  return step([=, this] {
    World::Cell& at = world_.cells_[cell];
    world_.expect(at.written <= now_.steps[at.writer], "a write races with a write");
    for (std::size_t i = 0; i < most_threads; ++i) world_.expect(at.read[i] <= now_.steps[i], "a write races with a read");
    at.value = value;
    at.writer = number_;
    at.written = now_.steps[number_];
  });
}

inline std::vector<std::uint32_t> Thread::visible(std::size_t word, std::memory_order order, const std::function<bool(std::uint64_t)>& fits) const {
  std::vector<std::uint32_t> indices;
  const auto& values = world_.words_[word];
  const std::uint32_t first = order == std::memory_order_seq_cst ? world_.latest_[word] : 0;
  for (std::uint32_t i = std::max(first, now_.oldest[word]); i < values.size(); ++i)
    if (fits(values[i].value)) indices.push_back(i);
  return indices;
}

inline std::uint64_t Thread::see(std::size_t word, std::memory_order order, const std::function<bool(std::uint64_t)>& fits) {
  const auto indices = visible(word, order, fits);
  return take_in(word, indices[world_.choices_.choose(static_cast<std::uint32_t>(indices.size()))], order);
}

inline std::uint64_t Thread::take_in(std::size_t word, std::uint32_t index, std::memory_order order) {
  const World::Value& value = world_.words_[word][index];
  now_.oldest[word] = index;
  seen_.join(value.published);
  if (order == std::memory_order_acquire || order == std::memory_order_seq_cst) now_.join(value.published);
  return value.value;
}

/// `inherited`: what a read-modify-write passes on of the value it read. A plain store passes on nothing.
inline void Thread::put(std::size_t word, std::uint64_t value, std::memory_order order, const Knowledge& inherited) {
  auto& values = world_.words_[word];
  now_.oldest[word] = static_cast<std::uint32_t>(values.size());
  const bool consistent = order == std::memory_order_seq_cst;
  if (consistent) world_.latest_[word] = now_.oldest[word];
  Knowledge published = consistent || order == std::memory_order_release ? now_ : fenced_;
  published.join(inherited);
  values.push_back({value, published});
}

}  // namespace orders
