#include "wire/document.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json/basic_parser_impl.hpp>

#include "base/check.hpp"

namespace flowfabric::wire {
namespace {

namespace json = boost::json;

// Ignores everything: only the validity of the JSON matters.
struct Nothing {
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return true; }
  bool on_object_end(std::size_t, json::error_code&) { return true; }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(std::size_t, json::error_code&) { return true; }
  bool on_key_part(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_key(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_string_part(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, json::error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return true; }
  bool on_double(double, json::string_view, json::error_code&) { return true; }
  bool on_bool(bool, json::error_code&) { return true; }
  bool on_null(json::error_code&) { return true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void put_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6));
    put(0x80 | (point & 63));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put(0x80 | ((point >> 6) & 63));
    put(0x80 | (point & 63));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 63));
    put(0x80 | ((point >> 6) & 63));
    put(0x80 | (point & 63));
  }
}

std::uint32_t hex4(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + 4, value, 16);
  return value;
}

// `at` is on the `u` and ends on the last digit used.
std::uint32_t escaped_point(std::string_view text, std::size_t& at) {
  std::uint32_t point = hex4(text.substr(at + 1));
  at += 4;
  if (point >= 0xd800 && point < 0xdc00) {  // the text was checked: the second half follows
    point = 0x10000 + ((point - 0xd800) << 10) + (hex4(text.substr(at + 3)) - 0xdc00);
    at += 6;
  }
  return point;
}

std::string unescape(std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u': put_utf8(out, escaped_point(text, i)); break;
      default: out += text[i];
    }
  }
  return out;
}

}  // namespace

// Iterates over text that is known to be valid JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Value value() {
    skip_space();
    const std::size_t start = at_;
    const char first = text_[at_];
    if (first == '"') {
      skip_string();
    } else if (first == '{' || first == '[') {
      skip_nested();
    } else {
      while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ']')
        ++at_;
    }
    return Value(text_.substr(start, at_ - start));
  }

 private:
  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  void skip_nested() {
    std::size_t depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    } while (depth > 0);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Value::Kind Value::kind() const {
  switch (raw_.front()) {
    case '{': return Kind::object;
    case '[': return Kind::array;
    case '"': return Kind::text;
    case 't':
    case 'f': return Kind::boolean;
    case 'n': return Kind::null;
    default: return Kind::number;
  }
}

std::vector<Value::Member> Value::members() const {
  std::vector<Member> all;
  Scanner scanner(raw_.substr(1));
  if (scanner.take('}')) return all;
  do {
    std::string key = unescape(scanner.value().raw());
    scanner.take(':');
    all.push_back({std::move(key), scanner.value()});
  } while (scanner.take(','));
  return all;
}

std::vector<Value> Value::elements() const {
  std::vector<Value> all;
  Scanner scanner(raw_.substr(1));
  if (scanner.take(']')) return all;
  do {
    all.push_back(scanner.value());
  } while (scanner.take(','));
  return all;
}

std::size_t Value::depth() const {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < raw_.size(); ++at) {
    const char c = raw_[at];
    if (quoted && c == '\\') ++at;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return deepest;
}

std::string Value::text() const { return unescape(raw_); }

std::optional<std::int64_t> Value::whole_number() const {
  std::int64_t value = 0;
  const char* end = raw_.data() + raw_.size();
  const auto [stopped, problem] = std::from_chars(raw_.data(), end, value);
  if (problem != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

std::string_view to_string(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::object: return "an object";
    case Value::Kind::array: return "an array";
    case Value::Kind::text: return "a string";
    case Value::Kind::number: return "a number";
    case Value::Kind::boolean: return "true or false";
    case Value::Kind::null: return "null";
  }
  return "";
}

Result<Value> parse_document(std::string_view text, std::size_t max_depth, std::string_view what) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<Nothing> parser(options);
  json::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (error == json::error::too_deep) {
    return fail(Errc::invalid_argument,
                std::string(what) + " is nested too deeply; allowed: " + std::to_string(max_depth) + " levels", "body");
  }
  if (!error && used < text.size()) error = json::error::extra_data;
  if (error) {
    return fail(Errc::invalid_argument,
                std::string(what) + " is not JSON: " + error.message() + " at byte " + std::to_string(used), "body");
  }
  Scanner scanner(text);
  return scanner.value();
}

}  // namespace flowfabric::wire
