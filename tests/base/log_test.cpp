#include "base/log.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/config.hpp"
#include "support/catch.hpp"

using namespace rondo;

namespace {

// What `body` writes to stderr.
template <class Body>
std::string stderr_of(Body body) {
  std::FILE* file = std::tmpfile();
  const int saved = dup(2);
  std::fflush(stderr);
  dup2(fileno(file), 2);
  body();
  std::fflush(stderr);
  dup2(saved, 2);
  close(saved);
  std::fseek(file, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("the threshold is what the configuration says until someone changes it") {
  const auto configured = parse_config(read_environment());
  REQUIRE(configured);
  CHECK(log_enabled(LogLevel::info) == (configured->log >= LogLevel::info));
  CHECK(log_enabled(LogLevel::error) == (configured->log >= LogLevel::error));
}

TEST_CASE("messages below the threshold are not written") {
  set_log_level(LogLevel::warn);
  CHECK(!log_enabled(LogLevel::info));
  CHECK(log_enabled(LogLevel::warn));
  const auto text = stderr_of([] {
    log_info("a detail");
    log_warn("a warning with {braces}");
  });
  CHECK(text.find("a detail") == std::string::npos);
  CHECK(text.find("rondo warning: a warning with {braces}\n") != std::string::npos);
}

TEST_CASE("off silences errors too") {
  set_log_level(LogLevel::off);
  CHECK(stderr_of([] { log_error("nobody hears this"); }).empty());
  set_log_level(LogLevel::warn);
}

TEST_CASE("lines carry the rank once it is known") {
  set_log_rank(3);
  CHECK(stderr_of([] { log_error("here"); }).find("rondo rank 3 error: here\n") != std::string::npos);
}
