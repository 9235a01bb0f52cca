#include "verifier/examine.hpp"

#include <algorithm>
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

/// Of first-hand clocks: with more, lists of neighbours are smaller.
std::uint64_t most_first_hand_words(const Image& image) { return std::min<std::uint64_t>(8 * std::uint64_t{image.step_count()}, max_clock_words / 4); }

}  // namespace

/// The orders of a run: clocks, races, the rule of calls.
class Orders final : public Observer {
 public:
  Orders(const Image& image, const Question& question, const Layout& layout, Learning learning, const Neighbours& neighbours, Report& report)
      : image_(image),
        clocks_(image, learning, neighbours, question.pieces),
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

/// What a walk is asked at once: orders by clocks that don't know all, and values.
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

  std::uint64_t words() const { return image.lanes() * image.whole_lanes(); }  // of clocks with one for each whole lane
  Neighbours meetings() const { return find_neighbours(image, Layout(image, 1, question.in_place, question.users)); }
  void prepare_orders();
  void prepare_values();
  Answer end_orders();
  Answer walk_with(Learning learning, Report& to, bool brief);
  Answer walk_with_full_clocks();

  const Image& image;
  const Question question;
  Report& report;
  const Layout layout;         // of what is followed for orders
  Report suspicions;           // what these clocks can't exclude
  Learning learning = Learning::first_hand;  // of the first walk
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
  learning = words() <= most_first_hand_words(image) ? Learning::first_hand : Learning::neighbours;
  if (learning == Learning::neighbours) neighbours = meetings();
  if (learning == Learning::first_hand || !neighbours.empty()) orders.emplace(image, question, layout, learning, neighbours, suspicions);
}

void Examination::Parts::prepare_values() {
  value_layout.emplace(image, question.pieces, question.in_place, true);
  too_large |= value_layout->cells() > max_cells;
  if (!too_large) values.emplace(image, *value_layout, question.pieces);
}

/// Asks for as little as suffices: what was learned at first hand, then what came through neighbours, then all.
Answer Examination::Parts::end_orders() {
  if (!asks_orders) return Answer::done;
  if (!orders) return walk_with_full_clocks();
  if (const Answer answer = orders->end(suspicions); suspicions.empty()) return answer;
  if (learning == Learning::first_hand) neighbours = meetings();
  if (learning == Learning::first_hand && !neighbours.empty()) {
    Report more(image);
    if (const Answer answer = walk_with(Learning::neighbours, more, true); more.empty()) return answer;
  }
  return walk_with_full_clocks();
}

Answer Examination::Parts::walk_with_full_clocks() {
  if (words() > max_clock_words || image.work(question.pieces) * image.whole_lanes() / 8 > max_dense_work) return Answer::too_large;
  return walk_with(Learning::all, report, question.brief);
}

Answer Examination::Parts::walk_with(Learning how, Report& to, bool brief) {
  Orders more(image, question, layout, how, neighbours, to);
  more.stop_at(to, brief);
  Walk(image, question.pieces, image.header.depth).run(&more);
  return more.end(to);
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
