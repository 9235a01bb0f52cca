// Wrong input, calls that aren't served, peers that go: each is a result and words that name it.
#include <array>
#include <atomic>
#include <thread>

#include "nccl/support.hpp"

using rondo::test::last_error_has;
using rondo::test::Ranks;

TEST_CASE("wrong arguments are named, and nothing of their group runs") {
  Ranks ranks(2);
  std::array<float, 4> data{1, 2, 3, 4};
  float* const own = data.data();
  const auto type = static_cast<ncclDataType_t>(10);
  const auto op = static_cast<ncclRedOp_t>(77);
  CHECK((ncclAllReduce(own, own, 4, type, ncclSum, ranks[0], nullptr) == ncclInvalidArgument && last_error_has("ncclAllReduce: no data type of NCCL")));
  CHECK(last_error_has("2.18: 10"));
  CHECK((ncclAllReduce(own, own, 4, ncclFloat, op, ranks[0], nullptr) == ncclInvalidArgument && last_error_has("no operator of this communicator: 77")));
  CHECK((ncclBroadcast(own, own, 4, ncclFloat, 2, ranks[0], nullptr) == ncclInvalidArgument && last_error_has("ncclBroadcast: root 2 of 2 ranks")));
  CHECK((ncclReduce(own, own, 4, ncclFloat, ncclSum, -1, ranks[0], nullptr) == ncclInvalidArgument && last_error_has("root -1")));
  CHECK((ncclSend(own, 4, ncclFloat, 5, ranks[0], nullptr) == ncclInvalidArgument && last_error_has("ncclSend: peer 5 of 2 ranks")));
  CHECK((ncclRecv(nullptr, 4, ncclFloat, 1, ranks[0], nullptr) == ncclInvalidArgument && last_error_has("ncclRecv: the buffer is null")));
  CHECK((ncclAllReduce(own, own, 4, ncclFloat, ncclSum, nullptr, nullptr) == ncclInvalidArgument && last_error_has("ncclAllReduce: the communicator is null")));

  REQUIRE(ncclGroupStart() == ncclSuccess);
  CHECK(ncclAllReduce(own, own, 4, ncclFloat, ncclSum, ranks[0], nullptr) == ncclSuccess);
  CHECK(ncclAllReduce(own, own, 4, type, ncclSum, ranks[1], nullptr) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidArgument);
  CHECK(data == std::array<float, 4>{1, 2, 3, 4});
  CHECK((ncclGroupEnd() == ncclInvalidUsage && last_error_has("without ncclGroupStart")));

  // What was wrong is over with its group.
  std::array<std::int32_t, 2> values{1, 2};
  CHECK(ranks.each([&](int rank, ncclComm_t comm) {
    auto* const value = &values[static_cast<std::size_t>(rank)];
    return ncclAllReduce(value, value, 1, ncclInt32, ncclSum, comm, nullptr);
  }) == ncclSuccess);
  CHECK(values == std::array<std::int32_t, 2>{3, 3});
}

TEST_CASE("null answers, destroyed communicators and operators of another type are refused") {
  ncclComm_t gone = nullptr;
  CHECK(ncclCommInitAll(&gone, 1, nullptr) == ncclSuccess);
  int number = 0;
  CHECK(ncclCommCount(gone, nullptr) == ncclInvalidArgument);
  CHECK(ncclGetVersion(nullptr) == ncclInvalidArgument);
  CHECK(ncclGetUniqueId(nullptr) == ncclInvalidArgument);
  double factor = 2;
  ncclRedOp_t op = ncclSum;
  CHECK(ncclRedOpCreatePreMulSum(&op, &factor, ncclDouble, ncclScalarHostImmediate, gone) == ncclSuccess);
  float value = 1;
  CHECK((ncclAllReduce(&value, &value, 1, ncclFloat, op, gone, nullptr) == ncclInvalidArgument && last_error_has("another data type")));
  CHECK(ncclRedOpCreatePreMulSum(&op, &factor, static_cast<ncclDataType_t>(15), ncclScalarHostImmediate, gone) == ncclInvalidArgument);
  std::uint64_t huge = ~0ull;
  CHECK((ncclRedOpCreatePreMulSum(&op, &huge, ncclUint64, ncclScalarHostImmediate, gone) == ncclInvalidArgument && last_error_has("2^53")));
  CHECK(ncclCommFinalize(gone) == ncclSuccess);
  CHECK(ncclCommDestroy(gone) == ncclSuccess);
  CHECK((ncclCommDestroy(gone) == ncclInvalidArgument && last_error_has("was destroyed")));
  CHECK(ncclCommCount(gone, &number) == ncclInvalidArgument);
  CHECK(ncclCommAbort(gone) == ncclInvalidArgument);
  ncclResult_t met = ncclSuccess;
  CHECK(ncclCommGetAsyncError(gone, &met) == ncclInvalidArgument);
}

TEST_CASE("a configuration of another version of NCCL is read as far as it goes, and what is in it is judged") {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  ncclComm_t comm = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  const auto made = [&] { return ncclCommInitRankConfig(&comm, 1, id, 0, &config); };
  config.netName = "Socket";
  CHECK((made() == ncclInvalidUsage && last_error_has("netName 'Socket'")));
  config = NCCL_CONFIG_INITIALIZER;
  config.maxCTAs = 0;
  CHECK((made() == ncclInvalidArgument && last_error_has("maxCTAs 0")));
  config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 7;
  CHECK((made() == ncclInvalidArgument && last_error_has("blocking 7")));
  config = {};
  CHECK((made() == ncclInvalidArgument && last_error_has("NCCL_CONFIG_INITIALIZER")));
  CHECK(comm == nullptr);
  CHECK((ncclCommInitRank(&comm, 2, id, 2) == ncclInvalidArgument && last_error_has("rank 2 of 2 ranks")));
  CHECK(ncclCommInitAll(&comm, 0, nullptr) == ncclInvalidArgument);

  struct Later {
    ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
    int unknown[8]{};
  } later;
  later.known.size = sizeof later;
  later.known.blocking = 0;
  REQUIRE(ncclCommInitRankConfig(&comm, 1, id, 0, &later.known) == ncclSuccess);
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
  config = NCCL_CONFIG_INITIALIZER;  // of NCCL 2.14: no member behind blocking
  config.size = 20;
  config.netName = reinterpret_cast<const char*>(1);
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  REQUIRE(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclSuccess);
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

TEST_CASE("an id that is none is refused") {
  ncclUniqueId id{};
  ncclComm_t comm = reinterpret_cast<ncclComm_t>(1);
  CHECK(ncclCommInitRank(&comm, 2, id, 0) == ncclInvalidArgument);
  CHECK(comm == nullptr);
  for (char& letter : id.internal) letter = 'x';  // nor does it end
  CHECK(ncclCommInitRank(&comm, 2, id, 1) == ncclInvalidArgument);
}

TEST_CASE("messages to oneself that don't match are refused") {
  Ranks ranks(2);
  std::array<float, 4> data{};
  REQUIRE(ncclGroupStart() == ncclSuccess);
  CHECK(ncclSend(data.data(), 4, ncclFloat, 0, ranks[0], nullptr) == ncclSuccess);
  CHECK((ncclGroupEnd() == ncclInvalidUsage && last_error_has("1 ncclSend and 0 ncclRecv with itself")));
  REQUIRE(ncclGroupStart() == ncclSuccess);
  CHECK(ncclSend(data.data(), 4, ncclFloat, 0, ranks[0], nullptr) == ncclSuccess);
  CHECK(ncclRecv(data.data(), 2, ncclFloat, 0, ranks[0], nullptr) == ncclSuccess);
  CHECK((ncclGroupEnd() == ncclInvalidUsage && last_error_has("sends itself 4 f32 and receives 2 f32")));
}

TEST_CASE("ranks that disagree, and a rank that goes, are failures of the call and of the communicator") {
  Ranks ranks(2);
  std::array<float, 4> data{};
  ncclResult_t met = ncclSuccess;
  SECTION("they disagree") {
    CHECK((ranks.each([&](int rank, ncclComm_t comm) {
      return ncclAllReduce(data.data(), data.data(), rank == 0 ? 4 : 2, ncclFloat, ncclSum, comm, nullptr);
    }) == ncclInvalidUsage && last_error_has("mismatch")));
  }
  SECTION("one goes") {
    CHECK(ncclCommDestroy(ranks.comms[1]) == ncclSuccess);
    ranks.comms[1] = nullptr;
    CHECK((ncclAllReduce(data.data(), data.data(), 4, ncclFloat, ncclSum, ranks[0], nullptr) == ncclRemoteError && last_error_has("rank 1")));
  }
  CHECK(ncclCommGetAsyncError(ranks[0], &met) == ncclSuccess);
  CHECK(met != ncclSuccess);
}

TEST_CASE("in a group of several communicators the one that failed is to blame") {
  Ranks broken(2), sound(1);
  CHECK(ncclCommDestroy(broken.comms[1]) == ncclSuccess);
  broken.comms[1] = nullptr;
  std::array<float, 2> data{1, 1};
  REQUIRE(ncclGroupStart() == ncclSuccess);
  CHECK(ncclAllReduce(&data[0], &data[0], 1, ncclFloat, ncclSum, broken[0], nullptr) == ncclSuccess);
  CHECK(ncclAllReduce(&data[1], &data[1], 1, ncclFloat, ncclSum, sound[0], nullptr) == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclRemoteError);
  ncclResult_t met = ncclSuccess;
  CHECK((ncclCommGetAsyncError(broken[0], &met) == ncclSuccess && met == ncclRemoteError));
  CHECK((ncclCommGetAsyncError(sound[0], &met) == ncclSuccess && met == ncclSuccess));
}

TEST_CASE("an abort ends a call that another thread waits in") {
  Ranks ranks(2);
  std::atomic<bool> begun{false};
  ncclResult_t result = ncclSuccess;
  std::array<float, 4> data{};
  std::thread waits([&, comm = ranks[0]] {
    begun.store(true, std::memory_order_release);
    result = ncclAllReduce(data.data(), data.data(), 4, ncclFloat, ncclSum, comm, nullptr);
  });
  while (!begun.load(std::memory_order_acquire)) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(ncclCommAbort(ranks.comms[0]) == ncclSuccess);
  ranks.comms[0] = nullptr;
  waits.join();
  // Invalid argument: the thread came so late that there was no communicator any more.
  CHECK((result == ncclInvalidUsage || result == ncclInvalidArgument));
}
