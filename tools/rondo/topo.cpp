// rondo topo: this machine, or another's description, as text, JSON or a picture.
#include <cstdio>
#include <memory>
#include <string>

#include "commands.hpp"
#include "rondo/topology.hpp"

namespace {

struct TopoOptions {
  std::string from;
  bool described = false;  ///< --from was given, be it empty
  std::string format = "text";
};

int show(const TopoOptions& options) {
  if (!environment_makes_sense("topo")) return 2;
  auto topology = options.described ? rondo::load_topology(options.from) : rondo::discover_topology();
  if (!topology) {
    std::fprintf(stderr, "rondo topo: %s\n", to_string(topology.error()).c_str());
    return 2;
  }
  if (!options.described)
    if (const auto added = rondo::add_gpu_links(*topology); !added)
      std::fprintf(stderr, "rondo topo: links between GPUs aren't shown: %s\n", to_string(added.error()).c_str());
  const std::string text = options.format == "json"  ? write_topology_json(*topology)
                           : options.format == "svg" ? draw_topology_svg(*topology)
                                                     : print_topology(*topology);
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    std::fprintf(stderr, "rondo topo: can't write to standard output\n");
    return 2;
  }
  return 0;
}

}  // namespace

void add_topo(CLI::App& app, int& status) {
  auto options =
      std::make_shared<TopoOptions>();  // CLI11 keeps references to it until the program has parsed its arguments
  CLI::App* topo = app.add_subcommand("topo", "Show this machine, or the one that --from describes");
  CLI::Option* from = topo->add_option(
      "--from", options->from,
      "An XML file of hwloc's or NCCL's, a topology in JSON, a fabric such as 'dgx-h100*4', or a synthetic string such as 'package:2 core:4 pu:1'");
  topo->add_option("--format", options->format, "text, json or svg")->check(CLI::IsMember({"text", "json", "svg"}));
  topo->callback([options, from, &status] {
    options->described = from->count() > 0;
    status = show(*options);
  });
}
