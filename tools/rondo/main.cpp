// rondo: show a machine, plan a collective, prove a plan.
#include <cstdio>
#include <string>

#include "commands.hpp"
#include "flags.hpp"
#include "rondo/communicator.hpp"

namespace {

std::string version_text() {
  const int v = rondo::version();
  return "rondo " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
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
