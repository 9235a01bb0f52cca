// Plans in every form: Rondo's JSON, MSCCL's XML, MSCCL++'s JSON. What is taken is verified, and lowered where it is proved.
#include "rondo/plan.hpp"

#include "fuzz.hpp"
#include "rondo/formats.hpp"
#include "rondo/verifier.hpp"

using namespace rondo;

namespace {

/// Proofs take as long as a plan is large: these take milliseconds.
bool is_small(const Plan& plan) {
  const PlanHeader& header = plan.header;
  if (header.ranks > 8 || header.depth > 8 || header.chunks_per_block > 64 || header.scratch_chunks > 256) return false;
  std::size_t steps = 0;
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank)
    for (const Lane& lane : plan.program(rank).lanes)
      for (const Step& step : lane.steps) {
        ++steps;
        if (step.wait.lag > 8 || step.skew > 8) return false;
      }
  return steps <= 500;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<Plan> plan = import_plan(fuzz::text_of(data, size));
  if (!plan) {
    const Errc code = plan.error().code;
    fuzz::expect((code == Errc::invalid_plan || code == Errc::unsupported) && !plan.error().detail.empty(), "a wrong error: " + to_string(plan.error()));
    return 0;
  }
  const std::string written = write_plan(*plan);
  const Result<Plan> again = read_plan(written);
  fuzz::expect(static_cast<bool>(again), "what was written can't be read: " + written);
  fuzz::expect(write_plan(*again) == written, "what was read again differs: " + written);
  if (!check_form(*plan) || !is_small(*plan)) return 0;
  const Proof proof = verify(*plan);
  fuzz::expect(verify(*again).proved() == proof.proved(), "what was read again is proved or not, the first wasn't or was: " + written);
  if (!proof.proved()) return 0;
  (void)lower(*plan);
  if (const Result<std::string> text = export_msccl_xml(*plan)) {
    const Result<Plan> imported = import_msccl_xml(*text);
    fuzz::expect(static_cast<bool>(imported), "what was exported can't be imported: " + *text);
    fuzz::expect(verify(*imported).proved(), "what was exported isn't proved: " + *text);
  }
  if (const Result<std::string> text = export_mscclpp_json(*plan)) {
    const Result<Plan> imported = import_mscclpp_json(*text);
    fuzz::expect(static_cast<bool>(imported), "what was exported can't be imported: " + *text);
    fuzz::expect(verify(*imported).proved(), "what was exported isn't proved: " + *text);
  }
  return 0;
}
