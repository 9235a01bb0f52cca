// rondo convert: a plan file in another form.
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "commands.hpp"
#include "plan_text.hpp"

namespace {

struct ConvertOptions {
  std::string file, format, out;
};

rondo::Result<void> write_text(const std::string& text, const std::string& path) {
  const auto failed = [&](const std::string& where) { return rondo::Error{rondo::Errc::io, "can't write to " + where, errno, "convert"}; };
  if (path.empty()) {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) return failed("standard output");
    return {};
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return failed(path);
  return {};
}

int run(const ConvertOptions& options) {
  const auto done = [&]() -> rondo::Result<void> {
    const auto plan = rondo::load_plan(options.file);
    if (!plan) return plan.error();
    const auto text = plan_text(*plan, options.format);
    if (!text) return rondo::Error{text.error().code, options.file + ": " + text.error().detail, 0, text.error().where};
    warn_of_limits("rondo convert", *text, options.format);
    return write_text(*text, options.out);
  }();
  if (done) return 0;
  std::fprintf(stderr, "rondo convert: %s\n", to_string(done.error()).c_str());
  return 2;
}

}  // namespace

void add_convert(CLI::App& app, int& status) {
  auto options = std::make_shared<ConvertOptions>();  // CLI11 keeps references to it until the program has parsed its arguments
  CLI::App* convert = app.add_subcommand("convert", "Write a plan file in another form");
  convert->add_option("FILE", options->file, "A plan: Rondo JSON, MSCCL XML or MSCCL++ JSON")->required();
  convert->add_option("--format", options->format, "json: Rondo's own; msccl: MSCCL XML; mscclpp: MSCCL++ JSON")
      ->required()
      ->check(CLI::IsMember({"json", "msccl", "mscclpp"}));
  convert->add_option("-o,--output", options->out, "Where to; default: standard output");
  convert->callback([options, &status] { status = run(*options); });
}
