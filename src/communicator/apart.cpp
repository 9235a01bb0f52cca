// Calls whose blocks lie apart (docs/design/0025-blocks-apart.md): judged, and put in the place of the buffer that they are.
#include <algorithm>
#include <string>
#include <vector>

#include "communicator/check.hpp"
#include "communicator/impl.hpp"

namespace rondo {
namespace {

/// A call that gives lists where there is no list of blocks, or a buffer as well.
std::optional<Error> wrong_lists(const Call& call) {
  const auto given = [&](const char* list, const char* buffer, bool both, bool has_blocks, const char* accepted) -> std::optional<Error> {
    if (!has_blocks) return wrong_call(std::string(list) + " given to " + std::string(to_string(call.collective)) + "; accepted: " + accepted);
    if (both) return wrong_call(std::string(buffer) + " and " + list + " are both given; accepted: one of them");
    return std::nullopt;
  };
  if (call.inputs != nullptr)
    if (auto error = given("inputs", "input", call.input != nullptr, output_is_block(call.collective), "reduce_scatter, scatter")) return error;
  if (call.outputs == nullptr) return std::nullopt;
  return given("outputs", "output", call.output != nullptr, input_is_block(call.collective), "all_gather, gather");
}

struct BlockPlace {
  std::uintptr_t begin = 0;
  std::uint32_t rank = 0;
};

/// Two blocks that are written into one place, or the other buffer in one of them, where that isn't in place.
std::optional<std::string> find_overlap(std::span<void* const> blocks, const void* other, std::uint64_t bytes, bool written, std::uint32_t own) {
  const auto place = reinterpret_cast<std::uintptr_t>(other);
  for (std::uint32_t rank = 0; rank < blocks.size(); ++rank) {
    const auto begin = reinterpret_cast<std::uintptr_t>(blocks[rank]);
    if ((begin - place >= bytes && place - begin >= bytes) || (rank == own && begin == place)) continue;
    return std::string(written ? "input overlaps block " : "output overlaps block ") + std::to_string(rank) + " of " + (written ? "outputs" : "inputs") +
           "; accepted: memory of its own, or block " + std::to_string(own);
  }
  if (!written) return std::nullopt;
  std::vector<BlockPlace> places;
  for (std::uint32_t rank = 0; rank < blocks.size(); ++rank) places.push_back({reinterpret_cast<std::uintptr_t>(blocks[rank]), rank});
  std::sort(places.begin(), places.end(), [](const BlockPlace& a, const BlockPlace& b) { return a.begin < b.begin; });
  for (std::size_t k = 1; k < places.size(); ++k)
    if (places[k].begin - places[k - 1].begin < bytes)
      return "blocks " + std::to_string(std::min(places[k - 1].rank, places[k].rank)) + " and " + std::to_string(std::max(places[k - 1].rank, places[k].rank)) +
             " of outputs overlap; accepted: memory of its own for each";
  return std::nullopt;
}

}  // namespace

std::optional<Error> Communicator::Impl::wrong_blocks(const Call& call, std::span<void* const> blocks) const {
  const bool written = call.outputs != nullptr;
  const void* const other = written ? call.input : call.output;
  const std::uint64_t element = size_of(call.type), bytes = call.count * element;
  const auto fault_of = [&](const void* memory) -> std::optional<std::string> {
    if (memory == nullptr) return " is null";
    if (reinterpret_cast<std::uintptr_t>(memory) % element != 0) return " is not aligned to its elements (" + std::to_string(element) + " bytes)";
    return fault_of_memory(memory, bytes);
  };
  const auto amiss = [&](const std::string& what) { return wrong_call(what + ", with count " + std::to_string(call.count)); };
  for (std::uint32_t rank = 0; rank < size(); ++rank)
    if (auto fault = fault_of(blocks[rank])) return amiss("block " + std::to_string(rank) + " of " + (written ? "outputs" : "inputs") + *fault);
  if (auto fault = fault_of(other)) return amiss((written ? "input" : "output") + *fault);
  if (auto overlap = find_overlap(blocks, other, bytes, written, rank())) return wrong_call(*overlap);
  return std::nullopt;
}

/// A call on lists as a task. On a rank that hasn't the buffer, and where there is nothing to move, it is like any other.
Result<Task> Communicator::Impl::task_apart(const Call& call) const {
  if (auto error = wrong_lists(call)) return *error;
  Task task{key_of(call), Binding{call.input, call.output, call.scale}};
  if (auto error = wrong_key(task.key, size())) return *error;
  const bool written = call.outputs != nullptr;
  const bool has_buffer = written ? has_output(call.collective, call.root, rank()) : has_input(call.collective, call.root, rank());
  if (!has_buffer || call.count == 0) return task;
  task.binding.apart = written ? call.outputs : const_cast<void* const*>(call.inputs);  // blocks that are read are not written
  if (auto error = wrong_blocks(call, {task.binding.apart, size()})) return *error;
  return task;
}

std::shared_ptr<Operation> Communicator::Impl::operation_apart(const Task& task) const {
  auto operation = std::make_shared<Operation>();
  operation->task = task;
  if (task.binding.apart == nullptr) return operation;
  operation->apart.assign(task.binding.apart, task.binding.apart + size());
  operation->task.binding.apart = operation->apart.data();
  return operation;
}

Result<void> Communicator::Impl::run_apart(const Call& call) {
  const auto task = task_apart(call);
  if (!task) return task.error();
  if (in_group()) return group_call(*main_, operation_apart(*task));
  return run_channel(*main_, *task);
}

Work Communicator::Impl::start_apart(const Call& call) {
  const auto task = task_apart(call);
  return task ? start_on(Result<Channel*>(main_.get()), operation_apart(*task)) : failed_work(task.error());
}

}  // namespace rondo
