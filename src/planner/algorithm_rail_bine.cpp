// Rail Bine: along the rails partners lie on both sides in turn, at distances 1, 1, 3, 5, 11, ...: Bine's butterfly (arXiv 2508.17311), which crosses a
// network whose hosts stand in racks or cabinets, numbered in a row, less than distances 1, 2, 4, 8 do.
#include "planner/rail_pairs.hpp"
#include "planner/swing_pairs.hpp"

namespace rondo::planner {

const Algorithm rail_bine_algorithm{.name = "rail_bine",
                                    .needs_mapped = false,
                                    .objection = rail_pairs::objection,
                                    .shape = rail_pairs::shape,
                                    .predict = rail_pairs::predict,
                                    .program = rail_pairs::program<SwingPairs>,
                                    .order = Order::places,
                                    .departure = rail_pairs::departure,
                                    .chosen = Chosen::by_name};

}  // namespace rondo::planner
