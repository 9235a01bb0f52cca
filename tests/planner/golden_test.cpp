// Plans as they were when somebody last looked at them: a change of an algorithm shows as a difference of these files.
// `test_planner "[write-golden]"` writes them anew.
#include <fstream>
#include <sstream>

#include "requests.hpp"
#include "support/folders.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

struct Golden {
  const char* algorithm;
  Collective collective;
  std::uint32_t ranks;
  bool mapped;
  GroupSizes groups = {};
};

const Golden golden_plans[] = {
    {"copy", Collective::all_reduce, 1, true},
    {"inline", Collective::all_reduce, 2, true},
    {"one_shot", Collective::all_reduce, 3, true},
    {"one_shot", Collective::reduce_scatter, 3, true},
    {"one_shot", Collective::all_gather, 3, true},
    {"one_shot", Collective::broadcast, 3, true},
    {"one_shot", Collective::reduce, 3, true},
    {"one_shot", Collective::gather, 3, true},
    {"one_shot", Collective::scatter, 3, true},
    {"one_shot", Collective::scan, 3, true},
    {"one_shot", Collective::barrier, 3, true},
    {"one_shot", Collective::send_recv, 2, true},
    {"one_shot_streamed", Collective::broadcast, 3, true},
    {"one_shot_streamed", Collective::all_gather, 3, true},
    {"two_shot", Collective::all_reduce, 3, true},
    {"two_shot", Collective::reduce, 3, true},
    {"ring", Collective::all_reduce, 3, true},
    {"ring", Collective::broadcast, 3, true},
    {"tree", Collective::all_reduce, 4, true},
    {"tree", Collective::reduce, 4, true},
    {"recursive_doubling", Collective::all_reduce, 5, true},
    {"halving_doubling", Collective::all_reduce, 5, true},
    {"ring", Collective::scan, 3, true},
    {"pairwise", Collective::all_to_all, 3, true},
    {"pairwise", Collective::all_to_all, 3, false},
    {"pairwise", Collective::gather, 3, true},
    {"pairwise", Collective::scatter, 3, true},
    {"direct_one_shot", Collective::all_reduce, 3, true},
    {"direct_one_shot", Collective::broadcast, 3, true},
    {"direct_one_shot", Collective::gather, 3, true},
    {"direct_one_shot", Collective::send_recv, 2, true},
    {"direct_one_shot", Collective::all_to_all, 3, true},
    {"direct_two_shot", Collective::all_reduce, 3, true},
    {"direct_push", Collective::all_reduce, 3, true},
    {"direct_push_pull", Collective::broadcast, 3, true},
    {"direct_push_pull", Collective::gather, 3, true},
    {"direct_push_pull", Collective::scatter, 3, true},
    {"direct_two_shot", Collective::reduce, 3, true},
    {"hierarchical", Collective::all_reduce, 4, true, {2}},
    {"hierarchical", Collective::reduce, 4, true, {2}},
    {"hierarchical", Collective::broadcast, 6, true, {3}},
    {"hierarchical", Collective::reduce_scatter, 4, true, {2}},
    {"hierarchical", Collective::all_gather, 8, true, {2, 4}},
    {"hierarchical", Collective::gather, 6, true, {3}},
    {"hierarchical", Collective::scatter, 8, true, {2, 4}},
    {"hierarchical", Collective::scan, 6, true, {2}},
    {"hierarchical", Collective::barrier, 6, true, {3}},
    {"rail", Collective::all_reduce, 6, true, {3}},
    {"rail", Collective::all_gather, 6, true, {2}},
    {"rail", Collective::reduce_scatter, 4, true, {2}},
    {"rail_halving", Collective::all_reduce, 6, true, {2}},
    {"rail_bine", Collective::all_reduce, 8, true, {2}},
    {"rail_tree", Collective::all_reduce, 6, true, {2}},
    {"dissemination", Collective::barrier, 5, true},
    {"dissemination", Collective::barrier, 5, false},
    {"rings", Collective::all_reduce, 3, true},
    {"rings", Collective::reduce_scatter, 3, true},
    {"bruck", Collective::all_gather, 5, true},
    {"pat", Collective::all_gather, 5, true},
    {"pat", Collective::reduce_scatter, 5, true},
    {"swing", Collective::all_reduce, 8, true},
    {"bine", Collective::all_reduce, 6, true},
    {"bine", Collective::all_gather, 6, true},
    {"bine", Collective::broadcast, 6, true},
    {"bruck", Collective::all_to_all, 5, true},
    {"knomial", Collective::gather, 6, true},
    {"knomial", Collective::scatter, 6, true},
    {"chain", Collective::all_reduce, 3, true},
    {"parameter_server", Collective::all_reduce, 3, true},
    {"parameter_server", Collective::all_gather, 3, true},
    {"knomial", Collective::broadcast, 6, true},
    {"knomial", Collective::reduce, 6, true},
};

std::string path_of(const Golden& golden) {
  return std::string(RONDO_SOURCE_DIR) + "/tests/golden/" + golden.algorithm + "-" +
         std::string(to_string(golden.collective)) + "-" + std::to_string(golden.ranks) +
         (golden.mapped ? "" : "-links") + ".json";
}

/// Without its prediction: that belongs to the cost model, whose figures may move.
std::string text_of(const Golden& golden) {
  auto plan = plan_of(request_of(golden.collective, golden.ranks, 768), golden.algorithm, golden.mapped, golden.groups);
  if (!plan) return to_string(plan.error());
  plan->predicted_ns = 0;
  plan->considered.clear();
  return write_plan(*plan);
}

}  // namespace

TEST_CASE("plans are those in tests/golden") {
  for (const Golden& golden : golden_plans) {
    INFO(path_of(golden));
    std::ifstream file(path_of(golden));
    std::stringstream written;
    written << file.rdbuf();
    CHECK(text_of(golden) == written.str());
  }
}

TEST_CASE("golden plans are written anew", "[.][write-golden]") {
  for (const Golden& golden : golden_plans) {
    std::ofstream file(path_of(golden));
    file << text_of(golden);
    REQUIRE(file.good());
  }
}
