#include "base/json_text.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"

namespace rondo {
namespace {

using nlohmann::json;

/// Levels of nesting in a JSON text. Looked at before parsing, since a text of brackets would cost memory; and not in the
/// parser's own callback, which costs quadratic time.
int nesting(std::string_view text) {
  int depth = 0;
  int most = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
    } else if (text[i] == '{' || text[i] == '[') {
      most = std::max(most, ++depth);
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  return most;
}

/// Reports what the parser would refuse without saying where, and doubled keys, of which it would take the last.
class Guard final : public nlohmann::json_sax<json> {
 public:
  Guard(std::string_view text, Problem& problem) : text_(text), problem_(problem) {}

  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool key(std::string& name) override {
    if (keys_.back().insert(name).second) return true;
    problem_.report("plan: key " + json(name).dump(-1, ' ', false, json::error_handler_t::replace) + " comes twice in one object");
    return false;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    std::string what = error.what();  // "[json.exception.parse_error.101] parse error at line ..."
    if (const std::size_t end = what.find("] "); end != what.npos) what.erase(0, end + 2);
    if (what.find("at line ") == what.npos) what += " at " + line_and_column(text_, position);
    problem_.report("not well-formed JSON: " + what);
    return false;
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }

 private:
  std::string_view text_;
  Problem& problem_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

nlohmann::json parse_json(std::string_view text, int deepest, Problem& problem) {
  if (nesting(text) > deepest) {
    problem.report("plan: nested more than " + std::to_string(deepest) + " levels deep");
    return {};
  }
  Guard guard(text, problem);
  if (!json::sax_parse(text, &guard)) return {};
  return json::parse(text, nullptr, false);
}

}  // namespace rondo
