// A process that may not have one more thread: an error that says so wherever the library needs one, and never an exception.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

/// From here on this process can't make a thread. The limit doesn't bind root, who therefore becomes nobody first.
std::string forbid_threads() {
  constexpr uid_t nobody = 65534;
  if (geteuid() == 0 && setresuid(nobody, nobody, nobody) != 0) return std::string("can't become nobody: ") + std::strerror(errno);
  const rlimit none{0, 0};
  return setrlimit(RLIMIT_NPROC, &none) == 0 ? "" : std::string("can't set the limit: ") + std::strerror(errno);
}

template <class T>
Result<void> outcome(const Result<T>& result) {
  if (result) return {};
  return result.error();
}

const std::vector<std::string> why{"thread", "ulimit -u"};

}  // namespace

TEST_CASE("without a thread for it a started call is an error that names the limit, and harms nothing") {
  const auto body = [](Communicator& communicator) -> std::string {
    if (auto wrong = forbid_threads(); !wrong.empty()) return wrong;
    float value = 1;
    const Call call{Collective::all_reduce, &value, &value, 1, DataType::f32, ReduceOp::sum};
    for (int i = 0; i < 2; ++i)
      if (auto wrong = expect_error(communicator.start(call).wait(), Errc::out_of_resources, why); !wrong.empty()) return wrong;
    communicator.group_begin();
    Work grouped = communicator.start(call);  // group_end runs it in this thread
    if (auto done = communicator.group_end(); !done) return "group: " + to_string(done.error());
    if (auto done = grouped.wait(); !done) return "group: " + to_string(done.error());
    const auto done = communicator.run(call);
    return done ? "" : to_string(done.error());
  };
  CHECK(complaints(run_processes(1, body)) == "");
}

TEST_CASE("without threads for them no ranks can be made, and that is an error that names the limit") {
  const std::string job = fresh_job();
  const auto in_process = []() -> std::string {
    if (auto wrong = forbid_threads(); !wrong.empty()) return wrong;
    return expect_error(outcome(Communicator::in_process(3)), Errc::out_of_resources, why);
  };
  const auto local = [&job](std::uint32_t rank) {
    return [&job, rank]() -> std::string {
      if (auto wrong = forbid_threads(); !wrong.empty()) return wrong;
      return expect_error(outcome(Communicator::local(rank, 2, job)), Errc::out_of_resources, why);
    };
  };
  CHECK(complaints(run_children({in_process})) == "");
  CHECK(complaints(run_children({local(0), local(1)})) == "");
}
