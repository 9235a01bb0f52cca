// What the library says to a person: one logger to stderr. Quiet by default: errors and warnings alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace rondo {

/// `off` is for thresholds alone. RONDO_LOG chooses the threshold (see base/config.cpp).
enum class LogLevel : std::uint8_t { off, error, warn, info, debug, trace };

/// Writes one line with time, level and (when set) rank. Any thread; may block on stderr, so never per step.
void log(LogLevel level, std::string_view message);
inline void log_error(std::string_view message) {
  log(LogLevel::error, message);
}
inline void log_warn(std::string_view message) {
  log(LogLevel::warn, message);
}
inline void log_info(std::string_view message) {
  log(LogLevel::info, message);
}
inline void log_debug(std::string_view message) {
  log(LogLevel::debug, message);
}

/// Whether a message of that level would be written: ask before composing a costly one.
bool log_enabled(LogLevel level);

/// Overrides RONDO_LOG's threshold from here on.
void set_log_level(LogLevel threshold);

/// The rank that this process's lines carry. With ranks as threads leave it unset and name the rank in the message.
void set_log_rank(std::uint32_t rank);

}  // namespace rondo
