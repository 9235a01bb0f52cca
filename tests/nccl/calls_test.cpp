// Collectives and messages in host memory, as nccl-tests' one thread calls them for all its ranks.
#include <cmath>
#include <cstring>
#include <thread>

#include "nccl/support.hpp"

using rondo::test::Ranks;

namespace {

constexpr int ranks_count = 3;
constexpr std::size_t count = 1000;

/// By rank, a buffer for `blocks` blocks.
template <class T>
std::vector<std::vector<T>> buffers(std::size_t blocks, T value) {
  return std::vector<std::vector<T>>(ranks_count, std::vector<T>(blocks * count, value));
}

template <class T>
std::vector<std::vector<T>> contributions(std::size_t blocks = 1) {
  auto all = buffers<T>(blocks, T{});
  for (int rank = 0; rank < ranks_count; ++rank)
    for (std::size_t i = 0; i < all[static_cast<std::size_t>(rank)].size(); ++i)
      all[static_cast<std::size_t>(rank)][i] = static_cast<T>(i % 5 + static_cast<std::size_t>(rank) + 1);
  return all;
}

template <class T>
T combined(ncclRedOp_t op, const std::vector<std::vector<T>>& inputs, std::size_t i) {
  T result = inputs[0][i];
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    const T value = inputs[rank][i];
    if (op == ncclProd) result = static_cast<T>(result * value);
    else if (op == ncclMax) result = std::max(result, value);
    else if (op == ncclMin) result = std::min(result, value);
    else result = static_cast<T>(result + value);
  }
  return op == ncclAvg ? static_cast<T>(result / static_cast<T>(inputs.size())) : result;
}

template <class T>
void reduce_all_ways(Ranks& ranks, ncclDataType_t type) {
  for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
    INFO("type " << type << ", op " << op);
    auto inputs = contributions<T>();
    auto outputs = buffers<T>(1, T{});
    REQUIRE(ranks.each([&](int rank, ncclComm_t comm) {
      return ncclAllReduce(inputs[static_cast<std::size_t>(rank)].data(), outputs[static_cast<std::size_t>(rank)].data(), count, type, op, comm, nullptr);
    }) == ncclSuccess);
    bool right = true;
    for (const auto& output : outputs)
      for (std::size_t i = 0; i < count; ++i) right &= std::abs(static_cast<double>(output[i]) - static_cast<double>(combined(op, inputs, i))) <= 1e-6;
    CHECK(right);
  }
}

}  // namespace

TEST_CASE("reductions of every type that C++ has, by every operator") {
  Ranks ranks(ranks_count);
  reduce_all_ways<std::int8_t>(ranks, ncclInt8);
  reduce_all_ways<std::uint8_t>(ranks, ncclUint8);
  reduce_all_ways<std::int32_t>(ranks, ncclInt32);
  reduce_all_ways<std::uint32_t>(ranks, ncclUint32);
  reduce_all_ways<std::int64_t>(ranks, ncclInt64);
  reduce_all_ways<std::uint64_t>(ranks, ncclUint64);
  reduce_all_ways<float>(ranks, ncclFloat32);
  reduce_all_ways<double>(ranks, ncclFloat64);
}

TEST_CASE("half types add up: 1.5 on each of three ranks") {
  Ranks ranks(ranks_count);
  for (const auto& [type, one_and_a_half, sum] : {std::tuple{ncclFloat16, 0x3e00, 0x4480}, {ncclBfloat16, 0x3fc0, 0x4090}}) {
    auto values = buffers<std::uint16_t>(1, static_cast<std::uint16_t>(one_and_a_half));
    REQUIRE(ranks.each([&, kind = type](int rank, ncclComm_t comm) {
      auto* const own = values[static_cast<std::size_t>(rank)].data();
      return ncclAllReduce(own, own, count, kind, ncclSum, comm, nullptr);  // in place
    }) == ncclSuccess);
    for (const auto& output : values) CHECK(output == std::vector<std::uint16_t>(count, static_cast<std::uint16_t>(sum)));
  }
}

TEST_CASE("reduce, broadcast, reduce_scatter and all_gather put everything where NCCL does, in place too") {
  Ranks ranks(ranks_count);
  const int root = 1;
  const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
  SECTION("reduce") {
    auto inputs = contributions<float>(), outputs = buffers<float>(1, -1);
    REQUIRE(ranks.each([&](int rank, ncclComm_t comm) {  // pointers that have no part in the call are there, too, as nccl-tests passes them
      return ncclReduce(inputs[at(rank)].data(), outputs[at(rank)].data(), count, ncclFloat, ncclSum, root, comm, nullptr);
    }) == ncclSuccess);
    for (std::size_t i = 0; i < count; ++i) REQUIRE(outputs[root][i] == combined(ncclSum, inputs, i));
    CHECK(outputs[0] == std::vector<float>(count, -1));
  }
  SECTION("broadcast, by both functions") {
    for (const bool old : {false, true}) {
      auto inputs = contributions<float>(), outputs = old ? inputs : buffers<float>(1, -1);
      REQUIRE(ranks.each([&](int rank, ncclComm_t comm) {
        if (old) return ncclBcast(outputs[at(rank)].data(), count, ncclFloat, root, comm, nullptr);
        return ncclBroadcast(inputs[at(rank)].data(), outputs[at(rank)].data(), count, ncclFloat, root, comm, nullptr);
      }) == ncclSuccess);
      for (const auto& output : outputs) CHECK(output == inputs[root]);
    }
  }
  SECTION("reduce_scatter") {
    for (const bool in_place : {false, true}) {
      const auto inputs = contributions<float>(ranks_count);
      auto given = inputs, outputs = buffers<float>(1, -1);
      const auto output = [&](int rank) { return in_place ? given[at(rank)].data() + at(rank) * count : outputs[at(rank)].data(); };
      REQUIRE(ranks.each([&](int rank, ncclComm_t comm) {
        return ncclReduceScatter(given[at(rank)].data(), output(rank), count, ncclFloat, ncclSum, comm, nullptr);
      }) == ncclSuccess);
      for (int rank = 0; rank < ranks_count; ++rank)
        for (std::size_t i = 0; i < count; ++i) REQUIRE(output(rank)[i] == combined(ncclSum, inputs, at(rank) * count + i));
    }
  }
  SECTION("all_gather") {
    for (const bool in_place : {false, true}) {
      const auto inputs = contributions<float>();
      auto outputs = buffers<float>(ranks_count, -1);
      for (int rank = 0; in_place && rank < ranks_count; ++rank)
        std::copy(inputs[at(rank)].begin(), inputs[at(rank)].end(), &outputs[at(rank)][at(rank) * count]);
      REQUIRE(ranks.each([&](int rank, ncclComm_t comm) {
        const float* const input = in_place ? &outputs[at(rank)][at(rank) * count] : inputs[at(rank)].data();
        return ncclAllGather(input, outputs[at(rank)].data(), count, ncclFloat, comm, nullptr);
      }) == ncclSuccess);
      for (const auto& output : outputs)
        for (int of = 0; of < ranks_count; ++of) REQUIRE(std::equal(inputs[at(of)].begin(), inputs[at(of)].end(), &output[at(of) * count]));
    }
  }
}

TEST_CASE("an all-to-all of sends and receives in one group, those to oneself among them") {
  Ranks ranks(ranks_count);
  const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
  auto inputs = contributions<std::int32_t>(ranks_count), outputs = buffers<std::int32_t>(ranks_count, -1);
  for (int rank = 0; rank < ranks_count; ++rank)
    for (std::size_t i = 0; i < inputs[at(rank)].size(); ++i) inputs[at(rank)][i] = rank * 100'000 + static_cast<std::int32_t>(i);
  REQUIRE(ranks.each([&](int rank, ncclComm_t comm) {
    for (int peer = 0; peer < ranks_count; ++peer) {
      REQUIRE(ncclSend(&inputs[at(rank)][at(peer) * count], count, ncclInt32, peer, comm, nullptr) == ncclSuccess);
      REQUIRE(ncclRecv(&outputs[at(rank)][at(peer) * count], count, ncclInt32, peer, comm, nullptr) == ncclSuccess);
    }
    return ncclSuccess;
  }) == ncclSuccess);
  for (int rank = 0; rank < ranks_count; ++rank)
    for (int of = 0; of < ranks_count; ++of)
      REQUIRE(std::equal(&outputs[at(rank)][at(of) * count], &outputs[at(rank)][at(of) * count] + count, &inputs[at(of)][at(rank) * count]));
}

TEST_CASE("several calls of each rank in one group run in their order") {
  Ranks ranks(ranks_count);
  auto values = buffers<std::int64_t>(1, 1);
  REQUIRE(ranks.each([&](int rank, ncclComm_t comm) {
    auto* const own = values[static_cast<std::size_t>(rank)].data();
    for (int call = 0; call < 4; ++call) REQUIRE(ncclAllReduce(own, own, count, ncclInt64, ncclSum, comm, nullptr) == ncclSuccess);
    return ncclSuccess;
  }) == ncclSuccess);
  for (const auto& own : values) CHECK(own == std::vector<std::int64_t>(count, 81));
}

TEST_CASE("an operator of a communicator's own scales before it adds, by a factor of now or of when it runs") {
  Ranks ranks(ranks_count);
  for (const auto residence : {ncclScalarHostImmediate, ncclScalarDevice}) {
    std::vector<float> factors{0.5, 2, 4};
    std::vector<ncclRedOp_t> ops(ranks_count);
    for (std::size_t rank = 0; rank < ranks_count; ++rank)
      REQUIRE(ncclRedOpCreatePreMulSum(&ops[rank], &factors[rank], ncclFloat, residence, ranks.comms[rank]) == ncclSuccess);
    factors[2] = 8;
    auto values = buffers<float>(1, 1);
    REQUIRE(ranks.each([&](int rank, ncclComm_t comm) {
      auto* const own = values[static_cast<std::size_t>(rank)].data();
      return ncclAllReduce(own, own, count, ncclFloat, ops[static_cast<std::size_t>(rank)], comm, nullptr);
    }) == ncclSuccess);
    for (const auto& own : values) CHECK(own == std::vector<float>(count, residence == ncclScalarDevice ? 10.5f : 6.5f));
    for (std::size_t rank = 0; rank < ranks_count; ++rank) {
      CHECK(ncclRedOpDestroy(ops[rank], ranks.comms[rank]) == ncclSuccess);
      CHECK(ncclRedOpDestroy(ops[rank], ranks.comms[rank]) == ncclInvalidArgument);
    }
  }
}

TEST_CASE("ranks that are threads meet by an id, and ranks of one thread in a group") {
  ncclUniqueId id;
  std::vector<ncclComm_t> comms(ranks_count, nullptr);
  const bool in_a_group = GENERATE(false, true);
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  if (in_a_group) {
    REQUIRE(ncclGroupStart() == ncclSuccess);
    for (int rank = 0; rank < ranks_count; ++rank) REQUIRE(ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], ranks_count, id, rank) == ncclSuccess);
    REQUIRE(ncclGroupEnd() == ncclSuccess);
  } else {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_count; ++rank)
      threads.emplace_back([&, rank] { (void)ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], ranks_count, id, rank); });
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<std::int32_t> values(ranks_count, 1);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks_count; ++rank)
    threads.emplace_back([&, rank] { (void)ncclAllReduce(&values[rank], &values[rank], 1, ncclInt32, ncclSum, comms[rank], nullptr); });
  for (std::thread& thread : threads) thread.join();
  CHECK(values == std::vector<std::int32_t>(ranks_count, ranks_count));
  for (ncclComm_t comm : comms) CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

TEST_CASE("a communicator is split by colors, in the order of keys") {
  Ranks ranks(ranks_count);
  std::vector<ncclComm_t> parts(ranks_count, nullptr);
  const std::vector<int> colors{0, NCCL_SPLIT_NOCOLOR, 0};
  REQUIRE(ranks.each([&](int rank, ncclComm_t comm) {
    return ncclCommSplit(comm, colors[static_cast<std::size_t>(rank)], -rank, &parts[static_cast<std::size_t>(rank)], nullptr);
  }) == ncclSuccess);
  CHECK(parts[1] == nullptr);
  int own = -1, size = 0;
  CHECK((ncclCommUserRank(parts[2], &own) == ncclSuccess && own == 0));
  CHECK((ncclCommCount(parts[0], &size) == ncclSuccess && size == 2));
  std::vector<float> values{1, 2, 4};
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (const std::size_t rank : {0, 2}) REQUIRE(ncclAllReduce(&values[rank], &values[rank], 1, ncclFloat, ncclSum, parts[rank], nullptr) == ncclSuccess);
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  CHECK(values == std::vector<float>{5, 2, 5});
  for (const std::size_t rank : {0, 2}) CHECK(ncclCommDestroy(parts[rank]) == ncclSuccess);
}
