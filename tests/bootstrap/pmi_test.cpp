// What is said with a launcher that speaks PMI, which a thread here plays: well, and badly.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "bootstrap/launcher.hpp"
#include "deadline.hpp"
#include "support/catch.hpp"

namespace {

using namespace rondo;

/// Answers each line as `answer` has it; nothing: it hangs up.
class Mpiexec {
 public:
  using Answer = std::function<std::string(const std::string& line)>;

  explicit Mpiexec(Answer answer) : answer_(std::move(answer)) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    rank_ = Fd(ends[0]);
    own_ = Fd(ends[1]);
    thread_ = std::thread([this] { serve(); });
  }
  ~Mpiexec() {
    shutdown(rank_.get(), SHUT_RDWR);
    thread_.join();
  }

  Environment environment(const std::string& rank = "1", const std::string& size = "2") const {
    return {{"PMI_FD", std::to_string(rank_.get())}, {"PMI_RANK", rank}, {"PMI_SIZE", size}};
  }
  const std::vector<std::string>& heard() const { return heard_; }

 private:
  void serve() {
    std::string line;
    for (char byte = 0; read(own_.get(), &byte, 1) == 1;) {
      if (byte != '\n') {
        line += byte;
        continue;
      }
      heard_.push_back(line);
      const std::string said = answer_(line);
      line.clear();
      if (said.empty()) break;
      for (const char part : said)  // one by one: lines may come in pieces
        if (send(own_.get(), &part, 1, MSG_NOSIGNAL) != 1) return;
    }
    own_.reset();
  }

  Answer answer_;
  Fd rank_, own_;
  std::vector<std::string> heard_;
  std::thread thread_;
};

std::string answer_well(const std::string& line) {
  if (line.starts_with("cmd=init ")) return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
  if (line == "cmd=get_my_kvsname") return "cmd=my_kvsname kvsname=kvs_77_0\n";
  if (line.starts_with("cmd=put ")) return "cmd=put_result rc=0 msg=success\n";
  if (line == "cmd=barrier_in") return "cmd=barrier_out\n";
  if (line == "cmd=finalize") return "cmd=finalize_ack\n";
  if (line.starts_with("cmd=get ")) return "cmd=get_result rc=0 msg=success value=rondo1/there\n";
  return "";
}

std::string text_of(const Result<std::string>& result) { return result ? "got " + *result : to_string(result.error()); }

}  // namespace

TEST_CASE("a launcher that speaks PMI passes rank 0's text on") {
  for (const std::string rank : {"0", "1"}) {
    Mpiexec mpiexec(answer_well);
    auto launcher = find_launcher(mpiexec.environment(rank));
    REQUIRE(launcher.has_value());
    REQUIRE(*launcher != nullptr);
    CHECK((*launcher)->rank == (rank == "0" ? 0 : 1));
    CHECK((*launcher)->size == 2);
    CHECK(text_of((*launcher)->share("rondo1/here", deadline_in(10))) == "got rondo1/there");
    launcher->reset();
    CHECK(mpiexec.heard().back() == "cmd=finalize");
    const bool put = mpiexec.heard()[2].starts_with("cmd=put kvsname=kvs_77_0 key=rondo");
    CHECK(put == (rank == "0"));
    if (put) CHECK(mpiexec.heard()[2].ends_with(" value=rondo1/here"));
  }
}

TEST_CASE("a launcher that speaks PMI badly is an error that says what it said") {
  const auto instead = [](const std::string& of, const std::string& answer) {
    return [=](const std::string& line) { return line.starts_with(of) ? answer : answer_well(line); };
  };
  const std::string endless(10'000, 'x');
  const std::vector<std::pair<Mpiexec::Answer, std::string>> bad{
      {instead("cmd=init", ""), "hung up"},
      {instead("cmd=init", "cmd=response_to_init rc=-1\n"), "answered 'cmd=response_to_init rc=-1'"},
      {instead("cmd=init", "nonsense\n"), "answered 'nonsense'"},
      {instead("cmd=get_my", "cmd=my_kvsname\n"), "names no space"},
      {instead("cmd=put", "cmd=put_result rc=1 msg=full\n"), "rc=1 msg=full"},
      {instead("cmd=barrier", ""), "hung up"},
      {instead("cmd=get ", endless), "endless lines"}};
  for (const auto& [answer, words] : bad) {
    INFO(words);
    Mpiexec mpiexec(answer);
    auto launcher = find_launcher(mpiexec.environment("0"));
    const std::string text = launcher ? text_of((*launcher)->share("secret", deadline_in(10))) : to_string(launcher.error());
    CHECK(text.find(words) != std::string::npos);
    CHECK(text.find("secret") == std::string::npos);
  }
  Mpiexec silent(instead("cmd=barrier", "c"));
  auto launcher = find_launcher(silent.environment());
  REQUIRE(launcher.has_value());
  CHECK(text_of((*launcher)->share("-", deadline_in(0.3))).find("not all ranks have come") != std::string::npos);
}

TEST_CASE("an environment tells of a launcher, of none, or nonsense") {
  const auto found = find_launcher({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}});
  CHECK((found.has_value() && *found == nullptr));
  for (const auto& [rank, size] : {std::pair{"2", "2"}, std::pair{"0", "0"}}) {
    const auto wrong = find_launcher({{"PMI_FD", "99"}, {"PMI_RANK", rank}, {"PMI_SIZE", size}});
    REQUIRE_FALSE(wrong.has_value());
    CHECK(to_string(wrong.error()).find("accepted: ") != std::string::npos);
  }
  const auto closed = find_launcher({{"PMI_FD", "1023"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}});
  REQUIRE_FALSE(closed.has_value());
  CHECK(to_string(closed.error()).find("can't be written to") != std::string::npos);
}
