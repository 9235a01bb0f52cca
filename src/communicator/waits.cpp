// Who holds a call up. A rank whose wait is long says for whom, so that the others can follow the waits to the rank that waits for nobody.
#include <algorithm>
#include <functional>
#include <string>

#include "base/process_state.hpp"
#include "communicator/impl.hpp"
#include "communicator/told.hpp"

namespace rondo {
namespace {

/// What holds a member up in this call: nothing if it hasn't said so, or if what it waited for has come since. Its numbers are not to be trusted.
std::optional<LongWait> long_wait(const Context& context, std::uint32_t member, std::uint64_t call) {
  const auto wait = read_long_wait(context.status(member), call);
  if (!wait || wait->member >= context.size() || !context.mapped(wait->member) || wait->lane >= context.layout().lanes) return std::nullopt;
  const bool has_come = wait->is_over(call, context.lane(wait->member, wait->lane).progress.load(std::memory_order_relaxed));
  return has_come ? std::nullopt : wait;
}

bool has_entered(const Context& context, std::uint32_t member, std::uint64_t call) {
  return context.record(member, call & 1).sequence.load(std::memory_order_acquire) == call;  // pairs with Run::enter()
}

/// How far a member is in this call, by what it has told the others.
std::string signals_of(const Context& context, std::uint32_t member, std::uint64_t call) {
  const std::uint64_t progress = context.lane(member, 0).progress.load(std::memory_order_relaxed);
  const bool this_call = ((progress ^ call << progress_call_shift) >> progress_call_shift) == 0;
  return std::to_string(this_call ? progress % max_signals : 0);
}

// A communicator in StatusLine.waits_in: what no other one has, and its number in the lowest bits, for people. Threads that split two communicators of a
// family at the same time may get two of one number.
constexpr std::uint64_t number_mask = (1u << 20) - 1;
constexpr std::uint64_t somewhere = std::uint64_t{1} << 63;

std::uint64_t word_of(const CommunicatorParts& parts) {
  return somewhere | (std::hash<std::string>{}(parts.token) & ~number_mask) | (parts.epoch & number_mask);
}

bool is_wait(const ExecStep& step) { return step.op == ExecOp::wait || step.op == ExecOp::block_wait; }

}  // namespace

/// Says that this rank's call waits long, and for whom: to the other members, and to the ranks that it was split from. A hint: of several threads
/// the last one counts.
void Communicator::Impl::note_waiting(const Channel& channel, const Operation& operation) const {
  if (!parts_.has_segments()) return;
  family_status(rank()).waits_in.store(word_of(parts_), std::memory_order_relaxed);
  const ExecStep* step = operation.run.blocked_step();
  StatusLine& status = channel.context.status(channel.context.rank());
  if (step == nullptr || !is_wait(*step)) return status.waits_for.store(0, std::memory_order_relaxed);
  write_long_wait(status, operation.run.call(), {step->rank, step->lane, operation.run.awaited_signals(), step->source_step >> 16, step->source_step & 0xffff});
}

void Communicator::Impl::note_end_of_waiting() const {
  if (!parts_.has_segments()) return;
  auto& word = family_status(rank()).waits_in;
  if (word.load(std::memory_order_relaxed) == word_of(parts_)) word.store(0, std::memory_order_relaxed);
}

/// A rank's status line in the communicator from which all of its family were split.
StatusLine& Communicator::Impl::family_status(std::uint32_t rank) const {
  return *reinterpret_cast<StatusLine*>(parts_.family->transport().segment(parts_.family_ranks[rank]));
}

/// Where a peer waits that hasn't entered this communicator's call, if in another communicator.
std::string Communicator::Impl::elsewhere(std::uint32_t peer) const {
  const std::uint64_t word = family_status(peer).waits_in.load(std::memory_order_relaxed);
  const std::uint64_t here = word_of(parts_);
  if (word == 0 || word == here) return "";
  const std::uint64_t there = word & number_mask, number = here & number_mask;
  const std::string which = there == number ? "another communicator of this family that was made together with this one, number " + std::to_string(number)
                                            : "communicator " + std::to_string(there) + " of this family, this one is " + std::to_string(number);
  return " (it waits in " + which + ": do ranks call their communicators in different orders?)";
}

/// The kernel's word on a peer's process, where that explains something.
std::string Communicator::Impl::condition(std::uint32_t peer) const {
  if (parts_.processes.empty()) return "";
  const std::string_view hindrance = hindrance_of(parts_.processes[peer]);
  return hindrance.empty() ? "" : " (" + std::string(hindrance) + ")";
}

/// The rank this one waits for, and where that rank is.
std::string Communicator::Impl::slowest(const Channel& channel, const Operation& operation) const {
  const Context& context = channel.context;
  std::string text;
  for (std::uint32_t member = 0; member < context.size(); ++member) {
    if (member == context.rank() || !context.mapped(member) || has_entered(context, member, operation.run.call())) continue;
    const std::uint32_t peer = context.member(member);
    text += (text.empty() ? "" : ", ") + who(peer) + condition(peer) + elsewhere(peer);
  }
  if (!text.empty()) return text + " has not entered it";
  if (parts_.status_links) text = slowest_link(channel, operation);
  if (!text.empty()) return text;
  if (!parts_.has_segments()) return "all ranks that this one hears from wait in it";
  const ExecStep* step = operation.run.blocked_step();
  if (step == nullptr) return "all ranks are in it";
  const std::uint32_t lane = step->source_step >> 16;
  const std::uint32_t index = step->source_step & 0xffff;
  const std::string place = "this rank is at lane " + std::to_string(lane) + ", step " + std::to_string(index) + " of its plan, piece " +
                            std::to_string(operation.run.blocked_piece());
  if (!is_wait(*step) && step->op != ExecOp::fetch && step->op != ExecOp::put) return place;
  return place + ", waiting for " + waited_for(context, step->rank, operation.run.call());
}

/// A member, and if it waits itself the one at the end of those that wait for one another.
std::string Communicator::Impl::waited_for(const Context& context, std::uint32_t member, std::uint64_t call) const {
  std::vector<std::uint32_t> line{member};
  for (auto wait = long_wait(context, member, call); wait; wait = long_wait(context, line.back(), call)) {
    if (std::find(line.begin(), line.end(), wait->member) != line.end() || wait->member == context.rank()) break;
    line.push_back(wait->member);
  }
  std::string text;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) text += "rank " + std::to_string(context.member(line[i])) + ", which waits for ";
  const std::uint32_t last = context.member(line.back());
  return text + who(last) + condition(last) + ", which is behind its signal " + signals_of(context, line.back(), call) + " of lane 0";
}

}  // namespace rondo
