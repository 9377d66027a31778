// Config files: the part of TOML that settings need. Tables ([a.b]), dotted keys, strings ("..." with escapes, '...'
// without), whole numbers, true and false, arrays of strings, comments. What else TOML has is refused, with its line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <flowfabric/result.hpp>

namespace flowfabric {

using TomlValue = std::variant<std::string, std::int64_t, bool, std::vector<std::string>>;
// By the whole name: `store` in [profiles.work] is "profiles.work.store".
using Toml = std::map<std::string, TomlValue>;

Result<Toml> read_toml(std::string_view text);

// As one would write it on a command line; an array with commas between.
std::string to_text(const TomlValue& value);

}  // namespace flowfabric
