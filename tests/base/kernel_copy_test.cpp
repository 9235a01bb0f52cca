#include "base/kernel_copy.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/process_state.hpp"
#include "support/catch.hpp"

using namespace rondo;

namespace {

/// A process that does something for ever, killed with this.
class Child {
 public:
  template <class Body>
  explicit Child(const Body& body) : process_(fork()) {
    if (process_ == 0)
      for (;;) body();
  }
  ~Child() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Until the kernel says so.
  void stop() const {
    kill(process_, SIGSTOP);
    while (hindrance_of(process_) != "stopped by a signal") std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_t process() const { return process_; }

 private:
  pid_t process_;
};

}  // namespace

TEST_CASE("what the kernel copies either way, and how far it comes") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const three = static_cast<std::byte*>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::vector<std::byte> other(3 * page, std::byte{7});
  const auto address = reinterpret_cast<std::uint64_t>(three);
  std::uint64_t copied = 0;
  if (copy_to_process(getpid(), address, other.data(), 1) == ENOSYS) return;  // as under qemu
  REQUIRE(copy_to_process(getpid(), address, other.data(), 3 * page) == 0);
  CHECK(three[3 * page - 1] == std::byte{7});
  std::memset(three, 9, 3 * page);
  REQUIRE(copy_from_process(getpid(), other.data(), address, 3 * page) == 0);
  CHECK(other.back() == std::byte{9});
  mprotect(three + page, page, PROT_NONE);
  CHECK(copy_to_process(getpid(), address, other.data(), 3 * page, &copied) == EFAULT);
  CHECK(copied == page);
  CHECK(copy_from_process(getpid(), other.data(), address + 2 * page, page) == 0);
  CHECK(copy_from_process(getpid(), other.data(), address, 3 * page, &copied) == EFAULT);
  CHECK(copied == page);
  munmap(three, 3 * page);
}

TEST_CASE("a process that is stopped while the kernel writes for it is known to have no copy under way, and one that is stopped elsewhere isn't") {
  const Child rests([] { pause(); });
  rests.stop();
  CHECK(!stopped_behind_copy(rests.process(), rests.process()));
  CHECK(!stopped_behind_copy(getpid(), getpid()));
#ifdef __x86_64__
  std::vector<std::byte> much(64 << 20);
  if (copy_to_process(getpid(), reinterpret_cast<std::uint64_t>(much.data()), much.data(), 1) != 0) return;  // not allowed here
  const Child writes([&] { copy_to_process(getppid(), reinterpret_cast<std::uint64_t>(much.data()), much.data(), much.size()); });
  bool seen = false;
  for (int tries = 0; tries < 200 && !seen; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(!stopped_behind_copy(writes.process(), writes.process()));  // it runs
    writes.stop();
    seen = stopped_behind_copy(writes.process(), writes.process());
    kill(writes.process(), SIGCONT);
    while (hindrance_of(writes.process()) == "stopped by a signal") std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(seen);
#endif
}
