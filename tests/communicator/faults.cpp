// When things go wrong: every survivor gets an error that names the guilty rank, in time, and can go on.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "support/arrivals.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

std::string describe_result(const Result<void>& result) { return result ? "success" : to_string(result.error()); }

}  // namespace

TEST_CASE("a killed rank gives every survivor an error that names it within a second, and a new communicator works") {
  for (const std::uint32_t ranks : {2u, 4u}) {
    const std::string second_job = fresh_job();
    const auto body = [&](Communicator& communicator) -> std::string {
      std::vector<float> values(50'000, 1);
      for (int i = 0; i < 20; ++i)
        if (auto done = communicator.all_reduce(values.data(), values.data(), values.size(), DataType::f32); !done) return "before: " + describe_result(done);
      const std::uint32_t victim = communicator.size() - 1;
      if (communicator.rank() == victim) {
        raise(SIGKILL);
      }
      const auto begin = Clock::now();
      Result<void> result;
      while (result && seconds_since(begin) < 10) result = communicator.all_reduce(values.data(), values.data(), values.size(), DataType::f32);
      if (seconds_since(begin) > 1) return "took " + std::to_string(seconds_since(begin)) + " s";
      const std::string culprit = "rank " + std::to_string(victim) + " ";
      if (auto wrong = expect_error(result, Errc::peer_failed, {culprit}); !wrong.empty()) return wrong;
      auto fresh = Communicator::local(communicator.rank(), communicator.size() - 1, second_job);
      if (!fresh) return "new communicator: " + to_string(fresh.error());
      return fresh->all_reduce(values.data(), values.data(), values.size(), DataType::f32) ? "" : "the new communicator doesn't work";
    };
    auto answers = run_processes(ranks, body);
    CHECK(answers.back() == "ended by signal 9");
    answers.pop_back();
    CHECK(complaints(answers) == "");
  }
}

TEST_CASE("a rank that leaves is named, and not before its last call is over") {
  const auto body = [](Communicator& communicator) -> std::string {
    float value = 1;
    if (communicator.rank() == 0) {
      // the others may leave while this one still reads its last result
      if (auto done = communicator.all_reduce(&value, &value, 1, DataType::f32); !done) return describe_result(done);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return expect_error(communicator.all_reduce(&value, &value, 1, DataType::f32), Errc::peer_failed, {"rank 1"});
    }
    return describe_result(communicator.all_reduce(&value, &value, 1, DataType::f32)) == "success" ? "" : "first call failed";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("a rank that never comes is named when the deadline ends, and the error stays", "[threads]") {
  CommunicatorOptions options;
  options.timeout = std::chrono::milliseconds(300);
  const auto body = [](Communicator& communicator) -> std::string {
    float value = 1;
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      return "";
    }
    const auto first = communicator.all_reduce(&value, &value, 1, DataType::f32);
    if (auto wrong = expect_error(first, Errc::deadline_exceeded, {"rank 1", "has not entered"}); !wrong.empty()) return wrong;
    return expect_error(communicator.barrier(), Errc::deadline_exceeded, {"rank 1"});
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body, options)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body, options)) == "");
}

TEST_CASE("a deadline that ends on one rank ends the wait of the others, with that rank's own words", "[threads]") {
  CommunicatorOptions options;
  options.timeout = std::chrono::seconds(1);
  const Arrivals through;
  const auto body = [&through](Communicator& communicator) -> std::string {
    if (communicator.rank() == 2) return through.await(2) ? "" : "the others wait for ever";
    if (communicator.rank() == 1 && !communicator.set_timeout(std::chrono::seconds(20))) return "no deadline";
    const auto result = communicator.barrier();
    through.count();
    if (communicator.rank() == 0) return expect_error(result, Errc::deadline_exceeded, {"rank 2 ", "has not entered"});
    return expect_error(result, Errc::peer_failed, {"rank 0 ", "failed: barrier (#1) did not end within 1000 ms", "rank 2 "});
  };
  SECTION("as threads") CHECK(complaints(run_threads(3, body, options)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, body, options)) == "");
}

TEST_CASE("abort from another thread ends every wait on every rank", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    float value = 1;
    std::thread aborter;
    if (communicator.rank() == 0) aborter = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      communicator.abort();
    });
    const auto begin = Clock::now();
    Result<void> result;
    if (communicator.rank() != communicator.size() - 1) result = communicator.all_reduce(&value, &value, 1, DataType::f32);
    else {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      // what the others had sent before the abort may still make one whole call
      for (int i = 0; result && i < 3; ++i) result = communicator.all_reduce(&value, &value, 1, DataType::f32);
    }
    if (aborter.joinable()) aborter.join();
    if (seconds_since(begin) > 2) return "took too long";
    if (communicator.rank() == 0) return expect_error(result, Errc::aborted, {"abort() was called"});
    return expect_error(result, Errc::aborted, {"rank 0 (", "called abort()"});
  };
  SECTION("as threads") CHECK(complaints(run_threads(3, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(3, body)) == "");
}

TEST_CASE("after an abort every call that a communicator has gives the same error", "[threads]") {
  const auto body = [](Communicator& communicator) -> std::string {
    float data[8] = {}, other[8] = {};
    const std::vector<std::uint64_t> counts(communicator.size(), 1);
    const std::uint32_t peer = 1 - communicator.rank();
    const Tensor tensors[] = {{data, data, 4}};
    const auto plan = communicator.plan_for(Call{Collective::all_reduce, data, data, 8, DataType::f32});
    if (!plan) return to_string(plan.error());
    // The other rank's abort may end this one's barrier.
    if (auto done = communicator.barrier(); !done && done.error().code != Errc::aborted) return to_string(done.error());
    communicator.abort();
    const auto failed = [](const auto& result) { return result ? Result<void>() : Result<void>(result.error()); };
    communicator.group_begin();
    (void)communicator.all_reduce(data, data, 8, DataType::f32);
    const std::pair<const char*, Result<void>> calls[] = {
        {"group_end", communicator.group_end()},
        {"all_reduce", communicator.all_reduce(data, data, 8, DataType::f32)},
        {"broadcast", communicator.broadcast(data, data, 8, DataType::f32, 0)},
        {"scan", communicator.scan(data, other, 8, DataType::f32)},
        {"all_to_all_v", communicator.all_to_all_v(data, {counts}, other, {counts}, DataType::f32)},
        {"start_all_to_all_v", communicator.start_all_to_all_v(data, {counts}, other, {counts}, DataType::f32).wait()},
        {"all_reduce_fused", communicator.all_reduce_fused(Bucket{tensors})},
        {"start_all_reduce_fused", communicator.start_all_reduce_fused(Bucket{tensors}).wait()},
        {"start", communicator.start(Call{Collective::all_gather, data, other, 4, DataType::f32}).wait()},
        {"barrier", communicator.barrier()},
        {"send", communicator.send(data, 8, DataType::f32, peer)},
        {"recv", communicator.recv(data, 8, DataType::f32, peer)},
        {"start_send", communicator.start_send(data, 8, DataType::f32, peer).wait()},
        {"start_recv", communicator.start_recv(data, 8, DataType::f32, peer).wait()},
        {"recv_any", failed(communicator.recv_any(data, 8, DataType::f32))},
        {"start_recv_any", communicator.start_recv_any(data, 8, DataType::f32).wait()},
        {"split", failed(communicator.split(0))},
        {"duplicate", failed(communicator.duplicate())},
        {"allocate", failed(communicator.allocate(64))},
        {"use_plan", communicator.use_plan(*plan)},
    };
    for (const auto& [name, result] : calls)
      if (auto wrong = expect_error(result, Errc::aborted, {"abort()"}); !wrong.empty()) return std::string(name) + ": " + wrong;
    return "";
  };
  SECTION("as threads") CHECK(complaints(run_threads(2, body)) == "");
  SECTION("as processes") CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("wrong arguments are told from the call itself and harm nothing") {
  const auto body = [](Communicator& communicator) -> std::string {
    std::vector<float> data(64, 1);
    char* bytes = reinterpret_cast<char*>(data.data());
    const std::uint64_t huge = ~std::uint64_t{0} / 2;
    const auto bad = [&](Result<void> result, const std::string& word) { return expect_error(result, Errc::invalid_argument, {word}); };
    const std::vector<std::string> answers{
        bad(communicator.all_reduce(nullptr, data.data(), 4, DataType::f32), "input is null"),
        bad(communicator.all_reduce(data.data(), nullptr, 4, DataType::f32), "output is null"),
        bad(communicator.all_reduce(data.data(), data.data() + 2, 4, DataType::f32), "overlap"),
        bad(communicator.all_reduce(bytes + 1, bytes + 1, 4, DataType::f32), "aligned"),
        bad(communicator.all_reduce(data.data(), data.data(), huge, DataType::f32), "2^62"),
        bad(communicator.all_reduce(data.data(), data.data(), 4, DataType::f32, ReduceOp::bxor), "bxor"),
        bad(communicator.all_reduce(data.data(), data.data(), 4, static_cast<DataType>(77)), "type 77"),
        bad(communicator.broadcast(data.data(), data.data(), 4, DataType::f32, 99), "root 99"),
        bad(communicator.send(data.data(), 4, DataType::f32, communicator.rank()), "itself"),
        bad(communicator.recv(data.data(), 4, DataType::f32, 99), "peer 99"),
    };
    for (const std::string& answer : answers)
      if (!answer.empty()) return answer;
    if (auto done = communicator.all_reduce(nullptr, nullptr, 0, DataType::f32); !done) return "count 0: " + describe_result(done);
    return describe_result(communicator.all_reduce(data.data(), data.data(), 64, DataType::f32)) == "success" ? "" : "the communicator doesn't work any more";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("too few descriptors are an error that names their limit, however few are left") {
  const auto body = [](Communicator&) -> std::string {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::vector<int> taken;
    for (int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0; fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) taken.push_back(fd);
    // one more free each time, until a communicator can be made: each failure before that is the same clear error
    for (std::size_t left = 0; !taken.empty(); ++left) {
      const auto made = Communicator::in_process(2);
      if (made) return left > 2 ? "" : "it worked with " + std::to_string(left) + " descriptors left: the test takes too few";
      const std::string text = to_string(made.error());
      const bool clear = text.find("descriptor") != std::string::npos && text.find("ulimit -n 2") != std::string::npos;
      if (!clear) return "with " + std::to_string(left) + " left: " + text;
      close(taken.back());
      taken.pop_back();
    }
    return "it never worked";
  };
  CHECK(complaints(run_processes(1, body)) == "");
}

TEST_CASE("creating and destroying communicators leaves no descriptor and no map behind", "[threads]") {
  const auto count_entries = [](const char* folder) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      (void)entry;
      ++count;
    }
    return count;
  };
  const auto count_segments = [] {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find("memfd:rondo") != std::string::npos;
    return count;
  };
  const std::size_t segments = count_segments();
  {
    const auto first = Communicator::in_process(2);  // the watcher's own descriptor comes with it
    REQUIRE(first.has_value());
    REQUIRE(count_segments() > segments);
  }
  const std::size_t before = count_entries("/proc/self/fd");
  for (int i = 0; i < 50; ++i) {
    auto made = Communicator::in_process(3);
    REQUIRE(made.has_value());
  }
  CHECK(count_entries("/proc/self/fd") == before);
  CHECK(count_segments() == segments);
}

TEST_CASE("a forked child gets an error from its parent's communicator, and the parent is unharmed") {
  const auto body = [](Communicator& communicator) -> std::string {
    float value = 1;
    if (auto done = communicator.all_reduce(&value, &value, 1, DataType::f32); !done) return describe_result(done);
    std::vector<float> late(1000, 1);
    const std::uint32_t peer = 1 - communicator.rank();
    Work started = communicator.rank() == 0 ? communicator.start_recv(late.data(), late.size(), DataType::f32, peer) : Work();
    const pid_t child = fork();
    if (child == 0) {
      const std::vector<std::pair<const char*, std::function<Result<void>()>>> calls = {
          {"all_reduce", [&] { return communicator.all_reduce(&value, &value, 1, DataType::f32); }},
          {"send", [&] { return communicator.send(&value, 1, DataType::f32, peer); }},
          {"start_send", [&] { return communicator.start_send(&value, 1, DataType::f32, peer).wait(); }},
          {"start", [&] { return communicator.start(Call{Collective::barrier}).wait(); }},
          {"all_reduce in a group", [&] {
             communicator.group_begin();
             auto done = communicator.all_reduce(&value, &value, 1, DataType::f32);
             (void)communicator.group_end();
             return done;
           }},
          {"plan_for", [&]() -> Result<void> {
             auto plan = communicator.plan_for(Call{Collective::all_reduce, &value, &value, 1, DataType::f32});
             return plan ? Result<void>() : plan.error();
           }},
          {"wait", [&] { return communicator.rank() == 0 ? started.wait() : communicator.barrier(); }},
      };
      communicator.abort();
      (void)communicator.flight_record();
      std::string wrong;
      for (const auto& [name, call] : calls) {
        const std::string fault = expect_error(call(), Errc::invalid_argument, {"forked"});
        if (!fault.empty()) wrong += std::string(name) + ": " + fault + "\n";
      }
      std::fprintf(stderr, "%s", wrong.c_str());
      _exit(wrong.empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return "the child got no error";
    if (communicator.rank() == 1)
      if (auto sent = communicator.send(late.data(), late.size(), DataType::f32, peer); !sent) return to_string(sent.error());
    if (auto taken = started.wait(); !taken) return to_string(taken.error());
    return describe_result(communicator.all_reduce(&value, &value, 1, DataType::f32)) == "success" ? "" : "the parent was harmed";
  };
  CHECK(complaints(run_processes(2, body)) == "");
}

TEST_CASE("numbers of ranks that nobody has are refused at once", "[threads]") {
  for (const std::uint32_t size : {0u, 2'000'000'000u, ~0u}) {
    for (const auto& made : {Communicator::local(0, size, "nobody"), Communicator::local(size == 0 ? 0 : size - 1, size, "nobody")}) {
      REQUIRE_FALSE(made.has_value());
      CHECK(made.error().code == Errc::invalid_argument);
      CHECK(to_string(made.error()).find("a communicator of " + std::to_string(size) + " ranks; accepted: 1 to 1000000") != std::string::npos);
    }
    const auto threads = Communicator::in_process(size);
    REQUIRE_FALSE(threads.has_value());
    CHECK(threads.error().code == Errc::invalid_argument);
  }
}

TEST_CASE("a job whose environment lacks RANK is refused by that name") {
  unsetenv("RANK");
  const auto made = Communicator::from_environment();
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().code == Errc::invalid_argument);
  CHECK(to_string(made.error()).find("RANK") != std::string::npos);
}

TEST_CASE("ranks find one another by torchrun's environment, and a restarted generation never meets the old one") {
  const auto job = [](int restart) {
    return [restart](Communicator& helper) -> std::string {
      setenv("RANK", std::to_string(helper.rank()).c_str(), 1);
      setenv("WORLD_SIZE", "2", 1);
      setenv("LOCAL_RANK", std::to_string(helper.rank()).c_str(), 1);
      setenv("LOCAL_WORLD_SIZE", "2", 1);
      setenv("MASTER_ADDR", "127.0.0.1", 1);
      setenv("MASTER_PORT", "29511", 1);
      setenv("TORCHELASTIC_RUN_ID", "rondo-test", 1);
      setenv("TORCHELASTIC_RESTART_COUNT", std::to_string(restart < 0 ? static_cast<int>(helper.rank()) : restart).c_str(), 1);
      CommunicatorOptions options;
      options.bootstrap_timeout = std::chrono::milliseconds(restart < 0 ? 300 : 10'000);
      auto made = Communicator::from_environment(options);
      if (restart < 0) return made ? "different generations met" : "";
      if (!made) return to_string(made.error());
      float value = 1;
      if (auto done = made->all_reduce(&value, &value, 1, DataType::f32); !done) return describe_result(done);
      return value == 2 ? "" : "wrong sum";
    };
  };
  CHECK(complaints(run_processes(2, job(0))) == "");
  CHECK(complaints(run_processes(2, job(3))) == "");
  CHECK(complaints(run_processes(2, job(-1))) == "");
}
