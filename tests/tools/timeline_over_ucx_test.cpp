// The timeline of a run whose links are messages.
#include "support/catch.hpp"
#include "tools/timeline.hpp"

TEST_CASE("a timeline shows the steps and bytes of plans whose links are messages") {
  check_timeline({.algorithm = "ring", .flags = {"--transport", "ucx"}, .keeps_links = true});
}
