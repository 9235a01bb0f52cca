// rondo: show a machine, plan a collective, prove a plan, say what is missing and what ranks are doing.
#include <cstdio>
#include <string>

#include "commands.hpp"
#include "tools/support/flags.hpp"
#include "tools/support/version.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Rondo shows the machine, plans collectives for it, proves and converts the plans, and says what is missing and what ranks are doing.", "rondo"};
  app.set_version_flag("--version", "rondo " + tool_support::version_text());
  app.require_subcommand(1);
  int status = 0;
  add_topo(app, status);
  add_plan(app, status);
  add_verify(app, status);
  add_convert(app, status);
  add_doctor(app, status);
  add_calibrate(app, status);
  add_inspect(app, status);
  (void)tool_support::parse(app, argc, argv, "rondo", status);
  return status;
}
