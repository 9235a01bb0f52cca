// Notices over links made of queues: what ranks tell one another about themselves, and that telling never waits.
#include "communicator/status_links.hpp"

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/clock.hpp"
#include "support/catch.hpp"

namespace {

using namespace rondo;

constexpr std::size_t window_slots = 4;

struct Held {
  std::uint64_t header[Message::header_words];
  std::vector<std::byte> payload;
};

using Link = std::pair<std::uint32_t, std::uint32_t>;  // from, to

struct Wires {
  std::map<Link, std::deque<Held>> queues;
  std::set<Link> cut;  ///< what is posted there never arrives
  std::set<Link> unconnected;
};

class QueueTransport final : public Transport {
 public:
  QueueTransport(Wires& wires, std::uint32_t rank) : wires_(wires), rank_(rank) {}
  std::string_view name() const override { return "queues"; }
  Result<Address> address() override { return Address{}; }
  Result<void> connect(const std::vector<Address>&, std::int64_t) override { return {}; }
  Message send_slot(std::uint32_t peer, std::uint32_t, std::uint64_t bytes) override {
    if (wires_.queues[{rank_, peer}].size() == window_slots) return {};
    next_.payload.resize(bytes);
    return {next_.header, next_.payload.data(), bytes};
  }
  void post(std::uint32_t peer, std::uint32_t) override {
    if (!wires_.cut.contains({rank_, peer})) wires_.queues[{rank_, peer}].push_back(next_);
  }
  Message receive_slot(std::uint32_t peer, std::uint32_t) override {
    auto& queue = wires_.queues[{peer, rank_}];
    return queue.empty() ? Message{} : Message{queue.front().header, queue.front().payload.data(), queue.front().payload.size()};
  }
  void release(std::uint32_t peer, std::uint32_t) override { wires_.queues[{peer, rank_}].pop_front(); }
  bool idle(std::uint32_t peer, std::uint32_t) override { return wires_.queues[{rank_, peer}].empty(); }
  bool connected(std::uint32_t peer) const override { return !wires_.unconnected.contains({rank_, peer}); }
  bool gone(std::uint32_t) const override { return false; }

 private:
  Wires& wires_;
  std::uint32_t rank_;
  Held next_;
};

std::vector<std::uint32_t> all_but(std::uint32_t rank, std::uint32_t size) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t other = 0; other < size; ++other)
    if (other != rank) others.push_back(other);
  return others;
}

struct End {
  End(Wires& wires, std::uint32_t rank, std::uint32_t size) : transport(wires, rank), links(transport, size, all_but(rank, size)) {}
  QueueTransport transport;
  StatusLinks links;
};

Notice notice_of(Notice::Kind kind, std::uint64_t sequence, const std::string& text = "") {
  Notice notice;
  notice.kind = kind;
  notice.code = Errc::mismatch;
  notice.call = {sequence, CallIdentity{Collective::broadcast, DataType::f16, ReduceOp::sum, 2, 77, 1234}};
  notice.finished = sequence - 1;
  notice.text = text;
  return notice;
}

}  // namespace

TEST_CASE("a notice arrives as it was sent") {
  Wires wires;
  End sender(wires, 0, 3), receiver(wires, 2, 3);
  sender.links.tell(notice_of(Notice::Kind::failed, 5, "why"));
  receiver.links.take_in();
  const Notice& heard = receiver.links.of(0);
  CHECK(heard.kind == Notice::Kind::failed);
  CHECK(heard.code == Errc::mismatch);
  CHECK(heard.finished == 4);
  CHECK(heard.text == "why");
  CHECK(heard.call.sequence == 5);
  CHECK(heard.call.identity.digest() == notice_of(Notice::Kind::failed, 5).call.identity.digest());
  CHECK(receiver.links.of(1).kind == Notice::Kind::none);
}

TEST_CASE("the latest notice counts, but a failure outlasts the departure that follows") {
  Wires wires;
  End sender(wires, 0, 2), receiver(wires, 1, 2);
  sender.links.tell_waiting(notice_of(Notice::Kind::waiting, 5).call);
  sender.links.tell_waiting(notice_of(Notice::Kind::waiting, 5).call);
  CHECK(wires.queues[{0, 1}].size() == 1);
  sender.links.tell_waiting(notice_of(Notice::Kind::waiting, 6).call);
  receiver.links.take_in();
  CHECK(receiver.links.of(0).call.sequence == 6);
  sender.links.tell(notice_of(Notice::Kind::failed, 7, "why"));
  sender.links.tell(notice_of(Notice::Kind::left, 8));
  receiver.links.take_in();
  CHECK(receiver.links.of(0).kind == Notice::Kind::failed);
}

TEST_CASE("telling a rank that takes nothing drops the notice, and helps for a tenth of a second") {
  Wires wires;
  End sender(wires, 0, 2);
  const std::int64_t begin_ns = now_ns();
  for (std::uint64_t call = 1; call <= 10; ++call) sender.links.tell(notice_of(Notice::Kind::failed, call));
  CHECK(wires.queues[{0, 1}].size() == window_slots);
  CHECK(now_ns() - begin_ns < 2'000'000'000);
}

TEST_CASE("a rank that has left is told nothing more") {
  Wires wires;
  End sender(wires, 0, 2), left(wires, 1, 2);
  left.links.tell(notice_of(Notice::Kind::left, 3));
  sender.links.take_in();
  sender.links.tell(notice_of(Notice::Kind::left, 3));
  CHECK(wires.queues[{0, 1}].empty());
}

TEST_CASE("who fails first tells all; who hears of it, leaves or is one of many that wait makes no connection to say so") {
  constexpr std::uint32_t few = 65, many = 66;
  const auto told = [](std::uint32_t size, Notice::Kind kind, bool has_heard) {
    Wires wires;
    End sender(wires, 0, size);
    for (std::uint32_t peer = 2; peer < size; ++peer) wires.unconnected.insert({0, peer});
    if (has_heard) End(wires, 1, size).links.tell(notice_of(Notice::Kind::failed, 2, "why"));
    sender.links.take_in();
    if (kind == Notice::Kind::waiting) sender.links.tell_waiting(notice_of(kind, 3).call);
    else sender.links.tell(notice_of(kind, 3, "this"));
    std::uint32_t ranks = 0;
    for (std::uint32_t peer = 1; peer < size; ++peer) ranks += !wires.queues[{0, peer}].empty();
    return ranks;
  };
  CHECK(told(many, Notice::Kind::failed, false) == many - 1);
  CHECK(told(many, Notice::Kind::failed, true) == 1);
  CHECK(told(many, Notice::Kind::left, false) == 1);
  CHECK(told(many, Notice::Kind::waiting, false) == 1);
  CHECK(told(few, Notice::Kind::waiting, false) == few - 1);
}

TEST_CASE("a notice too short for what it should say is passed over") {
  Wires wires;
  End receiver(wires, 1, 2);
  wires.queues[{0, 1}].push_back(Held{{}, std::vector<std::byte>(3)});
  receiver.links.take_in();
  CHECK(receiver.links.of(0).kind == Notice::Kind::none);
  CHECK(wires.queues[{0, 1}].empty());
}

TEST_CASE("ranks meet when all have said that they are here; who isn't heard is named at the deadline") {
  Wires wires;
  End first(wires, 0, 3);
  QueueTransport second(wires, 1), third(wires, 2);
  for (QueueTransport* peer : {&second, &third}) {
    StatusLinks links(*peer, 3, all_but(peer == &second ? 1 : 2, 3));
    wires.cut.insert({2, 0});
    links.tell(notice_of(Notice::Kind::here, 0));
  }
  const auto met = first.links.meet(now_ns() + 50'000'000);
  REQUIRE_FALSE(met.has_value());
  CHECK(met.error().code == Errc::deadline_exceeded);
  CHECK(met.error().detail.find("from rank 2") != std::string::npos);
}
