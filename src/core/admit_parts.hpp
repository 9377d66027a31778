// Checks of single fields, for the files that validate requests. Each names the field, what was wrong and what is allowed.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <flowfabric/result.hpp>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric::admit_parts {

inline Unexpected<Error> refuse(std::string message, const std::string& field) {
  return fail(Errc::invalid_argument, field + ": " + message, field);
}

enum class Content { any_text, no_controls, no_controls_or_spaces };

inline bool has_whitespace(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) <= 0x20; });
}

inline Result<void> admit_text(std::string_view text, const std::string& field, std::size_t min, std::size_t max,
                               Content content) {
  if (text.size() < min || text.size() > max) {
    return refuse(
        "has " + std::to_string(text.size()) + " bytes; allowed: " + std::to_string(min) + " to " + std::to_string(max),
        field);
  }
  if (!is_valid_utf8(text)) return refuse("is not valid UTF-8", field);
  if (content != Content::any_text && has_control_characters(text)) {
    return refuse("has control characters; none are allowed", field);
  }
  if (content == Content::no_controls_or_spaces && has_whitespace(text)) {
    return refuse("has white space; none is allowed", field);
  }
  return {};
}

inline Result<void> admit_bytes(std::string_view bytes, const std::string& field, std::size_t max) {
  if (bytes.size() <= max) return {};
  return fail(Errc::payload_too_large,
              field + ": has " + std::to_string(bytes.size()) + " bytes; allowed: at most " + std::to_string(max),
              field);
}

// How many entries there are.
inline Result<void> admit_count(std::size_t count, const std::string& field, std::size_t min, std::size_t max) {
  if (count >= min && count <= max) return {};
  const std::string allowed = min == 0 ? "at most " : std::to_string(min) + " to ";
  return refuse("has " + std::to_string(count) + " entries; allowed: " + allowed + std::to_string(max), field);
}

inline Result<void> admit_cursor(std::string_view cursor) {
  if (cursor.size() <= limits::max_cursor_bytes) return {};
  return refuse(
      "has " + std::to_string(cursor.size()) + " bytes; allowed: at most " + std::to_string(limits::max_cursor_bytes),
      "cursor");
}

template <class Number>
Result<void> admit_range(Number value, const std::string& field, Number min, Number max) {
  if (value >= min && value <= max) return {};
  return refuse("is " + std::to_string(value) + "; allowed: " + std::to_string(min) + " to " + std::to_string(max),
                field);
}

inline Result<void> admit_duration(std::int64_t value, const std::string& field, std::int64_t min = 0) {
  return admit_range<std::int64_t>(value, field, min, limits::max_duration_ms);
}

}  // namespace flowfabric::admit_parts
