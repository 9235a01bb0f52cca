// Several interfaces as one transport does what one does; and who uses which.
#include "communicator/interfaces.hpp"

#include <string>

#include "communicator/interfaces_transport.hpp"
#include "conformance.hpp"
#include "support/catch.hpp"
#include "transports/tcp/tcp.hpp"

using namespace rondo;

namespace {

constexpr std::uint32_t unknown = 0;

/// By rank its host, and how many processors it shares with each of its interfaces.
struct Given {
  std::string host;
  std::vector<std::uint32_t> shared_cpus;
};

Interfaces dealt(const std::vector<Given>& ranks) {
  std::vector<RankInfo> infos;
  for (const Given& rank : ranks) {
    RankInfo& info = infos.emplace_back();
    info.host = rank.host;
    for (const std::uint32_t cpus : rank.shared_cpus) info.interfaces.push_back({"10.0.0.1", cpus});
  }
  return deal_interfaces(infos);
}

using Own = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("several interfaces do what a transport must, each rank's own being another one") {
  for (const std::uint32_t count : {2u, 3u})
    conformance(
        [count](std::uint32_t rank, std::uint32_t ranks) -> Result<std::unique_ptr<Transport>> {
          Interfaces interfaces{count, {}};
          for (std::uint32_t each = 0; each < ranks; ++each) interfaces.own.push_back((each + 1) % count);
          std::vector<std::unique_ptr<Transport>> links;
          for (std::uint32_t k = 0; k < count; ++k) {
            auto made = make_tcp_transport(TcpOptions{rank, ranks, {}, "127.0.0." + std::to_string(k + 1)});
            if (!made) return made.error();
            links.push_back(std::move(*made));
          }
          return make_interfaces_transport(std::move(links), interfaces, rank);
        },
        5);
}

TEST_CASE("interfaces are dealt out among a host's ranks, to each the nearest that has its part of them not yet") {
  const Given near_first{"a", {4, 8}}, near_second{"a", {8, 4}}, nowhere{"a", {unknown, unknown}}, elsewhere{"b", {4, 8}};
  CHECK(dealt({near_first, near_first, near_second, near_second}).own == Own{0, 0, 1, 1});
  CHECK(dealt({near_second, near_first, near_second, near_first}).own == Own{1, 0, 1, 0});
  CHECK(dealt({near_first, near_first, near_first, near_first}).own == Own{0, 0, 1, 1});  // the far one is better than a crowded one
  CHECK(dealt({nowhere, nowhere, nowhere}).own == Own{0, 1, 0});
  CHECK(dealt({near_first, elsewhere, near_second, elsewhere}).own == Own{0, 0, 1, 1});
  CHECK(dealt({{"a", {8, unknown}}, {"a", {8, unknown}}}).own == Own{0, 1});
}

TEST_CASE("an interface is the nearer to a rank the smaller the part of the machine is that they share") {
  Topology machine;
  const auto add = [&](NodeKind kind, const char* name, std::int32_t parent, std::vector<std::uint32_t> cpus) {
    Node& node = machine.nodes.emplace_back();
    node.kind = kind;
    node.name = name;
    node.parent = parent;
    node.cpus = std::move(cpus);
  };
  add(NodeKind::machine, "machine", -1, {0, 1, 2, 3});
  add(NodeKind::package, "package#0", 0, {0, 1});
  add(NodeKind::package, "package#1", 0, {2, 3});
  add(NodeKind::pci_bridge, "bridge", 2, {});
  add(NodeKind::nic, "eth1", 3, {});
  add(NodeKind::nic, "eth0", 0, {});
  CHECK(shared_cpus(machine, "eth1", {2}) == 2);
  CHECK(shared_cpus(machine, "eth1", {2, 3}) == 2);
  CHECK(shared_cpus(machine, "eth1", {0}) == 4);
  CHECK(shared_cpus(machine, "eth1", {1, 2}) == 4);
  CHECK(shared_cpus(machine, "eth0", {2}) == 4);
  CHECK(shared_cpus(machine, "eth2", {2}) == unknown);
  CHECK(shared_cpus(machine, "eth1", {}) == unknown);
}

TEST_CASE("as many interfaces are used as every rank has") {
  CHECK(dealt({{"a", {4, 8, 8}}, {"b", {8, 4}}}).count == 2);
  const Interfaces one = dealt({{"a", {4, 8}}, {"b", {8}}});
  CHECK(one.count == 1);
  CHECK(one.own == Own{0, 0});
}

TEST_CASE("two ranks agree on the interface of each channel, and channels take turns") {
  const Interfaces interfaces{3, {2, 0, 1}};
  for (std::uint32_t a = 0; a < 3; ++a)
    for (std::uint32_t b = 0; b < 3; ++b)
      for (std::uint32_t channel = 0; channel < 7; ++channel) CHECK(interfaces.between(a, b, channel) == interfaces.between(b, a, channel));
  CHECK(interfaces.between(0, 1, 0) == 2);
  CHECK(interfaces.between(0, 1, 1) == 0);
  CHECK(interfaces.between(2, 1, 2) == 2);
}
