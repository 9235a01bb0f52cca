// The C interface between two ranks: calls that block, groups, failures. Started calls, plans and options have files of their own.
#include <string>
#include <thread>
#include <vector>

#include "c_api_ranks.hpp"
#include "support/catch.hpp"

TEST_CASE("through C every collective gives the right result to both ranks", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    std::uint32_t own = 9, size = 0;
    const float mine = static_cast<float>(rank + 1);
    const std::vector<float> in{mine, 10 * mine};
    std::vector<float> all(2), maximum(2), reduced(2, -1), sent(2), block(1), gathered(4), scaled(2);
    std::vector<float> swapped(2), at_root(4, -1), dealt(1), prefix(2);
    const std::string wrong = first_wrong({
        expect(rondo_rank(c, &own), RONDO_SUCCESS), expect(rondo_size(c, &size), RONDO_SUCCESS), expect(rondo_barrier(c), RONDO_SUCCESS),
        expect(rondo_all_reduce(c, in.data(), all.data(), 2, RONDO_F32, RONDO_SUM), RONDO_SUCCESS),
        expect(rondo_all_reduce(c, in.data(), maximum.data(), 2, RONDO_F32, RONDO_MAX), RONDO_SUCCESS),
        expect(rondo_reduce(c, in.data(), reduced.data(), 2, RONDO_F32, RONDO_PROD, 1), RONDO_SUCCESS),
        expect(rondo_broadcast(c, in.data(), sent.data(), 2, RONDO_F32, 1), RONDO_SUCCESS),
        expect(rondo_reduce_scatter(c, in.data(), block.data(), 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS),
        expect(rondo_all_gather(c, in.data(), gathered.data(), 2, RONDO_F32), RONDO_SUCCESS),
        expect(rondo_all_to_all(c, in.data(), swapped.data(), 1, RONDO_F32), RONDO_SUCCESS),
        expect(rondo_gather(c, in.data(), rank == 1 ? at_root.data() : nullptr, 2, RONDO_F32, 1), RONDO_SUCCESS),
        expect(rondo_scatter(c, rank == 1 ? in.data() : nullptr, dealt.data(), 1, RONDO_F32, 1), RONDO_SUCCESS),
        expect(rondo_scan(c, in.data(), prefix.data(), 2, RONDO_F32, RONDO_SUM), RONDO_SUCCESS),
        expect(rondo_scan(c, in.data(), prefix.data(), 2, RONDO_F32, RONDO_AVG), RONDO_INVALID_ARGUMENT, "avg is not defined for scan"),
        expect(rondo_all_reduce_premul(c, in.data(), scaled.data(), 2, RONDO_F32, rank == 0 ? 5 : 0.5), RONDO_SUCCESS),
    });
    if (!wrong.empty()) return wrong;
    if (own != rank || size != 2) return "rank or size is wrong";
    return first_wrong({expect_values(all, {3, 30}, "all_reduce"), expect_values(maximum, {2, 20}, "all_reduce by max"),
                        rank == 1 ? expect_values(reduced, {2, 200}, "reduce") : "", expect_values(sent, {2, 20}, "broadcast"),
                        expect_values(block, {rank == 0 ? 3.0f : 30.0f}, "reduce_scatter"), expect_values(gathered, {1, 10, 2, 20}, "all_gather"),
                        expect_values(scaled, {6, 60}, "premul"),
                        expect_values(swapped, rank == 0 ? std::vector<float>{1, 2} : std::vector<float>{10, 20}, "all_to_all"),
                        rank == 1 ? expect_values(at_root, {1, 10, 2, 20}, "gather") : "",
                        expect_values(dealt, {rank == 0 ? 2.0f : 20.0f}, "scatter"),
                        expect_values(prefix, rank == 0 ? std::vector<float>{1, 10} : std::vector<float>{3, 30}, "scan")});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C blocks of different lengths change places", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    const std::vector<std::uint64_t> sent{1, 2}, mine{rank + 1u, rank + 1u}, offsets{1, 4};
    const std::vector<float> in{1, 2, 3};
    std::vector<float> packed(4, -1), apart(6, -1);
    const std::string wrong = first_wrong({
        expect(rondo_all_to_all_v(c, in.data(), sent.data(), nullptr, packed.data(), mine.data(), nullptr, RONDO_F32), RONDO_SUCCESS),
        expect(rondo_all_to_all_v(c, in.data(), sent.data(), nullptr, apart.data(), mine.data(), offsets.data(), RONDO_F32), RONDO_SUCCESS),
        expect(rondo_all_to_all_v(c, in.data(), nullptr, nullptr, packed.data(), mine.data(), nullptr, RONDO_F32), RONDO_INVALID_ARGUMENT, "counts"),
        expect(rondo_all_to_all_v(nullptr, in.data(), sent.data(), nullptr, packed.data(), mine.data(), nullptr, RONDO_F32), RONDO_INVALID_ARGUMENT, "null"),
    });
    if (!wrong.empty()) return wrong;
    return first_wrong({expect_values(packed, rank == 0 ? std::vector<float>{1, 1, -1, -1} : std::vector<float>{2, 3, 2, 3}, "all_to_all_v"),
                        expect_values(apart, rank == 0 ? std::vector<float>{-1, 1, -1, -1, 1, -1} : std::vector<float>{-1, 2, 3, -1, 2, 3}, "with offsets")});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C symmetric memory is had and given back", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    rondo_memory* memory = nullptr;
    rondo_memory* absurd = nullptr;
    const std::string made = first_wrong({expect(rondo_allocate(c, 4000, &memory), RONDO_SUCCESS),
                                          expect(rondo_allocate(c, UINT64_MAX, &absurd), RONDO_OUT_OF_RESOURCES, "18446744073709551615 bytes")});
    if (!made.empty() || absurd != nullptr) return made + " or absurd";
    auto* const values = static_cast<float*>(rondo_memory_data(memory));
    values[999] = static_cast<float>(rank) + 1;
    const std::string used = expect(rondo_all_reduce(c, values, values, 1000, RONDO_F32, RONDO_SUM), RONDO_SUCCESS);
    const bool right = values[0] == 0 && values[999] == 3;
    rondo_memory_destroy(memory);
    return !used.empty() ? used : right ? "" : "a wrong sum";
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a communicator is split and copied", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    Rank alone = nullptr, copy = nullptr, none = c, pair = nullptr;
    const std::string made = first_wrong({
        expect(rondo_split(c, static_cast<std::int32_t>(rank), 0, &alone), RONDO_SUCCESS), expect(rondo_duplicate(c, &copy), RONDO_SUCCESS),
        expect(rondo_split(c, RONDO_NO_COLOR, 0, &none), RONDO_SUCCESS), expect(rondo_split(copy, 0, rank == 0 ? 9 : 2, &pair), RONDO_SUCCESS),
        expect(rondo_split(c, -2, 0, &none), RONDO_INVALID_ARGUMENT, "color -2"), expect(rondo_split(c, 0, 0, nullptr), RONDO_INVALID_ARGUMENT, "null"),
        expect(rondo_duplicate(nullptr, &none), RONDO_INVALID_ARGUMENT, "null")});
    if (!made.empty()) return made;
    std::uint32_t size = 0, other = 9;
    float one = 1, sum = 0, total = 0;
    const std::string used = first_wrong({
        expect(rondo_size(alone, &size), RONDO_SUCCESS), expect(rondo_rank(pair, &other), RONDO_SUCCESS),
        expect(rondo_all_reduce(alone, &one, &sum, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS),
        expect(rondo_all_reduce(pair, &one, &total, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS)});
    for (const Rank each : {alone, copy, pair}) rondo_destroy(each);
    if (!used.empty()) return used;
    return none == nullptr && size == 1 && sum == 1 && total == 2 && other == 1 - rank ? "" : "a wrong size, rank or sum";
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a communicator shrinks to those that are left", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    Rank both = nullptr, grown = nullptr;
    std::uint32_t number = 9, before[] = {9, 9};
    float sum = 1;
    const std::string wrong = first_wrong({
        expect(rondo_shrink(c, &both), RONDO_SUCCESS), expect(rondo_rank(both, &number), RONDO_SUCCESS),
        expect(rondo_parent_ranks(both, before), RONDO_SUCCESS), expect(rondo_parent_ranks(c, before), RONDO_INVALID_ARGUMENT, "from no other one"),
        expect(rondo_all_reduce(both, &sum, &sum, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS),
        expect(rondo_grow(both, 2, "job", &grown), RONDO_INVALID_ARGUMENT, "accepted: more than the 2")});
    rondo_destroy(both);
    return !wrong.empty() ? wrong : number == rank && sum == 2 && before[0] == 0 && before[1] == 1 ? "" : "a wrong rank or sum";
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C messages, groups and works end with the right data", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    const std::uint32_t peer = 1 - rank;
    const std::int32_t out = 100 + static_cast<std::int32_t>(rank);
    std::int32_t in = -1, crossed = -1;
    const rondo_status message = rank == 0 ? rondo_send(c, &out, 1, RONDO_I32, peer) : rondo_recv(c, &in, 1, RONDO_I32, peer);
    if (auto wrong = expect(message, RONDO_SUCCESS); !wrong.empty()) return wrong;
    if (rank == 1 && in != 100) return "the wrong message";
    const std::string grouped = first_wrong({expect(rondo_group_begin(c), RONDO_SUCCESS), expect(rondo_recv(c, &crossed, 1, RONDO_I32, peer), RONDO_SUCCESS),
                                             expect(rondo_send(c, &out, 1, RONDO_I32, peer), RONDO_SUCCESS), expect(rondo_group_end(c), RONDO_SUCCESS)});
    if (!grouped.empty()) return grouped;
    if (crossed != 100 + static_cast<std::int32_t>(peer)) return "the wrong message in a group";
    std::vector<float> sum(50'000, 1), from_zero(3, static_cast<float>(rank));
    rondo_work *first = nullptr, *second = nullptr;
    const std::string started = first_wrong(
        {expect(rondo_start_all_reduce(c, sum.data(), sum.data(), sum.size(), RONDO_F32, RONDO_SUM, &first), RONDO_SUCCESS),
         expect(rondo_start_broadcast(c, from_zero.data(), from_zero.data(), from_zero.size(), RONDO_F32, 0, &second), RONDO_SUCCESS)});
    if (!started.empty()) return started;
    const std::string waited = expect(rondo_work_wait(second), RONDO_SUCCESS);
    const bool both_done = rondo_work_done(first) == 1 && rondo_work_done(second) == 1;  // they run in order
    const std::string again = expect(rondo_work_wait(first), RONDO_SUCCESS);
    rondo_work_destroy(first);
    rondo_work_destroy(second);
    return first_wrong({waited, again, both_done ? "" : "a work is not done", expect_values(sum, std::vector<float>(50'000, 2), "the started sum"),
                        expect_values(from_zero, {0, 0, 0}, "the started broadcast")});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C wrong arguments are told with a text and harm nothing", "[threads]") {
  const auto body = [](Rank c, std::uint32_t) -> std::string {
    float value = 1;
    rondo_work* work = nullptr;
    return first_wrong({
        expect(rondo_all_reduce(c, nullptr, &value, 1, RONDO_F32, RONDO_SUM), RONDO_INVALID_ARGUMENT, "input is null"),
        expect(rondo_all_reduce(nullptr, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_INVALID_ARGUMENT, "communicator is null"),
        expect(rondo_broadcast(c, &value, &value, 1, RONDO_F32, 7), RONDO_INVALID_ARGUMENT, "root 7"),
        expect(rondo_recv(c, &value, 1, RONDO_F32, 7), RONDO_INVALID_ARGUMENT, "peer 7"),
        expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_BXOR), RONDO_INVALID_ARGUMENT, "bxor is not defined on f32"),
        expect(rondo_rank(c, nullptr), RONDO_INVALID_ARGUMENT, "null"),
        expect(rondo_start_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM, nullptr), RONDO_INVALID_ARGUMENT, "null"),
        expect(rondo_start_broadcast(nullptr, &value, &value, 1, RONDO_F32, 0, &work), RONDO_INVALID_ARGUMENT, "null"),
        expect(rondo_work_wait(nullptr), RONDO_INVALID_ARGUMENT, "work is null"),
        expect(rondo_group_end(c), RONDO_INVALID_ARGUMENT, "without group_begin"),
        expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS),
        value == 2 ? "" : "the communicator doesn't work any more",
    });
  };
  CHECK(run_two(body) == "");
  CHECK(expect(rondo_create_in_process(2, 0, nullptr), RONDO_INVALID_ARGUMENT, "null") == "");
  Rank none = nullptr;
  CHECK(expect(rondo_create_local(3, 2, "job", 0, &none), RONDO_INVALID_ARGUMENT, "rank 3") == "");
  CHECK(none == nullptr);
  rondo_destroy(nullptr);
  rondo_work_destroy(nullptr);
  CHECK(rondo_work_done(nullptr) == 1);
}

TEST_CASE("through C a rank that calls something else, one that never comes and abort have their statuses and texts", "[threads]") {
  const auto disagree = [](Rank c, std::uint32_t rank) -> std::string {
    std::vector<float> values(20, 1);
    const std::string wrong = expect(rondo_all_reduce(c, values.data(), values.data(), 16 + rank, RONDO_F32, RONDO_SUM), RONDO_MISMATCH, "17 f32");
    return wrong.empty() ? expect(rondo_barrier(c), RONDO_MISMATCH, "16 f32") : wrong;
  };
  CHECK(run_two(disagree) == "");
  const auto never_come = [](Rank c, std::uint32_t rank) { return rank == 1 ? "" : expect(rondo_barrier(c), RONDO_DEADLINE_EXCEEDED, "rank 1"); };
  CHECK(run_two(never_come, 0.2) == "");
  const auto abort = [](Rank c, std::uint32_t rank) -> std::string {
    if (auto wrong = expect(rondo_check(c), RONDO_SUCCESS); rank == 0 && !wrong.empty()) return wrong;
    if (rank == 0) return first_wrong({expect(rondo_abort(c), RONDO_SUCCESS), expect(rondo_check(c), RONDO_ABORTED, "abort"),
                                       expect(rondo_barrier(c), RONDO_ABORTED, "abort")});
    return first_wrong({expect(rondo_barrier(c), RONDO_ABORTED, "rank 0"), expect(rondo_abort(nullptr), RONDO_INVALID_ARGUMENT, "null")});
  };
  CHECK(run_two(abort) == "");
}

TEST_CASE("through C a status's name and each thread's last error are texts of their own", "[threads]") {
  CHECK(std::string(rondo_status_name(RONDO_SUCCESS)) == "success");
  CHECK(std::string(rondo_status_name(RONDO_PEER_FAILED)) == "peer_failed");
  CHECK(std::string(rondo_status_name(RONDO_IO)) == "io");
  std::string before, after;
  std::thread([&] {
    before = rondo_last_error();
    (void)rondo_work_wait(nullptr);
    after = rondo_last_error();
  }).join();
  CHECK(before == "");
  CHECK(after.find("work is null") != std::string::npos);
}
