// rondo inspect: what running ranks are doing, and who holds them up.
#include "rondo/inspect.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"

namespace {

struct InspectOptions {
  std::vector<std::int64_t> processes;
  std::vector<std::string> records;  ///< files
  bool json = false;
};

nlohmann::ordered_json to_json(const rondo::SeenRank& rank) {
  nlohmann::ordered_json json{{"process", rank.process},     {"hindrance", rank.hindrance}, {"family", rank.family}, {"communicator", rank.communicator},
                              {"first_of_group", rank.first_of_group}, {"rank", rank.rank},  {"size", rank.size},     {"state", rank.state},
                              {"last_words", rank.last_words},         {"call", rank.call},  {"operation", rank.operation}, {"finished", rank.finished}};
  json["signals"] = rank.signals;
  if (rank.wait)
    json["waits_for"] = {{"rank", rank.wait->rank}, {"lane", rank.wait->lane}, {"signals", rank.wait->signals}, {"own_lane", rank.wait->own_lane},
                         {"own_step", rank.wait->own_step}};
  return json;
}

rondo::Result<std::vector<rondo::SeenRank>> read_files(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& name : files) {
    std::ifstream file(name, std::ios::binary);
    if (!file) return rondo::Error{rondo::Errc::io, "cannot read " + name};
    text.append(std::istreambuf_iterator<char>(file), {});
    text += "\n";
  }
  return rondo::read_records(text);
}

int run(const InspectOptions& options) {
  const auto ranks = options.records.empty() ? rondo::inspect(options.processes) : read_files(options.records);
  if (!ranks) {
    std::fprintf(stderr, "rondo inspect: %s\n", to_string(ranks.error()).c_str());
    return 2;
  }
  if (options.json) {
    auto list = nlohmann::ordered_json::array();
    for (const rondo::SeenRank& rank : *ranks) list.push_back(to_json(rank));
    std::printf("%s\n", list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return 0;
  }
  std::printf("%s", ranks->empty() ? "no process of this user has a communicator over shared memory\n" : rondo::explain(*ranks).c_str());
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, int& status) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect", "Say what running ranks are doing and who holds them up; they go on meanwhile");
  command->add_option("PID", options->processes, "Processes of the jobs in question; without one, all jobs of this user")->check(CLI::Range(1, 1 << 22));
  command->add_option("--records", options->records, "Not what runs: what stands in these files, logs or flight records of several ranks")->excludes("PID");
  command->add_flag("--json", options->json, "What was read of each rank, as JSON");
  command->callback([options, &status] { status = run(*options); });
}
