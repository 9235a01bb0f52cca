#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <memory>
#include <string>

#include "base/config.hpp"

namespace rondo {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::off:
      return spdlog::level::off;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::trace:
      return spdlog::level::trace;
  }
  return spdlog::level::off;
}

LogLevel initial_level() {
  // A bad RONDO_LOG is reported by whoever needs the configuration; until then warnings are shown.
  const Result<Config> read = parse_config(read_environment());
  return read ? read->log : LogLevel::warn;
}

// Not registered with spdlog, so that a program's own loggers and settings stay apart; never destroyed, since threads
// may log while the process exits.
spdlog::logger& logger() {
  static spdlog::logger& instance = [&]() -> spdlog::logger& {
    auto* made = new spdlog::logger("rondo", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%H:%M:%S.%e rondo %l: %v");
    made->set_level(spdlog_level(initial_level()));
    made->flush_on(spdlog::level::trace);
    return *made;
  }();
  return instance;
}

}  // namespace

void log(LogLevel level, std::string_view message) {
  if (level == LogLevel::off) return;
  try {
    logger().log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
  } catch (const std::exception&) {
    // A message that can't be written must not take the program down.
  }
}

bool log_enabled(LogLevel level) {
  return level != LogLevel::off && logger().should_log(spdlog_level(level));
}

void set_log_level(LogLevel threshold) {
  logger().set_level(spdlog_level(threshold));
}

void set_log_rank(std::uint32_t rank) {
  logger().set_pattern("%H:%M:%S.%e rondo rank " + std::to_string(rank) + " %l: %v");
}

}  // namespace rondo
