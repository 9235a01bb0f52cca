#include "support/ranks.hpp"

#include <unistd.h>

#include <atomic>
#include <thread>

std::string fresh_job() {
  static std::atomic<int> number{0};
  return "test/" + std::to_string(getpid()) + "/" + std::to_string(++number);
}

std::vector<std::string> run_each(std::vector<rondo::Communicator>& ranks, const RankBody& body) {
  std::vector<std::string> answers(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) threads.emplace_back([&, rank] { answers[rank] = body(ranks[rank]); });
  for (std::thread& thread : threads) thread.join();
  return answers;
}

std::vector<std::string> run_threads(std::uint32_t ranks, const RankBody& body, const rondo::CommunicatorOptions& options) {
  auto made = rondo::Communicator::in_process(ranks, options);
  if (!made) return {rondo::to_string(made.error())};
  return run_each(*made, body);
}

std::vector<std::string> run_processes(std::uint32_t ranks, const RankBody& body, const rondo::CommunicatorOptions& options, int seconds) {
  const std::string job = fresh_job();
  std::vector<ChildBody> bodies;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    bodies.push_back([&, rank]() -> std::string {
      auto communicator = rondo::Communicator::local(rank, ranks, job, options);
      return communicator ? body(*communicator) : rondo::to_string(communicator.error());
    });
  return run_children(bodies, seconds);
}

rondo::CommunicatorOptions forced(std::string_view algorithm) {
  rondo::CommunicatorOptions options;
  options.algorithm = algorithm;
  return options;
}
