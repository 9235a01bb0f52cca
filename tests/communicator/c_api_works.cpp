// The C interface between two ranks: started calls, and what their works tell.
#include <cmath>
#include <string>
#include <vector>

#include "c_api_ranks.hpp"
#include "support/catch.hpp"

namespace {

/// Waits for the works that were started, in their order, and releases them.
std::string wait_for_all(const std::vector<rondo_work*>& works) {
  std::vector<std::string> answers;
  for (rondo_work* work : works) {
    answers.push_back(expect(rondo_work_wait(work), RONDO_SUCCESS));
    if (rondo_work_done(work) != 1) answers.push_back("a work that was waited for is not done");
    std::uint32_t source = 5;
    answers.push_back(expect(rondo_work_source(work, &source), RONDO_SUCCESS));
    if (source != RONDO_NO_RANK) answers.push_back("a collective has source " + std::to_string(source));
    rondo_work_destroy(work);
  }
  return first_wrong(answers);
}

rondo_status wait_and_release(rondo_work* work) {
  const rondo_status status = rondo_work_wait(work);
  rondo_work_destroy(work);
  return status;
}

}  // namespace

TEST_CASE("through C every collective can be started and gives the right result to both ranks", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    const float mine = static_cast<float>(rank + 1);
    const std::vector<float> in{mine, 10 * mine};
    const std::vector<std::uint64_t> sent{rank + 1u, 0}, mine_of{rank == 0 ? 1u : 0u, rank == 0 ? 2u : 0u}, at{3, 0};
    std::vector<float> all(2), reduced(2, -1), cast(2), block(1), gathered(4), swapped(2), varied(4, -1), at_root(4, -1), dealt(1), prefix(2);
    std::vector<rondo_work*> w(11, nullptr);
    const std::string started = first_wrong({
        expect(rondo_start_all_reduce(c, in.data(), all.data(), 2, RONDO_F32, RONDO_SUM, &w[0]), RONDO_SUCCESS),
        expect(rondo_start_reduce(c, in.data(), rank == 1 ? reduced.data() : nullptr, 2, RONDO_F32, RONDO_PROD, 1, &w[1]), RONDO_SUCCESS),
        expect(rondo_start_broadcast(c, in.data(), cast.data(), 2, RONDO_F32, 1, &w[2]), RONDO_SUCCESS),
        expect(rondo_start_reduce_scatter(c, in.data(), block.data(), 1, RONDO_F32, RONDO_MIN, &w[3]), RONDO_SUCCESS),
        expect(rondo_start_all_gather(c, in.data(), gathered.data(), 2, RONDO_F32, &w[4]), RONDO_SUCCESS),
        expect(rondo_start_all_to_all(c, in.data(), swapped.data(), 1, RONDO_F32, &w[5]), RONDO_SUCCESS),
        expect(rondo_start_all_to_all_v(c, in.data(), sent.data(), nullptr, varied.data(), mine_of.data(), at.data(), RONDO_F32, &w[6]), RONDO_SUCCESS),
        expect(rondo_start_gather(c, in.data(), rank == 1 ? at_root.data() : nullptr, 2, RONDO_F32, 1, &w[7]), RONDO_SUCCESS),
        expect(rondo_start_scatter(c, rank == 1 ? in.data() : nullptr, dealt.data(), 1, RONDO_F32, 1, &w[8]), RONDO_SUCCESS),
        expect(rondo_start_scan(c, in.data(), prefix.data(), 2, RONDO_F32, RONDO_SUM, &w[9]), RONDO_SUCCESS),
        expect(rondo_start_barrier(c, &w[10]), RONDO_SUCCESS),
    });
    const std::string waited = wait_for_all(w);
    return first_wrong({started, waited, expect_values(all, {3, 30}, "all_reduce"),
                        expect_values(reduced, rank == 1 ? std::vector<float>{2, 200} : reduced, "reduce"),
                        expect_values(cast, {2, 20}, "broadcast"), expect_values(block, {rank == 0 ? 1.0f : 10.0f}, "reduce_scatter"),
                        expect_values(gathered, {1, 10, 2, 20}, "all_gather"),
                        expect_values(swapped, rank == 0 ? std::vector<float>{1, 2} : std::vector<float>{10, 20}, "all_to_all"),
                        expect_values(varied, rank == 0 ? std::vector<float>{2, 20, -1, 1} : std::vector<float>(4, -1), "all_to_all_v"),
                        rank == 1 ? expect_values(at_root, {1, 10, 2, 20}, "gather") : "", expect_values(dealt, {rank == 0 ? 2.0f : 20.0f}, "scatter"),
                        expect_values(prefix, rank == 0 ? std::vector<float>{1, 10} : std::vector<float>{3, 30}, "scan")});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a list of tensors is reduced where it lies, at once or started, with a factor for each rank", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    std::vector<float> first{1, 2}, second{3}, result(1, -1), scaled(2, -1);
    const rondo_tensor tensors[] = {{first.data(), first.data(), 2}, {nullptr, nullptr, 0}, {second.data(), result.data(), 1}};
    const rondo_bucket bucket{sizeof(rondo_bucket), tensors, 3, RONDO_F32, RONDO_SUM, 0, 0};
    const rondo_tensor copy[] = {{first.data(), scaled.data(), 2}};
    const rondo_bucket multiplied{sizeof(rondo_bucket), copy, 1, RONDO_F32, RONDO_PREMUL_SUM, rank == 0 ? 0.5 : 1.0, 0};
    const rondo_bucket empty{sizeof(rondo_bucket), nullptr, 0, RONDO_F32, RONDO_SUM, 0, 0};
    rondo_work* work = nullptr;
    const std::string done = expect(rondo_all_reduce_fused(c, &bucket), RONDO_SUCCESS);
    return first_wrong({done, expect(rondo_start_all_reduce_fused(c, &multiplied, &work), RONDO_SUCCESS), expect(wait_and_release(work), RONDO_SUCCESS),
                        expect(rondo_all_reduce_fused(c, &empty), RONDO_SUCCESS), expect_values(first, {2, 4}, "in place"),
                        expect_values(second, {3}, "an input"), expect_values(result, {6}, "out of place"), expect_values(scaled, {3, 6}, "scaled")});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C started messages arrive, and one from any rank says whose it was", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    const std::uint32_t peer = 1 - rank;
    const std::vector<std::int32_t> out{100 + static_cast<std::int32_t>(rank), 200, 300};
    std::vector<std::int32_t> in(3, -1);
    std::vector<rondo_work*> w(4, nullptr);
    std::uint32_t early = 5, named = 5, any = 5, of_send = 5, blocking = 5;
    const std::string started = first_wrong({
        expect(rondo_start_recv(c, &in[0], 1, RONDO_I32, peer, &w[0]), RONDO_SUCCESS),
        expect(rondo_work_source(w[0], &early), RONDO_SUCCESS),  // the peer waits in the barrier below before it sends
        expect(rondo_work_wait_for(w[0], 0.002), RONDO_DEADLINE_EXCEEDED, "still running"), expect(rondo_work_wait_for(w[0], 0), RONDO_DEADLINE_EXCEEDED),
        expect(rondo_barrier(c), RONDO_SUCCESS),
        expect(rondo_start_send(c, &out[0], 1, RONDO_I32, peer, &w[1]), RONDO_SUCCESS),
        expect(rondo_work_wait_for(w[0], 60), RONDO_SUCCESS), expect(rondo_work_wait_for(w[1], INFINITY), RONDO_SUCCESS),
        expect(rondo_start_recv_any_tagged(c, &in[1], 1, RONDO_I32, 4'000'000'000u, &w[2]), RONDO_SUCCESS),
        expect(rondo_start_send_tagged(c, &out[1], 1, RONDO_I32, peer, 4'000'000'000u, &w[3]), RONDO_SUCCESS),
        expect(rondo_work_wait(w[2]), RONDO_SUCCESS), expect(rondo_work_wait(w[3]), RONDO_SUCCESS),
        expect(rondo_work_source(w[0], &named), RONDO_SUCCESS), expect(rondo_work_source(w[2], &any), RONDO_SUCCESS),
        expect(rondo_work_source(w[1], &of_send), RONDO_SUCCESS),
        expect(rondo_send(c, &out[2], 1, RONDO_I32, peer), RONDO_SUCCESS), expect(rondo_recv_any(c, &in[2], 1, RONDO_I32, &blocking), RONDO_SUCCESS),
    });
    for (rondo_work* work : w) rondo_work_destroy(work);
    if (!started.empty()) return started;
    if (in != std::vector<std::int32_t>{100 + static_cast<std::int32_t>(peer), 200, 300}) return "a wrong message";
    if (early != RONDO_NO_RANK || of_send != RONDO_NO_RANK) return "a source where there is none";
    return named == peer && any == peer && blocking == peer ? "" : "a wrong source";
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a started call with wrong arguments tells it at once or when it is waited for, and harms nothing", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    float value = 1;
    rondo_work *none = nullptr, *null_input = nullptr, *bits_of_float = nullptr, *sum = nullptr;
    const std::uint64_t counts[] = {1, 1};
    return first_wrong({
        expect(rondo_start_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM, 2, &none), RONDO_INVALID_ARGUMENT, "root 2 is not below 2 ranks"),
        expect(rondo_start_send(c, &value, 1, RONDO_F32, 2, &none), RONDO_INVALID_ARGUMENT, "peer 2 is not below 2 ranks"),
        expect(rondo_start_recv(c, &value, 1, RONDO_F32, rank, &none), RONDO_INVALID_ARGUMENT, "itself"),
        expect(rondo_start_all_to_all_v(c, nullptr, counts, nullptr, &value, counts, nullptr, RONDO_F32, &none), RONDO_INVALID_ARGUMENT, "input is null"),
        none == nullptr ? "" : "a work of a call that was refused",
        expect(rondo_start_all_gather(c, nullptr, &value, 1, RONDO_F32, &null_input), RONDO_SUCCESS),
        expect(wait_and_release(null_input), RONDO_INVALID_ARGUMENT, "input is null"),
        expect(rondo_start_scan(c, &value, &value, 1, RONDO_F32, RONDO_BAND, &bits_of_float), RONDO_SUCCESS),
        expect(wait_and_release(bits_of_float), RONDO_INVALID_ARGUMENT, "band is not defined on f32"),
        expect(rondo_start_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM, &sum), RONDO_SUCCESS),
        expect(rondo_work_wait_for(sum, -1), RONDO_INVALID_ARGUMENT, "seconds is -1"), expect(rondo_work_wait_for(sum, NAN), RONDO_INVALID_ARGUMENT, "nan"),
        expect(wait_and_release(sum), RONDO_SUCCESS),
        value == 2 ? "" : "the communicator doesn't work any more",
    });
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a started call that fails is told of by its work, however soon it does", "[threads]") {
  const auto body = [](Rank c, std::uint32_t) -> std::string {
    float value = 1;
    std::string wrong;
    for (int i = 0; i < 2000 && wrong.empty(); ++i) {
      rondo_work* work = nullptr;
      wrong = expect(rondo_start_all_gather(c, nullptr, &value, 1, RONDO_F32, &work), RONDO_SUCCESS);
      while (rondo_work_done(work) == 0) {  // nobody waits: the progress thread ends it, and is still awake when the next one comes
      }
      if (wrong.empty()) wrong = expect(wait_and_release(work), RONDO_INVALID_ARGUMENT, "input is null");
    }
    return wrong;
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a message started after an abort tells of it, and so does the group that it is in", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    float value = 1;
    rondo_work *alone = nullptr, *grouped = nullptr;
    return first_wrong({
        expect(rondo_abort(c), RONDO_SUCCESS),
        expect(rondo_start_send(c, &value, 1, RONDO_F32, 1 - rank, &alone), RONDO_SUCCESS),
        expect(wait_and_release(alone), RONDO_ABORTED, "abort"),
        expect(rondo_group_begin(c), RONDO_SUCCESS),
        expect(rondo_start_recv(c, &value, 1, RONDO_F32, 1 - rank, &grouped), RONDO_SUCCESS),
        expect(rondo_group_end(c), RONDO_ABORTED, "abort"),
        expect(wait_and_release(grouped), RONDO_ABORTED, "abort"),
    });
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C what ranks did becomes a file of their timeline", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    float value = 1;
    char *events = nullptr, *file = nullptr;
    const std::string wrong = first_wrong({
        expect(rondo_stop_trace(c, &events), RONDO_INVALID_ARGUMENT, "start_trace"), expect(rondo_start_trace(c, 0), RONDO_INVALID_ARGUMENT, "0 events"),
        expect(rondo_start_trace(c, 1000), RONDO_SUCCESS), expect(rondo_start_trace(c, 1000), RONDO_INVALID_ARGUMENT, "already"),
        expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS), expect(rondo_stop_trace(c, &events), RONDO_SUCCESS)});
    if (!wrong.empty()) return wrong;
    const char* const ranks[] = {events, nullptr};
    const std::string made = first_wrong({expect(rondo_trace_file(ranks, 2, &file), RONDO_INVALID_ARGUMENT, "events of a rank is null"),
                                          expect(rondo_trace_file(ranks, 1, &file), RONDO_SUCCESS)});
    const std::string text = file == nullptr ? "" : file;
    rondo_text_destroy(events);
    rondo_text_destroy(file);
    if (!made.empty()) return made;
    return first_wrong({expect_word(text, "traceEvents"), expect_word(text, "rank " + std::to_string(rank)), expect_word(text, "all_reduce of 1 f32 (sum)")});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C started calls in a group run at its end; a receive from any rank must be a started one there", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    const std::uint32_t peer = 1 - rank;
    const float mine = static_cast<float>(rank + 1);
    float theirs = -1, sum = -1;
    std::uint32_t source = 5;
    rondo_work *received = nullptr, *summed = nullptr;
    const std::string wrong = first_wrong({
        expect(rondo_group_begin(c), RONDO_SUCCESS), expect(rondo_start_recv_any(c, &theirs, 1, RONDO_F32, &received), RONDO_SUCCESS),
        expect(rondo_recv_any(c, &theirs, 1, RONDO_F32, &source), RONDO_INVALID_ARGUMENT, "start_recv_any"),
        expect(rondo_send(c, &mine, 1, RONDO_F32, peer), RONDO_SUCCESS),
        expect(rondo_start_all_reduce(c, &mine, &sum, 1, RONDO_F32, RONDO_SUM, &summed), RONDO_SUCCESS), expect(rondo_group_end(c), RONDO_SUCCESS),
        rondo_work_done(received) == 1 && rondo_work_done(summed) == 1 ? "" : "not done at the group's end",
        expect(rondo_work_source(received, &source), RONDO_SUCCESS), expect(wait_and_release(received), RONDO_SUCCESS),
        expect(wait_and_release(summed), RONDO_SUCCESS)});
    if (!wrong.empty()) return wrong;
    return theirs == 3 - mine && sum == 3 && source == peer ? "" : "a wrong value or source";
  };
  CHECK(run_two(body) == "");
}
