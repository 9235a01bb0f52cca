#include "base/text.hpp"

#include "support/catch.hpp"

using namespace rondo;

TEST_CASE("sizes are read with suffixes in powers of 1024") {
  CHECK(parse_size("8") == 8u);
  CHECK(parse_size("64K") == 65536u);
  CHECK(parse_size("64k") == 65536u);
  CHECK(parse_size("1M") == 1u << 20);
  CHECK(parse_size("2MiB") == 2u << 20);
  CHECK(parse_size("1G") == 1u << 30);
  CHECK(parse_size("100B") == 100u);
}

TEST_CASE("what is no size is refused") {
  for (const auto* text : {"", "K", "1.5M", "-1", "1KK", "1Q", " 1", "1 ", "18446744073709551616", "17179869185G"}) {
    INFO(text);
    CHECK(!parse_size(text));
  }
}

TEST_CASE("sizes are printed as people write them") {
  CHECK(print_size(0) == "0 B");
  CHECK(print_size(1023) == "1023 B");
  CHECK(print_size(32u << 20) == "32 MiB");
  CHECK(print_size(3u << 29) == "1.5 GiB");
}

TEST_CASE("lines and columns count from one, and a place beyond the end is the end") {
  CHECK(line_and_column("", 0) == "line 1, column 1");
  CHECK(line_and_column("ab\ncd", 1) == "line 1, column 2");
  CHECK(line_and_column("ab\ncd", 2) == "line 1, column 3");
  CHECK(line_and_column("ab\ncd", 3) == "line 2, column 1");
  CHECK(line_and_column("ab\ncd", 99) == "line 2, column 3");
}

TEST_CASE("seconds are decimal and positive") {
  CHECK(parse_seconds("0.5") == std::chrono::milliseconds(500));
  CHECK(parse_seconds("30") == std::chrono::seconds(30));
  CHECK(!parse_seconds("0"));
  CHECK(!parse_seconds("1e3"));
  CHECK(!parse_seconds("0x10"));
}

TEST_CASE("the closest word is the one with the fewest edits") {
  CHECK(closest("RONDO_LOGS", {"RONDO_TIMEOUT", "RONDO_LOG"}) == "RONDO_LOG");
  CHECK(closest("spin", {"spam", "spin"}) == "spin");
}
