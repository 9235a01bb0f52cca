// A process's shared memory stays within its limit, and what fits in it works.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "communicator/layouts.hpp"
#include "communicator/staging_budget.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

constexpr std::uint64_t default_limit = 8u << 20;

/// Bytes that the kernel has given to this process's segments.
std::uint64_t committed_bytes() {
  std::set<ino_t> counted;
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own descriptor
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    struct stat status{};
    if (gone || target.find("memfd:rondo") == std::string::npos || stat(entry.path().c_str(), &status) != 0) continue;
    if (counted.insert(status.st_ino).second) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

std::string reduce_all_sizes(Communicator& communicator) {
  std::vector<float> values(1 << 19);
  for (const std::size_t count : {std::size_t{1}, std::size_t{500}, std::size_t{5000}, values.size()}) {
    std::fill(values.begin(), values.end(), 1.0f);
    if (auto done = communicator.all_reduce(values.data(), values.data(), count, DataType::f32); !done) return to_string(done.error());
    for (std::size_t i = 0; i < count; ++i)
      if (values[i] != static_cast<float>(communicator.size())) return "wrong sum";
  }
  return "";
}

std::string send_to_everybody(Communicator& communicator) {
  const auto size = communicator.size();
  const std::size_t count = 100'000;
  const std::vector<std::uint32_t> mine(count, communicator.rank());
  std::vector<std::vector<std::uint32_t>> theirs(size, std::vector<std::uint32_t>(count, size));
  communicator.group_begin();
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    if (peer == communicator.rank()) continue;
    if (auto sent = communicator.send(mine.data(), count, DataType::u32, peer); !sent) return to_string(sent.error());
    if (auto taken = communicator.recv(theirs[peer].data(), count, DataType::u32, peer); !taken) return to_string(taken.error());
  }
  if (auto done = communicator.group_end(); !done) return to_string(done.error());
  for (std::uint32_t peer = 0; peer < size; ++peer)
    if (peer != communicator.rank() && theirs[peer] != std::vector<std::uint32_t>(count, peer)) return "wrong message";
  return "";
}

/// In a process of its own, whose budget nobody has touched.
std::string in_a_fresh_process(const std::function<std::string()>& body) {
  const auto said = run_processes(1, [&](Communicator&) { return body(); });
  return said.front();
}

std::string fill_with(std::uint32_t ranks, int communicators, bool sends) {
  std::vector<std::vector<Communicator>> all;
  for (int i = 0; i < communicators; ++i) {
    auto made = Communicator::in_process(ranks, forced("two_shot"));  // which needs room: threads could read and write one another's memory
    if (!made) return "communicator " + std::to_string(i) + ": " + to_string(made.error());
    all.push_back(std::move(*made));
    std::string said = complaints(run_each(all.back(), reduce_all_sizes));
    if (said.empty() && sends) said = complaints(run_each(all.back(), send_to_everybody));
    if (!said.empty()) return "communicator " + std::to_string(i) + ": " + said;
  }
  const std::uint64_t bytes = committed_bytes();
  if (bytes < 1u << 20) return "the test looks at the wrong place: " + std::to_string(bytes) + " bytes of shared memory";
  return bytes <= default_limit ? "" : std::to_string(bytes) + " bytes of shared memory";
}

}  // namespace

TEST_CASE("shared memory stays within its limit and every call works, whatever the message size and the number of communicators") {
  CHECK(in_a_fresh_process([] { return fill_with(2, 30, false); }) == "");
  CHECK(in_a_fresh_process([] { return fill_with(2, 10, true); }) == "");
  CHECK(in_a_fresh_process([] { return fill_with(4, 4, true); }) == "");
  CHECK(in_a_fresh_process([] { return fill_with(8, 2, true); }) == "");
}

TEST_CASE("beyond the limit a communicator is an error that names it, a message as well, and those that go make room") {
  const auto names_the_limit = [](const std::string& words) { return words.find("RONDO_STAGING_BYTES") != std::string::npos; };
  const auto body = [&]() -> std::string {
    for (int round = 0; round < 2; ++round) {
      std::vector<std::vector<Communicator>> all;
      for (auto made = Communicator::in_process(2);; made = Communicator::in_process(2)) {
        if (!made && made.error().code == Errc::out_of_resources && names_the_limit(made.error().detail)) break;
        if (!made) return to_string(made.error());
        if (all.size() > 1000) return "there was no limit";
        all.push_back(std::move(*made));
      }
      if (all.size() < 40) return "only " + std::to_string(all.size()) + " communicators fit";
      if (std::string said = complaints(run_each(all.back(), reduce_all_sizes)); !said.empty()) return "the last one: " + said;
      std::string said;
      for (std::size_t i = 0; i < all.size() && said.empty(); ++i) said = complaints(run_each(all[i], send_to_everybody));
      if (!names_the_limit(said)) return "messages: '" + said + "'";
      if (committed_bytes() > default_limit) return std::to_string(committed_bytes()) + " bytes of shared memory";
    }
    return "";
  };
  CHECK(in_a_fresh_process(body) == "");
}

TEST_CASE("the least share serves every collective of every size among many ranks") {
  const auto topology = read_synthetic("package:1 core:8 pu:1");
  REQUIRE(topology.has_value());
  const PlanLimits limits = limits_of(main_layout(least_share()));
  for (const std::uint32_t ranks : {2u, 3u, 8u, 64u, 200u})
    for (const Collective collective : {Collective::all_reduce, Collective::reduce, Collective::broadcast, Collective::reduce_scatter, Collective::all_gather,
                                        Collective::all_to_all, Collective::gather, Collective::scatter, Collective::scan, Collective::barrier})
      for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{4096}, std::uint64_t{1} << 20}) {
        CAPTURE(ranks, to_string(collective), bytes);
        Request request;
        request.collective = collective;
        request.ranks = ranks;
        request.count = bytes / size_of(request.type);
        const auto plan = make_plan(*topology, cost_model(*topology, ranks), limits, request);
        CHECK((plan ? "" : to_string(plan.error())) == "");
      }
}

TEST_CASE("a later communicator gets half of what is left, and one in the place of a shrunk one as much as that had") {
  const auto body = []() -> std::string {
    std::vector<StagingShare> shares;
    std::uint64_t left = default_limit / 16 * 13 - first_share(default_limit, 1);  // the process's communicator of one rank has that
    for (int k = 1; k < 5; ++k) {
      auto share = take_share(default_limit, 2, 1);
      if (!share) return to_string(share.error());
      const std::uint64_t bytes = share->bytes();
      if (bytes < left / 5 * 2) return "communicator " + std::to_string(k) + " gets " + std::to_string(bytes) + " of " + std::to_string(left) + " bytes";
      left -= bytes;
      share->shrink(24u << 10);  // the control words, while it lives
      auto successor = take_share(default_limit, 2, 1);
      if (!successor) return to_string(successor.error());
      if (successor->bytes() != bytes) return "in the place of " + std::to_string(bytes) + " bytes " + std::to_string(successor->bytes());
      shares.push_back(std::move(*successor));
    }
    return "";
  };
  CHECK(in_a_fresh_process(body) == "");
}
