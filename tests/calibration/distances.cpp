// What was measured at one or two distances, and what the cost model makes of it at others.
#include "calibration/distances.hpp"

#include "rondo/planner.hpp"
#include "support/catch.hpp"

using namespace rondo;

namespace {

LinkFigures link(double latency_ns, double pull, double publish) { return {latency_ns, pull, publish, publish}; }

/// Two cores that copy a byte in 0.02 ns.
CoreFigures figures_of(const LinkFigures& near, const LinkFigures& far = {}) {
  CoreFigures figures = core_figures(Topology{});
  figures.copy_ns_per_byte = 0.02;
  figures.near = near;
  figures.far = far;
  return figures;
}

CostModel at(const CoreFigures& figures, double latency_ns) {
  CostModel cost;
  cost.core = figures;
  set_latency(cost, latency_ns, "made up");
  return cost;
}

}  // namespace

TEST_CASE("of each distance the middle of what was measured there is taken") {
  CoreFigures figures;
  calibration::take_links(figures, {link(46, 0.04, 0.04), link(200, 0.09, 0.20), link(45, 0.05, 0.03),
                                   link(210, 0.10, 0.25), link(205, 0.11, 0.22), link(47, 0.06, 0.05)});
  CHECK(figures.near.latency_ns == 46);
  CHECK(figures.near.pull_ns_per_byte == 0.05);
  CHECK(figures.near.publish_ns_per_byte == 0.04);
  CHECK(figures.far.latency_ns == 205);
  CHECK(figures.far.pull_ns_per_byte == 0.10);
  CHECK(figures.far.publish_ns_per_byte == 0.22);
}

TEST_CASE("one distance is one, and of three the ends count") {
  CoreFigures figures;
  figures.far = link(999, 1, 1);
  calibration::take_links(figures, {link(100, 0.04, 0.04), link(140, 0.05, 0.05), link(120, 0.06, 0.06)});
  CHECK(figures.near.latency_ns == 120);
  CHECK(figures.far.latency_ns == 0);
  calibration::take_links(figures, {link(100, 0.04, 0.04), link(180, 0.05, 0.05), link(400, 0.06, 0.06)});
  CHECK(figures.near.latency_ns == 100);
  CHECK(figures.far.latency_ns == 400);
}

TEST_CASE("what an earlier calibration knows of another distance is kept") {
  const LinkFigures near = link(46, 0.04, 0.04), far = link(200, 0.09, 0.2);
  CoreFigures now_far = figures_of(far);
  calibration::keep_other_distance(now_far, figures_of(near));
  CHECK(now_far.near.latency_ns == 46);
  CHECK(now_far.far.latency_ns == 200);
  CoreFigures now_near = figures_of(link(50, 0.05, 0.05));
  calibration::keep_other_distance(now_near, figures_of(near, far));
  CHECK(now_near.near.latency_ns == 50);  // newer than the 46 of before
  CHECK(now_near.far.latency_ns == 200);
  CoreFigures same = figures_of(link(60, 0.05, 0.05));
  calibration::keep_other_distance(same, figures_of(near));
  CHECK(same.far.latency_ns == 0);
  CoreFigures both = figures_of(near, far);
  calibration::keep_other_distance(both, figures_of(link(500, 1, 1)));
  CHECK(both.far.latency_ns == 200);
}

TEST_CASE("a byte's cost grows with the distance, along the line through two that are known") {
  const CoreFigures two = figures_of(link(50, 0.04, 0.03), link(250, 0.08, 0.23));
  CHECK(at(two, 50).pull_ns_per_byte == Approx(0.04));
  CHECK(at(two, 150).pull_ns_per_byte == Approx(0.06));
  CHECK(at(two, 350).publish_ns_per_byte == Approx(0.33));
  CHECK(at(two, 30).publish_ns_per_byte == Approx(0.02));  // no less than a copy
  CHECK(at(two, 20).share_ns_per_byte == Approx(0));       // and no less than nothing
  const CoreFigures one = figures_of(link(100, 0.05, 0.06));
  CHECK(at(one, 100).pull_ns_per_byte == Approx(0.05));
  CHECK(at(one, 200).pull_ns_per_byte == Approx(0.08));
  CHECK(at(one, 50).publish_ns_per_byte == Approx(0.04));
  CHECK(at(one, 200).share_ns_per_byte == Approx(0.12));
}
