#include "c_api_ranks.hpp"

#include <array>
#include <thread>

#include "support/children.hpp"

std::string run_two(const Body& body, double timeout_seconds) {
  return run_two(body, rondo_options{sizeof(rondo_options), timeout_seconds, 0, nullptr, nullptr, 0, 0, 0, 0, nullptr, nullptr});
}

std::string run_two(const Body& body, const rondo_options& options) {
  std::array<Rank, 2> ranks{};
  if (rondo_create_in_process_with_options(2, &options, ranks.data()) != RONDO_SUCCESS) return rondo_last_error();
  std::vector<std::string> answers(2);
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < 2; ++r) threads.emplace_back([&, r] { answers[r] = body(ranks[r], r); });
  for (std::thread& thread : threads) thread.join();
  for (const Rank rank : ranks) rondo_destroy(rank);
  return complaints(answers);
}

std::string expect(rondo_status got, rondo_status wanted, const std::string& word) {
  const std::string text = rondo_last_error();
  if (got != wanted) return std::string("expected ") + rondo_status_name(wanted) + ", got " + rondo_status_name(got) + "; last error: " + text;
  if (wanted == RONDO_SUCCESS) return "";
  if (text.rfind(rondo_status_name(wanted), 0) != 0) return std::string("the text doesn't begin with ") + rondo_status_name(wanted) + ": " + text;
  return expect_word(text, word);
}

std::string first_wrong(const std::vector<std::string>& answers) {
  for (const std::string& answer : answers)
    if (!answer.empty()) return answer;
  return "";
}

std::string expect_values(const std::vector<float>& got, const std::vector<float>& wanted, const std::string& what) {
  return got == wanted ? "" : what + " is wrong";
}

std::string expect_word(const std::string& text, const std::string& word) {
  return text.find(word) == std::string::npos ? "'" + word + "' is missing in: " + text : "";
}

std::string taken(char* text) {
  const std::string copy = text == nullptr ? "" : text;
  rondo_text_destroy(text);
  return copy;
}
