// What is measured here, kept, and used by communicators. The environment is read once a process, so what depends on it is tried in children.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "rondo/calibration.hpp"
#include "rondo/communicator.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"

using namespace rondo;
using test::Folder;

namespace {

/// Whether `check` holds in a process with these variables (a null one is taken away).
bool holds_with(const std::vector<std::pair<const char*, const char*>>& variables, const std::function<bool()>& check) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const auto& [name, value] : variables)
      if (value != nullptr) setenv(name, value, 1);
      else unsetenv(name);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Topology this_machine() {
  auto topology = discover_topology();
  REQUIRE(topology);
  return *topology;
}

}  // namespace

TEST_CASE("measured figures are such as a machine can have") {
  const auto figures = calibrate(this_machine());
  REQUIRE(figures);
  CHECK(figures->copy_ns_per_byte > 0);
  CHECK(figures->copy_ns_per_byte < 100);
  const std::vector<Node> nodes = this_machine().nodes;
  if (std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.kind == NodeKind::core; }) > 1) CHECK(!figures->links.empty());
  for (const LinkFigures& link : figures->links) {
    CHECK(link.latency_ns > 0);
    CHECK(link.latency_ns < 100'000);
    for (const double ns : {link.pull_ns_per_byte, link.publish_ns_per_byte}) {
      CHECK(ns > 0);
      CHECK(ns < 100);
    }
  }
  for (const double ns : {figures->reduce_ns_per_byte, figures->shared_ns_per_byte, figures->memory_ns_per_byte}) {
    CHECK(ns >= 0);
    CHECK(ns < 100);
  }
  CHECK(figures->source.starts_with("measured by rondo calibrate, 20"));
  CHECK(read_core_figures(write_core_figures(*figures)));
}

TEST_CASE("a machine without processors can't be measured") {
  const auto figures = calibrate(Topology{});
  REQUIRE_FALSE(figures);
  CHECK(figures.error().code == Errc::unsupported);
}

TEST_CASE("what is kept is found again by all who look for the same kind of machine") {
  const Folder folder;
  REQUIRE(!folder.path().empty());
  const Topology topology = this_machine();
  const std::string deep = folder.path().string() + "/a/b";
  CHECK(holds_with({{"RONDO_CACHE", deep.c_str()}}, [&] {
    CoreFigures figures = core_figures(topology);
    figures.copy_ns_per_byte = 0.5;
    figures.source = "made up";
    const auto before = load_calibration(topology);
    if (!before || *before || known_core_figures(topology).source == "made up") return false;
    if (!save_calibration(topology, figures)) return false;
    const auto kept = load_calibration(topology);
    const bool found = kept && *kept && (*kept)->copy_ns_per_byte == 0.5;
    return found && known_core_figures(topology).source == "made up" && calibration_file(topology)->starts_with(deep);
  }));
  Topology other = topology;
  for (Node& node : other.nodes)
    if (node.kind == NodeKind::cache) node.bytes *= 2;
  CHECK(holds_with({{"RONDO_CACHE", deep.c_str()}}, [&] {
    const auto kept = load_calibration(other);
    return kept && !*kept && calibration_file(other)->starts_with(deep) && *calibration_file(other) != *calibration_file(topology);
  }));
}

TEST_CASE("the folder is the one that the environment names") {
  const Topology topology = this_machine();
  const auto file_is_in = [&](const std::string& folder) {
    return [&topology, folder] { return calibration_file(topology)->starts_with(folder + "/calibration-"); };
  };
  CHECK(holds_with({{"RONDO_CACHE", "/mine"}, {"XDG_CACHE_HOME", "/caches"}, {"HOME", "/home/me"}}, file_is_in("/mine")));
  CHECK(holds_with({{"RONDO_CACHE", nullptr}, {"XDG_CACHE_HOME", "/caches"}, {"HOME", "/home/me"}}, file_is_in("/caches/rondo")));
  CHECK(holds_with({{"RONDO_CACHE", nullptr}, {"XDG_CACHE_HOME", "relative"}, {"HOME", "/home/me"}}, file_is_in("/home/me/.cache/rondo")));
  CHECK(holds_with({{"RONDO_CACHE", nullptr}, {"XDG_CACHE_HOME", nullptr}, {"HOME", nullptr}}, [&] {
    const auto kept = load_calibration(topology);  // nothing to find is no error; nowhere to keep is
    return !calibration_file(topology) && kept && !*kept && !save_calibration(topology, core_figures(topology));
  }));
  CHECK(holds_with({{"RONDO_CACHE", "relative"}}, [&] {
    const auto file = calibration_file(topology);
    return !file && file.error().detail.find("RONDO_CACHE='relative'") != std::string::npos;
  }));
}

TEST_CASE("a file that can't be used is named, and communicators do without it") {
  const Folder folder;
  REQUIRE(!folder.path().empty());
  const Topology topology = this_machine();
  CHECK(holds_with({{"RONDO_CACHE", folder.path().c_str()}, {"RONDO_LOG", "off"}}, [&] {
    const std::string file = *calibration_file(topology);
    std::ofstream(file) << "{\"copy_ns_per_byte\": 1}";
    const auto kept = load_calibration(topology);
    if (kept || kept.error().code != Errc::invalid_argument || kept.error().detail.find(file) == std::string::npos) return false;
    return known_core_figures(topology).source == core_figures(topology).source && Communicator::in_process(2).has_value();
  }));
  CHECK(holds_with({{"RONDO_CACHE", "/dev/null/nowhere"}}, [&] {
    const auto kept = load_calibration(topology);
    const auto saved = save_calibration(topology, core_figures(topology));
    return kept && !*kept && !saved && saved.error().code == Errc::io;
  }));
}

TEST_CASE("communicators plan by what is kept") {
  const Folder folder;
  REQUIRE(!folder.path().empty());
  const Topology topology = this_machine();
  const auto price = [&](double copy) {
    return [&, copy] {
      CoreFigures figures = core_figures(topology);
      figures.copy_ns_per_byte = copy;
      if (!save_calibration(topology, figures)) return false;
      auto ranks = Communicator::in_process(1);
      std::vector<float> from(1 << 16), to(1 << 16);
      if (!ranks) return false;
      const auto plan = ranks->front().plan_for(Call{Collective::all_reduce, from.data(), to.data(), from.size()});
      const double bytes = 4.0 * (1 << 16);
      return plan && plan->predicted_ns >= copy * bytes && plan->predicted_ns < 2 * copy * bytes;
    };
  };
  CHECK(holds_with({{"RONDO_CACHE", folder.path().c_str()}}, price(1)));
  CHECK(holds_with({{"RONDO_CACHE", folder.path().c_str()}}, price(100)));
}
