#include "base/toml.hpp"

#include <charconv>

#include "base/check.hpp"
#include "base/text.hpp"

namespace flowfabric {
namespace {

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Reads from left to right; knows its line for complaints.
class TomlReader {
 public:
  explicit TomlReader(std::string_view text) : text_(text) {}

  Result<Toml> read() {
    Toml all;
    std::string table;
    for (skip_blank(); !at_end(); skip_blank()) {
      if (peek() == '[') {
        FF_TRY(name, table_name());
        table = name + ".";
      } else {
        FF_TRY(key, dotted_key());
        FF_TRY_VOID(expect('=', "after the key"));
        FF_TRY(found, value());
        const std::string whole = table + key;
        if (!all.emplace(whole, std::move(found)).second) return complain("\"" + whole + "\" comes twice");
      }
      FF_TRY_VOID(end_of_line());
    }
    return all;
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return text_[at_]; }
  bool sees(char c) const { return !at_end() && peek() == c; }

  tl::unexpected<Error> complain(const std::string& problem) const {
    return fail(Errc::invalid_argument, "line " + std::to_string(line_) + ": " + problem);
  }

  void skip_spaces() {
    while (sees(' ') || sees('\t')) ++at_;
  }

  void skip_comment() {
    if (!sees('#')) return;
    while (!at_end() && peek() != '\n') ++at_;
  }

  void skip_blank() {
    for (;;) {
      skip_spaces();
      skip_comment();
      if (sees('\r')) ++at_;
      if (!sees('\n')) return;
      ++at_;
      ++line_;
    }
  }

  Result<void> end_of_line() {
    skip_spaces();
    skip_comment();
    if (sees('\r')) ++at_;
    if (at_end() || peek() == '\n') return {};
    return complain("there is more on the line than one value");
  }

  Result<void> expect(char c, const char* where) {
    skip_spaces();
    if (!sees(c)) return complain(std::string("there is no ") + c + " " + where);
    ++at_;
    skip_spaces();
    return {};
  }

  Result<std::string> table_name() {
    ++at_;
    if (sees('[')) return complain("arrays of tables are not read here");
    skip_spaces();
    FF_TRY(name, dotted_key());
    FF_TRY_VOID(expect(']', "at the end of the table's name"));
    return name;
  }

  Result<std::string> dotted_key() {
    std::string whole;
    for (;;) {
      FF_TRY(part, key_part());
      whole += part;
      skip_spaces();
      if (!sees('.')) return whole;
      whole += '.';
      ++at_;
      skip_spaces();
    }
  }

  Result<std::string> key_part() {
    if (sees('"') || sees('\'')) return quoted();
    const std::size_t begin = at_;
    while (!at_end() && is_bare(peek())) ++at_;
    if (at_ == begin) return complain("a key must be letters, digits, _ and -, or stand in quotes");
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<TomlValue> value() {
    if (at_end()) return complain("there is no value");
    if (peek() == '"' || peek() == '\'') {
      FF_TRY(text, quoted());
      return TomlValue(std::move(text));
    }
    if (peek() == '[') return array();
    const std::size_t begin = at_;
    while (!at_end() && (is_bare(peek()) || peek() == '+' || peek() == '.' || peek() == ':')) ++at_;
    return word(text_.substr(begin, at_ - begin));
  }

  Result<TomlValue> word(std::string_view word) {
    if (word == "true") return TomlValue(true);
    if (word == "false") return TomlValue(false);
    std::string digits;
    for (const char c : word) {
      if (c != '_') digits += c;
    }
    std::int64_t number = 0;
    const char* end = digits.data() + digits.size();
    const auto [stopped, problem] = std::from_chars(digits.data(), end, number);
    if (problem == std::errc{} && stopped == end) return TomlValue(number);
    return complain("a value must be a text in quotes, a whole number, true, false or an array of texts");
  }

  Result<TomlValue> array() {
    ++at_;
    std::vector<std::string> texts;
    for (skip_blank(); !sees(']'); skip_blank()) {
      if (!sees('"') && !sees('\'')) return complain("an array holds texts in quotes, with commas between");
      FF_TRY(text, quoted());
      texts.push_back(std::move(text));
      skip_blank();
      if (sees(',')) {
        ++at_;
      } else if (!sees(']')) {
        return complain("an array holds texts in quotes, with commas between");
      }
    }
    ++at_;
    return TomlValue(std::move(texts));
  }

  Result<std::string> quoted() {
    const char quote = peek();
    if (text_.substr(at_, 3) == std::string(3, quote)) return complain("texts of several lines are not read here");
    ++at_;
    std::string text;
    while (!sees(quote)) {
      if (at_end() || peek() == '\n') return complain("the text has no closing quote");
      const char c = text_[at_++];
      if (c != '\\' || quote == '\'') {
        text += c;
        continue;
      }
      FF_TRY(escaped, escape());
      text += escaped;
    }
    ++at_;
    if (!is_valid_utf8(text)) return complain("the text is not UTF-8");
    return text;
  }

  Result<char> escape() {
    constexpr std::string_view names = "\"\\nt";
    constexpr std::string_view meanings = "\"\\\n\t";
    const std::size_t found = at_end() ? std::string_view::npos : names.find(peek());
    if (found == std::string_view::npos) return complain("of the escapes only \\\", \\\\, \\n and \\t are read here");
    ++at_;
    return meanings[found];
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

Result<Toml> read_toml(std::string_view text) { return TomlReader(text).read(); }

std::string to_text(const TomlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return join(std::get<std::vector<std::string>>(value), ",");
}

}  // namespace flowfabric
