// Hosts with several interfaces: what crosses between them is spread over all.
#include <array>
#include <cstdlib>
#include <utility>

#include "jobs.hpp"
#include "support/catch.hpp"

using namespace rondo;

namespace {

constexpr std::uint64_t summed_count = 1 << 20;

/// A job whose ranks use these interfaces.
std::string job_by(const Hosts& hosts, const std::vector<std::uint32_t>& on, const char* interfaces, const RankBody& body,
                   const CommunicatorOptions& options = quick()) {
  setenv("RONDO_NET_INTERFACES", interfaces, 1);
  const std::string wrong = complaints(run_children(ranks_on(hosts, on, body, options), 100));
  unsetenv("RONDO_NET_INTERFACES");
  return wrong;
}

std::string sums_by_f32(Communicator& communicator) {
  std::vector<float> values(summed_count, static_cast<float>(communicator.rank() + 1));
  if (auto done = communicator.all_reduce(values.data(), values.data(), summed_count, DataType::f32); !done) return to_string(done.error());
  const auto size = static_cast<float>(communicator.size());
  return values.front() == size * (size + 1) / 2 && values.back() == values.front() ? "" : "a wrong sum";
}

/// By way of bf16, which holds these numbers.
std::string sums_by_bf16(Communicator& communicator) {
  std::vector<float> values(summed_count, static_cast<float>(communicator.rank() + 1));
  const std::array tensors{Tensor{values.data(), values.data(), summed_count}};
  Bucket bucket;
  bucket.tensors = tensors;
  bucket.wire = DataType::bf16;
  if (auto done = communicator.all_reduce_fused(bucket); !done) return to_string(done.error());
  return values.front() == 3 && values == std::vector<float>(summed_count, 3) ? "" : "a wrong sum";
}

/// Bytes that host 0 sent by either interface.
std::array<double, 2> sent_by(const Hosts& hosts, const std::vector<std::uint32_t>& on, const char* interfaces, const RankBody& body = sums_by_f32,
                              const CommunicatorOptions& options = quick()) {
  const auto sent = [&](std::uint32_t interface) { return static_cast<double>(hosts.bytes_sent(0, interface)); };
  const std::array before{sent(0), sent(1)};
  CHECK(job_by(hosts, on, interfaces, body, options) == "");
  return {sent(0) - before[0], sent(1) - before[1]};
}

}  // namespace

TEST_CASE("ranks of hosts with two interfaces get right results of every collective and of splits, by both and by one of them") {
  if (!can_make_hosts()) return;
  const Hosts hosts(3, 2);
  REQUIRE(hosts.trouble() == "");
  const auto body = [](Communicator& whole) {
    auto part = whole.split(static_cast<std::int32_t>(whole.rank() % 2), 0);
    if (!part) return to_string(part.error());
    for (Communicator* each : {&whole, &**part})
      if (const std::string wrong = every_collective(*each); !wrong.empty()) return wrong;
    return std::string();
  };
  for (const std::vector<std::uint32_t>& on : {std::vector<std::uint32_t>{0, 1}, {0, 1, 2}, {0, 0, 1, 1}, {0, 1, 1}}) {
    INFO("hosts " << Catch::StringMaker<std::vector<std::uint32_t>>::convert(on));
    CHECK(job_by(hosts, on, "eth,eth1", body) == "");
  }
  CHECK(job_by(hosts, {0, 1}, "eth1", body) == "");
}

// By name: on which processors these are the best choice is the planner's to say, and its tests'.
TEST_CASE("each of two interfaces carries half of what an all_reduce sends between hosts, by rings of one rank on each, and by rail of two") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2, 2);
  REQUIRE(hosts.trouble() == "");
  CommunicatorOptions by_rings = quick(), by_rail = quick();
  by_rings.algorithm = "rings";
  by_rail.algorithm = "rail";
  for (const auto& [on, options] : {std::pair{std::vector<std::uint32_t>{0, 1}, by_rings}, {{0, 0, 1, 1}, by_rail}}) {
    INFO("by " << options.algorithm);
    const double half = summed_count * sizeof(float) / 2.0;  // a host sends the message once, to be reduced and reduced
    for (const double bytes : sent_by(hosts, on, "eth,eth1", sums_by_f32, options)) {
      CHECK(bytes > half);
      CHECK(bytes < 1.1 * half + 200e3);  // headers, acknowledgements, and what is said at creation
    }
  }
  for (const double bytes : sent_by(hosts, {0, 1}, "eth,eth1", sums_by_bf16, by_rings)) {
    CHECK(bytes > summed_count);
    CHECK(bytes < 1.1 * summed_count + 200e3);
  }
  const auto by_one = sent_by(hosts, {0, 1}, "eth1,none");
  CHECK(by_one[0] < 200e3);
  CHECK(by_one[1] > summed_count * sizeof(float));
}

TEST_CASE("of hosts with unlike numbers of interfaces as many are used as all have") {
  if (!can_make_hosts()) return;
  const Hosts hosts(2, 2);
  REQUIRE(hosts.trouble() == "");
  REQUIRE(hosts.run(1, "ip address flush dev eth1"));
  const auto sent = sent_by(hosts, {0, 1}, "eth,eth1");
  CHECK(sent[0] > summed_count * sizeof(float));
  CHECK(sent[1] < 200e3);
}
