#include "flags.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "rondo/planning.hpp"

namespace {

/// `accepted` says what `least` and `most` mean.
template <class T>
CLI::Validator number(const std::string& accepted, T least, T most) {
  const auto check = [=](const std::string& text) -> std::string {
    T value{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && rest == text.data() + text.size() && value >= least && value <= most) return "";
    return "'" + text + "'; accepted: " + accepted;
  };
  return CLI::Validator(check, "");
}

template <class Things>
std::string join(const Things& things) {
  std::string names;
  for (const auto* thing : things) names += (names.empty() ? "" : ", ") + thing->get_name();
  return names;
}

std::string explain_no_command(const CLI::App& app) {
  const auto rest = app.remaining();
  const std::string what = rest.empty() ? "a command is missing" : "unknown command '" + rest.front() + "'";
  return what + "; accepted: " + join(app.get_subcommands({})) + ", --help, --version";
}

std::string explain_extras(const CLI::App& app, const CLI::App& command) {
  // CLI11 lists what it didn't expect from the last to the first; a mistyped flag is the cause of what follows it.
  auto rest = app.remaining(true);
  const auto flag =
      std::find_if(rest.begin(), rest.end(), [](const std::string& text) { return text.starts_with("-"); });
  const std::string culprit = flag != rest.end() ? *flag : rest.empty() ? "" : rest.front();
  return "unexpected '" + culprit + "'; accepted: " + join(command.get_options());
}

/// The option that CLI11's words are about, which name it by its longest name; null: none.
const CLI::Option* option_in(const CLI::App& command, const std::string& words) {
  const auto is_about = [&](const CLI::Option* option) {
    const std::size_t at = words.find(option->get_name());
    const std::size_t end = at + option->get_name().size();
    return at != std::string::npos && (end == words.size() || words[end] == ':' || words[end] == ' ');
  };
  const auto options = command.get_options();
  const auto found = std::find_if(options.begin(), options.end(), is_about);
  return found == options.end() ? nullptr : *found;
}

/// CLI11's words, with all names of the option, and what would be accepted where these leave it out.
std::string explain_option(const CLI::Option& option, const CLI::ParseError& wrong) {
  const std::string words = wrong.what();
  const std::string names = option.get_name(true, true);
  const auto kind = static_cast<CLI::ExitCodes>(wrong.get_exit_code());
  if (kind == CLI::ExitCodes::RequiredError) return names + " is missing; accepted: " + option.get_description();
  if (kind == CLI::ExitCodes::ArgumentMismatch) return names + " needs a value: " + option.get_description();
  // Every value that is read as a number has a check of its own: what can't be converted was given to a flag without value.
  if (kind == CLI::ExitCodes::ConversionError) return names + words.substr(std::min(words.find(" = "), words.size())) + "; accepted: the flag alone";
  const std::string told = option.get_name() + ": ";
  return words.starts_with(told) ? names + ": " + words.substr(told.size()) : words;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return number("a whole number from " + std::to_string(least) + " to " + std::to_string(most), least, most);
}

CLI::Validator decimal_number(double least, double most) {
  char accepted[80];
  std::snprintf(accepted, sizeof accepted, "a number from %.10g to %.10g", least, most);
  return number(accepted, least, most);
}

std::string explain(const CLI::App& app, const CLI::ParseError& wrong) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) return explain_no_command(app);
  const CLI::App& command = *chosen.front();
  const std::string name = command.get_name() + ": ";
  if (wrong.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
    return name + explain_extras(app, command);
  const CLI::Option* option = option_in(command, wrong.what());
  return name + (option == nullptr ? wrong.what() : explain_option(*option, wrong));
}

bool environment_makes_sense(const char* command) {
  const auto read = rondo::planning_options();
  if (read) return true;
  std::fprintf(stderr, "rondo %s: %s\n", command, to_string(read.error()).c_str());
  return false;
}
