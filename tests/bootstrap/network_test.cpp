// Jobs that meet over TCP: who holds the key gets in, whoever else knocks is dropped, and the job goes on.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/clock.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/network.hpp"
#include "deadline.hpp"
#include "places.hpp"
#include "strangers.hpp"
#include "support/catch.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/sleep.hpp"

namespace {

using namespace rondo;

Fd knock_at(std::uint16_t port) {
  const sockaddr_in address = loopback(port);
  const auto begin = Clock::now();
  while (seconds_since(begin) < 5) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
    sleep_ms(1);
  }
  return {};
}

Knock right_knock(std::uint32_t rank, std::uint32_t size) {
  Knock knock{right_hello(rank, size), fresh_nonce()};
  std::memcpy(knock.hello.magic, network_magic, sizeof network_magic);
  return knock;
}

/// Knocks as somebody would who has heard rank 1 do it, and gets rank 0's challenge; empty where none came.
struct Thief {
  explicit Thief(std::uint16_t port, const Knock& said = right_knock(1, 2)) : knock(said), socket(knock_at(port)) {
    say(socket, &knock, sizeof knock);
    challenged = static_cast<bool>(receive_bytes(socket.get(), &challenge, sizeof challenge, deadline_in(1)));
  }
  /// "" when it is dropped for this proof.
  std::string tries(const KeyProof& proof) const {
    say(socket, proof.data(), proof.size());
    return challenged ? dropped_within(socket, 0.5) : "no challenge";
  }

  Knock knock;
  Fd socket;
  Challenge challenge{};
  bool challenged = false;
};

/// Rank 0 of 2 waits while `strange` happens to it; then rank 1 comes, and both meet. What was wrong, else "".
std::string job_goes_on(const MeetingPlace& place, const ChildBody& strange) {
  const auto deadline = Clock::now() + std::chrono::seconds(40);
  const Child first = start_child([&] { return meet_at(0, 2, place, 30); });
  const std::string during = answer_of(start_child(strange), deadline);
  const Child second = start_child([&] { return meet_at(1, 2, place, 30); });
  return complaints({answer_of(first, deadline), answer_of(second, deadline), during});
}

/// Its path; gone with this object.
class KeyFile {
 public:
  KeyFile(const std::string& content, mode_t mode) : path_("/tmp/rondo-key-" + std::to_string(getpid()) + "-" + std::to_string(now_ns())) {
    std::ofstream(path_) << content;
    chmod(path_.c_str(), mode);
  }
  ~KeyFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("ranks that hold the key meet over TCP, however many and in whatever order") {
  for (const std::uint32_t size : {1u, 2u, 5u}) {
    INFO(size << " ranks");
    const MeetingPlace place = fresh_place();
    std::vector<ChildBody> ranks;
    for (std::uint32_t rank = 0; rank < size; ++rank)
      ranks.push_back([&, rank] {
        sleep_ms(rank == 0 ? 100 : static_cast<int>(rank % 3) * 50);
        return meet_at(rank, size, place);
      });
    CHECK(complaints(run_children(ranks, 30)) == "");
  }
}

TEST_CASE("a rank with another key is told so and dropped, and the job goes on") {
  const MeetingPlace place = fresh_place();
  MeetingPlace other = place;
  other.key = key_of(8);
  const auto stranger = [&] { return expect_words(meet_at(1, 2, other, 20), {"invalid_argument", "127.0.0.1:", "hasn't this job's key"}, Clock::now(), 6); };
  CHECK(job_goes_on(place, stranger) == "");
}

TEST_CASE("ranks of another job at the same port are told so, and both sides name what is wrong") {
  const MeetingPlace place = fresh_place();
  MeetingPlace other = place;
  other.job = fresh_job();
  CHECK(job_goes_on(place, [&]() -> std::string {
          sleep_ms(200);
          const auto begin = Clock::now();
          const auto answers = run_children({[&] { return meet_at(0, 2, other, 20); }, [&] { return meet_at(1, 2, other, 20); }}, 20);
          return expect_words(answers[0], {"invalid_argument", "is taken by another program or job"}, begin, 8) +
                 expect_words(answers[1], {"invalid_argument", "is another job's rank 0"}, begin, 8);
        }) == "");
}

TEST_CASE("without the key nobody gets in, whatever was heard of others") {
  const MeetingPlace place = fresh_place();
  SECTION("a proof that is replayed") {
    CHECK(job_goes_on(place, [&]() -> std::string {
            const Thief heard(place.port);
            if (!heard.challenged) return "no challenge";
            const KeyProof proof = prove(place.key, Side::other, place.job, heard.knock, heard.challenge.nonce);  // as it might be overheard
            const Thief thief(place.port, heard.knock);
            return thief.challenge.nonce == heard.challenge.nonce ? "the same nonce twice" : thief.tries(proof);
          }) == "");
  }
  SECTION("rank 0's own proof, sent back") {
    CHECK(job_goes_on(place, [&] {
            const Thief thief(place.port);
            return thief.tries(thief.challenge.proof);
          }) == "");
  }
  SECTION("a proof for another rank") {
    CHECK(job_goes_on(place, [&] {
            const Thief thief(place.port);
            Knock other = thief.knock;
            other.hello.rank = 0;
            return thief.tries(prove(place.key, Side::other, place.job, other, thief.challenge.nonce));
          }) == "");
  }
}

TEST_CASE("a rank believes nothing that a rank 0 without the key says") {
  const MeetingPlace place = fresh_place();
  const auto impostor = [&]() -> std::string {
    const Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(place.port);
    if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener.get(), 64) != 0) return "it can't listen";
    const auto end = Clock::now() + std::chrono::seconds(5);
    while (Clock::now() < end) {
      const Fd peer(accept(listener.get(), nullptr, nullptr));
      Knock knock{};
      if (!receive_bytes(peer.get(), &knock, sizeof knock, deadline_in(1))) continue;
      const Challenge challenge{fresh_nonce(), {}};
      say(peer, &challenge, sizeof challenge);
      if (const std::string wrong = dropped_within(peer, 1); !wrong.empty()) return wrong;  // no proof for it
    }
    return "";
  };
  const auto rank = [&] { return expect_words(meet_at(1, 2, place, 20), {"invalid_argument", "hasn't this job's key"}, Clock::now(), 6); };
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  const Child listening = start_child(impostor);
  const Child knocking = start_child(rank);
  CHECK(answer_of(knocking, deadline) == "");
  kill(listening.process, SIGKILL);
  CHECK(answer_of(listening, deadline) == "ended by signal 9");
}

TEST_CASE("a port scan, idle connections and random bytes at a job's port are dropped, and the job goes on") {
  const MeetingPlace place = fresh_place();
  SECTION("connections that end at once") {
    CHECK(job_goes_on(place, [&]() -> std::string {
            for (int i = 0; i < 300; ++i)
              if (!knock_at(place.port)) return "nobody listens";
            return "";
          }) == "");
  }
  SECTION("64 that say nothing, and 64 that stop half-way") {
    const auto deadline = Clock::now() + std::chrono::seconds(40);
    const Child first = start_child([&] { return meet_at(0, 2, place, 30); });
    std::vector<Fd> idle;
    const Knock knock = right_knock(1, 2);
    for (int i = 0; i < 64; ++i) idle.push_back(knock_at(place.port));
    for (int i = 0; i < 64; ++i) {
      idle.push_back(knock_at(place.port));
      say(idle.back(), &knock, i % 2 == 0 ? sizeof knock : sizeof knock / 2);
    }
    const auto begin = Clock::now();
    const Child second = start_child([&] { return meet_at(1, 2, place, 30); });
    CHECK(complaints({answer_of(first, deadline), answer_of(second, deadline)}) == "");
    CHECK(seconds_since(begin) < 10);
  }
  SECTION("random bytes") {
    CHECK(job_goes_on(place, [&]() -> std::string {
            std::vector<unsigned char> bytes(1 << 16);
            std::uint32_t state = 1;
            for (unsigned char& byte : bytes) byte = static_cast<unsigned char>((state = state * 1664525 + 1013904223) >> 24);
            for (const std::size_t length : {std::size_t{1}, std::size_t{8}, sizeof(Knock), bytes.size()}) {
              const Fd socket = knock_at(place.port);
              say(socket, bytes.data(), length);
              if (const std::string answer = dropped_within(socket, 0.5); !answer.empty()) return std::to_string(length) + " bytes: " + answer;
            }
            return "";
          }) == "");
  }
}

TEST_CASE("a job starts while its port is flooded with connections") {
  const MeetingPlace place = fresh_place();
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  const Child first = start_child([&] { return meet_at(0, 4, place, 50); });
  const Child flood = start_child([&]() -> std::string {
    const Knock knock = right_knock(1, 4);
    for (std::uint64_t i = 0;; ++i) {
      const Fd socket = knock_at(place.port);
      if (i % 3 != 0) say(socket, &knock, i % 3 == 1 ? sizeof knock : 10);
    }
  });
  sleep_ms(300);
  std::vector<Child> others;
  for (std::uint32_t rank = 1; rank < 4; ++rank) others.push_back(start_child([&, rank] { return meet_at(rank, 4, place, 50); }));
  std::vector<std::string> answers{answer_of(first, deadline)};
  for (const Child& other : others) answers.push_back(answer_of(other, deadline));
  kill(flood.process, SIGKILL);
  (void)answer_of(flood, Clock::now());
  CHECK(complaints(answers) == "");
}

TEST_CASE("a rank that is killed while ranks meet over TCP is named to all within three seconds") {
  const MeetingPlace place = fresh_place();
  constexpr int victims_life_ms = 1000;
  const auto begin = Clock::now() + std::chrono::milliseconds(victims_life_ms);
  const std::vector<std::string> words{"peer_failed", "rank 2 ", "went away"};
  const auto stays = [&](std::uint32_t rank) { return [&, rank] { return expect_words(meet_at(rank, 4, place, 20), words, begin, 3); }; };
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  const Child first = start_child(stays(0)), second = start_child(stays(1));
  const Child victim = start_child([&]() -> std::string {
    auto bootstrap = make_network_bootstrap(2, 4, place, deadline_in(20));
    if (!bootstrap) return to_string(bootstrap.error());
    sleep_ms(20'000);  // until it is killed
    return "";
  });
  sleep_ms(victims_life_ms);
  kill(victim.process, SIGKILL);
  CHECK(complaints({answer_of(first, deadline), answer_of(second, deadline)}) == "");
  (void)answer_of(victim, deadline);
}

TEST_CASE("a rank of another library version ends a job over TCP, once it has shown the key") {
  const MeetingPlace place = fresh_place();
  const std::vector<std::string> words{"mismatch", "rank 1 ", "version " + std::to_string(version() + 1), "version " + std::to_string(version())};
  const auto other = [&]() -> std::string {
    Knock knock = right_knock(1, 2);
    knock.hello.version += 1;
    const Fd socket = knock_at(place.port);
    say(socket, &knock, sizeof knock);
    Challenge challenge{};
    if (!receive_bytes(socket.get(), &challenge, sizeof challenge, deadline_in(1))) return "no challenge";
    const KeyProof proof = prove(place.key, Side::other, place.job, knock, challenge.nonce);
    say(socket, proof.data(), proof.size());
    const auto answer = receive_frame(socket.get(), deadline_in(1));
    return answer ? "" : to_string(answer.error());
  };
  CHECK(complaints(run_children({[&] { return expect_words(meet_at(0, 2, place), words, Clock::now(), 3); }, other}, 20)) == "");
}

TEST_CASE("a place where rank 0 can't listen is named") {
  MeetingPlace place = fresh_place();
  place.host = "192.0.2.1";  // of a documentation's network (RFC 5737)
  CHECK(expect_words(meet_at(0, 2, place, 5), {"invalid_argument", "192.0.2.1", "no address of this machine", "MASTER_ADDR"}, Clock::now(), 5) == "");
  place.host = "no-such-host.invalid";
  CHECK(expect_words(meet_at(0, 2, place, 5), {"invalid_argument", "no-such-host.invalid", "has no address"}, Clock::now(), 5) == "");
  CHECK(expect_words(meet_at(1, 2, place, 0.3), {"deadline_exceeded", "no sign of rank 0", "has no address"}, Clock::now(), 5) == "");
  place = fresh_place();
  CHECK(expect_words(meet_at(1, 2, place, 0.3), {"deadline_exceeded", "no sign of rank 0", "127.0.0.1:", "refused"}, Clock::now(), 5) == "");
}

TEST_CASE("a job's key is read from a file that nobody else may read") {
  const std::string digits(64, 'a');
  for (const std::string& content : {digits, digits + "\n", std::string(32, '\x01')}) {
    const KeyFile file(content, 0600);
    const auto key = read_job_key(file.path());
    REQUIRE(key.has_value());
    CHECK(key->data()[31] == (content.size() == 32 ? 0x01 : 0xaa));
  }
  const auto refusal = [](const std::string& path) {
    const auto key = read_job_key(path);
    return key ? "it was taken" : to_string(key.error());
  };
  for (const mode_t mode : {0644u, 0640u, 0602u}) {
    const KeyFile file(digits, mode);
    CHECK(expect_words(refusal(file.path()), {"RONDO_JOB_KEY_FILE='" + file.path(), "by others", "mode 0600"}, Clock::now(), 5) == "");
  }
  for (const std::string& content : {std::string(), digits.substr(1), digits + "a", digits.substr(1) + "g", digits + digits, std::string(64, '0'),
                                     std::string(72, ' ')}) {
    const KeyFile file(content, 0600);
    const std::string text = refusal(file.path());
    CHECK(expect_words(text, {file.path(), "accepted: "}, Clock::now(), 5) == "");
    CHECK(text.find("aaaa") == std::string::npos);
  }
  CHECK(expect_words(refusal("/no/such/file"), {"/no/such/file", "can't be opened"}, Clock::now(), 5) == "");
  CHECK(expect_words(refusal("/tmp"), {"/tmp", "neither a file nor a pipe"}, Clock::now(), 5) == "");
}
