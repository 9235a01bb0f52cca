#include "conformance.hpp"

#include "bodies.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace {

struct Check {
  const char* what;
  std::string (*body)(Party&);
};

constexpr Check checks[] = {
    {"all connect", connects},
    {"a truncated address is an error and no crash", refuses_truncated_addresses},
    {"segments are zeroed and commit makes them memory", maps_zeroed_segments},
    {"atomic writes are seen on the other side", shows_atomic_writes},
    {"messages keep their order on each channel, whatever their size", keeps_order},
    {"the window holds a sender back until the receiver comes", holds_back_the_sender},
    {"an idle rank's messages arrive without its help", is_idle_only_when_all_has_left},
    {"a rank leaves in peace with messages that nobody takes", leaves_with_messages_nobody_takes},
};

}  // namespace

void conformance(const MakeTransport& make, double notice_seconds) {
  for (const Check& check : checks)
    for (const std::uint32_t ranks : {2u, 3u}) {
      INFO(check.what << ", " << ranks << " ranks");
      CHECK(complaints(parties_as_processes(ranks, make, check.body)) == "");
      CHECK(complaints(parties_as_threads(ranks, make, check.body)) == "");
    }
  for (const bool after_traffic : {false, true}) {
    INFO("a rank goes, " << (after_traffic ? "after traffic" : "just connected"));
    const auto killed = sees_departure(Departure::killed, after_traffic, notice_seconds);
    CHECK(complaints(parties_as_processes(3, make, killed)) == "rank 1: ended by signal 9\n");
    const auto left = sees_departure(Departure::left, after_traffic, notice_seconds);
    CHECK(complaints(parties_as_processes(3, make, left)) == "");
  }
}
