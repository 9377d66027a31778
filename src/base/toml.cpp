#include "base/toml.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/text.hpp"

namespace flowfabric {
namespace {

using Path = std::vector<std::string>;

Unexpected<Error> fail_at(std::size_t line, const std::string& message) {
  return fail(Errc::invalid_argument, "line " + std::to_string(line) + ": " + message);
}

bool is_bare_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string quoted(const std::string& part) {
  std::string text = "\"";
  for (const char c : part) {
    if (is_control(c)) {
      text += "\\u00" + to_hex({&c, 1});
    } else {
      text += (c == '"' || c == '\\') ? std::string{'\\', c} : std::string{c};
    }
  }
  return text + "\"";
}

std::string dotted(const Path& path) {
  std::string text;
  for (const std::string& part : path) {
    const bool bare = !part.empty() && std::all_of(part.begin(), part.end(), is_bare_key_character);
    text += (text.empty() ? "" : ".") + (bare ? part : quoted(part));
  }
  return text;
}

bool is_prefix(const Path& shorter, const Path& longer) {
  return shorter.size() <= longer.size() && std::equal(shorter.begin(), shorter.end(), longer.begin());
}

void put_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) return put(point);
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr std::uint32_t lead[] = {0, 0xc0, 0xe0, 0xf0};
  put(lead[more] | (point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) put(0x80 | ((point >> (6 * i)) & 63));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<TomlDocument> read() {
    for (skip_blank_lines(); !at_end(); skip_blank_lines()) {
      FF_TRY_VOID(peek() == '[' ? read_header() : read_pair());
      FF_TRY_VOID(end_of_line());
    }
    return std::move(document_);
  }

 private:
  // ---- Characters

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (!at_end() && (peek() == ' ' || peek() == '\t')) ++at_;
  }
  void skip_comment() {
    if (peek() != '#') return;
    while (!at_end() && peek() != '\n') ++at_;
  }
  bool take_line_end() {
    if (text_.substr(at_, 2) == "\r\n") ++at_;
    if (!take('\n')) return false;
    ++line_;
    return true;
  }
  void skip_blank_lines() {
    do {
      skip_spaces();
      skip_comment();
    } while (take_line_end());
  }
  Result<void> end_of_line() {
    skip_spaces();
    skip_comment();
    if (at_end() || take_line_end()) return {};
    return fail_at(line_, "unexpected text after the value; write one setting per line, comments begin with #");
  }

  // ---- Names

  Result<std::string> read_key_part() {
    if (peek() == '"') return read_basic_string();
    if (peek() == '\'') return read_literal_string();
    const std::size_t start = at_;
    while (!at_end() && is_bare_key_character(peek())) ++at_;
    if (at_ == start) return fail_at(line_, "expected a name: letters, digits, - and _, or a quoted string");
    return std::string(text_.substr(start, at_ - start));
  }

  Result<Path> read_key() {
    Path path;
    do {
      skip_spaces();
      FF_TRY(part, read_key_part());
      path.push_back(std::move(part));
      skip_spaces();
    } while (take('.'));
    return path;
  }

  Result<void> read_header() {
    ++at_;
    if (peek() == '[') return fail_at(line_, "arrays of tables ([[...]]) are not supported here");
    FF_TRY(path, read_key());
    if (!take(']')) return fail_at(line_, "the ] after the name of the table is missing");
    for (const TomlEntry& entry : document_) {
      if (is_prefix(entry.path, path)) return fail_at(line_, dotted(entry.path) + " is a value, not a table");
    }
    if (!headers_.insert(path).second) return fail_at(line_, "the table [" + dotted(path) + "] is defined twice");
    table_ = std::move(path);
    return {};
  }

  Result<void> read_pair() {
    TomlEntry entry;
    entry.line = line_;
    entry.path = table_;
    FF_TRY(key, read_key());
    entry.path.insert(entry.path.end(), key.begin(), key.end());
    if (!take('=')) return fail_at(line_, "the = after " + dotted(key) + " is missing");
    skip_spaces();
    FF_TRY_VOID(read_value(entry));
    for (const TomlEntry& before : document_) {
      if (is_prefix(before.path, entry.path) || is_prefix(entry.path, before.path)) {
        return fail_at(entry.line, dotted(entry.path) + " is already set in line " + std::to_string(before.line));
      }
    }
    document_.push_back(std::move(entry));
    return {};
  }

  // ---- Values

  Result<void> read_value(TomlEntry& entry) {
    if (peek() == '"' || peek() == '\'') {
      FF_TRY(text, read_string());
      entry.value = std::move(text);
      return {};
    }
    if (peek() == '[') {
      FF_TRY(strings, read_array());
      entry.value = std::move(strings);
      return {};
    }
    return read_word(entry);
  }

  Result<std::string> read_string() { return peek() == '"' ? read_basic_string() : read_literal_string(); }

  Result<std::string> read_literal_string() {
    if (text_.substr(at_, 3) == "'''") return fail_at(line_, "multi-line strings are not supported here");
    const std::size_t start = ++at_;
    while (!at_end() && peek() != '\'' && peek() != '\n') ++at_;
    const std::string text(text_.substr(start, at_ - start));
    if (!take('\'')) return fail_at(line_, "the string is not closed: a ' is missing");
    FF_TRY_VOID(check_characters(text));
    return text;
  }

  Result<std::string> read_basic_string() {
    if (text_.substr(at_, 3) == "\"\"\"") return fail_at(line_, "multi-line strings are not supported here");
    const std::size_t start = ++at_;
    std::string out;
    while (!at_end() && peek() != '"' && peek() != '\n') {
      if (take('\\')) {
        FF_TRY_VOID(read_escape(out));
      } else {
        out += text_[at_++];
      }
    }
    const std::string_view text = text_.substr(start, at_ - start);
    if (!take('"')) return fail_at(line_, "the string is not closed: a \" is missing");
    FF_TRY_VOID(check_characters(text));
    return out;
  }

  Result<void> check_characters(std::string_view text) const {
    const bool good = std::none_of(text.begin(), text.end(), [](char c) { return is_control(c) && c != '\t'; });
    if (good) return {};
    return fail_at(line_,
                   "a string has a control character; write it as \\u and four hexadecimal digits, in double quotes");
  }

  Result<void> read_escape(std::string& out) {
    constexpr std::string_view letters = "btnfr\"\\";
    constexpr std::string_view meant = "\b\t\n\f\r\"\\";
    const char letter = peek();
    if (const std::size_t known = letters.find(letter); known != std::string_view::npos) {
      out += meant[known];
      ++at_;
      return {};
    }
    if (letter != 'u' && letter != 'U') return fail_at(line_, "unknown escape after \\; write \\\\ for a backslash");
    const std::size_t digits = letter == 'u' ? 4 : 8;
    const std::string_view hex = text_.substr(at_ + 1, digits);
    std::uint32_t point = 0;
    const auto [end, problem] = std::from_chars(hex.data(), hex.data() + hex.size(), point, 16);
    const bool whole = problem == std::errc{} && hex.size() == digits && end == hex.data() + digits;
    if (!whole || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
      return fail_at(line_, std::string("\\") + letter + " needs the " + std::to_string(digits) +
                                " hexadecimal digits of a character");
    }
    put_utf8(out, point);
    at_ += 1 + digits;
    return {};
  }

  Result<std::vector<std::string>> read_array() {
    const std::size_t first_line = line_;
    ++at_;
    std::vector<std::string> strings;
    for (skip_blank_lines(); !take(']'); skip_blank_lines()) {
      if (at_end()) return fail_at(first_line, "the array is not closed: a ] is missing");
      if (peek() != '"' && peek() != '\'') return fail_at(line_, "an array can contain only quoted strings here");
      FF_TRY(text, read_string());
      strings.push_back(std::move(text));
      skip_blank_lines();
      if (!take(',') && peek() != ']') return fail_at(line_, "a , or ] is missing in the array");
    }
    return strings;
  }

  // true, false or a whole number.
  Result<void> read_word(TomlEntry& entry) {
    const std::size_t start = at_;
    while (!at_end() && std::string_view(" \t\r\n#,").find(peek()) == std::string_view::npos) ++at_;
    const std::string word(text_.substr(start, at_ - start));
    if (word == "true" || word == "false") {
      entry.value = word == "true";
      return {};
    }
    const auto number = whole_number(word);
    if (!number) {
      return fail_at(line_, (word.empty() ? "the value is missing" : "\"" + word + "\" is not a value") +
                                std::string("; allowed: a quoted string, a whole number, true or false"));
    }
    entry.value = *number;
    return {};
  }

  // Digits may be grouped by _.
  static std::optional<std::int64_t> whole_number(std::string word) {
    const bool plus = word.starts_with('+');
    if (plus) word.erase(0, 1);
    const std::string_view digits = std::string_view(word).substr(word.starts_with('-') ? 1 : 0);
    const bool grouped_badly = digits.starts_with('_') || digits.ends_with('_') || digits.find("__") != digits.npos;
    const bool leading_zero = digits.size() > 1 && digits.front() == '0';
    if ((plus && word.starts_with('-')) || grouped_badly || leading_zero) return std::nullopt;
    std::erase(word, '_');
    std::int64_t value = 0;
    const char* end = word.data() + word.size();
    const auto [stopped, problem] = std::from_chars(word.data(), end, value);
    if (problem != std::errc{} || stopped != end) return std::nullopt;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  Path table_;
  std::set<Path> headers_;
  TomlDocument document_;
};

template <class T>
Result<T> value_of(const TomlEntry& entry, const char* what) {
  if (const T* value = std::get_if<T>(&entry.value)) return *value;
  return refuse(entry, std::string("must be ") + what);
}

}  // namespace

Result<TomlDocument> read_toml(std::string_view text) {
  if (!is_valid_utf8(text)) {
    std::size_t line = 1;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (!is_valid_utf8(text.substr(at, end - at))) break;
      at = end + 1;
      ++line;
    }
    return fail_at(line, "is not valid UTF-8");
  }
  return Reader(text).read();
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
