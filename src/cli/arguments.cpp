#include "cli/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>

#include <fmt/core.h>

namespace flowfabric::cli {
namespace {

Unexpected<Error> refuse(const CommandSpec& spec, const std::string& what, const std::string& field) {
  return fail(Errc::invalid_argument, fmt::format("{}; see flowfabric help {}", what, spec.name), field);
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
  if (option == nullptr) return refuse(spec, "unknown option " + name, name);
  if (into.options.contains(name) && !option->repeats) return refuse(spec, name + " may be given only once", name);
  const bool attached = equals != std::string::npos;
  if (option->value.empty()) {
    if (attached) return refuse(spec, name + " takes no value", name);
    into.options[name].emplace_back();
    return {};
  }
  if (!attached && at + 1 == words.size()) return refuse(spec, name + " needs a value", name);
  into.options[name].push_back(attached ? words[at].substr(equals + 1) : words[++at]);
  return {};
}

template <class Number>
Result<Number> whole_number(const Arguments& arguments, const std::string& name, Number otherwise, Number min,
                            Number max) {
  const auto given = arguments.maybe(name);
  if (!given) return otherwise;
  Number value = 0;
  const auto [end, problem] = std::from_chars(given->data(), given->data() + given->size(), value);
  if (problem != std::errc{} || end != given->data() + given->size() || value < min || value > max) {
    return fail(Errc::invalid_argument,
                fmt::format("{} must be a whole number from {} to {}, not \"{}\"", name, min, max, *given), name);
  }
  return value;
}

std::vector<std::string> operand_names(const OperandSpec& operands) {
  std::istringstream words(operands.name);
  return {std::istream_iterator<std::string>(words), {}};
}

Result<void> check_operands(const CommandSpec& spec, const std::vector<std::string>& given) {
  const OperandSpec& wanted = spec.operands;
  if (given.size() < wanted.min) {
    const auto names = operand_names(wanted);
    const std::string& missing = names[std::min(given.size(), names.size() - 1)];
    return refuse(spec, missing + " is missing", missing);
  }
  if (given.size() > wanted.max) {
    return refuse(spec, "unexpected argument \"" + given[wanted.max] + "\"", wanted.name);
  }
  return {};
}

}  // namespace

std::optional<std::string> Arguments::maybe(const std::string& name) const {
  const auto found = options.find(name);
  if (found == options.end()) return std::nullopt;
  return found->second.back();
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) const {
  return maybe(name).value_or(otherwise);
}

std::vector<std::string> Arguments::all(const std::string& name) const {
  const auto found = options.find(name);
  return found == options.end() ? std::vector<std::string>{} : found->second;
}

Result<std::uint64_t> Arguments::number(const std::string& name, std::uint64_t otherwise, std::uint64_t min,
                                        std::uint64_t max) const {
  return whole_number(*this, name, otherwise, min, max);
}

Result<std::int64_t> Arguments::signed_number(const std::string& name, std::int64_t otherwise, std::int64_t min,
                                              std::int64_t max) const {
  return whole_number(*this, name, otherwise, min, max);
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
      return Unexpected(taken.error());
    }
  }
  if (auto counted = check_operands(spec, arguments.operands); !counted) return Unexpected(counted.error());
  return arguments;
}

std::string synopsis(const CommandSpec& spec) {
  const OperandSpec& operands = spec.operands;
  if (operands.max == 0) return spec.name;
  const std::string words = operands.name + (operands.max > operand_names(operands).size() ? "..." : "");
  return spec.name + " " + (operands.min == 0 ? "[" + words + "]" : words);
}

std::string usage(const CommandSpec& spec) {
  std::string text = "usage: flowfabric " + synopsis(spec);
  if (!spec.options.empty()) text += " [options]";
  text += "\n\n" + spec.description + "\n";
  if (!spec.options.empty()) text += "\n";
  constexpr std::size_t narrowest = 16;
  std::size_t width = narrowest;
  const auto words = [](const OptionSpec& o) { return o.name + (o.value.empty() ? "" : " " + o.value); };
  for (const OptionSpec& option : spec.options) width = std::max(width, words(option).size());
  for (const OptionSpec& option : spec.options) {
    text += fmt::format("  {:<{}}  {}{}\n", words(option), width, option.help,
                        option.repeats ? "; may be given several times" : "");
  }
  return text;
}

}  // namespace flowfabric::cli
