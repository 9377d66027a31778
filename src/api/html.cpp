#include "api/html.hpp"

#include <cstdint>

#include "base/text.hpp"

namespace flowfabric::api {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

// The bytes of the character at the start of `text`; 0 if there is no valid one.
std::size_t length_of_character(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    if (is_valid_utf8(text.substr(0, length))) return length;
  }
  return 0;
}

std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first;
  std::uint32_t code = first & (0xffU >> (character.size() + 1));
  for (const char c : character.substr(1)) code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

bool is_shown(std::uint32_t code) {
  if (code == '\n' || code == '\t') return true;
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return false;
  const bool changes_direction = code == 0x061c || code == 0x200e || code == 0x200f ||
                                 (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !changes_direction;
}

}  // namespace

std::string escaped_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    switch (character.front()) {
      case '&': out += "&amp;"; continue;
      case '<': out += "&lt;"; continue;
      case '>': out += "&gt;"; continue;
      case '"': out += "&quot;"; continue;
      case '\'': out += "&#39;"; continue;
      default: break;
    }
    out += length != 0 && is_shown(code_point(character)) ? character : replacement;
  }
  return out;
}

}  // namespace flowfabric::api
