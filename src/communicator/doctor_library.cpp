// How the library was built, and which of its kernels this processor gets.
#include <algorithm>
#include <array>

#include "communicator/doctor_checks.hpp"

namespace rondo::doctor {
namespace {

constexpr const char* build_release = "cmake --preset release && cmake --build --preset release";

std::string version_words(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

}  // namespace

Findings check_library(const MachineFacts& facts) {
  Finding finding{"library", Verdict::ok, "Rondo " + version_words(facts.version) + ", compiled by " + facts.compiler, ""};
  finding.meaning += facts.ucx_version.empty() ? ", without UCX" : ", with UCX " + facts.ucx_version;
  finding.meaning += facts.cuda_version.empty() ? ", without CUDA" : ", with CUDA " + facts.cuda_version;
  if (facts.ucx_version.empty() && facts.rdma) {
    finding.verdict = Verdict::note;
    finding.meaning += ": this machine's InfiniBand or RoCE serves TCP alone; " + facts.ucx_failure;
    finding.remedy = std::string("apt-get install libucx-dev libucx0 && ") + build_release + "  # what knows UCX needs libucx0 alone";
  }
  if (facts.sanitized || !facts.optimised) {
    finding.verdict = Verdict::note;
    finding.meaning += facts.sanitized ? "; built with a sanitizer: many times slower" : "; built without optimisation: many times slower";
    finding.remedy = build_release;
  }
  return {finding};
}

Findings check_kernels(const MachineFacts& facts) {
  // Highway's names of what has vectors of 128 bits or none, on processors that usually have wider ones.
  constexpr std::array<std::string_view, 4> narrow{"SSE2", "SSE4", "EMU128", "SCALAR"};
  if (std::find(narrow.begin(), narrow.end(), facts.kernel_target) == narrow.end())
    return {{"kernels", Verdict::ok, "reductions run on " + facts.kernel_target, ""}};
  std::string meaning = "reductions run on " + facts.kernel_target + ": this processor shows no AVX2, large ones are slower";
  if (facts.virtual_machine) meaning += "; a virtual machine may hide it (QEMU: start it with -cpu host)";
  return {{"kernels", Verdict::note, meaning, "lscpu"}};
}

/// Plans are chosen by these figures.
Findings check_calibration(const MachineFacts& facts) {
  const std::string command = "rondo calibrate  # some seconds, with nothing else running";
  if (!facts.calibration_failure.empty())
    return {{"calibration", Verdict::problem, facts.calibration_failure + "; plans are chosen by the figures of the kind of processor", command}};
  if (facts.figures_source.empty()) return {};
  if (facts.figures_measured) return {{"calibration", Verdict::ok, "figures of the cores: " + facts.figures_source, ""}};
  return {{"calibration", Verdict::note, "figures of the cores: " + facts.figures_source + "; measured ones choose better plans", command}};
}

}  // namespace rondo::doctor
