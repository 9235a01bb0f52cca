// What the environment says (a variable a line), and the file of a calibration.
#include "base/config.hpp"

#include "fuzz.hpp"
#include "rondo/calibration.hpp"

using namespace rondo;

namespace {

Environment environment_of(std::string_view text) {
  Environment environment;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.find('\0') != std::string_view::npos) continue;
    environment[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
  }
  return environment;
}

void expect_names_a_variable(const Error& error) {
  bool named = false;
  for (const Variable& variable : known_variables()) named = named || error.detail.find(variable.name) != std::string::npos;
  fuzz::expect(named, "an error that names no variable: " + error.detail);
}

void read_calibration(std::string_view text) {
  const Result<CoreFigures> figures = read_core_figures(text);
  if (!figures) {
    fuzz::expect(!figures.error().detail.empty(), "an error without a word");
    return;
  }
  const std::string written = write_core_figures(*figures);
  const Result<CoreFigures> again = read_core_figures(written);
  fuzz::expect(again && write_core_figures(*again) == written, "what was read again differs: " + written);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (text.starts_with('{')) {
    read_calibration(text);
    return 0;
  }
  const Environment environment = environment_of(text);
  if (const auto config = parse_config(environment); !config) expect_names_a_variable(config.error());
  const auto job = parse_job_environment(environment);
  if (!job) expect_names_a_variable(job.error());
  if (job) fuzz::expect(job->rank < job->size && job->local_rank < job->local_size, "a rank out of range");
  return 0;
}
