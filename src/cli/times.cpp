#include "cli/times.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <optional>

#include <fmt/core.h>

#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric::cli {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};

// Largest first: the first unit that divides a duration gives the shortest text.
constexpr std::array<Unit, 5> units = {
    {{"d", 24LL * 3600 * 1000}, {"h", 3600LL * 1000}, {"m", 60LL * 1000}, {"s", 1000}, {"ms", 1}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits only, no sign and no space; nothing when the number does not fit.
std::optional<std::int64_t> whole_number(std::string_view digits) {
  if (digits.empty() || !is_digit(digits.front())) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// "2026-01-02T03:04:05", then "Z" or ".6Z" to ".678Z".
std::optional<TimestampMs> read_utc(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= shape.size() || text.back() != 'Z') return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 'd' ? !is_digit(text[i]) : text[i] != shape[i]) return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t size) {
    return static_cast<int>(*whole_number(text.substr(at, size)));
  };
  std::tm parts{};
  parts.tm_year = part(0, 4) - 1900;
  parts.tm_mon = part(5, 2) - 1;
  parts.tm_mday = part(8, 2);
  parts.tm_hour = part(11, 2);
  parts.tm_min = part(14, 2);
  parts.tm_sec = part(17, 2);
  std::string fraction(text.substr(shape.size(), text.size() - shape.size() - 1));
  if (!fraction.empty()) {
    if (fraction.front() != '.' || fraction.size() < 2 || fraction.size() > 4) return std::nullopt;
    fraction.erase(0, 1);
  }
  fraction.resize(3, '0');
  const auto ms = whole_number(fraction);
  if (!ms) return std::nullopt;
  const TimestampMs at = static_cast<TimestampMs>(timegm(&parts)) * 1000 + *ms;
  // timegm() turns the 31st of February into a day in March; formatting the result then gives another text.
  if (format_utc(at).substr(0, shape.size()) != text.substr(0, shape.size())) return std::nullopt;
  return at;
}

}  // namespace

Result<std::int64_t> parse_duration(std::string_view text, const std::string& field) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  const auto number = whole_number(text.substr(0, digits));
  for (const Unit& unit : units) {
    if (!number || text.substr(digits) != unit.name) continue;
    if (*number > limits::max_duration_ms / unit.ms) {
      return fail(Errc::invalid_argument, fmt::format("{}: {} is longer than ten years", field, text), field);
    }
    return *number * unit.ms;
  }
  return fail(Errc::invalid_argument,
              fmt::format("{} must be a duration like 500ms, 30s, 5m, 2h or 7d, not \"{}\"", field, text), field);
}

std::string format_duration(std::int64_t duration_ms) {
  if (duration_ms == 0) return "0s";
  for (const Unit& unit : units) {
    if (duration_ms % unit.ms == 0) return fmt::format("{}{}", duration_ms / unit.ms, unit.name);
  }
  return {};
}

Result<TimestampMs> parse_time(std::string_view text, const std::string& field) {
  auto at = whole_number(text);
  if (!at) at = read_utc(text);
  if (at && *at <= limits::max_timestamp_ms) return *at;
  return fail(Errc::invalid_argument,
              fmt::format("{} must be a time like 2026-01-02T03:04:05Z or milliseconds since the epoch, not \"{}\"",
                          field, text),
              field);
}

std::string format_time(TimestampMs at) { return at == 0 ? "-" : format_utc(at); }

}  // namespace flowfabric::cli
