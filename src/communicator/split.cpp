// Communicators from communicators: the ranks of a color agree, over the communicator they have, on what the new one needs.
#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/crash_point.hpp"
#include "communicator/group_transport.hpp"
#include "communicator/hosts_transport.hpp"
#include "communicator/create.hpp"
#include "communicator/impl.hpp"
#include "communicator/layouts.hpp"
#include "communicator/transports.hpp"

namespace rondo {

constexpr std::size_t longest_reason = 240;

/// What a rank asks for, in the first round.
struct SplitBid {
  std::int32_t color = no_color;
  std::int32_t key = 0;
  std::uint64_t share_bytes = 0;  ///< 0: it can't take part, and says why in the second round
  std::uint64_t epoch = 0;
};

/// What it has made, in the second.
struct SplitOffer {
  std::uint64_t offset = 0;
  std::uint32_t entry = 0;
  std::uint32_t address_bytes = 0;      ///< over message links
  char reason[longest_reason] = {};     ///< why it can't take part; empty: it can
};

namespace {

void give_reason(char (&place)[longest_reason], const Error& error) {
  const std::size_t length = std::min(error.detail.size(), longest_reason - 1);
  std::memcpy(place, error.detail.data(), length);
  place[length] = 0;
}

std::string reason_of(const char (&place)[longest_reason]) { return std::string(place, strnlen(place, longest_reason)); }

/// Ranks of one color in their new order.
std::vector<std::uint32_t> members_of(const std::vector<SplitBid>& bids, std::int32_t color) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t rank = 0; rank < bids.size(); ++rank)
    if (bids[rank].color == color) members.push_back(rank);
  std::stable_sort(members.begin(), members.end(), [&](std::uint32_t a, std::uint32_t b) { return bids[a].key < bids[b].key; });
  return members;
}

}  // namespace

/// One split under way on one rank. Every rank of the parent goes through the same rounds, whatever becomes of its own color.
class Communicator::Impl::Split {
 public:
  Split(Impl& parent, std::int32_t color, std::int32_t key) : parent_(parent), over_links_(parent.parts_.reach() != Reach::memory) {
    bid_.color = color;
    bid_.key = key;
  }

  /// Errors: of the parent's calls; out_of_resources and the like on all ranks of the color.
  Result<std::optional<CommunicatorParts>> run() {
    bid();
    crash_point("splitting: share taken");
    auto bids = all_of(bid_);
    if (!bids) return bids.error();
    crash_point("splitting: bids known");
    if (takes_part()) {
      members_ = members_of(*bids, bid_.color);
      if (!failure_) failure_ = lay_out(*bids);
    }
    crash_point("splitting: laid out");
    auto offers = all_of(offer());
    if (!offers) return give_up(offers.error());
    if (can_all(*offers)) map(*offers);
    crash_point("splitting: mapped");
    if (over_links_)
      if (auto error = connect_links(*offers)) return give_up(*error);
    if (!takes_part()) return std::optional<CommunicatorParts>();
    for (const std::uint32_t member : members_)
      if (const std::string reason = reason_of((*offers)[member].reason); !reason.empty() && !failure_)
        failure_ = Error{Errc::peer_failed, "rank " + std::to_string(member) + " could not take part in the split: " + reason, 0, "split"};
    if (failure_) return clean(*failure_);
    crash_point("splitting: offers known");
    return std::optional<CommunicatorParts>(std::move(parts_));
  }

 private:
  bool takes_part() const { return bid_.color != no_color; }

  /// Whether this rank takes part, and so far all members can.
  bool can_all(const std::vector<SplitOffer>& offers) const {
    return takes_part() && !failure_ && std::all_of(members_.begin(), members_.end(), [&](std::uint32_t member) { return offers[member].reason[0] == 0; });
  }

  /// Every rank's value, by rank.
  template <class T>
  Result<std::vector<T>> all_of(const T& own) {
    std::vector<T> all(parent_.size());
    if (auto done = parent_.run(Call{Collective::all_gather, &own, all.data(), sizeof(T), DataType::u8}); !done) return done.error();
    return all;
  }

  void bid() {
    if (!takes_part()) return;
    bid_.epoch = parent_.parts_.family->next_epoch();
    const auto set = config();
    auto share = set ? take_share(set->staging_bytes, parent_.size(), parent_.parts_.ranks_here) : Result<StagingShare>(set.error());
    if (!share) {
      failure_ = share.error();
      return;
    }
    bid_.share_bytes = share->bytes();
    parts_.share = std::move(*share);
  }

  /// All that follows from the bids, and this rank's part of the memory.
  std::optional<Error> lay_out(const std::vector<SplitBid>& bids) {
    const CommunicatorParts& from = parent_.parts_;
    std::uint64_t common_share = bid_.share_bytes;
    for (std::uint32_t k = 0; k < members_.size(); ++k) {
      const std::uint32_t member = members_[k];
      if (member == parent_.rank()) parts_.rank = k;
      if (bids[member].share_bytes != 0) common_share = std::min(common_share, bids[member].share_bytes);
      parts_.epoch = std::max(parts_.epoch, bids[member].epoch);
      parts_.peers.push_back(from.peers[member]);
      if (!from.processes.empty()) parts_.processes.push_back(from.processes[member]);
      parts_.family_ranks.push_back(from.family_ranks[member]);
    }
    if (common_share < least_share()) return Error{Errc::invalid_argument, "a rank's share of the shared memory is too small", 0, "split"};
    parts_.size = static_cast<std::uint32_t>(members_.size());
    parts_.parent_ranks = members_;
    parts_.token = from.token + "/" + std::to_string(parts_.epoch) + "." + std::to_string(members_.front());
    parts_.options = from.options;
    parts_.topology = from.topology;
    parts_.core = from.core;
    parts_.topology.ranks.clear();
    for (const std::uint32_t member : members_) parts_.topology.ranks.push_back(from.topology.ranks[member]);
    parts_.oversubscribed = from.oversubscribed;
    parts_.probed_latency_ns = parent_.planned_latency_ns();
    parts_.ranks_here = from.ranks_here;
    parts_.layout = main_layout(common_share);
    parts_.pair_layout = pair_layout(common_share, parts_.size);
    parts_.addresses = from.addresses;
    parts_.interfaces.count = from.interfaces.count;
    for (const std::uint32_t member : members_) parts_.interfaces.own.push_back(from.interfaces.own[member]);
    part_hosts();
    if (over_links_)
      if (auto error = make_links()) return error;
    return from.has_segments() ? take_room(common_share) : std::nullopt;
  }

  /// Of the parent's hosts those of the members; none where these are all on one.
  void part_hosts() {
    const std::vector<std::uint32_t>& hosts = parent_.parts_.hosts;
    if (hosts.empty()) return;
    for (const std::uint32_t member : members_) parts_.hosts.push_back(hosts[member]);
    if (ranks_of_host(parts_.hosts, 0).size() == parts_.size) parts_.hosts.clear();
  }

  /// This rank's part of its segment.
  std::optional<Error> take_room(std::uint64_t common_share) {
    const CommunicatorParts& from = parent_.parts_;
    parts_.share.shrink(common_share);
    parts_.family = from.family;
    auto room = parts_.family->take_room(segment_bytes(common_share, parts_.size));
    if (!room) return room.error();
    parts_.room = *room;
    if (auto committed = parts_.family->transport().commit(room->offset, parts_.layout.control_bytes()); !committed) return committed.error();
    parts_.family->enter(*room, parts_.epoch);
    return std::nullopt;
  }

  /// Links of its own, since a message transport can't serve two threads. Nothing where all members share memory.
  std::optional<Error> make_links() {
    const CommunicatorParts& from = parent_.parts_;
    if (from.has_segments() && parts_.hosts.empty()) return std::nullopt;
    const std::vector<RankInfo> infos(parts_.size);
    TransportRequest request{parts_.rank, parts_.size, 0, true, parts_.addresses, parts_.interfaces, parts_.hosts};
    auto links = choose_transport(std::string(from.transport->name()), infos, request);
    if (!links) return links.error();
    auto address = (*links)->address();
    if (!address) return address.error();
    address_ = std::move(*address);
    if (from.has_segments()) {
      links_ = std::move(*links);
      return std::nullopt;
    }
    parts_.share.shrink(0);  // staging is private memory
    parts_.family = std::make_shared<Family>(std::move(*links), parts_.rank, 0, 0, 0);
    links_ = std::shared_ptr<Transport>(parts_.family, &parts_.family->transport());
    for (std::uint32_t k = 0; k < parts_.size; ++k) parts_.family_ranks[k] = k;
    return std::nullopt;
  }

  SplitOffer offer() const {
    SplitOffer offer;
    offer.offset = parts_.room.offset;
    offer.entry = parts_.room.entry;
    offer.address_bytes = static_cast<std::uint32_t>(address_.bytes.size());
    if (failure_) give_reason(offer.reason, *failure_);
    return offer;
  }

  /// Over links two rounds more: addresses, and whether they could be connected. Error: of the parent's calls.
  std::optional<Error> connect_links(std::vector<SplitOffer>& offers) {
    std::uint32_t longest = 1;
    for (const SplitOffer& each : offers) longest = std::max(longest, each.address_bytes);
    std::vector<std::byte> own(address_.bytes), all(std::size_t{longest} * parent_.size());
    own.resize(longest);
    if (auto done = parent_.run(Call{Collective::all_gather, own.data(), all.data(), longest, DataType::u8}); !done) return done.error();
    if (links_ != nullptr && can_all(offers)) {
      std::vector<Address> addresses(members_.size());
      for (std::size_t k = 0; k < members_.size(); ++k) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(std::size_t{longest} * members_[k]);
        addresses[k].bytes.assign(begin, begin + std::min(longest, offers[members_[k]].address_bytes));
      }
      failure_ = meet(addresses);
    }
    auto outcomes = all_of(offer());
    if (!outcomes) return outcomes.error();
    offers = std::move(*outcomes);
    return std::nullopt;
  }

  std::optional<Error> meet(const std::vector<Address>& addresses) {
    const std::int64_t deadline_ns = deadline_after(parts_.options.bootstrap_timeout);
    if (auto connected = parts_.transport->connect(addresses, deadline_ns); !connected) return connected.error();
    parts_.lifelines = parent_.parts_.lifelines;
    for (const std::uint32_t member : members_) parts_.lifeline_ranks.push_back(parent_.parts_.lifeline_ranks[member]);
    if (auto met = meet_over_links(parts_, deadline_ns); !met) return met.error();
    return std::nullopt;
  }

  /// All members have made their parts: from here on those of this rank's host may be touched.
  void map(const std::vector<SplitOffer>& offers) {
    if (parts_.room.bytes == 0) {
      parts_.transport = links_;
      return;
    }
    std::vector<GroupMember> group;
    std::uint32_t own = 0;
    for (std::uint32_t k = 0; k < parts_.size; ++k) {
      if (!parts_.hosts.empty() && parts_.hosts[k] != parts_.hosts[parts_.rank]) continue;
      const SplitOffer& theirs = offers[members_[k]];
      if (k == parts_.rank) own = static_cast<std::uint32_t>(group.size());
      else parts_.ledger.push_back({parts_.family_ranks[k], theirs.entry});
      group.push_back({parts_.family_ranks[k], theirs.offset});
    }
    parts_.transport = make_group_transport(parts_.family, std::move(group), own, parts_.room.bytes);
    if (links_) parts_.transport = make_hosts_transport(parts_.transport, links_, parts_.hosts, parts_.rank);
  }

  /// The parent has failed, while for others of the color the split may be done: this rank's part of the memory stays, and says why they won't find it there.
  Error give_up(const Error& error) {
    if (parts_.room.bytes == 0) return error;
    std::vector<GroupMember> group;
    for (const std::uint32_t rank : parts_.family_ranks) group.push_back({rank, parts_.room.offset});
    parts_.transport = make_group_transport(parts_.family, std::move(group), parts_.rank, parts_.room.bytes);
    return given_up(parts_, error);
  }

  Error clean(Error error) {
    if (parts_.room.bytes != 0) parts_.family->return_room(parts_.room);
    return error;
  }

  Impl& parent_;
  const bool over_links_;
  SplitBid bid_;
  std::vector<std::uint32_t> members_;  // of this rank's color, by their ranks in the parent
  CommunicatorParts parts_;
  std::shared_ptr<Transport> links_;    // to the members of other hosts, or to all where none share memory; null: all do
  Address address_;
  std::optional<Error> failure_;
};

Result<std::optional<CommunicatorParts>> Communicator::Impl::split(std::int32_t color, std::int32_t key) {
  if (color < 0 && color != no_color)
    return Error{Errc::invalid_argument, "color " + std::to_string(color) + "; accepted: 0 and above, or no_color (-1)", 0, "split"};
  if (in_group()) return Error{Errc::invalid_argument, "split between group_begin and group_end: it can't be collected", 0, "split"};
  return Split(*this, color, key).run();
}

}  // namespace rondo
