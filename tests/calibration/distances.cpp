// What was measured at one or two distances, and what the cost model makes of it at others.
#include <cmath>

#include "calibration/distances.hpp"

#include "rondo/planner.hpp"
#include "support/catch.hpp"

using namespace rondo;

namespace {

LinkFigures link(double latency_ns, double pull, double publish) { return {latency_ns, pull, publish, publish}; }

/// Of cores that copy a byte in 0.02 ns.
CoreFigures figures_of(const std::vector<LinkFigures>& links) {
  CoreFigures figures = core_figures(Topology{});
  figures.copy_ns_per_byte = 0.02;
  figures.links = links;
  return figures;
}

std::vector<double> latencies(const std::vector<LinkFigures>& links) {
  std::vector<double> all;
  for (const LinkFigures& one : links) all.push_back(one.latency_ns);
  return all;
}

CostModel at(const CoreFigures& figures, double latency_ns) {
  CostModel cost;
  cost.core = figures;
  set_latency(cost, latency_ns, "made up");
  return cost;
}

}  // namespace

TEST_CASE("of each distance the middle of what was measured there is taken") {
  const auto links = calibration::by_distance({link(46, 0.04, 0.04), link(200, 0.09, 0.20), link(45, 0.05, 0.03), link(28, 0.05, 0.05),
                                               link(210, 0.10, 0.25), link(205, 0.11, 0.22), link(47, 0.06, 0.05)});
  REQUIRE(latencies(links) == std::vector<double>{28, 46, 205});
  CHECK(links[1].pull_ns_per_byte == 0.05);
  CHECK(links[1].publish_ns_per_byte == 0.04);
  CHECK(links[2].pull_ns_per_byte == 0.10);
  CHECK(links[2].publish_ns_per_byte == 0.22);
  CHECK(latencies(calibration::by_distance({link(100, 0.04, 0.04), link(140, 0.05, 0.05), link(120, 0.06, 0.06)})) == std::vector<double>{120});
}

TEST_CASE("what an earlier calibration knows of other distances is kept") {
  const LinkFigures near = link(46, 0.04, 0.04), far = link(200, 0.09, 0.2);
  const auto both = [](const std::vector<LinkFigures>& now, const std::vector<LinkFigures>& earlier) {
    return latencies(calibration::with_other_distances(now, earlier));
  };
  CHECK(both({far}, {near}) == std::vector<double>{46, 200});
  CHECK(both({link(50, 0.05, 0.05)}, {near, far}) == std::vector<double>{50, 200});  // newer than the 46 of before
  CHECK(both({link(60, 0.05, 0.05)}, {near}) == std::vector<double>{60});
  CHECK(both({near, far}, {link(20, 1, 1), link(190, 1, 1), link(500, 1, 1)}) == std::vector<double>{20, 46, 200, 500});
  CHECK(both({near}, {}) == std::vector<double>{46});
}

TEST_CASE("a byte's cost is between those at two distances that are known, and else grows with the distance") {
  const CoreFigures two = figures_of({link(50, 0.04, 0.03), link(250, 0.08, 0.23)});
  CHECK(at(two, 50).pull_ns_per_byte == Approx(0.04));
  CHECK(at(two, 50 * std::sqrt(5)).pull_ns_per_byte == Approx(0.06));
  CHECK(at(two, 250).pull_ns_per_byte == Approx(0.08));
  CHECK(at(two, 350).publish_ns_per_byte == Approx(0.33));
  CHECK(at(two, 25).publish_ns_per_byte == Approx(0.025));
  CHECK(at(two, 25).share_ns_per_byte == Approx(0.015));
  const CoreFigures three = figures_of({link(25, 0.06, 0.06), link(50, 0.04, 0.04), link(200, 0.01, 0.2)});  // the nearest share a core
  CHECK(at(three, 25 * std::sqrt(2)).pull_ns_per_byte == Approx(0.05));
  CHECK(at(three, 100).publish_ns_per_byte == Approx(0.12));
  CHECK(at(three, 200).pull_ns_per_byte == Approx(0.02));  // no less than a copy
  const CoreFigures one = figures_of({link(100, 0.05, 0.06)});
  CHECK(at(one, 100).pull_ns_per_byte == Approx(0.05));
  CHECK(at(one, 200).pull_ns_per_byte == Approx(0.08));
  CHECK(at(one, 50).publish_ns_per_byte == Approx(0.04));
  CHECK(at(one, 200).share_ns_per_byte == Approx(0.12));
  CHECK(at(figures_of({}), 100).pull_ns_per_byte == Approx(0.02));
}
