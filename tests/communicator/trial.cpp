#include "trial.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "support/sanitized.hpp"

using namespace rondo;

namespace {

std::string name_of(const Trial& trial) {
  return std::string(to_string(trial.shape.collective)) + " of " + std::to_string(trial.shape.count) + " " + std::string(to_string(trial.shape.type)) + " " +
         std::string(to_string(trial.shape.op)) + " root " + std::to_string(trial.shape.root) + (trial.in_place ? " in place" : " out of place") +
         (trial.symmetric ? ", symmetric" : "");
}

}  // namespace

std::string perform(Communicator& communicator, Trial trial) {
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
  const auto first = memory(block * std::max(blocks.input, trial.in_place ? blocks.output : blocks.input) + 1);
  const auto second = memory(block * blocks.output + 1);
  if (first == nullptr || second == nullptr) return "no memory";
  char* input = static_cast<char*>(first.get());
  char* output = static_cast<char*>(trial.in_place ? first.get() : second.get());
  const bool has_both = !is_rooted(shape.collective) || shape.rank == shape.root;
  if (trial.in_place && has_both && input_is_block(shape.collective)) input += shape.rank * block;
  if (trial.in_place && has_both && output_is_block(shape.collective)) output += shape.rank * block;
  fill_input(shape, trial.seed, input);
  const Call call{shape.collective, input, output, shape.count, shape.type, shape.op, shape.root, factor_of(shape, shape.rank)};
  if (auto done = communicator.run(call); !done) return name_of(trial) + ": " + to_string(done.error());
  if (const std::uint64_t wrong = count_wrong(shape, trial.seed, output); wrong != 0) return name_of(trial) + ": " + std::to_string(wrong) + " wrong";
  return "";
}

std::string perform_all(Communicator& communicator, bool symmetric) {
  const std::vector<std::uint64_t> counts = sanitized ? std::vector<std::uint64_t>{0, 1, 1027} : std::vector<std::uint64_t>{0, 1, 5, 17, 63, 257, 4099};
  std::uint64_t seed = 1;
  for (const Collective collective : moving_collectives)
    for (std::size_t type = 0; type < data_type_count; ++type)
      for (std::size_t op = 0; op < reduce_op_count; ++op) {
        const auto data_type = static_cast<DataType>(type);
        const auto reduce_op = static_cast<ReduceOp>(op);
        if (is_reduction(collective) ? !is_defined(reduce_op, data_type) || !is_defined(reduce_op, collective) : op != 0) continue;
        for (const std::uint64_t count : counts)
          for (const bool in_place : {false, true}) {
            const auto root = static_cast<std::uint32_t>(seed % communicator.size());
            const Shape shape{collective, data_type, reduce_op, 0, 0, root, count};
            if (auto wrong = perform(communicator, Trial{shape, in_place, ++seed, symmetric}); !wrong.empty()) return wrong;
          }
      }
  return "";
}

std::string perform_moving(Communicator& communicator, std::initializer_list<std::uint64_t> counts, bool symmetric) {
  std::uint64_t seed = 7;
  for (const Collective collective : moving_collectives)
    for (const std::uint64_t count : counts)
      for (const bool in_place : {false, true}) {
        const Shape shape{collective, DataType::f32, ReduceOp::sum, 0, 0, communicator.size() - 1, count};
        if (auto wrong = perform(communicator, Trial{shape, in_place, ++seed, symmetric}); !wrong.empty()) return wrong;
      }
  return "";
}

std::uint64_t calls_of(const rondo::Communicator& communicator) {
  const std::string record = communicator.flight_record();
  const std::size_t at = record.rfind('#');
  return at == std::string::npos ? 0 : std::stoull(record.substr(at + 1));
}
