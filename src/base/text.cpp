#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace rondo {

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_unsigned(text.substr(0, digits));
  if (!number) return std::nullopt;
  std::string_view suffix = text.substr(digits);
  unsigned shift = 0;
  if (!suffix.empty() && suffix != "B") {
    constexpr std::string_view letters = "KMGT";
    const char letter = static_cast<char>(suffix[0] & ~0x20);  // upper case
    const std::size_t power = letters.find(letter);
    const std::string_view rest = suffix.substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB")) return std::nullopt;
    shift = 10 * (static_cast<unsigned>(power) + 1);
  }
  if (*number > (UINT64_MAX >> shift)) return std::nullopt;
  return *number << shift;
}

std::optional<std::chrono::nanoseconds> parse_seconds(std::string_view text) {
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds, std::chars_format::fixed);
  if (text.empty() || error != std::errc{} || stop != end || !std::isfinite(seconds)) return std::nullopt;
  const double nanoseconds = seconds * 1e9;
  if (nanoseconds < 1 || nanoseconds > 9.2e18) return std::nullopt;
  return std::chrono::nanoseconds{static_cast<std::int64_t>(nanoseconds)};
}

std::string print_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) value /= 1024, ++unit;
  std::array<char, 32> text{};
  // One decimal where it says something: 1.5 GiB, but 32 MiB.
  const bool whole = value >= 100 || std::abs(value - std::round(value)) < 0.05;
  std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 160;
  std::string result{"'"};
  result.append(text.substr(0, longest));
  return result.append(text.size() > longest ? "...'" : "'");
}

std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(before.size() - begin + 1);
}

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string_view closest(std::string_view word, const std::vector<std::string_view>& known) {
  return *std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
}

std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

bool is_loopback(std::string_view host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

}  // namespace rondo
