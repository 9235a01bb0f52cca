// rondo: show a machine, plan a collective, prove a plan.
#include <algorithm>
#include <cstdio>
#include <string>

#include "commands.hpp"
#include "rondo/communicator.hpp"

namespace {

std::string version_text() {
  const int v = rondo::version();
  return "rondo " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

void append(std::string& list, const std::string& name) {
  list += (list.empty() ? "" : ", ") + name;
}

std::string command_names(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) append(names, command->get_name());
  return names;
}

std::string option_names(const CLI::App& command) {
  std::string names;
  for (const CLI::Option* option : command.get_options()) append(names, option->get_name());
  return names;
}

// CLI11's words, and what would be accepted where these leave it out.
std::string explain(const CLI::App& app, const CLI::ParseError& wrong) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const auto rest = app.remaining();
    const std::string what = rest.empty() ? "a command is missing" : "unknown command '" + rest.front() + "'";
    return what + "; accepted: " + command_names(app) + ", --help, --version";
  }
  const CLI::App& command = *chosen.front();
  const std::string name = command.get_name() + ": ";
  if (wrong.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return name + wrong.what();
  // CLI11 lists what it didn't expect from the last to the first; a mistyped flag is the cause of what follows it.
  auto rest = app.remaining(true);
  const auto flag =
      std::find_if(rest.begin(), rest.end(), [](const std::string& text) { return text.starts_with("-"); });
  const std::string culprit = flag != rest.end() ? *flag : rest.empty() ? "" : rest.front();
  return name + "unexpected '" + culprit + "'; accepted: " + option_names(command);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Rondo shows the machine, plans collectives for it and proves the plans.", "rondo"};
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  int status = 0;
  add_topo(app, status);
  add_plan(app, status);
  add_verify(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    std::fprintf(stderr, "rondo: %s\n", explain(app, wrong).c_str());
    return 2;
  }
  return status;
}
