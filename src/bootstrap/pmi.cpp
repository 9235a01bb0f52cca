// Launchers that speak PMI, version 1, over a descriptor that they leave open: MPICH's and Intel MPI's mpiexec. A line each way, "cmd=... key=value ...";
// the protocol is described in MPICH's src/pmi and in "PMI: A Scalable Parallel Process-Management Interface" (Balaji et al., EuroMPI 2010).
#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "bootstrap/launcher.hpp"
#include "bootstrap/peers.hpp"

namespace rondo {
namespace {

constexpr std::size_t longest_line = 4096;
constexpr std::int64_t init_ns = 30'000'000'000;
constexpr std::int64_t finalize_ns = 1'000'000'000;

/// The launcher listens to one conversation a process, and MPI's comes first.
bool uses_mpi() { return dlsym(RTLD_DEFAULT, "MPI_Initialized") != nullptr; }

class Pmi final : public Launcher {
 public:
  explicit Pmi(int descriptor) : descriptor_(descriptor) {}

  /// A rank that ends without a farewell is taken for one that crashed.
  ~Pmi() override {
    if (begun_) (void)ask("cmd=finalize", "finalize_ack", now_ns() + finalize_ns);
  }

  Result<void> begin(std::uint32_t own, std::uint32_t all) {
    rank = own;
    size = all;
    const std::int64_t deadline_ns = now_ns() + init_ns;
    auto begun = ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", deadline_ns);
    if (!begun) return begun.error();
    begun_ = true;
    const auto space = ask("cmd=get_my_kvsname", "my_kvsname", deadline_ns);
    if (!space) return space.error();
    space_ = value_of(*space, "kvsname");
    return space_.empty() ? Result<void>(in_bootstrap(Errc::io, "the launcher's PMI names no space for keys")) : Result<void>();
  }

  Result<std::string> share(const std::string& text, std::int64_t deadline_ns) override {
    static std::atomic<std::uint32_t> shared{0};
    const std::string place = " kvsname=" + space_ + " key=rondo" + std::to_string(shared.fetch_add(1, std::memory_order_relaxed));
    if (rank == 0)
      if (const auto put = ask("cmd=put" + place + " value=" + text, "put_result", deadline_ns); !put) return put.error();
    if (const auto met = ask("cmd=barrier_in", "barrier_out", deadline_ns); !met) return met.error();
    const auto got = ask("cmd=get" + place, "get_result", deadline_ns);
    if (!got) return got.error();
    return value_of(*got, "value");
  }

 private:
  static std::string value_of(const std::string& line, const std::string& key) {
    const std::size_t at = (" " + line).find(" " + key + "=");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + key.size() + 1;
    return line.substr(begin, line.find(' ', begin) - begin);
  }

  /// Says a line and hears the answer, which must be `wanted` and, where it has an rc, rc=0.
  Result<std::string> ask(const std::string& line, const std::string& wanted, std::int64_t deadline_ns) {
    const std::string said = line + "\n";
    if (send(descriptor_, said.data(), said.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(said.size()))
      return in_bootstrap(Errc::io, "the launcher's PMI can't be written to (it can be asked once by a process)", errno);
    auto answer = hear(deadline_ns);
    if (!answer) return answer;
    const std::string result = value_of(*answer, "rc");
    if (value_of(*answer, "cmd") != wanted || (!result.empty() && result != "0"))
      return in_bootstrap(Errc::io, "the launcher's PMI answered '" + *answer + "' to '" + line.substr(0, line.find(" value=")) + "'");
    return answer;
  }

  /// One line. The launcher says nothing unasked, so nothing comes behind it.
  Result<std::string> hear(std::int64_t deadline_ns) const {
    std::string line;
    while (line.size() < longest_line) {
      const std::int64_t left = deadline_ns - now_ns();
      pollfd entry{descriptor_, POLLIN, 0};
      if (left <= 0) return in_bootstrap(Errc::deadline_exceeded, "no answer from the launcher's PMI: not all ranks have come");
      if (poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1000))) <= 0) continue;
      char room[256];
      const ssize_t got = read(descriptor_, room, sizeof room);
      if (got <= 0) return in_bootstrap(Errc::io, "the launcher's PMI hung up (it can be asked once by a process)", got == 0 ? ECONNRESET : errno);
      line.append(room, static_cast<std::size_t>(got));
      if (line.back() != '\n') continue;
      line.pop_back();
      return line;
    }
    return in_bootstrap(Errc::io, "the launcher's PMI answers with endless lines");
  }

  int descriptor_;
  bool begun_ = false;
  std::string space_;
};

}  // namespace

Result<std::unique_ptr<Launcher>> find_pmi(const Environment& environment) {
  const auto number = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : parse_unsigned(found->second);
  };
  const auto descriptor = number("PMI_FD"), rank = number("PMI_RANK"), size = number("PMI_SIZE");
  if (!descriptor || !rank || !size) return std::unique_ptr<Launcher>();
  if (*descriptor > INT32_MAX || *size == 0 || *size > UINT32_MAX || *rank >= *size)
    return in_bootstrap(Errc::invalid_argument, "PMI_FD=" + std::to_string(*descriptor) + " PMI_RANK=" + std::to_string(*rank) + " PMI_SIZE=" +
                                                    std::to_string(*size) + "; accepted: a descriptor, and a rank below the size");
  if (uses_mpi())
    return in_bootstrap(Errc::unsupported,
                        "this program uses MPI itself, to which alone the launcher's PMI speaks; its ranks can hand on a unique_id(), by MPI_Bcast");
  auto pmi = std::make_unique<Pmi>(static_cast<int>(*descriptor));
  if (auto begun = pmi->begin(static_cast<std::uint32_t>(*rank), static_cast<std::uint32_t>(*size)); !begun) return begun.error();
  return std::unique_ptr<Launcher>(std::move(pmi));
}

}  // namespace rondo
