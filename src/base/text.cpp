#include "base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace flowfabric {
namespace {

// The number of bytes of the well-formed sequence at the start of `text`, 0 when it is malformed. Overlong forms,
// surrogates and code points above U+10FFFF are malformed.
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return continues(1) ? 2 : 0;
  if (first < 0xf0) {
    if (!continues(1) || !continues(2)) return 0;
    if (first == 0xe0 && byte(1) < 0xa0) return 0;
    if (first == 0xed && byte(1) >= 0xa0) return 0;
    return 3;
  }
  if (first < 0xf5) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (first == 0xf0 && byte(1) < 0x90) return 0;
    if (first == 0xf4 && byte(1) >= 0x90) return 0;
    return 4;
  }
  return 0;
}

// The number of bytes at the start that are certainly ASCII. Most text is ASCII only, and eight bytes are checked at a
// time.
std::size_t ascii_words(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  std::size_t known = 0;
  for (std::uint64_t word = 0; text.size() - known >= sizeof word; known += sizeof word) {
    std::memcpy(&word, text.data() + known, sizeof word);
    if ((word & high_bits) != 0) break;
  }
  return known;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    text.remove_prefix(ascii_words(text));
    if (text.empty()) break;
    const std::size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string clipped(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "\xe2\x80\xa6";
}

bool has_control_characters(std::string_view text) {
  unsigned char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (before == 0xc2 && byte >= 0x80 && byte <= 0x9f) return true;
    before = byte;
  }
  return false;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string format_utc(TimestampMs at) {
  const std::time_t seconds = at / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(at % 1000));
  return text;
}

bool is_traceparent(std::string_view text) {
  constexpr std::string_view shape = "00-tttttttttttttttttttttttttttttttt-pppppppppppppppp-ff";
  if (text.size() != shape.size()) return false;
  bool trace_is_zero = true;
  bool parent_is_zero = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = text[i];
    if (shape[i] == '-' || shape[i] == '0') {
      if (c != shape[i]) return false;
      continue;
    }
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
    if (c != '0' && shape[i] == 't') trace_is_zero = false;
    if (c != '0' && shape[i] == 'p') parent_is_zero = false;
  }
  return !trace_is_zero && !parent_is_zero;
}

}  // namespace flowfabric
