#include "wire/writer.hpp"

#include "base/text.hpp"

namespace flowfabric::wire {
namespace {

// For messages of a database in another character set, or input that is repeated in an error. Every byte that is not
// ASCII becomes one replacement character, because the original characters are unknown.
std::string legible(std::string_view broken) {
  std::string out;
  for (const char c : broken) {
    if (static_cast<unsigned char>(c) < 0x80) {
      out += c;
    } else {
      out += "\xef\xbf\xbd";
    }
  }
  return out;
}

// Whether it needs no escaping in JSON: ASCII without special characters, which is true for most texts. There is no
// early exit, so that the compiler can check many characters at once.
bool is_plain(std::string_view text) {
  bool special = false;
  for (const char c : text) special |= static_cast<signed char>(c) < 0x20 || c == '"' || c == '\\';
  return !special;
}

}  // namespace

void Writer::quote(std::string_view value) {
  out_ += '"';
  if (is_plain(value)) {
    out_ += value;
  } else {
    append_escaped(is_valid_utf8(value) ? value : legible(value));
  }
  out_ += '"';
}

void Writer::append_escaped(std::string_view value) {
  constexpr char digits[] = "0123456789abcdef";
  for (const char c : value) {
    switch (c) {
      case '"': out_ += "\\\""; break;
      case '\\': out_ += "\\\\"; break;
      case '\n': out_ += "\\n"; break;
      case '\r': out_ += "\\r"; break;
      case '\t': out_ += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out_ += "\\u00";
          out_ += digits[static_cast<unsigned char>(c) >> 4];
          out_ += digits[static_cast<unsigned char>(c) & 15];
        } else {
          out_ += c;
        }
    }
  }
}

}  // namespace flowfabric::wire
