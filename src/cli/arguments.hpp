// Command lines: what a command takes, and what it was given. Nothing is ignored; what is unknown is refused by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <flowfabric/result.hpp>

namespace flowfabric::cli {

struct OptionSpec {
  std::string name;   // with its dashes
  std::string value;  // what its value is called; empty for a switch
  std::string help;
};

struct CommandSpec {
  std::string name;
  std::string operand;  // what the one word after the command is called; empty when there is none
  std::string summary;
  std::string description;
  std::vector<OptionSpec> options;
};

struct Arguments {
  std::vector<std::string> operands;
  std::map<std::string, std::string> options;  // by name with dashes; switches have an empty value
  bool help = false;                           // asked for; then nothing else was checked

  bool has(const std::string& name) const { return options.contains(name); }
  std::string text(const std::string& name, const std::string& otherwise) const;
  Result<std::uint64_t> number(const std::string& name, std::uint64_t otherwise, std::uint64_t min,
                               std::uint64_t max) const;
};

// Takes `--name value` and `--name=value`; after `--` everything is an operand.
Result<Arguments> parse_arguments(const CommandSpec& spec, const std::vector<std::string>& words);

// The help of one command.
std::string usage(const CommandSpec& spec);

}  // namespace flowfabric::cli
