// What the kernel copies into other processes' memory: to whom the memory belongs, and long messages, which go the same way.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>

#include "communicator/kernel_copies.hpp"
#include "communicator/stopped.hpp"
#include "communicator/trial.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

/// This process is stopped before its call of process_vm_writev of this number; negative: it isn't.
std::atomic<int> stopped_before_write{-1};
Stopped* stopped = nullptr;

/// And goes on three seconds later at the latest: a rank that is stopped just before a copy holds up those whose memory it would write to.
void stop_for_three_seconds() {
  Stopped::go_on_after(3);
  stopped->stop();
}

}  // namespace

extern "C" ssize_t process_vm_writev(pid_t process, const iovec* own, unsigned long own_count, const iovec* other, unsigned long other_count,
                                     unsigned long flags) {
  if (stopped_before_write.load() >= 0 && stopped_before_write.fetch_sub(1) == 0) stop_for_three_seconds();
  return syscall(SYS_process_vm_writev, process, own, own_count, other, other_count, flags);
}

using namespace rondo;

TEST_CASE("what a root can't push is its own error where it can't read its input, and names the rank whose output can't be written") {
  if (!kernel_copies()) return;
  for (const bool unreadable : {true, false}) {
    INFO((unreadable ? "unreadable" : "unwritable"));
    const auto body = [unreadable](Communicator& communicator) -> std::string {
      const bool root = communicator.rank() == 1;
      float* const data = map();
      // The end of the block, which the root pushes at once.
      if (root == unreadable) mprotect(data + mapped_bytes / 4 / 4 * 3, mapped_bytes / 4, unreadable ? PROT_NONE : PROT_READ);
      const auto done = communicator.broadcast(data, data, mapped_bytes / 4, DataType::f32, 1);
      // Unless it is so late that the other one has come there before it, and says so.
      const auto by_receiver = unreadable ? expect_error(done, Errc::peer_failed, {"rank 1 ", "can't be read"})
                                          : expect_error(done, Errc::peer_failed, {"rank 0 ", "this rank's output of broadcast", "can't be written"});
      if (!root && !unreadable) {
        if (expect_error(done, Errc::invalid_argument, {"this rank's output of broadcast", "can't be written"}).empty()) return "";
        return expect_error(done, Errc::peer_failed, {"rank 1 ", "the kernel can't write to the buffer that rank 0 "});
      }
      if (!root || by_receiver.empty()) return by_receiver;
      if (unreadable) return expect_error(done, Errc::invalid_argument, {"this rank's input of broadcast", "can't be read"});
      return expect_error(done, Errc::peer_failed, {"the kernel can't write to the buffer that rank 0 ", "broadcast of 4194304 f32"});
    };
    CHECK(complaints(run_processes(2, body, forced("direct_push_pull"))) == "");
  }
}

TEST_CASE("a rank that is stopped while it pushes into others' memory changes nothing there once their call has failed and they have gone on") {
  if (!kernel_copies()) return;
  constexpr std::uint64_t count = 32u << 20;
  CommunicatorOptions options = forced("direct_push_pull");
  options.timeout = std::chrono::seconds(1);
  // Rank 1 pushes: it is stopped before its fourth call of the kernel, in the middle of a message of many pieces; or wherever it is after some calls.
  for (const Collective collective : {Collective::broadcast, Collective::gather, Collective::send_recv})
    for (const bool before_copy : {true, false}) {
      if (!before_copy && collective != Collective::broadcast) continue;
      const auto body = [=](Communicator& communicator) -> std::string {
        const bool pushes = communicator.rank() == 1;
        std::vector<float> data(count * (collective == Collective::gather ? communicator.size() : 1), 1.0f);
        std::thread stopper;
        if (pushes && before_copy) stopped_before_write = 3;
        else if (pushes) stopper = std::thread([] {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
          stop_for_three_seconds();
        });
        Result<void> done;
        while (done) {
          if (collective == Collective::broadcast) done = communicator.broadcast(data.data(), data.data(), count, DataType::f32, 1);
          else if (collective == Collective::gather) done = communicator.gather(data.data(), data.data(), count, DataType::f32, 0);
          else if (communicator.rank() == 0) done = communicator.recv(data.data(), count, DataType::f32, 1);
          else if (pushes) done = communicator.send(data.data(), count, DataType::f32, 0);
          else break;
        }
        if (stopper.joinable()) stopper.join();
        if (pushes) stopped->gone_on();
        if (!pushes && !done) std::fill(data.begin(), data.end(), 42.0f);
        if (!pushes) stopped->let_go();
        if (pushes || done) return "";
        if (!stopped->wait()) return "rank 1 hasn't gone on";
        return std::any_of(data.begin(), data.end(), [](float value) { return value != 42; }) ? "what this rank wrote has changed" : "";
      };
      INFO(to_string(collective) << (before_copy ? ", before a copy" : ", anywhere"));
      stopped = Stopped::shared(2);
      REQUIRE(stopped != nullptr);
      CHECK(complaints(run_processes(3, body, options)) == "");
      Stopped::release(stopped);
    }
}

TEST_CASE("long messages are copied from memory to memory, and those that fit into slots don't wait for their receiver") {
  if (!kernel_copies()) return;
  for (const std::string algorithm : {"direct_one_shot", "direct_push_pull"}) {
    const auto body = [algorithm](Communicator& communicator) -> std::string {
      const std::uint32_t size = communicator.size(), rank = communicator.rank(), to = (rank + 1) % size, from = (rank + size - 1) % size;
      for (const std::uint64_t count : {0u, 1u, 5'003u, 100'003u, 3'000'017u}) {
        std::vector<std::uint32_t> out(count), in(count);
        for (std::uint32_t round = 0; round < 5; ++round) {
          std::iota(out.begin(), out.end(), rank * 1000 + round);
          std::fill(in.begin(), in.end(), 0);
          Result<void> sent;
          if (count < 6'000) {  // everybody sends before anybody receives
            sent = communicator.send(out.data(), count, DataType::u32, to);
            if (auto done = communicator.recv(in.data(), count, DataType::u32, from); !done) return to_string(done.error());
          } else {
            Work sending = communicator.start_send(out.data(), count, DataType::u32, to, 7);
            Work receiving = communicator.start_recv(in.data(), count, DataType::u32, from, 7);
            if (auto done = receiving.wait(); !done) return to_string(done.error());
            sent = sending.wait();
          }
          std::fill(out.begin(), out.end(), ~0u);
          if (!sent) return to_string(sent.error());
          for (std::uint64_t i = 0; i < count; ++i)
            if (in[i] != from * 1000 + round + i) return "count " + std::to_string(count) + ": a wrong element";
        }
        const std::string record = communicator.flight_record();
        if ((record.find("by " + algorithm) != std::string::npos) != (count > 100'000)) return record;
      }
      return "";
    };
    for (const std::uint32_t ranks : {2u, 3u}) {
      INFO(ranks << " ranks " << algorithm);
      CHECK(complaints(run_processes(ranks, body, forced(algorithm.c_str()))) == "");
    }
  }
}

TEST_CASE("a message that can't be read or written is its owner's error, or names the owner") {
  if (!kernel_copies()) return;
  for (const bool sends : {true, false})
    for (const char* algorithm : {"direct_one_shot", "direct_push_pull"}) {
      INFO((sends ? "unreadable " : "unwritable ") << algorithm);
      const auto body = [sends](Communicator& communicator) -> std::string {
        const std::uint64_t count = mapped_bytes / 4;
        const bool guilty = (communicator.rank() == 0) == sends;
        float* const data = map(!guilty ? PROT_READ | PROT_WRITE : sends ? PROT_NONE : PROT_READ);
        const auto done = communicator.rank() == 0 ? communicator.send(data, count, DataType::f32, 1) : communicator.recv(data, count, DataType::f32, 0);
        // Whoever comes upon it says so, and the other one hears of it.
        const std::string owner = sends ? "rank 0 " : "rank 1 ", verb = sends ? "read" : "writ";
        const auto wrong = expect_error(done, Errc::peer_failed, {owner, verb});
        return guilty && !wrong.empty() ? expect_error(done, Errc::invalid_argument, {"this rank's", verb}) : wrong;
      };
      CHECK(complaints(run_processes(2, body, forced(algorithm))) == "");
    }
}

TEST_CASE("what a message was to be written to is its owner's once the receive has failed, wherever the sender is") {
  if (!kernel_copies()) return;
  for (int round = 0; round < 30; ++round) {
    const auto body = [round](Communicator& communicator) -> std::string {
      std::vector<float> data(mapped_bytes / 4, 1.0f);
      std::thread aborter;
      if (communicator.rank() == 1) aborter = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(20'000 + 250 * round));
        communicator.abort();
      });
      Result<void> done;
      while (done) {
        if (communicator.rank() == 0) done = communicator.send(data.data(), data.size(), DataType::f32, 1);
        else done = communicator.recv(data.data(), data.size(), DataType::f32, 0);
      }
      std::fill(data.begin(), data.end(), 42.0f);
      if (aborter.joinable()) aborter.join();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (std::any_of(data.begin(), data.end(), [](float value) { return value != 42; })) return "what this rank wrote has changed";
      return expect_error(done, Errc::aborted, {"abort()"});
    };
    INFO("round " << round);
    CHECK(complaints(run_processes(2, body, forced("direct_push_pull"))) == "");
  }
}
