// What ranks seen from outside are doing, in words: who is where, and who holds whom up.
#include <algorithm>
#include <map>
#include <tuple>

#include "rondo/inspect.hpp"

namespace rondo {
namespace {

/// The ranks of one communicator that were found, by rank.
using Group = std::vector<const SeenRank*>;

std::string process_of(const SeenRank& rank) {
  return "rank " + std::to_string(rank.rank) + " (process " + std::to_string(rank.process) + (rank.hindrance.empty() ? "" : ", " + rank.hindrance) + ")";
}

const SeenRank* find(const Group& group, std::uint32_t rank) {
  const auto found = std::find_if(group.begin(), group.end(), [&](const SeenRank* each) { return each->rank == rank; });
  return found == group.end() ? nullptr : *found;
}

std::string numbered(std::uint64_t call) { return "#" + std::to_string(call); }

std::string place_of(const SeenRank& rank) {
  if (rank.state != "running") {
    const std::string in = rank.call > rank.finished ? "; it was in " + numbered(rank.call) + ", " + rank.operation : "";
    return rank.state + (rank.last_words.empty() ? "" : ": " + rank.last_words) + in;
  }
  if (rank.call == 0) return "has made no call yet";
  if (rank.call <= rank.finished) return "is in no call; its last was " + numbered(rank.call) + ", " + rank.operation;
  std::string text = "is in " + numbered(rank.call) + ", " + rank.operation;
  if (rank.wait)
    text += ", at lane " + std::to_string(rank.wait->own_lane) + ", step " + std::to_string(rank.wait->own_step) + " of its plan, and waits for signal " +
            std::to_string(rank.wait->signals) + " of rank " + std::to_string(rank.wait->rank) + "'s lane " + std::to_string(rank.wait->lane);
  return text;
}

/// The last call that some rank is in, of those that run or of those that don't, and has not finished; 0: none is.
std::uint64_t open_call(const Group& group, bool running) {
  std::uint64_t call = 0;
  for (const SeenRank* rank : group)
    if ((rank->state == "running") == running && rank->call > rank->finished) call = std::max(call, rank->call);
  return call;
}

/// The first two ranks that made different calls of that number; empty: none did.
std::string disagreement(const Group& group, std::uint64_t call) {
  const SeenRank* first = nullptr;
  for (const SeenRank* rank : group) {
    if (rank->call != call) continue;
    if (first == nullptr) first = rank;
    if (rank->operation != first->operation)
      return "ranks disagree in call " + numbered(call) + ": " + process_of(*first) + " called " + first->operation + ", " + process_of(*rank) + " called " +
             rank->operation;
  }
  return "";
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + text;
  return list;
}

/// From a rank that waits to the one that waits for nobody.
std::string end_of_waits(const Group& group, const SeenRank* rank) {
  std::vector<std::uint32_t> line{rank->rank};
  while (rank->wait) {
    if (std::find(line.begin(), line.end(), rank->wait->rank) != line.end()) return "ranks wait for one another in a circle";
    line.push_back(rank->wait->rank);
    rank = find(group, line.back());
    if (rank == nullptr) return "it waits in the end for rank " + std::to_string(line.back()) + ", of which nothing is to be seen";
  }
  return line.size() == 1 ? "" : "in the end all wait for " + process_of(*rank);
}

/// Why the group's call doesn't end.
std::string verdict(const Group& group) {
  const std::uint64_t waited_for = open_call(group, true);
  const bool over = waited_for == 0;  // nobody waits any more
  const std::uint64_t call = over ? open_call(group, false) : waited_for;
  if (call == 0) return "nobody waits";
  if (const std::string text = disagreement(group, call); !text.empty()) return text;
  std::vector<std::string> late;
  for (std::uint32_t rank = 0; rank < group.front()->size; ++rank) {
    const SeenRank* const seen = find(group, rank);
    if (seen == nullptr) late.push_back("rank " + std::to_string(rank) + " (nothing is to be seen of it: it died, or was never there)");
    else if (seen->call < call || (seen->state != "running" && !over))
      late.push_back(process_of(*seen) + (seen->state == "running" ? "" : ", which has " + seen->state));
  }
  if (!late.empty()) return "call " + numbered(call) + " has not been entered by " + list_of(late);
  if (over) return "all ranks were in call " + numbered(call) + ", which failed";
  for (const SeenRank* rank : group)
    if (rank->call == call && rank->call > rank->finished)
      if (const std::string text = end_of_waits(group, rank); !text.empty()) return "all ranks are in call " + numbered(call) + "; " + text;
  return "all ranks are in call " + numbered(call) + ", and none has waited long";
}

}  // namespace

std::string explain(const std::vector<SeenRank>& ranks) {
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, Group> groups;
  for (const SeenRank& rank : ranks) groups[{rank.family, rank.communicator, rank.first_of_group}].push_back(&rank);
  std::string text;
  std::uint64_t job = 0, family = 0;
  for (const auto& [key, group] : groups) {
    if (job == 0 || std::get<0>(key) != family) ++job;
    family = std::get<0>(key);
    text += "job " + std::to_string(job) + ", communicator " + std::to_string(std::get<1>(key)) + " of " + std::to_string(group.front()->size) + " ranks: " +
            verdict(group) + "\n";
    for (const SeenRank* rank : group) text += "  " + process_of(*rank) + " " + place_of(*rank) + "\n";
  }
  return text;
}

}  // namespace rondo
