// seeds FOLDER: what the fuzzers begin with, a folder for each. Written by the library itself, so that it is of the version that is fuzzed; plans are beside
// it in tests/golden and tests/formats/data.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "bootstrap/bundle.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/hello.hpp"
#include "bootstrap/peers.hpp"
#include "bootstrap/rounds.hpp"
#include "transports/tcp/connection.hpp"
#include "communicator/rank_info.hpp"
#include "rondo/calibration.hpp"
#include "rondo/communicator.hpp"
#include "topology/machine.hpp"
#include "topology/samples.hpp"

using namespace rondo;

namespace {

using Seeds = std::map<std::string, std::string>;  // file → content

constexpr const char* description = "package:2 l3:1 core:2 pu:1";

std::string text_of(const Address& address) { return {reinterpret_cast<const char*>(address.bytes.data()), address.bytes.size()}; }

Topology machine() {
  auto topology = read_synthetic(description);
  if (!topology) throw std::runtime_error(topology.error().detail);
  topology->cpu_quota = 1.5;
  return with_ranks(std::move(*topology), 1);
}

Seeds topologies() {
  const auto xml = hwloc_xml_of(description);
  return {{"topology/synthetic", description},
          {"topology/written.json", write_topology_json(machine())},
          {"topology/hwloc.xml", xml ? *xml : ""},
          {"topology/old.xml", topology_test::old_format},
          {"topology/devices.xml", topology_test::devices},
          {"topology/nccl.xml", topology_test::nccl}};
}

/// Bytes behind the head that they are sent with.
std::string frame_of(const std::string& content, Letter::Kind kind = Letter::Kind::verdict) {
  FrameHead head{{'r', 'o', 'n', 'd', 'o', 'f', 'r', '1'}, content.size(), 0, static_cast<std::uint32_t>(kind)};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + content;
}

/// What rank 1 may say: that it misses rank 2, and what it gives.
std::string letters() {
  Address gift;
  add_to_bundle(gift, {{std::byte{7}, std::byte{8}}, {}});
  return frame_of(std::string("\2\0\0\0", 4), Letter::Kind::missing) + frame_of(text_of(gift), Letter::Kind::gift);
}

Seeds introductions() {
  RankInfo info;
  info.host = "boot-1";
  info.host_name = "vm";
  info.process = 77;
  info.interfaces = {{"10.0.0.1", 2}, {"10.0.1.1", 0}};
  info.cpus = {0, 1};
  info.view = "0123456789abcdef";
  info.core = core_figures(machine());
  const std::string packed = text_of(pack(info));
  Hello hello{};
  std::memcpy(hello.magic, hello_magic, sizeof hello.magic);
  hello.version = version();
  hello.rank = 1;
  hello.size = 4;
  const tcp::Head message{1, tcp::Head::Kind::message, 8, {1, 2, 3}}, credit{1, tcp::Head::Kind::credit, 1, {}};
  const tcp::Head moved{0, tcp::Head::Kind::moved, 0, {}}, crossed{0, tcp::Head::Kind::crossed, 0, {}}, nobody{0, tcp::Head::Kind::nobody, 0, {}};
  const auto bytes_of = [](const tcp::Head& head) { return std::string(reinterpret_cast<const char*>(&head), sizeof head); };
  return {{"introduction/id", "urondo1/10.0.0.1/29500/" + std::string(64, 'a')},
          {"introduction/link", "t\2" + bytes_of(message) + "payload." + bytes_of(credit)},
          {"introduction/crossing", "tW" + bytes_of(crossed) + bytes_of(message) + "payload." + bytes_of(moved)},
          {"introduction/half-head", std::string("t\x1d\0", 3)},
          {"introduction/refusal", "t\1" + bytes_of(nobody)},
          {"introduction/rank", "i" + packed},
          {"introduction/frame", "f" + frame_of(packed)},
          {"introduction/letters", "l" + letters()},
          {"introduction/verdict", "v" + text_of(pack_verdict(in_bootstrap(Errc::mismatch, "no")))},
          {"introduction/hello", "h" + std::string(reinterpret_cast<const char*>(&hello), sizeof hello)}};
}

Seeds configurations() {
  return {{"configuration/all",
           "RONDO_LOG=debug\nRONDO_TIMEOUT=1.5\nRONDO_ALGORITHM=ring\nRONDO_STRICT=1\nRONDO_COALESCE_BYTES=64K\nRONDO_COALESCE_TIME=0.5\n"
           "RONDO_STAGING_BYTES=8M\nRONDO_KERNEL_COPIES=0\nRONDO_CACHE=/tmp\nHOME=/\nRONDO_STAGING=1\n"},
          {"configuration/job",
           "RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=::1\nMASTER_PORT=29500\nTORCHELASTIC_RUN_ID=x\nTORCHELASTIC_RESTART_COUNT=2\n"},
          {"configuration/calibration", write_core_figures(core_figures(machine()))}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: seeds FOLDER\n";
    return 2;
  }
  for (const Seeds& seeds : {topologies(), introductions(), configurations()})
    for (const auto& [name, content] : seeds) {
      const std::filesystem::path file = std::filesystem::path(argv[1]) / name;
      std::filesystem::create_directories(file.parent_path());
      if (!(std::ofstream(file, std::ios::binary) << content)) {
        std::cerr << "seeds: can't write " << file << "\n";
        return 1;
      }
    }
  return 0;
}
