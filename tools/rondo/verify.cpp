// rondo verify: proves plan files, or says what is wrong with them.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "rondo/formats.hpp"
#include "rondo/verifier.hpp"

namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  bool json = false;
};

/// One file's answer; `unreadable` empty when there was a plan to prove.
struct Answer {
  std::string file;
  std::string unreadable;
  rondo::PlanHeader header;
  rondo::Proof proof;

  int status() const { return !unreadable.empty() ? 2 : proof.proved() ? 0 : 1; }
};

Answer answer(const std::string& file) {
  Answer answer{file, {}, {}, {}};
  const auto plan = rondo::load_plan(file);
  if (!plan) {
    answer.unreadable = to_string(plan.error());
    return answer;
  }
  answer.header = plan->header;
  answer.proof = rondo::verify(*plan);
  return answer;
}

void print_text(const Answer& answer) {
  const rondo::Proof& proof = answer.proof;
  const char* file = answer.file.c_str();
  if (!answer.unreadable.empty()) {
    std::fflush(stdout);
    std::fprintf(stderr, "rondo verify: %s: %s\n", file, answer.unreadable.c_str());
    return;
  }
  const std::string collective(to_string(answer.header.collective));
  if (proof.proved()) {
    std::printf("%s: proved: %s (%s, %u ranks, %llu chunk-steps, least safe depth %u)\n", file,
                answer.header.algorithm.c_str(), collective.c_str(), answer.header.ranks,
                static_cast<unsigned long long>(proof.chunk_steps), proof.least_safe_depth);
    if (is_reduction(answer.header.collective))
      std::printf("  strictness: %s%s%s\n", std::string(to_string(proof.strictness)).c_str(), proof.departure.empty() ? "" : "; ", proof.departure.c_str());
    return;
  }
  std::printf("%s: wrong: %s (%s, %u ranks)\n", file, answer.header.algorithm.c_str(), collective.c_str(),
              answer.header.ranks);
  for (const rondo::Violation& violation : proof.violations) std::printf("  %s\n", to_string(violation).c_str());
  if (proof.truncated) std::printf("  and more\n");
}

nlohmann::ordered_json describe(const Answer& answer) {
  static const char* const statuses[] = {"proved", "wrong", "unreadable"};
  nlohmann::ordered_json json{{"file", answer.file}, {"status", statuses[answer.status()]}};
  if (!answer.unreadable.empty()) json["error"] = answer.unreadable;
  json["violations"] = nlohmann::ordered_json::array();
  for (const rondo::Violation& violation : answer.proof.violations)
    json["violations"].push_back({{"fault", to_string(violation.fault)},
                                  {"rank", violation.rank},
                                  {"lane", violation.lane},
                                  {"step", violation.step},
                                  {"message", violation.message}});
  json["truncated"] = answer.proof.truncated;
  json["least_safe_depth"] = answer.proof.least_safe_depth;
  json["chunk_steps"] = answer.proof.chunk_steps;
  json["strictness"] = to_string(answer.proof.strictness);
  json["departure"] = answer.proof.departure;
  return json;
}

int show(const VerifyOptions& options) {
  if (!environment_makes_sense("verify")) return 2;
  int status = 0;
  auto list = nlohmann::ordered_json::array();
  for (const std::string& file : options.files) {
    const Answer one = answer(file);
    status = std::max(status, one.status());
    if (options.json)
      list.push_back(describe(one));
    else
      print_text(one);
  }
  // File names and messages may hold bytes that are no UTF-8.
  if (options.json) std::puts(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "rondo verify: can't write to standard output\n");
  return 2;
}

}  // namespace

void add_verify(CLI::App& app, int& status) {
  auto options =
      std::make_shared<VerifyOptions>();  // CLI11 keeps references to it until the program has parsed its arguments
  CLI::App* verify = app.add_subcommand("verify", "Prove plan files: exit code 0 proved, 1 wrong, 2 unreadable");
  verify->add_option("FILE", options->files, "Plans: Rondo's JSON, MSCCL XML or MSCCL++ JSON")->required();
  verify->add_flag("--json", options->json,
                   "Print a list of {file, status, violations, least_safe_depth, chunk_steps, strictness, departure}");
  verify->callback([options, &status] { status = show(*options); });
}
