// Command lines: the options of a command and their values. Nothing is ignored; unknown arguments are refused by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/result.hpp>

namespace flowfabric::cli {

struct OptionSpec {
  std::string name{};   // with its dashes
  std::string value{};  // the name of its value; empty for a switch
  std::string help{};
  bool repeats = false;  // may be given several times
};

inline constexpr std::size_t any_number = SIZE_MAX;

// The words after the command that are not options.
struct OperandSpec {
  std::string name{};  // one word for all of them, or one for each: "ID FILE"
  std::size_t min = 0;
  std::size_t max = 0;
};

struct CommandSpec {
  std::string name{};  // its words: "migrate", "executions cancel"
  OperandSpec operands{};
  std::string summary{};
  std::string description{};
  std::vector<OptionSpec> options{};
};

struct Arguments {
  std::vector<std::string> operands{};
  std::map<std::string, std::vector<std::string>> options{};  // by name with dashes; switches have one empty value
  bool help = false;                                          // requested; then nothing else was checked

  bool has(const std::string& name) const { return options.contains(name); }
  std::optional<std::string> maybe(const std::string& name) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  // Every value of an option that repeats, in the order given.
  std::vector<std::string> all(const std::string& name) const;
  Result<std::uint64_t> number(const std::string& name, std::uint64_t otherwise, std::uint64_t min,
                               std::uint64_t max) const;
  Result<std::int64_t> signed_number(const std::string& name, std::int64_t otherwise, std::int64_t min,
                                     std::int64_t max) const;
};

// Accepts `--name value` and `--name=value`; after `--` everything is an operand.
Result<Arguments> parse_arguments(const CommandSpec& spec, const std::vector<std::string>& words);

// The command with its operands as help shows it: "migrate [URL]", "executions cancel [ID...]".
std::string synopsis(const CommandSpec& spec);

// The help of one command.
std::string usage(const CommandSpec& spec);

}  // namespace flowfabric::cli
