// The slot protocol's patterns under C++'s memory model (docs/design/0008-memory-orders.md): right with the orders that the code has, wrong
// as soon as any of them is weakened.
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "model.hpp"
#include "support/catch.hpp"
#include "support/folders.hpp"

namespace {

using orders::Body;
using orders::Thread;
using orders::World;

/// An edge's end: where the code has it, and the order that it must have there.
struct End {
  const char* name;
  const char* file;
  const char* text;  ///< what the lines that have it begin with
  std::memory_order order;
};

constexpr auto acquire = std::memory_order_acquire;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto release = std::memory_order_release;
constexpr auto seq_cst = std::memory_order_seq_cst;

constexpr std::array ends{
    End{"signal", "src/executor/run_steps.hpp", "line.progress.store(", release},
    End{"wait", "src/executor/run_steps.hpp", "const std::uint64_t progress = line.progress.load(", acquire},
    End{"publish line", "src/executor/small_copy.hpp", "line.flag.store(", release},
    End{"poll line", "src/executor/run_inline.hpp", "const std::uint64_t seen = line.flag.load(", acquire},
    End{"finish", "src/executor/run_steps.hpp", "context.status(context.rank()).done.store(", release},
    End{"enter", "src/executor/run_steps.hpp", "if (context.status(rank).done.load(", acquire},
    End{"signal's digest", "src/executor/run_steps.hpp", "if constexpr (digests) line.digest[", release},
    End{"tell buffers", "src/executor/run_direct.hpp", "line.digest[parity_].store(", release},
    End{"agree", "src/executor/run_direct.hpp", "const std::uint64_t told = ", acquire},
    End{"look whether told", "src/executor/run_direct.hpp", "const bool has_told = ", acquire},
    End{"look at record", "src/executor/run_direct.hpp", "const bool has_entered = record.sequence.load(", acquire},
    End{"record again", "src/executor/run_steps.hpp", "if (record.digest.load(", release},
    End{"record field", "src/executor/run_steps.hpp", "record.count.store(", release},
    End{"record last field", "src/executor/run_steps.hpp", "record.digest.store(", release},
    End{"record", "src/executor/run_steps.hpp", "record.sequence.store(call_", release},
    End{"read record", "src/communicator/told.cpp", "const std::uint64_t before = record.sequence.load(", acquire},
    End{"read field", "src/communicator/told.cpp", "const std::uint64_t count = record.count.load(", acquire},
    End{"read last field", "src/communicator/told.cpp", "seen.digest = record.digest.load(", acquire},
    End{"fail", "src/communicator/failure.cpp", "status.state.store(", release},
    End{"look at state", "src/communicator/diagnose.cpp", "const auto state = ", acquire},
    End{"disown", "src/communicator/failure.cpp", "std::atomic_thread_fence(", release},
    End{"confirm", "src/executor/run_direct.hpp", "std::atomic_thread_fence(", acquire},
    End{"break", "src/communicator/failure.cpp", "main_->context.lane(rank(), 0).broken.store(", seq_cst},
    End{"look for readers", "src/communicator/symmetric.cpp", "const auto touches = [&] { return context.status(member).reads", seq_cst},
    End{"tell reading", "src/executor/run_direct.hpp", "if (says_when_it_touches()) context_->status(", seq_cst},
    End{"look at broken", "src/executor/run_direct.hpp", "if (says_when_it_touches() && context_->broken(step.rank).load(", seq_cst},
    End{"tell writing", "src/executor/run_fetch.hpp", "writes.store(call_", seq_cst},
    End{"look before writing", "src/executor/run_fetch.hpp", "const bool failed = context_->broken(", seq_cst},
    End{"end writing", "src/executor/run_fetch.hpp", "writes.store(0", release},
    End{"end reading", "src/executor/run_steps.hpp", "if (says_when_it_touches()) context.status(", release},
    End{"end reading early", "src/communicator/symmetric.cpp", "context.status(context.rank()).reads.store(0", release},
    End{"enter ledger", "src/communicator/family.cpp", "ledger(rank_, room.entry).store(epoch", release},
    End{"leave ledger", "src/communicator/family.cpp", "ledger(rank_, room.entry).store(0", release},
    End{"look at ledger", "src/communicator/family.cpp", "return ledger(peer.rank, peer.entry).load(", acquire},
    End{"enter shrinking", "src/communicator/shrink.cpp", "if (!word_links_) return main_->context.sleep_line(rank()).survivors.store(", release},
    End{"look at survivor", "src/communicator/shrink.cpp", "survivors.saw(peer, ", acquire},
    End{"take token", "src/communicator/token.hpp", "bool try_acquire() {", acquire},
    End{"give token", "src/communicator/token.hpp", "void release() {", release},
};

/// The orders of the code, one of them weakened.
struct Orders {
  const char* weak = "";
  std::memory_order weaker = relaxed;
  std::memory_order operator[](std::string_view name) const {
    for (const End& end : ends)
      if (name == end.name) return name == weak ? weaker : end.order;
    throw std::out_of_range(std::string(name));
  }
};

using Pattern = std::vector<Body> (*)(World&, const Orders&);

/// What goes wrong in any execution, or "".
std::string wrong_in(Pattern pattern, const Orders& orders) {
  orders::Choices choices;
  do {
    World world(choices);
    world.run(pattern(world, orders));
    if (!world.violation.empty()) return world.violation;
  } while (choices.next());
  return "";
}

/// Right as it is, and wrong without any one of these ends.
void needs(Pattern pattern, std::initializer_list<const char*> names) {
  CHECK(wrong_in(pattern, Orders{}) == "");
  for (const char* name : names) {
    INFO("weakened: " << name);
    CHECK(wrong_in(pattern, Orders{name}) != "");
    if (Orders{}[name] != seq_cst) continue;
    CHECK(wrong_in(pattern, Orders{name, acquire}) != "");  // of a store: relaxed
    CHECK(wrong_in(pattern, Orders{name, release}) != "");  // of a load: relaxed
  }
}

// Functions, since a coroutine doesn't keep a lambda's captures. No co_await in an if's condition: GCC 12 makes wrong code of it.

Body sends_pieces(World& world, Thread& me, Orders order) {
  for (std::uint64_t piece = 1; piece <= 2; ++piece) {
    if (piece == 2) co_await me.await(1, 1, order["wait"]);  // its slot's credit
    co_await me.write(0, piece);
    co_await me.store(2, 7, relaxed);  // digest, buffers
    co_await me.store(0, piece, order["signal"]);
  }
  (void)world;
}

Body takes_pieces(World& world, Thread& me, Orders order) {
  for (std::uint64_t piece = 1; piece <= 2; ++piece) {
    co_await me.await(0, piece, order["wait"]);
    world.expect(co_await me.load(2, relaxed) == 7, "a digest from before the signal");
    world.expect(co_await me.read(0) == piece, "another piece");
    co_await me.store(1, piece, order["signal"]);
  }
}

Body publishes_lines(World&, Thread& me, Orders order) {
  co_await me.write(0, 1);
  co_await me.store(0, 1, order["publish line"]);
  co_await me.await(1, 1, order["enter"]);  // call 3 uses call 1's line again
  co_await me.write(0, 3);
  co_await me.store(0, 3, order["publish line"]);
}

Body polls_lines(World& world, Thread& me, Orders order) {
  co_await me.await(0, 1, order["poll line"]);
  world.expect(co_await me.read(0) == 1, "another call's payload");
  co_await me.store(1, 1, order["finish"]);
  co_await me.await(0, 3, order["poll line"]);
  world.expect(co_await me.read(0) == 3, "another call's payload");
}

/// Words 1 and 2 stand for the fields. Calls 2 and 6 say something new, call 4 what call 2 said.
Body writes_records(World&, Thread& me, Orders order) {
  for (const std::uint64_t call : {2, 6}) {
    co_await me.store(0, 0, relaxed);
    co_await me.store(1, call, order["record field"]);
    co_await me.store(2, call, order["record last field"]);
    co_await me.store(0, call, order["record"]);
    if (call == 2) co_await me.store(0, 4, order["record again"]);
  }
}

Body reads_record(World& world, Thread& me, Orders order) {
  const std::uint64_t before = co_await me.load(0, order["read record"]);
  const std::uint64_t field = co_await me.load(1, order["read field"]);
  const std::uint64_t last = co_await me.load(2, order["read last field"]);
  const std::uint64_t after = co_await me.load(0, relaxed);
  if (after != before || before == 0) co_return;
  const std::uint64_t said = before == 4 ? 2 : before;
  world.expect(field == said && last == said, "a field of another call");
}

/// Word 1 is where a buffer is, in a call that goes on where all ranks have told.
Body tells_buffers(World&, Thread& me, Orders order) {
  co_await me.store(1, 9, relaxed);
  co_await me.store(0, 4, order["tell buffers"]);
}

Body agrees(World& world, Thread& me, Orders order) {
  co_await me.await(0, 4, order["agree"]);
  world.expect(co_await me.load(1, relaxed) == 9, "a buffer of another call");
}

/// Words 0 and 1 are the number and the digest of a rank's record, 2 is its lane's digest: of call 4, which its peer makes, too, with digest 5.
Body calls_alike(World&, Thread& me, Orders order) {
  co_await me.store(0, 0, relaxed);
  co_await me.store(1, 5, order["record last field"]);
  co_await me.store(0, 4, order["record"]);
  co_await me.store(2, 5, order["tell buffers"]);
  co_await me.store(2, 5, order["signal's digest"]);
}

/// Its peer makes another one, of digest 0, as two calls ago this rank did. This rank withdraws, and makes it on ordinary memory.
Body calls_otherwise(World&, Thread& me, Orders order) {
  for (const std::uint64_t digest : {7, 8}) {
    co_await me.store(0, 0, relaxed);
    co_await me.store(1, digest, order["record last field"]);
    co_await me.store(0, 4, order["record"]);
    co_await me.store(2, digest, order["signal's digest"]);
  }
}

bool must_withdraw(std::uint64_t own, std::uint64_t told, std::uint64_t sequence, std::uint64_t digest) {
  return sequence == 4 ? digest != own : told != 0;
}

Body keeps_on(World& world, Thread& me, Orders order) {
  const std::uint64_t told = co_await me.load(2, order["look whether told"]);
  const std::uint64_t sequence = co_await me.load(0, order["look at record"]);
  const std::uint64_t digest = co_await me.load(1, relaxed);
  world.expect(!must_withdraw(5, told, sequence, digest), "a rank that calls alike seems to call otherwise");
}

Body withdraws(World& world, Thread& me, Orders order) {
  const std::uint64_t agreed = co_await me.load(2, order["agree"]);
  const std::uint64_t told = co_await me.load(2, order["look whether told"]);
  const std::uint64_t sequence = co_await me.load(0, order["look at record"]);
  const std::uint64_t digest = co_await me.load(1, relaxed);
  world.expect(agreed == 0 || must_withdraw(0, told, sequence, digest), "a rank that calls otherwise seems to have called alike earlier");
}

Body fails(World&, Thread& me, Orders order) {
  co_await me.store(1, 5, relaxed);  // done: release for other readers
  co_await me.store(2, 3, relaxed);  // culprit
  co_await me.write(0, 9);           // last words
  co_await me.store(0, 3, order["fail"]);
}

Body blames(World& world, Thread& me, Orders order) {
  const std::uint64_t state = co_await me.load(0, order["look at state"]);
  if (state == 0) co_return;
  world.expect(co_await me.load(1, relaxed) == 5, "a call that the peer has finished doesn't look so");
  world.expect(co_await me.load(2, relaxed) == 3, "no culprit");
  world.expect(co_await me.read(0) == 9, "no last words");
}

/// Word 1 is a byte of a buffer: read while its owner's user may write, so that what was read counts only when confirmed.
Body disowns(World&, Thread& me, Orders order) {
  co_await me.store(0, 1, relaxed);
  co_await me.fence(order["disown"]);
  co_await me.store(1, 8, relaxed);
}

Body confirms(World& world, Thread& me, Orders order) {
  const std::uint64_t byte = co_await me.load(1, relaxed);
  co_await me.fence(order["confirm"]);
  const bool confirmed = co_await me.load(0, relaxed) == 0;
  world.expect(!confirmed || byte == 0, "what the owner wrote after its failure is taken for its input");
}

/// Cell 0 is memory of a thread that fails, whose user then unmaps it or writes there; word 1 the call in which the other one touches it.
Body takes_back(World&, Thread& me, Orders order) {
  co_await me.store(0, 1, order["break"]);
  co_await me.await_other(1, 1, order["look for readers"]);
  co_await me.write(0, 1);
}

Body touches_memory(Thread& me, std::memory_order tell, std::memory_order look, std::memory_order end, bool writes) {
  co_await me.store(1, 1, tell);
  const std::uint64_t broken = co_await me.load(0, look);
  if (broken == 0 && writes) co_await me.write(0, 2);
  if (broken == 0 && !writes) co_await me.read(0);
  co_await me.store(1, 0, end);
}

Body reads_memory(World&, Thread& me, Orders order) {
  return touches_memory(me, order["tell reading"], order["look at broken"], order["end reading"], false);
}
Body writes_memory(World&, Thread& me, Orders order) {
  return touches_memory(me, order["tell reading"], order["look at broken"], order["end reading"], true);
}
/// By the kernel, whose copy is behind the look and before the end as the rank's own would be.
Body has_memory_written(World&, Thread& me, Orders order) {
  return touches_memory(me, order["tell writing"], order["look before writing"], order["end writing"], true);
}

/// Cell 0 is a room that the other rank gives to another communicator once this rank has left communicator 1.
Body leaves(World&, Thread& me, Orders order) {
  co_await me.read(0);
  co_await me.store(0, 2, order["leave ledger"]);  // 2 for "left", so that await() can tell
  co_await me.store(0, 3, order["enter ledger"]);  // communicator 3, with other ranks
}

Body reuses(World&, Thread& me, Orders order) {
  co_await me.await(0, 2, order["look at ledger"]);
  co_await me.write(0, 1);
}

Body ends_its_calls(World&, Thread& me, Orders order) {
  co_await me.read(0);  // a peer's slot
  co_await me.store(0, 1, order["enter shrinking"]);
}

Body gives_slots_back(World&, Thread& me, Orders order) {
  co_await me.await(0, 1, order["look at survivor"]);
  co_await me.write(0, 1);
}

Body turns_the_crank(World&, Thread& me, Orders order) {
  co_await me.take(0, order["take token"]);
  co_await me.write(0, co_await me.read(0) + 1);
  co_await me.store(0, 0, order["give token"]);
}

template <Body (*first)(World&, Thread&, Orders), Body (*second)(World&, Thread&, Orders)>
std::vector<Body> both(World& world, const Orders& orders) {
  Thread& a = world.thread();
  Thread& b = world.thread();
  return {first(world, a, orders), second(world, b, orders)};
}

}  // namespace

TEST_CASE("a signal publishes the piece, its digest and its credit") { needs(both<sends_pieces, takes_pieces>, {"signal", "wait"}); }
TEST_CASE("an inline line isn't read before it is written, nor written before its last reader has finished") {
  needs(both<publishes_lines, polls_lines>, {"publish line", "poll line", "finish", "enter"});
}
TEST_CASE("a record that looks whole is whole") {
  needs(both<writes_records, reads_record>,
        {"record again", "record field", "record last field", "record", "read record", "read field", "read last field"});
}
TEST_CASE("whoever agrees to a call knows where the others' buffers are") { needs(both<tells_buffers, agrees>, {"tell buffers", "agree"}); }
TEST_CASE("a call is not withdrawn from a rank that makes the same one") {
  needs(both<calls_alike, keeps_on>, {"record", "tell buffers", "signal's digest", "look whether told", "look at record"});
}
TEST_CASE("whoever sees that a rank calls otherwise withdraws, also while that writes its record anew") {
  needs(both<calls_otherwise, withdraws>, {});
}
TEST_CASE("a failed rank's state publishes why") { needs(both<fails, blames>, {"fail", "look at state"}); }
TEST_CASE("what was read of a buffer counts only while its owner has it") { needs(both<disowns, confirms>, {"disown", "confirm"}); }
TEST_CASE("memory isn't unmapped while a thread reads it") {
  needs(both<takes_back, reads_memory>, {"break", "look for readers", "tell reading", "look at broken", "end reading"});
}
TEST_CASE("a peer writes into an output no more once its user has it back") {
  needs(both<takes_back, writes_memory>, {"break", "look for readers", "tell reading", "look at broken", "end reading"});
}
TEST_CASE("the kernel writes into an output for a peer no more once its user has it back") {
  needs(both<takes_back, has_memory_written>, {"break", "look for readers", "tell writing", "look before writing", "end writing"});
}
TEST_CASE("a room is used again once all ranks have left it") { needs(both<leaves, reuses>, {"leave ledger", "enter ledger", "look at ledger"}); }
TEST_CASE("slots are given back once those that are left have ended their calls") {
  needs(both<ends_its_calls, gives_slots_back>, {"enter shrinking", "look at survivor"});
}
TEST_CASE("a token passes on what its holder did") { needs(both<turns_the_crank, turns_the_crank>, {"take token", "give token"}); }

TEST_CASE("the code has the orders that were tried") {
  for (const End& end : ends) {
    INFO(end.name << " in " << end.file);
    std::ifstream file(std::string(RONDO_SOURCE_DIR) + "/" + end.file);
    std::size_t found = 0;
    for (std::string line; std::getline(file, line);) {
      const auto text = line.find_first_not_of(' ');
      if (text == std::string::npos || line.compare(text, std::strlen(end.text), end.text) != 0) continue;
      ++found;
      const auto order = line.rfind("std::memory_order_");
      REQUIRE(order != std::string::npos);
      CHECK(line.compare(order + 18, 7, end.order == acquire ? "acquire" : end.order == release ? "release" : "seq_cst") == 0);
    }
    CHECK(found == 1);
  }
}
