#include "verifier/examine.hpp"

#include <memory>
#include <optional>

#include "verifier/clocks.hpp"
#include "verifier/neighbours.hpp"
#include "verifier/races.hpp"
#include "verifier/user_buffers.hpp"
#include "verifier/values.hpp"
#include "verifier/walk.hpp"

namespace rondo::verifier {
namespace {

/// The orders of a run: clocks, races, the rule of calls.
class Orders final : public Observer {
 public:
  Orders(const Image& image, const Question& question, const Layout& layout, const Neighbours& neighbours,
         Report& report)
      : image_(image),
        clocks_(image, neighbours, question.pieces),
        races_(image, layout, clocks_, question.pieces, report),
        direct_(question.users && image.header.protocol == Protocol::direct),
        users_(image, clocks_, report) {}

  /// With `brief`, one thing that is wrong stops the walk.
  void stop_at(const Report& report, bool brief) { stop_at_ = brief ? &report : nullptr; }
  bool has_enough() const override { return stop_at_ != nullptr && !stop_at_->empty(); }

  void step(std::uint32_t lane, std::uint32_t step, std::uint32_t piece) override {
    clocks_.enter(lane, step, piece);
    races_.step(lane, step, piece);
    if (direct_) users_.step(lane, step);
    clocks_.leave(lane, step, piece);
  }

  Answer end(Report& report) {
    if (clocks_.overflowed()) return Answer::too_large;
    if (direct_) users_.end();
    if (image_.header.collective == Collective::barrier) check_barrier(image_, clocks_, report);
    return races_.reversed() ? Answer::reversed : Answer::done;
  }

 private:
  const Image& image_;
  Clocks clocks_;
  Races races_;
  const bool direct_;
  UserBuffers users_;
  const Report* stop_at_ = nullptr;
};

}  // namespace

/// What a walk is asked at once: orders by the clocks of neighbours, and values.
struct Examination::Parts final : Observer {
  Parts(const Image& plan, const Question& asked, Report& to)
      : image(plan), question(asked), report(to), layout(plan, asked.pieces, asked.in_place, asked.users), suspicions(plan) {}

  void step(std::uint32_t lane, std::uint32_t step, std::uint32_t piece) override {
    if (orders) orders->step(lane, step, piece);
    const StepKind kind = image.steps[step].kind;
    if (values && (kind == StepKind::copy || kind == StepKind::reduce)) values->move(image.lane_rank[lane], step, piece);
  }

  /// Suspicions are looked into by another walk, whatever else this one would show.
  bool has_enough() const override { return !values && !suspicions.empty(); }

  void prepare_orders();
  void prepare_values();
  Answer end_orders();
  Answer walk_with_full_clocks();

  const Image& image;
  const Question question;
  Report& report;
  const Layout layout;         // of what is followed for orders
  Report suspicions;           // what the clocks of neighbours can't exclude
  Neighbours neighbours;
  bool asks_orders = false;    // somebody can meet somewhere
  bool too_large = false;
  std::optional<Orders> orders;
  std::optional<Layout> value_layout;
  std::optional<Values> values;
};

void Examination::Parts::prepare_orders() {
  const bool is_barrier = image.header.collective == Collective::barrier;
  too_large |= layout.cells() > max_cells;
  asks_orders = !too_large && (layout.cells() > 0 || question.users || is_barrier);
  if (!asks_orders || is_barrier) return;
  neighbours = find_neighbours(image, Layout(image, 1, question.in_place, question.users));
  if (!neighbours.empty()) orders.emplace(image, question, layout, neighbours, suspicions);
}

void Examination::Parts::prepare_values() {
  value_layout.emplace(image, question.pieces, question.in_place, true);
  too_large |= value_layout->cells() > max_cells;
  if (!too_large) values.emplace(image, *value_layout, question.pieces);
}

Answer Examination::Parts::end_orders() {
  if (!asks_orders) return Answer::done;
  if (!orders) return walk_with_full_clocks();
  const Answer answer = orders->end(suspicions);
  return suspicions.empty() ? answer : walk_with_full_clocks();
}

Answer Examination::Parts::walk_with_full_clocks() {
  const std::uint64_t words = image.whole_lanes();  // of a clock
  if (image.lanes() * words > max_clock_words || image.work(question.pieces) * words / 8 > max_dense_work)
    return Answer::too_large;
  const Neighbours all;
  Orders exact(image, question, layout, all, report);
  exact.stop_at(report, question.brief);
  Walk(image, question.pieces, image.header.depth).run(&exact);
  return exact.end(report);
}

Examination::Examination(const Image& image, const Question& question, Report& report)
    : parts_(std::make_unique<Parts>(image, question, report)) {
  if (image.work(question.pieces) > max_work) parts_->too_large = true;
  if (question.orders && !parts_->too_large) parts_->prepare_orders();
  if (question.values && !parts_->too_large) parts_->prepare_values();
}

Examination::~Examination() = default;

Observer* Examination::observer() {
  return !parts_->too_large && (parts_->orders || parts_->values) ? parts_.get() : nullptr;
}

Answer Examination::end() {
  if (parts_->too_large) return Answer::too_large;
  const Answer answer = parts_->end_orders();
  if (answer == Answer::too_large || !parts_->values) return answer;
  if (parts_->values->overflowed()) return Answer::too_large;
  parts_->values->check_outputs(parts_->report);
  return answer;
}

Answer examine(const Image& image, const Question& question, Report& report) {
  Examination examination(image, question, report);
  if (Observer* const observer = examination.observer()) Walk(image, question.pieces, image.header.depth).run(observer);
  return examination.end();
}

}  // namespace rondo::verifier
