#include "tools/support/flags.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace tool_support {
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

std::string names(const CLI::Option& option) { return option.get_name(true, true); }

std::string explain_no_command(const CLI::App& app) {
  const auto rest = app.remaining();
  std::string line = (rest.empty() ? "a command is missing" : "unknown command '" + rest.front() + "'") + "; accepted: ";
  for (const CLI::App* command : app.get_subcommands({})) line += command->get_name() + ", ";
  return line + "--help, --version";
}

std::string explain_extras(const CLI::App& app, const CLI::App& command) {
  // CLI11 lists what it didn't expect from the last to the first; a mistyped flag is the cause of what follows it.
  const auto rest = app.remaining(true);
  const auto flag = std::find_if(rest.begin(), rest.end(), [](const std::string& text) { return text.starts_with("-"); });
  std::string line = "unexpected '" + (flag != rest.end() ? *flag : rest.empty() ? "" : rest.front()) + "'; accepted: ";
  const auto options = command.get_options();
  for (std::size_t i = 0; i < options.size(); ++i) line += (i == 0 ? "" : ", ") + names(*options[i]);
  return line;
}

/// The option that CLI11's words are about, which name it by its longest name; null: none.
const CLI::Option* culprit(const CLI::App& command, const std::string& words) {
  const auto is_about = [&](const CLI::Option* option) {
    const std::string name = option->get_name();
    const std::size_t at = words.find(name);
    if (at == std::string::npos) return false;
    const std::size_t end = at + name.size();
    return end == words.size() || words[end] == ':' || words[end] == ' ';
  };
  const auto options = command.get_options();
  const auto found = std::find_if(options.begin(), options.end(), is_about);
  return found == options.end() ? nullptr : *found;
}

std::string explain_option(const CLI::Option& option, const CLI::ParseError& error) {
  const std::string words = error.what();
  const std::string name = names(option);
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (kind == CLI::ExitCodes::RequiredError) return name + " is missing; accepted: " + option.get_description();
  if (kind == CLI::ExitCodes::ArgumentMismatch) return name + " needs a value: " + option.get_description();
  // Every value that is read as a number has a check of its own: what can't be converted was given to a flag without value.
  if (kind == CLI::ExitCodes::ConversionError) return name + words.substr(std::min(words.find(" = "), words.size())) + "; accepted: the flag alone";
  const std::string told = option.get_name() + ": ";
  return words.starts_with(told) ? name + ": " + words.substr(told.size()) : words;
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

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const bool has_commands = !app.get_subcommands({}).empty();
  const auto chosen = app.get_subcommands();
  if (has_commands && chosen.empty()) return explain_no_command(app);
  const CLI::App& command = has_commands ? *chosen.front() : app;
  const std::string prefix = has_commands ? command.get_name() + ": " : "";
  if (static_cast<CLI::ExitCodes>(error.get_exit_code()) == CLI::ExitCodes::ExtrasError) return prefix + explain_extras(app, command);
  const CLI::Option* option = culprit(command, error.what());
  return prefix + (option == nullptr ? error.what() : explain_option(*option, error));
}

bool parse(CLI::App& app, int argc, char** argv, const char* program, int& status) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::Success& asked) {
    status = app.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s\n", program, explain(app, error).c_str());
    status = 2;
  }
  return false;
}

}  // namespace tool_support
