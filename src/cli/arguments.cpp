#include "cli/arguments.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

namespace flowfabric::cli {
namespace {

tl::unexpected<Error> refuse(const CommandSpec& spec, const std::string& what, const std::string& field) {
  return fail(Errc::invalid_argument, fmt::format("{}; flowfabric help {} says what there is", what, spec.name), field);
}

const OptionSpec* find_option(const CommandSpec& spec, const std::string& name) {
  const auto found =
      std::find_if(spec.options.begin(), spec.options.end(), [&](const OptionSpec& o) { return o.name == name; });
  return found == spec.options.end() ? nullptr : &*found;
}

// Reads the option at `words[at]` and leaves `at` on the last word that belongs to it.
Result<void> take_option(const CommandSpec& spec, const std::vector<std::string>& words, std::size_t& at,
                         Arguments& into) {
  const std::size_t equals = words[at].find('=');
  const std::string name = words[at].substr(0, equals);
  const OptionSpec* option = find_option(spec, name);
  if (option == nullptr) return refuse(spec, "there is no option " + name, name);
  if (into.options.contains(name)) return refuse(spec, name + " is given twice", name);
  const bool attached = equals != std::string::npos;
  if (option->value.empty()) {
    if (attached) return refuse(spec, name + " takes no value", name);
    into.options[name] = "";
    return {};
  }
  if (!attached && at + 1 == words.size()) return refuse(spec, name + " needs a value", name);
  into.options[name] = attached ? words[at].substr(equals + 1) : words[++at];
  return {};
}

}  // namespace

std::string Arguments::text(const std::string& name, const std::string& otherwise) const {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

Result<std::uint64_t> Arguments::number(const std::string& name, std::uint64_t otherwise, std::uint64_t min,
                                        std::uint64_t max) const {
  const auto found = options.find(name);
  if (found == options.end()) return otherwise;
  const std::string& given = found->second;
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (problem != std::errc{} || end != given.data() + given.size() || value < min || value > max) {
    return fail(Errc::invalid_argument,
                fmt::format("{} takes a whole number from {} to {}, not \"{}\"", name, min, max, given), name);
  }
  return value;
}

Result<Arguments> parse_arguments(const CommandSpec& spec, const std::vector<std::string>& words) {
  Arguments arguments;
  const auto options_end = std::find(words.begin(), words.end(), "--");
  if (std::any_of(words.begin(), options_end, [](const auto& word) { return word == "--help" || word == "-h"; })) {
    arguments.help = true;
    return arguments;
  }
  const auto option_words = static_cast<std::size_t>(options_end - words.begin());
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (at == option_words) continue;
    if (at > option_words || words[at].size() < 2 || words[at][0] != '-') {
      arguments.operands.push_back(words[at]);
    } else if (auto taken = take_option(spec, words, at, arguments); !taken) {
      return tl::unexpected(taken.error());
    }
  }
  const std::size_t wanted = spec.operand.empty() ? 0 : 1;
  if (arguments.operands.size() < wanted) return refuse(spec, spec.operand + " is missing", spec.operand);
  if (arguments.operands.size() > wanted) {
    return refuse(spec, "\"" + arguments.operands[wanted] + "\" is one word too many", spec.operand);
  }
  return arguments;
}

std::string usage(const CommandSpec& spec) {
  std::string text = "usage: flowfabric " + spec.name;
  if (!spec.operand.empty()) text += " " + spec.operand;
  if (!spec.options.empty()) text += " [options]";
  text += "\n\n" + spec.description + "\n";
  if (!spec.options.empty()) text += "\n";
  for (const OptionSpec& option : spec.options) {
    text += fmt::format("  {:<18}{}\n", option.name + (option.value.empty() ? "" : " " + option.value), option.help);
  }
  return text;
}

}  // namespace flowfabric::cli
