#include "jobs.hpp"

#include <algorithm>
#include <array>

using namespace rondo;

namespace {

constexpr int port = 29500;

/// What rank `rank` gives as element i.
float given(std::uint32_t rank, std::uint64_t i) { return static_cast<float>((rank + 1) * (i % 97 + 1)); }

std::vector<float> blocks_of(std::uint32_t rank, std::uint64_t count) {
  std::vector<float> values(count);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = given(rank, i);
  return values;
}

/// The hosts of so many ranks, so many on each.
std::vector<std::uint32_t> in_order(std::uint32_t ranks, std::uint32_t per_host) {
  std::vector<std::uint32_t> on;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) on.push_back(rank / per_host);
  return on;
}

class Trial {
 public:
  explicit Trial(Communicator& communicator) : communicator_(communicator), rank_(communicator.rank()), size_(communicator.size()) {}

  std::string run(std::uint64_t count) {
    constexpr std::array steps{&Trial::all_reduce, &Trial::broadcast, &Trial::reduce_scatter, &Trial::all_gather, &Trial::all_to_all, &Trial::messages};
    for (const auto step : steps) {
      const std::string wrong = (this->*step)(count);
      if (!wrong.empty()) return wrong + " of " + std::to_string(count);
    }
    return "";
  }

 private:
  float summed(std::uint64_t i) const { return given(0, i) * static_cast<float>(size_ * (size_ + 1) / 2); }

  template <class Expected>
  static std::string compare(const Result<void>& done, const std::vector<float>& got, const Expected& expected, const char* what) {
    if (!done) return std::string(what) + ": " + to_string(done.error());
    for (std::uint64_t i = 0; i < got.size(); ++i)
      if (got[i] != expected(i)) return std::string(what) + ": element " + std::to_string(i) + " is wrong";
    return "";
  }

  std::string all_reduce(std::uint64_t count) {
    std::vector<float> values = blocks_of(rank_, count);
    const auto done = communicator_.all_reduce(values.data(), values.data(), count, DataType::f32);
    return compare(done, values, [&](std::uint64_t i) { return summed(i); }, "all_reduce");
  }

  std::string broadcast(std::uint64_t count) {
    std::vector<float> values = blocks_of(rank_, count);
    const auto done = communicator_.broadcast(values.data(), values.data(), count, DataType::f32, size_ - 1);
    return compare(done, values, [&](std::uint64_t i) { return given(size_ - 1, i); }, "broadcast");
  }

  std::string reduce_scatter(std::uint64_t count) {
    const std::vector<float> values = blocks_of(rank_, count * size_);
    std::vector<float> got(count);
    const auto done = communicator_.reduce_scatter(values.data(), got.data(), count, DataType::f32);
    return compare(done, got, [&](std::uint64_t i) { return summed(rank_ * count + i); }, "reduce_scatter");
  }

  std::string all_gather(std::uint64_t count) {
    const std::vector<float> values = blocks_of(rank_, count);
    std::vector<float> got(count * size_);
    const auto done = communicator_.all_gather(values.data(), got.data(), count, DataType::f32);
    return compare(done, got, [&](std::uint64_t i) { return given(static_cast<std::uint32_t>(i / count), i % count); }, "all_gather");
  }

  std::string all_to_all(std::uint64_t count) {
    const std::vector<float> values = blocks_of(rank_, count * size_);
    std::vector<float> got(count * size_);
    const auto done = communicator_.all_to_all(values.data(), got.data(), count, DataType::f32);
    return compare(done, got, [&](std::uint64_t i) { return given(static_cast<std::uint32_t>(i / count), rank_ * count + i % count); }, "all_to_all");
  }

  /// Each rank sends to the next one.
  std::string messages(std::uint64_t count) {
    const std::vector<float> values = blocks_of(rank_, count);
    std::vector<float> got(count);
    const std::uint32_t before = (rank_ + size_ - 1) % size_;
    if (size_ == 1) return "";
    Work sent = communicator_.start_send(values.data(), count, DataType::f32, (rank_ + 1) % size_);
    const auto received = communicator_.recv(got.data(), count, DataType::f32, before);
    if (auto done = sent.wait(); !done) return "send: " + to_string(done.error());
    return compare(received, got, [&](std::uint64_t i) { return given(before, i); }, "recv");
  }

  Communicator& communicator_;
  std::uint32_t rank_;
  std::uint32_t size_;
};

}  // namespace

CommunicatorOptions quick() {
  CommunicatorOptions options;
  options.bootstrap_timeout = std::chrono::seconds(20);
  return options;
}

std::vector<ChildBody> ranks_on(const Hosts& hosts, const std::vector<std::uint32_t>& on, const RankBody& body, const CommunicatorOptions& options) {
  std::vector<ChildBody> ranks;
  for (std::uint32_t rank = 0; rank < on.size(); ++rank) {
    const auto here = static_cast<std::uint32_t>(std::count(on.begin(), on.end(), on[rank]));
    const auto size = static_cast<std::uint32_t>(on.size());
    ranks.push_back(hosts.on(on[rank], [=]() -> std::string {
      Hosts::set_job(rank, size, here, port);
      auto made = Communicator::from_environment(options);
      return made ? body(*made) : to_string(made.error());
    }));
  }
  return ranks;
}

ChildBody rank_of_job(const Hosts& hosts, std::uint32_t rank, std::uint32_t size, std::uint32_t per_host, const RankBody& body) {
  return ranks_on(hosts, in_order(size, per_host), body)[rank];
}

std::vector<std::string> run_job(const Hosts& hosts, std::uint32_t count, std::uint32_t per_host, const RankBody& body, int seconds) {
  return run_children(ranks_on(hosts, in_order(count * per_host, per_host), body), seconds);
}

std::string every_collective(Communicator& communicator) {
  Trial trial(communicator);
  for (const std::uint64_t count : {1, 1000, 100'000})
    if (const std::string wrong = trial.run(count); !wrong.empty()) return wrong;
  return "";
}
