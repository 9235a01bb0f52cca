// The figures as text, where they are kept, and what is said of files that make no sense.
#include <string>

#include "rondo/calibration.hpp"
#include "support/catch.hpp"

using namespace rondo;

namespace {

CoreFigures some_figures() {
  CoreFigures figures = core_figures(Topology{});
  figures.copy_ns_per_byte = 0.0123456789;
  figures.links = {{50, 0.04, 0.04, 0.04}, {280, 0.09, 0.2, 0.2}};
  figures.source = "made up";
  return figures;
}

bool equal(const CoreFigures& a, const CoreFigures& b) { return write_core_figures(a) == write_core_figures(b); }

std::string what_is_wrong(const std::string& text) {
  const auto read = read_core_figures(text);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Errc::invalid_argument);
  return read.error().detail;
}

std::string without(const std::string& text, const std::string& part, const std::string& instead) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.substr(0, at) + instead + text.substr(at + part.size());
}

}  // namespace

TEST_CASE("figures are read as they were written") {
  const auto read = read_core_figures(write_core_figures(some_figures()));
  REQUIRE(read);
  CHECK(equal(*read, some_figures()));
  CHECK(read->copy_ns_per_byte == 0.0123456789);
  CHECK(read->source == "made up");
}

TEST_CASE("text that holds no figures is refused, and named") {
  const std::string text = write_core_figures(some_figures());
  CHECK(what_is_wrong("").find("line 1") != std::string::npos);
  CHECK(what_is_wrong("[1]").find("expected an object") != std::string::npos);
  const std::string missing = what_is_wrong(without(text, "\"switch_ns\"", "\"swich_ns\""));
  CHECK(missing.find("\"switch_ns\": expected a number from 0 to 1e9, it is missing") != std::string::npos);
  const std::string in_link = what_is_wrong(without(text, "\"pull_ns_per_byte\"", "\"pool_ns_per_byte\""));
  CHECK(in_link.find("\"links\"[0].\"pull_ns_per_byte\": expected a number from 0 to 1e9, it is missing") != std::string::npos);
  CHECK(what_is_wrong(without(text, "\"links\"", "\"lynx\"")).find("\"links\": expected a list of up to 16 distances") != std::string::npos);
  CHECK(what_is_wrong(without(text, "280.0", "28.0")).find("\"links\"[1].\"latency_ns\": expected nearer ones first") != std::string::npos);
  CHECK(what_is_wrong(without(text, "0.0123456789", "0")).find("from 1e-6") != std::string::npos);
  CHECK(what_is_wrong(without(text, "0.0123456789", "-1")).find("\"copy_ns_per_byte\"") != std::string::npos);
  CHECK(what_is_wrong(without(text, "0.0123456789", "\"fast\"")).find("\"copy_ns_per_byte\"") != std::string::npos);
  CHECK(what_is_wrong(without(text, "0.0123456789", "1e300")).find("\"copy_ns_per_byte\"") != std::string::npos);
  CHECK(what_is_wrong(without(text, "\"made up\"", "7")).find("\"source\"") != std::string::npos);
  CHECK(what_is_wrong(without(text, "\"source\"", "\"more\": 1, \"source\"")).find("no other members") != std::string::npos);
  for (std::size_t length = 0; length + 1 < text.size(); length += 7) CHECK_FALSE(read_core_figures(text.substr(0, length)));
}

TEST_CASE("processors are told apart by what the topology says of them") {
  Topology topology;
  topology.nodes.push_back({NodeKind::machine, "vm", -1, 0, 0, {0, 1}, ""});
  topology.nodes.push_back({NodeKind::package, "package#0", 0, 0, 0, {0, 1}, "AMD EPYC"});
  const CoreFigures amd = core_figures(topology);
  CHECK(amd.links[0].share_ns_per_byte == amd.links[0].publish_ns_per_byte);  // it copies (StoreTraits::copies_beat_stores)
  topology.nodes[1].detail = "Intel(R) Xeon(R)";
  CHECK(core_figures(topology).links[0].share_ns_per_byte != core_figures(topology).links[0].publish_ns_per_byte);
  CHECK(core_figures(topology).source != amd.source);
  const std::string any_intel = core_figures(topology).source;
  topology.nodes.push_back({NodeKind::core, "core#0", 1, 0, 0, {0}, ""});
  topology.nodes.push_back({NodeKind::cache, "L2#0", 1, 0, 1u << 20, {0}, ""});
  const std::string with_1_mib = core_figures(topology).source;
  CHECK(with_1_mib.find("less than 1.25 MiB") != std::string::npos);
  topology.nodes.back().bytes = 1280u << 10;
  CHECK(core_figures(topology).source.find("less than 2 MiB") != std::string::npos);
  topology.nodes.back().bytes = 2u << 20;
  CHECK(core_figures(topology).source == any_intel);
  topology.nodes[1].detail = "AMD EPYC";
  topology.nodes.back().bytes = 1u << 20;
  CHECK(core_figures(topology).source == amd.source);
}
