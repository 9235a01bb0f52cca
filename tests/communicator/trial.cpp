#include "trial.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "support/sanitized.hpp"

using namespace rondo;

namespace {

constexpr std::uint64_t widest_element = 8;

std::string name_of(const Trial& trial) {
  return std::string(to_string(trial.shape.collective)) + " of " + std::to_string(trial.shape.count) + " " + std::string(to_string(trial.shape.type)) + " " +
         std::string(to_string(trial.shape.op)) + " root " + std::to_string(trial.shape.root) + (trial.in_place ? " in place" : " out of place") +
         (trial.symmetric ? ", symmetric" : "") + (trial.apart ? ", apart" : "");
}

/// The blocks of `buffer` in memory of their own each, in reverse order; the own one is `other` in place.
class BlocksApart {
 public:
  BlocksApart(std::byte* buffer, std::uint64_t block_bytes, const Trial& trial, void* other) : buffer_(buffer), bytes_(block_bytes) {
    const std::uint32_t ranks = trial.shape.ranks;
    memory_.resize((bytes_ + gap) * ranks + gap);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) places_.push_back(memory_.data() + (bytes_ + gap) * (ranks - 1 - rank) + gap);
    if (trial.in_place) places_[trial.shape.rank] = other;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) std::memmove(places_[rank], buffer + rank * bytes_, bytes_);
  }
  void* const* places() const { return places_.data(); }
  void collect() const {
    for (std::size_t rank = 0; rank < places_.size(); ++rank) std::memmove(buffer_ + rank * bytes_, places_[rank], bytes_);
  }

 private:
  static constexpr std::uint64_t gap = 64;
  std::byte* buffer_;
  std::uint64_t bytes_;
  std::vector<std::byte> memory_;
  std::vector<void*> places_;
};

/// Runs the call with its larger buffer's blocks apart.
Result<void> run_apart(Communicator& communicator, Call call, const Trial& trial) {
  const bool outputs = input_is_block(call.collective);
  auto* const buffer = static_cast<std::byte*>(outputs ? call.output : const_cast<void*>(call.input));
  BlocksApart blocks(buffer, call.count * size_of(call.type), trial, outputs ? const_cast<void*>(call.input) : call.output);
  if (outputs) {
    call.output = nullptr;
    call.outputs = blocks.places();
  } else {
    call.input = nullptr;
    call.inputs = blocks.places();
  }
  auto done = communicator.run(call);
  if (outputs) blocks.collect();
  return done;
}

/// As long as any trial of `count` elements needs, where they are to be symmetric; else none.
Mapped mapped_for(Communicator& communicator, bool symmetric, std::uint64_t count) {
  if (!symmetric) return {};
  const auto memory = [&] { return communicator.allocate(count * widest_element * communicator.size() + 1); };
  const auto first = memory(), second = memory();
  return first && second ? Mapped{*first, *second} : Mapped{};
}

}  // namespace

std::string perform(Communicator& communicator, Trial trial, const Mapped& mapped) {
  Shape& shape = trial.shape;
  shape.ranks = communicator.size();
  shape.rank = communicator.rank();
  const BlockCounts blocks = block_counts(shape.collective, shape.ranks);
  const std::uint64_t block = shape.count * size_of(shape.type);
  const auto memory = [&](std::uint64_t bytes) -> std::shared_ptr<void> {
    if (trial.symmetric) {
      const auto taken = communicator.allocate(bytes);
      return taken ? *taken : nullptr;
    }
    return std::shared_ptr<void>(std::calloc(bytes, 1), std::free);
  };
  const auto first = mapped.first ? mapped.first : memory(block * std::max(blocks.input, trial.in_place ? blocks.output : blocks.input) + 1);
  const auto second = mapped.second ? mapped.second : memory(block * blocks.output + 1);
  if (first == nullptr || second == nullptr) return "no memory";
  char* input = static_cast<char*>(first.get());
  char* output = static_cast<char*>(trial.in_place ? first.get() : second.get());
  const bool has_both = !is_rooted(shape.collective) || shape.rank == shape.root;
  if (trial.in_place && has_both && input_is_block(shape.collective)) input += shape.rank * block;
  if (trial.in_place && has_both && output_is_block(shape.collective)) output += shape.rank * block;
  fill_input(shape, trial.seed, input);
  const Call call{shape.collective, input, output, shape.count, shape.type, shape.op, shape.root, factor_of(shape, shape.rank)};
  const bool has_blocks = (input_is_block(shape.collective) && has_output(shape.collective, shape.root, shape.rank)) ||
                          (output_is_block(shape.collective) && has_input(shape.collective, shape.root, shape.rank));
  const bool apart = trial.apart && has_blocks && (trial.seed % 2 == 0 || shape.rank % 2 == 0);
  if (auto done = apart ? run_apart(communicator, call, trial) : communicator.run(call); !done) return name_of(trial) + ": " + to_string(done.error());
  if (const std::uint64_t wrong = count_wrong(shape, trial.seed, output); wrong != 0) return name_of(trial) + ": " + std::to_string(wrong) + " wrong";
  return "";
}

std::string perform_all(Communicator& communicator, bool symmetric, Collectives collectives) {
  const std::vector<std::uint64_t> counts = sanitized ? std::vector<std::uint64_t>{0, 1, 1027} : std::vector<std::uint64_t>{0, 1, 5, 17, 63, 257, 4099};
  std::uint64_t seed = 1;
  for (const Collective collective : collectives) {
    const Mapped mapped = mapped_for(communicator, symmetric, counts.back());
    for (std::size_t type = 0; type < data_type_count; ++type)
      for (std::size_t op = 0; op < reduce_op_count; ++op) {
        const auto data_type = static_cast<DataType>(type);
        const auto reduce_op = static_cast<ReduceOp>(op);
        if (is_reduction(collective) ? !is_defined(reduce_op, data_type) || !is_defined(reduce_op, collective) : op != 0) continue;
        for (const std::uint64_t count : counts)
          for (const bool in_place : {false, true}) {
            const auto root = static_cast<std::uint32_t>(seed % communicator.size());
            const Shape shape{collective, data_type, reduce_op, 0, 0, root, count};
            if (auto wrong = perform(communicator, Trial{shape, in_place, ++seed, symmetric}, mapped); !wrong.empty()) return wrong;
          }
      }
  }
  return "";
}

std::string perform_moving(Communicator& communicator, std::initializer_list<std::uint64_t> counts, bool symmetric, Collectives collectives) {
  std::uint64_t seed = 7;
  const Mapped mapped = mapped_for(communicator, symmetric, std::max(counts));
  for (const Collective collective : collectives)
    for (const std::uint64_t count : counts)
      for (const bool in_place : {false, true}) {
        const Shape shape{collective, DataType::f32, ReduceOp::sum, 0, 0, communicator.size() - 1, count};
        if (auto wrong = perform(communicator, Trial{shape, in_place, ++seed, symmetric}, mapped); !wrong.empty()) return wrong;
      }
  return "";
}

std::uint64_t calls_of(const rondo::Communicator& communicator) {
  const std::string record = communicator.flight_record();
  const std::size_t at = record.rfind('#');
  return at == std::string::npos ? 0 : std::stoull(record.substr(at + 1));
}
