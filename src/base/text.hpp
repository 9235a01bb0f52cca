// Small readers of text that people type: whole numbers, sizes, seconds; and which known word they may have meant.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

/// A whole number in decimal without sign, all of `text`; nothing when it is anything else or doesn't fit.
std::optional<std::uint64_t> parse_unsigned(std::string_view text);

/// A size in bytes: a whole number with an optional suffix K, M or G (powers of 1024; also k, KiB, KB, B, ...).
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Seconds as a decimal number greater than 0, e.g. "2" or "0.5", up to about 292 years.
std::optional<std::chrono::nanoseconds> parse_seconds(std::string_view text);

/// A size as a person reads it: "32 MiB", "1.5 GiB", "100 B".
std::string print_size(std::uint64_t bytes);

/// 'text' in quotes for a message; a long one is cut.
std::string in_quotes(std::string_view text);

/// 16 digits that depend on nothing but the text, on all machines: FNV-1a of 64 bits.
std::string hash_of(std::string_view text);

/// Whether a host, by its name or its numeric address, is the machine itself, whichever that is.
bool is_loopback(std::string_view host);

/// The place of a byte in a text as editors show it: "line 3, column 14".
std::string line_and_column(std::string_view text, std::size_t offset);

/// The known word with the smallest edit distance to `word`; the first of several. `known` must not be empty.
std::string_view closest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace rondo
