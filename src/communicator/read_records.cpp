// Flight records of several ranks, as they stand in logs → what the ranks were doing.
#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "rondo/inspect.hpp"

namespace rondo {
namespace {

/// What is left of a text that is read from its beginning.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  template <class T>
  bool number(T& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  /// Up to `end`, which is skipped; nothing where there is none.
  std::optional<std::string_view> until(std::string_view end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return found;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// "last operations of rank 1 of 3 (process 7 on host), communicator 7.123/2.0; failed: why"
std::optional<SeenRank> read_title(std::string_view line, std::string_view line_before) {
  constexpr std::string_view title = "last operations of rank ";
  const std::size_t at = line.find(title);
  if (at == std::string_view::npos) return std::nullopt;
  SeenRank seen;
  Reader reader(line.substr(at + title.size()));
  if (!reader.number(seen.rank) || !reader.skip(" of ") || !reader.number(seen.size) || !reader.skip(" (process ") || !reader.number(seen.process))
    return std::nullopt;
  if (!reader.until("), communicator ")) return std::nullopt;
  const auto token = reader.until("; ");
  if (!token || seen.rank >= seen.size) return std::nullopt;
  const std::size_t split = token->find('/');
  seen.family = std::hash<std::string_view>{}(token->substr(0, split));
  if (split != std::string_view::npos) {
    Reader numbers(token->substr(token->rfind('/') + 1));
    if (!numbers.number(seen.communicator) || !numbers.skip(".") || !numbers.number(seen.first_of_group)) return std::nullopt;
  }
  if (reader.skip("not failed")) {
    seen.state = "running";
  } else if (reader.skip("failed")) {
    seen.state = "failed";
    const std::string logged = "rank " + std::to_string(seen.rank) + ": ";
    if (reader.skip(": ")) seen.last_words = reader.rest();
    else if (const std::size_t why = line_before.find(logged); why != std::string_view::npos) seen.last_words = line_before.substr(why + logged.size());
  } else {
    return std::nullopt;
  }
  return seen;
}

/// "#3 barrier by one_shot: done (waited 5 us)"; false: it is no such line.
bool read_operation(std::string_view line, SeenRank& seen) {
  Reader reader(line);
  std::uint64_t call = 0;
  if (!reader.skip("#") || !reader.number(call) || !reader.skip(" ")) return false;
  const auto operation = reader.until(" by ");
  const auto plan = reader.until(": ");
  if (!operation || !plan) return false;
  if (operation->starts_with("send_recv")) return true;
  if (reader.rest().starts_with("queued")) return true;
  seen.call = call;
  seen.operation = *operation;
  if (reader.rest().starts_with("done")) seen.finished = call;
  return true;
}

}  // namespace

Result<std::vector<SeenRank>> read_records(std::string_view text) {
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t>, SeenRank> last;
  SeenRank* reading = nullptr;
  std::string_view before;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto seen = read_title(line, before)) {
      SeenRank& place = last[{seen->family, seen->communicator, seen->first_of_group, seen->rank}];
      place = std::move(*seen);
      reading = &place;
    } else if (reading != nullptr && !read_operation(line, *reading)) {
      reading = nullptr;
    }
    before = line;
  }
  if (last.empty())
    return Error{Errc::invalid_argument,
                 "no flight record; accepted: text with what Communicator::flight_record() returns, or with what ranks log when they fail"};
  std::vector<SeenRank> ranks;
  for (auto& [key, seen] : last) ranks.push_back(std::move(seen));
  return ranks;
}

}  // namespace rondo
