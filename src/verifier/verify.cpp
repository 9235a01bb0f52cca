// The proof: form, messages, deadlock, then runs whose answers hold for any number of pieces (0002-verifier.md).
#include "rondo/verifier.hpp"

#include <algorithm>

#include "verifier/deadlock.hpp"
#include "verifier/examine.hpp"
#include "verifier/image.hpp"
#include "verifier/messages.hpp"
#include "verifier/report.hpp"
#include "verifier/prove.hpp"
#include "verifier/spread.hpp"
#include "verifier/symmetry.hpp"

namespace rondo {
namespace verifier {
namespace {

class Prover {
 public:
  Prover(const Image& image, Report& report) : image_(image), report_(report) {}

  /// Stops at what makes further questions pointless.
  void prove() {
    check_messages(image_, report_);
    if (!report_.empty()) return;
    Examination first(image_, alias_question(!image_.header.out_of_place), report_);
    spread_ = check_deadlock(image_, report_, first.observer());
    if (!report_.empty()) return;
    if (first.end() == Answer::too_large) say_too_large();
    if (image_.header.out_of_place && image_.header.in_place) ask(alias_question(true));
    if (uses_slots()) prove_slots(false);
  }

  /// Of a proved plan with fewer slots that doesn't deadlock: what may be wrong now. With one piece values don't depend on slots, and without links
  /// nothing does.
  void prove_again() {
    if (!image_.links.empty()) prove_piece_again();
    if (report_.empty() && uses_slots()) prove_slots(true);
  }

 private:
  void prove_piece_again() {
    const auto spread = piece_spread(image_, image_.header.depth);
    if (!spread) return say_too_large();
    spread_ = *spread;
    for (const bool in_place : {false, true}) {
      if (in_place ? !image_.header.in_place : !image_.header.out_of_place) continue;
      Question question = alias_question(in_place);
      question.values = false;
      question.brief = true;
      if (question.orders) ask(question);
    }
  }

  bool uses_slots() const {
    const auto& chunks = image_.scratch_chunks;
    return image_.header.protocol != Protocol::inlined &&
           std::any_of(chunks.begin(), chunks.end(), [](std::uint32_t count) { return count > 0; });
  }

  /// Whether lanes can meet in user buffers at all: peers', or several lanes of one rank.
  bool users_meet() const { return image_.header.protocol == Protocol::direct || image_.lanes() > image_.held_ranks(); }

  /// One piece: the worst case for orders within a piece, and all there is to values.
  Question alias_question(bool in_place) const {
    const bool again = in_place && image_.header.out_of_place;
    return {1, in_place, users_meet() || !again, users_meet(), true};
  }

  Answer ask(const Question& question) {
    const Answer answer = examine(image_, question, report_);
    if (answer == Answer::too_large) say_too_large();
    return answer;
  }

  /// depth + 1 pieces: the worst case for a slot's next tenant. Where pieces overtake one another, the tenants after
  /// that one too, up to the spread.
  void prove_slots(bool brief) {
    const std::uint64_t depth = image_.header.depth;
    if (depth > (1u << 16)) return say_too_large();
    if (ask({static_cast<std::uint32_t>(depth + 1), false, true, false, false, brief}) != Answer::reversed) return;
    const std::uint64_t tenants = spread_ / depth + 2;
    for (std::uint64_t n = 1; n <= tenants && report_.empty(); ++n) {
      const std::uint64_t pieces = n * depth + 1;
      if (pieces > (1u << 20)) return say_too_large();
      for (const bool in_place : {false, true}) {
        if (in_place ? !image_.header.in_place : !image_.header.out_of_place) continue;
        if (ask({static_cast<std::uint32_t>(pieces), in_place, !in_place, false, true}) == Answer::too_large) return;
      }
    }
  }

  void say_too_large() { report_.add_rank(Fault::malformed, 0, "the plan is too large to prove"); }

  const Image& image_;
  Report& report_;
  std::uint64_t spread_ = 0;
};

/// From `from` on, the first depth at which all that holds for the proved plan still holds: fewer slots may not block anybody
/// and yet let a piece overwrite another. Each costs a proof, so depths beyond all use are taken as they are.
std::uint32_t least_proved_depth(Image& image, std::uint32_t from) {
  constexpr std::uint32_t deepest_searched = 8;
  const std::uint32_t proved = image.header.depth;
  if (proved > deepest_searched) return proved;
  for (std::uint32_t depth = std::max(1u, from); depth < proved; ++depth) {
    image.header.depth = depth;
    Report report(image);
    Prover(image, report).prove_again();
    if (report.empty()) return depth;
  }
  return proved;
}

Proof refuse(const Error& error) {
  Proof proof;
  proof.violations.push_back({Fault::malformed, -1, -1, -1, error.detail});
  return proof;
}

/// Of whatever the image shows.
Proof prove(Image& image) {
  Report report(image);
  Prover(image, report).prove();
  Proof proof;
  proof.chunk_steps = image.chunk_steps;
  proof.truncated = report.full();
  proof.violations = report.take();
  proof.strictness = report.departure().to;
  if (proof.strictness != Strictness::any_type) proof.departure = where(image, report.departure().step) + ": " + report.departure().why;
  const bool unmatched = std::any_of(proof.violations.begin(), proof.violations.end(), [](const Violation& violation) {
    return violation.fault == Fault::unmatched_message || violation.fault == Fault::malformed;
  });
  const auto stuck = [](const Violation& violation) { return violation.fault == Fault::deadlock; };
  if (!image.links.empty() && !unmatched) proof.least_safe_depth = least_safe_depth(image);
  else if (!unmatched) proof.least_safe_depth = std::any_of(proof.violations.begin(), proof.violations.end(), stuck) ? 0 : 1;
  if (proof.proved()) proof.least_safe_depth = least_proved_depth(image, proof.least_safe_depth);
  return proof;
}

}  // namespace

std::optional<Proof> prove_by_symmetry(const Plan& plan) {
  auto symmetry = find_symmetry(plan);
  if (!symmetry) return std::nullopt;
  const bool rank_order = symmetry->rank_order;
  auto image = make_symmetric_image(plan.header, std::move(*symmetry));
  if (!image) return std::nullopt;
  Proof proof = prove(*image);
  if (!proof.proved()) return std::nullopt;
  // The tree of the ranks' numbers is no shift's image of itself: what is seen of rank 0 settles it only where that departs, or where every reduction is
  // the whole tree.
  const bool settled = proof.strictness == Strictness::loose || (proof.strictness == Strictness::any_type && rank_order);
  if (!settled) return std::nullopt;
  proof.chunk_steps *= plan.header.ranks;
  proof.by_symmetry = true;
  return proof;
}

}  // namespace verifier

Proof verify_in_full(const Plan& plan) {
  auto image = verifier::make_image(plan);
  return image ? verifier::prove(*image) : verifier::refuse(image.error());
}

Proof verify(const Plan& plan) {
  constexpr std::uint32_t few_ranks = 8;  // looking for symmetries would cost as much as the proof
  if (plan.header.ranks >= few_ranks)
    if (auto proof = verifier::prove_by_symmetry(plan)) return std::move(*proof);
  return verify_in_full(plan);
}

}  // namespace rondo
