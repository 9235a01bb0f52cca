// The store that torchrun's agents keep for a job's ranks: torch's TCPStore, spoken to without torch. Its queries are a byte each, numbers are 8 bytes in
// this machine's order, texts a number and so many bytes (QueryType and validationMagicNumber in torch's c10d/TCPStoreBackend.hpp).
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/descriptors.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/launcher.hpp"
#include "bootstrap/network.hpp"
#include "bootstrap/peers.hpp"

namespace rondo {
namespace {

constexpr std::uint64_t longest_value = 4096;
constexpr std::int64_t store_attempt_ns = 5'000'000'000;  // for a connection: the agents' store is there before their ranks are

enum class Query : std::uint8_t { validate = 0, set = 1, get = 3, wait = 6 };
constexpr std::uint32_t validation = 0x3C85F7CE;
constexpr std::uint8_t stop_waiting = 0;

/// What is to be said, put together.
class Words {
 public:
  Words& say(Query query) { return say_number(static_cast<std::uint8_t>(query)); }
  template <class Number>
  Words& say_number(Number number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  Words& say_text(const std::string& text) {
    say_number(std::uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }
  Result<void> send(int socket, std::int64_t deadline_ns) const { return send_bytes(socket, bytes_.data(), bytes_.size(), deadline_ns); }

 private:
  std::string bytes_;
};

class AgentStore final : public Launcher {
 public:
  AgentStore(const JobEnvironment& job, Fd socket) : where_(job.master_address + ":" + std::to_string(job.master_port)), socket_(std::move(socket)) {
    rank = job.rank;
    size = job.size;
    prefix_ = "rondo/" + job.run_id + "/" + std::to_string(job.restart_count) + "/";
  }

  bool is_private() const override { return false; }

  Result<std::string> share(const std::string& text, std::int64_t deadline_ns) override {
    static std::atomic<std::uint32_t> shared{0};
    const std::string key = prefix_ + std::to_string(shared.fetch_add(1, std::memory_order_relaxed));
    Words words;
    if (rank == 0) words.say(Query::set).say_text(key).say_text(text);
    words.say(Query::wait).say_number(std::uint64_t{1}).say_text(key);
    if (auto said = words.send(socket_.get(), deadline_ns); !said) return broken(said.error());
    std::uint8_t answer = 0;
    if (auto heard = receive_bytes(socket_.get(), &answer, sizeof answer, deadline_ns); !heard) return broken(heard.error());
    if (answer != stop_waiting) return nonsense();
    if (auto said = Words().say(Query::get).say_text(key).send(socket_.get(), deadline_ns); !said) return broken(said.error());
    std::uint64_t bytes = 0;
    if (auto heard = receive_bytes(socket_.get(), &bytes, sizeof bytes, deadline_ns); !heard) return broken(heard.error());
    if (bytes > longest_value) return nonsense();
    std::string value(bytes, 0);
    if (auto heard = receive_bytes(socket_.get(), value.data(), bytes, deadline_ns); !heard) return broken(heard.error());
    return value;
  }

 private:
  Error broken(const Error& error) const {
    if (error.code == Errc::deadline_exceeded) return in_bootstrap(error.code, "no sign of rank 0 in torchrun's store at " + where_);
    return in_bootstrap(Errc::io, "torchrun's store at " + where_ + " hung up", error.native);
  }
  Error nonsense() const { return in_bootstrap(Errc::io, "what answers at " + where_ + " isn't torchrun's store"); }

  std::string where_, prefix_;
  Fd socket_;
};

}  // namespace

Result<std::unique_ptr<Launcher>> find_agent_store(const JobEnvironment& job, std::int64_t deadline_ns) {
  const MeetingPlace place{job.master_address, job.master_port, {}, {}};
  int error = 0;
  const Addresses all = resolve(place, error);
  if (all == nullptr) return in_bootstrap(Errc::invalid_argument, "'" + place.host + "' (MASTER_ADDR) has no address: " + gai_strerror(error));
  int number = 0;
  for (const addrinfo* entry = all.get(); entry != nullptr; entry = entry->ai_next) {
    Fd socket(::socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return no_descriptor_left("connect to torchrun's store with", errno, "bootstrap");
    const std::int64_t until_ns = std::min(deadline_ns, now_ns() + store_attempt_ns);
    if (connect_by(socket.get(), *entry, until_ns)) {
      tune(socket.get());
      if (auto said = Words().say(Query::validate).say_number(validation).send(socket.get(), until_ns); said)
        return std::unique_ptr<Launcher>(std::make_unique<AgentStore>(job, std::move(socket)));
    }
    number = errno;
  }
  return in_bootstrap(Errc::io, "torchrun's store at " + place.host + ":" + std::to_string(place.port) +
                                    " can't be reached; TORCHELASTIC_USE_AGENT_STORE=True says that there is one", number);
}

}  // namespace rondo
