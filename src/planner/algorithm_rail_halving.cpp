// Rail halving: along the rails partners lie at distances 1, 2, 4, ...
#include "planner/rail_pairs.hpp"

namespace rondo::planner {
const Algorithm rail_halving_algorithm{.name = "rail_halving",
                                       .needs_mapped = false,
                                       .objection = rail_pairs::objection,
                                       .shape = rail_pairs::shape,
                                       .predict = rail_pairs::predict,
                                       .program = rail_pairs::program<HalvingPairs>,
                                       .order = Order::places,
                                       .departure = rail_pairs::departure,
                                       .chosen = Chosen::between_hosts};

}  // namespace rondo::planner
