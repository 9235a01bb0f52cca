#include <charconv>

#include "plan/names.hpp"

namespace rondo::plan {
namespace {

/// Reads from the front of a text what is asked for; once something is missing, everything is.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(std::string_view word) {
    if (failed_ || rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void need(std::string_view word) { failed_ |= !take(word); }

  std::uint32_t number() {
    std::uint32_t value = 0;
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    failed_ |= problem != std::errc();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace

std::optional<Operand> parse_operand(std::string_view text) {
  Scanner scanner(text);
  Operand operand;
  if (scanner.take("link(")) {
    operand.buffer = Buffer::link;
    operand.rank = scanner.number();
    scanner.need(",");
    scanner.take(" ");
    operand.index = scanner.number();
    scanner.need(")");
    if (scanner.take("x")) operand.count = scanner.number();
  } else {
    if (scanner.take("output")) {
      operand.buffer = Buffer::output;
    } else if (scanner.take("scratch")) {
      operand.buffer = Buffer::scratch;
    } else {
      scanner.need("input");
    }
    if (scanner.take("@")) operand.rank = scanner.number();
    scanner.need("[");
    operand.index = scanner.number();
    if (scanner.take(":")) operand.count = scanner.number();
    scanner.need("]");
  }
  if (!scanner.complete()) return std::nullopt;
  return operand;
}

}  // namespace rondo::plan
