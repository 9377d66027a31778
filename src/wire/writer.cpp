#include "wire/writer.hpp"

#include "base/text.hpp"

namespace flowfabric::wire {
namespace {

// The message of a database in a foreign character set, or what a caller sent and is told about. Every byte that is not
// ASCII becomes one replacement character: nobody can say what the others were meant to be.
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

bool must_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

}  // namespace

void Writer::quote(std::string_view value) {
  if (!is_valid_utf8(value)) {
    quote(legible(value));
    return;
  }
  out_ += '"';
  std::size_t copied = 0;  // stretches without anything to escape are copied as a whole
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!must_escape(value[i])) continue;
    out_ += value.substr(copied, i - copied);
    escape(value[i]);
    copied = i + 1;
  }
  out_ += value.substr(copied);
  out_ += '"';
}

void Writer::escape(char c) {
  constexpr char digits[] = "0123456789abcdef";
  switch (c) {
    case '"': out_ += "\\\""; break;
    case '\\': out_ += "\\\\"; break;
    case '\n': out_ += "\\n"; break;
    case '\r': out_ += "\\r"; break;
    case '\t': out_ += "\\t"; break;
    default:
      out_ += "\\u00";
      out_ += digits[static_cast<unsigned char>(c) >> 4];
      out_ += digits[static_cast<unsigned char>(c) & 15];
  }
}

}  // namespace flowfabric::wire
