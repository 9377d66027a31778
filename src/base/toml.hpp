// Configuration files in TOML, read by toml++. Of its values settings need strings, whole numbers, true and false and
// arrays of strings; others are refused by name. Pure functions.
//
// A document is the list of its settings, each with its full name and its line; tables are parts of the names. Errors
// name the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <flowfabric/result.hpp>

namespace flowfabric {

using TomlValue = std::variant<std::string, std::int64_t, bool, std::vector<std::string>>;

struct TomlEntry {
  std::vector<std::string> path{};  // {"profiles", "default", "store"}
  TomlValue value{};
  std::size_t line = 0;
};

using TomlDocument = std::vector<TomlEntry>;  // in the order of the text

// Every error of reading and of the functions below begins with "line N: ".
Result<TomlDocument> read_toml(std::string_view text);

// The text in quotes, with escapes where they are needed.
std::string toml_string(std::string_view text);
// The name as written in a file: profiles.default.store
std::string name_of(const TomlEntry& entry);
// For callers that find an entry to be wrong.
Unexpected<Error> refuse(const TomlEntry& entry, const std::string& message);

// As written on a command line; the elements of an array separated by commas.
std::string to_text(const TomlValue& value);
// The value, if it has that type.
Result<std::string> string_of(const TomlEntry& entry);
Result<std::int64_t> number_of(const TomlEntry& entry);
Result<bool> flag_of(const TomlEntry& entry);
Result<std::vector<std::string>> strings_of(const TomlEntry& entry);

}  // namespace flowfabric
