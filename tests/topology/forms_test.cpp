// Text, JSON, picture, and loading by name.
#include <unistd.h>

#include <filesystem>
#include <pugixml.hpp>

#include "topology/support.hpp"

using namespace rondo;
using namespace topology_test;

namespace {

Topology example() {
  auto topology = read_synthetic("package:2 l3:1 core:3 pu:2");
  REQUIRE(topology);
  Topology placed = with_ranks(*topology, 4);
  placed.cpu_quota = 2.5;
  placed.nodes[0].detail = "a \"quoted\" <model> & more\n";
  return placed;
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void check_equal(const Topology& a, const Topology& b) {
  CHECK(write_topology_json(a) == write_topology_json(b));
  REQUIRE(a.nodes.size() == b.nodes.size());
  REQUIRE(a.links.size() == b.links.size());
  REQUIRE(a.ranks.size() == b.ranks.size());
  CHECK(a.hosts == b.hosts);
  CHECK(a.cpu_quota == b.cpu_quota);
  for (std::size_t n = 0; n < a.nodes.size(); ++n) {
    CHECK(a.nodes[n].kind == b.nodes[n].kind);
    CHECK(a.nodes[n].name == b.nodes[n].name);
    CHECK(a.nodes[n].parent == b.nodes[n].parent);
    CHECK(a.nodes[n].bytes == b.nodes[n].bytes);
    CHECK(a.nodes[n].cpus == b.nodes[n].cpus);
    CHECK(a.nodes[n].detail == b.nodes[n].detail);
  }
  for (std::size_t l = 0; l < a.links.size(); ++l) {
    CHECK(a.links[l].type == b.links[l].type);
    CHECK(a.links[l].latency_ns.value == b.links[l].latency_ns.value);
    CHECK(a.links[l].bandwidth_bytes_per_s.source == b.links[l].bandwidth_bytes_per_s.source);
  }
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    CHECK(a.ranks[r].process == b.ranks[r].process);
    CHECK(a.ranks[r].node == b.ranks[r].node);
    CHECK(a.ranks[r].cpus == b.ranks[r].cpus);
  }
}

}  // namespace

TEST_CASE("JSON round trips are identities") {
  const auto read = read_topology_json(write_topology_json(example()));
  if (!read) FAIL(read.error().detail);
  check_equal(example(), *read);
  const auto machine = discover_topology();
  REQUIRE(machine);
  const auto again = read_topology_json(write_topology_json(*machine));
  REQUIRE(again);
  check_equal(*machine, *again);
}

TEST_CASE("JSON that is no topology is refused with the place of the fault") {
  const std::string good = write_topology_json(example());
  const auto damaged = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    REQUIRE(mentions(text, from));
    return text.replace(text.find(from), from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "parse error"},
      {"{}", "rondo_topology is missing"},
      {"[]", "rondo_topology is missing"},
      {good.substr(0, good.size() / 2), "parse error"},
      {damaged("\"rondo_topology\": 1", "\"rondo_topology\": 2"), "version 2 is unknown"},
      {damaged("\"kind\":\"package\"", "\"kind\":\"socket\""), "nodes[2]: unknown kind 'socket'; accepted: machine,"},
      {damaged("\"parent\":0", "\"parent\":5"), "nodes[1]: parent 5"},
      {damaged("\"parent\":0", "\"parent\":\"x\""), "nodes[1]: parent"},
      {damaged("\"from\":1", "\"from\":100000"), "links[0]: link end 100000"},
      {damaged("\"provenance\":\"assumed\"", "\"provenance\":\"guessed\""), "unknown provenance 'guessed'"},
      {damaged("\"cpus\":[0,1,2", "\"cpus\":[1,0,2"), "must ascend"},
      {damaged("\"cpu_quota\": 2.5", "\"cpu_quota\": -1"), "cpu_quota"},
      {damaged("\"bytes\":", "\"bytes\":1e30,\"x\":"), "1e+30 is no whole number from 0 to 18446744073709551615"},
      {damaged("\"ranks\": [", "\"ranks\": [{\"host\":0,\"process\":-1e30,\"cpus\":[],\"node\":-1},"), "ranks[0]: -1e+30 is no whole number from -9"},
      {damaged("\"ranks\": [",
               "\"ranks\": ["
               "{\"host\":9,\"process\":0,\"cpus\":[],\"node\":-1},"),
       "ranks[0]: host 9"}};
  for (const auto& [text, part] : wrong) {
    const auto topology = read_topology_json(text);
    REQUIRE(!topology);
    INFO(topology.error().detail);
    CHECK(mentions(topology.error().detail, part));
    CHECK(!mentions(topology.error().detail, "\n"));
  }
}

TEST_CASE("the text shows what there is, figures with their provenance, ranks and the quota") {
  const auto text = print_topology(example());
  for (const auto* part :
       {"12 processors", "quota is worth 2.5", "2 usable", "package#1", "L3#0 16 MiB", "2 x core#0-1 (cpu 0-3)",
        "3 x core#3-5 (cpu 6-11)", "more ): 12 processors", "<- ranks 0-3", "one L3", "100 ns", "assumed"}) {
    INFO(part << " in\n" << text);
    CHECK(mentions(text, part));
  }
}

TEST_CASE("the picture is well-formed and shows every core and rank") {
  const auto svg = draw_topology_svg(example());
  pugi::xml_document document;
  REQUIRE(document.load_buffer(svg.data(), svg.size()));
  CHECK(std::string(document.document_element().name()) == "svg");
  for (const auto* part : {"core#0", "core#5", "L3#1", "package#0", "rank", "100 ns"}) {
    INFO(part);
    CHECK(mentions(svg, part));
  }
}

TEST_CASE("boxes of the picture lie inside the sheet and inside one another or apart") {
  const auto svg = draw_topology_svg(*read_synthetic("package:2 numa:2 l3:2 l2:4 core:1 pu:2"));
  pugi::xml_document document;
  REQUIRE(document.load_buffer(svg.data(), svg.size()));
  struct Rectangle {
    double left, top, right, bottom;
  };
  std::vector<Rectangle> boxes;
  for (const auto& rect : document.document_element().children("rect")) {
    if (!rect.attribute("x")) continue;
    const double x = rect.attribute("x").as_double(), y = rect.attribute("y").as_double();
    boxes.push_back({x, y, x + rect.attribute("width").as_double(), y + rect.attribute("height").as_double()});
  }
  REQUIRE(boxes.size() == 1 + 2 + 4 + 8 + 32);
  const double width = document.document_element().attribute("width").as_double();
  const double height = document.document_element().attribute("height").as_double();
  const auto inside = [](const Rectangle& a, const Rectangle& b) {
    return a.left > b.left && a.right < b.right && a.top > b.top && a.bottom < b.bottom;
  };
  const auto apart = [](const Rectangle& a, const Rectangle& b) {
    return a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  };
  bool sound = true;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    sound = sound && inside(boxes[i], {0, 0, width, height});
    for (std::size_t j = 0; j < i; ++j)
      sound = sound && (apart(boxes[i], boxes[j]) || inside(boxes[i], boxes[j]) || inside(boxes[j], boxes[i]));
  }
  CHECK(sound);
}

TEST_CASE("a topology is loaded from an XML file, a JSON file or a synthetic string") {
  const auto folder = std::filesystem::temp_directory_path() / ("rondo-load-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto save = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  };
  CHECK(load_topology("core:2 pu:1"));
  const auto json = load_topology(save("machine.json", write_topology_json(example())));
  REQUIRE(json);
  check_equal(*json, example());
  CHECK(load_topology(
      save("machine.xml",
           "<topology version='2.0'><object type='Machine'><object type='PU' os_index='0'/></object></topology>")));
  const std::vector<std::pair<std::string, std::string>> wrong{
      {save("empty.xml", ""), "empty"},
      {save("cut.xml", "<topology><object type='Machine'>"), "not an hwloc XML file"},
      {save("noise", "\x7f\x45\x4c\x46 noise"), "not an hwloc XML file"},
      {folder.string(), "is a folder"},
      {(folder / "none.xml").string(), "can't be opened"},
      {"missing.xml", "can't be opened"}};
  for (const auto& [path, part] : wrong) {
    const auto topology = load_topology(path);
    REQUIRE(!topology);
    INFO(topology.error().detail);
    CHECK(mentions(topology.error().detail, "'" + path + "'"));
    CHECK(mentions(topology.error().detail, part));
    CHECK(mentions(topology.error().detail, "expected"));
  }
  std::filesystem::remove_all(folder);
}
