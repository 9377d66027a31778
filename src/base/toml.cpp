#include "base/toml.hpp"

#include <algorithm>
#include <tuple>

// The library is used in this file only. Values that lie within each other, and the parts of a name, are nested tables
// for it, which it frees recursively: this limit and that of a line keep its stack small.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 3
#include <toml++/toml.h>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric {
namespace {

using Path = std::vector<std::string>;

constexpr const char* allowed_values = "a quoted string, a whole number, true or false, or an array of strings";

Unexpected<Error> fail_at(std::size_t line, const std::string& message) {
  return fail(Errc::invalid_argument, "line " + std::to_string(line) + ": " + message);
}

bool is_bare_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string dotted(const Path& path) {
  std::string text;
  for (const std::string& part : path) {
    const bool bare = !part.empty() && std::all_of(part.begin(), part.end(), is_bare_key_character);
    text += (text.empty() ? "" : ".") + (bare ? part : toml_string(part));
  }
  return text;
}

// Lines end with \n or \r\n.
Result<void> check_lines(std::string_view text) {
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end - at > limits::max_toml_line_bytes) {
      return fail_at(line, "has " + std::to_string(end - at) + " bytes; at most " +
                               std::to_string(limits::max_toml_line_bytes) + " are allowed");
    }
    at = end + 1;
  }
  return {};
}

Unexpected<Error> refuse_syntax(const toml::parse_error& problem) {
  std::string message(problem.description());
  if (message.ends_with("could not determine value type")) {
    message = std::string("the value is none of these: ") + allowed_values;
  } else if (message.find("exceeded maximum nested value depth") != std::string::npos) {
    message = "values are nested too deeply";
  }
  return fail_at(problem.source().begin.line, message);
}

// The settings of a parsed text, in the order of its lines: the tables of the library are sorted by name.
class Settings {
 public:
  Result<void> add_table(const toml::table& table) {
    for (const auto& [key, node] : table) {
      if (path_.size() == limits::max_toml_name_parts) {
        return fail_at(node.source().begin.line,
                       "a name has more than " + std::to_string(limits::max_toml_name_parts) + " parts");
      }
      path_.emplace_back(key.str());
      const toml::table* inner = node.as_table();
      FF_TRY_VOID(inner == nullptr ? add_value(node) : add_table(*inner));
      path_.pop_back();
    }
    return {};
  }

  TomlDocument in_order() && {
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.place() < b.place(); });
    TomlDocument document;
    for (Found& found : found_) document.push_back(std::move(found.entry));
    return document;
  }

 private:
  struct Found {
    TomlEntry entry{};
    std::size_t column = 0;

    std::tuple<std::size_t, std::size_t> place() const { return {entry.line, column}; }
  };

  Result<void> add_value(const toml::node& node) {
    const toml::source_position place = node.source().begin;
    TomlEntry entry{path_, {}, place.line};
    if (const auto* text = node.as_string()) {
      entry.value = text->get();
    } else if (const auto* number = node.as_integer()) {
      entry.value = number->get();
    } else if (const auto* truth = node.as_boolean()) {
      entry.value = truth->get();
    } else {
      FF_TRY(strings, strings_in(node, entry));
      entry.value = std::move(strings);
    }
    found_.push_back({std::move(entry), place.column});
    return {};
  }

  static Result<std::vector<std::string>> strings_in(const toml::node& node, const TomlEntry& entry) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return refuse(entry, std::string("must be ") + allowed_values);
    std::vector<std::string> strings;
    for (const toml::node& element : *array) {
      const auto* text = element.as_string();
      if (text == nullptr) return refuse(entry, "an array can contain only quoted strings here");
      strings.push_back(text->get());
    }
    return strings;
  }

  Path path_;  // of the table that is being added
  std::vector<Found> found_;
};

template <class T>
Result<T> value_of(const TomlEntry& entry, const char* what) {
  if (const T* value = std::get_if<T>(&entry.value)) return *value;
  return refuse(entry, std::string("must be ") + what);
}

}  // namespace

Result<TomlDocument> read_toml(std::string_view text) {
  FF_TRY_VOID(check_lines(text));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) return refuse_syntax(parsed.error());
  Settings settings;
  FF_TRY_VOID(settings.add_table(parsed.table()));
  return std::move(settings).in_order();
}

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += "\\u00" + to_hex({&c, 1});
    } else {
      quoted += (c == '"' || c == '\\') ? std::string{'\\', c} : std::string{c};
    }
  }
  return quoted + "\"";
}

std::string name_of(const TomlEntry& entry) { return dotted(entry.path); }

Unexpected<Error> refuse(const TomlEntry& entry, const std::string& message) {
  const std::string name = name_of(entry);
  return fail(Errc::invalid_argument, "line " + std::to_string(entry.line) + ": " + name + ": " + message, name);
}

std::string to_text(const TomlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return join(std::get<std::vector<std::string>>(value), ",");
}

Result<std::string> string_of(const TomlEntry& entry) { return value_of<std::string>(entry, "a quoted string"); }
Result<std::int64_t> number_of(const TomlEntry& entry) { return value_of<std::int64_t>(entry, "a whole number"); }
Result<bool> flag_of(const TomlEntry& entry) { return value_of<bool>(entry, "true or false"); }
Result<std::vector<std::string>> strings_of(const TomlEntry& entry) {
  return value_of<std::vector<std::string>>(entry, "an array of strings");
}

}  // namespace flowfabric
