#include "bootstrap/branches.hpp"

#include "bootstrap/address_text.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/network.hpp"
#include "bootstrap/own_address.hpp"
#include "bootstrap/unique_id.hpp"

namespace rondo {
namespace {

Result<std::string> listen_for_children(const Correspondence& correspondence) {
  const auto address = chosen_address([&] { return address_of_end(correspondence.socket()); });
  return address ? make_unique_id(*address) : address.error();
}

/// One rank's new connections.
class Branching {
 public:
  /// When the time is over rank 0 asks who is missing, and says so.
  Branching(Correspondence& correspondence, const TreePlace& place, const JobKey& key, std::int64_t deadline_ns)
      : correspondence_(correspondence), place_(place), key_(key), deadline_ns_(deadline_ns + verdict_grace_ns * place.depth) {}

  Result<void> connect(const std::string& own_id, const std::string& parents_id) {
    Result<void> done;
    if (place_.depth > 1) done = call_parent(parents_id);
    if (done && place_.depth > 0 && !place_.children.empty()) done = await_children(own_id);
    return done;
  }

 private:
  Result<void> call_parent(const std::string& id) {
    const auto meeting = place_of_unique_id(id, key_);
    if (!meeting) return meeting.error();
    correspondence_.await({place_.parent});
    const StaysAway is_over = [this](std::uint32_t) { return correspondence_.is_over(); };
    auto parent = come_to_network(place_.rank, place_.size, place_.parent, *meeting, deadline_ns_, {}, is_over);
    if (!parent) return parent.error();
    correspondence_.add(place_.parent, std::move(*parent));
    return {};
  }

  Result<void> await_children(const std::string& id) {
    const auto meeting = place_of_unique_id(id, key_);
    if (!meeting) return meeting.error();
    auto door = open_network_door(*meeting, deadline_ns_, take_listener(id));
    if (!door) return door.error();
    correspondence_.await(place_.children);
    Attendance attendance({meeting->job, place_.size}, place_.rank, this_process(), place_.children);
    auto children = hold_meeting(**door, std::move(attendance), deadline_ns_, {},
                                 [this] { return correspondence_.is_over() ? &correspondence_.error() : nullptr; });
    if (!children) return children.error();
    for (std::size_t child = 0; child < children->size(); ++child) correspondence_.add(place_.children[child], std::move((*children)[child]));
    return {};
  }

  Correspondence& correspondence_;
  const TreePlace& place_;
  const JobKey& key_;
  std::int64_t deadline_ns_;
};

}  // namespace

Result<void> branch_out(Correspondence& correspondence, std::uint32_t fan_out, const JobKey& key, std::int64_t deadline_ns) {
  const std::uint32_t rank = correspondence.place().rank, size = correspondence.place().size;
  if (size <= fan_out + 1) return {};
  const TreePlace place = place_in_tree(rank, size, fan_out);
  const bool listens = place.depth > 0 && !place.children.empty();
  const auto own_id = listens ? listen_for_children(correspondence) : Result<std::string>(std::string());
  if (!own_id) return correspondence.give_up(own_id.error());
  const auto parent_of = [&](std::uint32_t other) { return place_in_tree(other, size, fan_out).parent; };
  const auto parents_id = correspondence.look_up(address_of(*own_id), parent_of, deadline_ns);
  if (!parents_id) return parents_id.error();
  const auto connected = Branching(correspondence, place, key, deadline_ns).connect(*own_id, text_of(*parents_id));
  if (!connected) return correspondence.give_up(connected.error());
  correspondence.branch(place);
  return {};
}

}  // namespace rondo
