// A communicator whose calls take arrays.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "rondo/communicator.hpp"

namespace rondo_python {

/// A started call. It ends by itself, whoever forgets it: the communicator holds the arrays until then.
class Started {
 public:
  explicit Started(rondo::Work work) : work_(std::move(work)) {}
  Started(Started&&) = default;
  Started& operator=(Started&&) = default;
  ~Started();

  bool done() const { return work_.done(); }
  std::optional<std::uint32_t> source() const { return work_.source(); }
  /// Waits without the interpreter's lock, at most so long; nothing: as long as it takes.
  void wait(std::optional<double> seconds);

 private:
  rondo::Work work_;
};

/// What a call is, but for its buffers.
struct CallText {
  std::string collective;
  std::string op = "sum";
  std::uint32_t root = 0;
  double scale = 1;
};

/// All blocking methods let other threads run Python meanwhile. They throw Failure, or ValueError and TypeError of arrays.
class Communicator {
 public:
  explicit Communicator(rondo::Communicator communicator) : communicator_(std::move(communicator)) {}
  /// Waits for what was started, 10 s at most, then aborts it: arrays must outlast their calls.
  ~Communicator();

  std::uint32_t rank() const { return communicator_.rank(); }
  std::uint32_t size() const { return communicator_.size(); }
  const std::vector<std::uint32_t>& parent_ranks() const { return communicator_.parent_ranks(); }

  void run(const CallText& text, const std::optional<Input>& input, const std::optional<Output>& output);
  Started start(const CallText& text, const std::optional<Input>& input, const std::optional<Output>& output);
  /// all_to_all_v: blocks in elements, by rank.
  using Counts = std::vector<std::uint64_t>;
  Started exchange(const Input& input, const Counts& sent, const Output& output, const Counts& received);
  Started reduce_list(const std::vector<std::pair<Input, Output>>& tensors, const std::string& op, double scale, const std::string& wire);
  void send(const Input& data, std::uint32_t to);
  Started start_send(const Input& data, std::uint32_t to);
  /// From `from`, or from whoever sends first.
  std::uint32_t recv(const Output& data, std::optional<std::uint32_t> from);
  Started start_recv(const Output& data, std::optional<std::uint32_t> from);

  std::unique_ptr<Communicator> split(std::int32_t color, std::int32_t key);
  std::unique_ptr<Communicator> duplicate();
  std::unique_ptr<Communicator> shrink();
  std::unique_ptr<Communicator> grow(std::uint32_t size, const std::string& job);
  std::shared_ptr<void> allocate(std::uint64_t bytes);
  std::string plan_for(const CallText& text, const std::optional<Input>& input, const std::optional<Output>& output);
  void use_plan(const rondo::Plan& plan, bool unverified);
  rondo::Communicator& library() { return communicator_; }

 private:
  /// A started call's arrays: their memory is exported, so that it can't be freed, until the call has ended.
  struct Arrays {
    std::vector<Input> inputs;
    std::vector<Output> outputs;
  };
  struct Kept {
    rondo::Work work;
    Arrays arrays;
  };

  rondo::Call call_of(const CallText& text, const std::optional<Input>& input, const std::optional<Output>& output) const;
  Started keep(rondo::Work work, Arrays arrays);
  rondo::Communicator communicator_;
  std::vector<Kept> in_flight_;  ///< guarded by the interpreter's lock
};

}  // namespace rondo_python
