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
class Orders : public Observer {
 public:
  Orders(const Image& image, const Question& question, const Layout& layout, const Neighbours& neighbours,
         Report& report)
      : image_(image),
        clocks_(image, neighbours, question.pieces),
        races_(image, layout, clocks_, question.pieces, report),
        direct_(question.users && image.header.protocol == Protocol::direct),
        users_(image, clocks_, report) {}

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
};

class Moves : public Observer {
 public:
  Moves(const Image& image, Values& values) : image_(image), values_(values) {}
  void step(std::uint32_t lane, std::uint32_t step, std::uint32_t piece) override {
    const StepKind kind = image_.steps[step].kind;
    if (kind == StepKind::copy || kind == StepKind::reduce) values_.move(image_.lane_rank[lane], step, piece);
  }

 private:
  const Image& image_;
  Values& values_;
};

Answer examine_orders(const Image& image, const Question& question, Report& report) {
  const Layout layout(image, question.pieces, question.in_place, question.users);
  const Layout one(image, 1, question.in_place, question.users);
  if (layout.cells() > max_cells) return Answer::too_large;
  const bool is_barrier = image.header.collective == Collective::barrier;
  if (layout.cells() == 0 && !question.users && !is_barrier) return Answer::done;  // nowhere to meet
  if (!is_barrier) {
    const Neighbours neighbours = find_neighbours(image, one);
    if (!neighbours.empty()) {
      Report suspicions(image);
      Orders orders(image, question, layout, neighbours, suspicions);
      Walk(image, question.pieces, image.header.depth).run(&orders);
      const Answer answer = orders.end(suspicions);
      if (suspicions.empty()) return answer;
    }
  }
  const std::uint64_t lanes = image.lanes();
  if (lanes * lanes > max_clock_words || image.work(question.pieces) * lanes / 8 > max_dense_work)
    return Answer::too_large;
  const Neighbours all;
  Orders orders(image, question, layout, all, report);
  Walk(image, question.pieces, image.header.depth).run(&orders);
  return orders.end(report);
}

Answer examine_values(const Image& image, const Question& question, Report& report) {
  const Layout layout(image, question.pieces, question.in_place, true);
  if (layout.cells() > max_cells) return Answer::too_large;
  Values values(image, layout, question.pieces);
  Moves moves(image, values);
  Walk(image, question.pieces, image.header.depth).run(&moves);
  if (values.overflowed()) return Answer::too_large;
  values.check_outputs(report);
  return Answer::done;
}

}  // namespace

Answer examine(const Image& image, const Question& question, Report& report) {
  if (image.work(question.pieces) > max_work) return Answer::too_large;
  Answer answer = Answer::done;
  if (question.orders) answer = examine_orders(image, question, report);
  if (answer == Answer::too_large || !question.values) return answer;
  return examine_values(image, question, report) == Answer::too_large ? Answer::too_large : answer;
}

}  // namespace rondo::verifier
