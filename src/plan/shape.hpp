// What lowering has to know of a rank's program: which steps get a signal behind them, how that renumbers the lane's
// signals, and which messages it sends and receives. It depends on that program alone, so peers work it out alike.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/share_host.hpp"
#include "rondo/plan.hpp"

namespace rondo::plan {

inline constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();  ///< a signal that no lane has

/// One message of a body on one link. Ordered by skew first: so they pass through the link, for a message of one piece.
struct Message {
  std::uint32_t skew = 0;
  std::uint32_t lane = 0;
  std::uint32_t step = 0;
  std::uint32_t operand = 0;  ///< among the step's sources or destinations
  std::uint32_t count = 1;    ///< chunks
  auto place() const { return std::tuple(skew, lane, step, operand); }
};

/// One end of a link; `chunk`, `slots` and `width` are set at the sending end: where its messages lie in scratch.
struct LinkEnd {
  std::vector<Message> messages;
  std::uint32_t chunk = 0;  ///< first scratch chunk
  std::uint32_t slots = 0;  ///< message k lies in slot k mod slots
  std::uint32_t width = 0;  ///< chunks of a slot

  /// The number of the message at this place; the count of messages when there is none.
  std::size_t number(const Message& message) const;
};

using LinkKey = std::pair<std::uint32_t, std::uint32_t>;  ///< peer, channel

struct Shape {
  bool trivial = true;                              ///< nothing to lower; all but `lanes` is empty
  bool keeps_links = false;                         ///< some of its links stay
  std::vector<std::vector<std::uint32_t>> signals;  ///< [lane][signal] → its number in the lowered program
  std::vector<std::vector<std::uint32_t>> behind;  ///< [lane][step] → lowered number of the signal behind it, or never
  std::vector<std::vector<bool>> inserted;         ///< [lane][step]: a new signal follows it
  std::map<LinkKey, LinkEnd> sends;
  std::map<LinkKey, LinkEnd> receives;
  std::uint64_t chunks = 0;  ///< scratch that this rank has in the lowered plan

  std::uint32_t signal(std::uint32_t lane, std::uint32_t old) const;
  std::uint32_t signal_behind(std::uint32_t lane, std::uint32_t step) const;
};

/// The links that lowering leaves as they are.
class KeptLinks {
 public:
  explicit KeptLinks(bool all) : all_(all) {}
  /// Those between hosts, of which there is one for each rank.
  explicit KeptLinks(std::vector<std::uint32_t> hosts) : hosts_(std::move(hosts)) {}

  bool holds(std::uint32_t rank, std::uint32_t peer) const {
    return all_ || (!hosts_.empty() && !share_host(hosts_, rank, peer));
  }
  /// Whether an operand of rank `rank`'s is a link that becomes a slot.
  bool make_slot(std::uint32_t rank, const Operand& operand) const { return operand.buffer == Buffer::link && !holds(rank, operand.rank); }

 private:
  bool all_ = false;
  std::vector<std::uint32_t> hosts_;
};

/// The shape of rank `rank`'s program. Linear in it (n log n in the messages of one link). Takes malformed programs too.
Shape shape_of(const PlanHeader& header, const Program& program, const KeptLinks& kept, std::uint32_t rank);

}  // namespace rondo::plan
