#include "core/cron.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric {
namespace {

using std::chrono::days;
using std::chrono::last;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::int64_t day_s = 86400;
constexpr std::int64_t searched_days = 36525;  // a hundred years
constexpr std::uint8_t last_of_month = 6;      // bit of Cron::nth

constexpr std::string_view month_names[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                            "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::string_view weekday_names[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

constexpr std::pair<std::string_view, std::string_view> macros[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};

// What one field may hold.
struct FieldRule {
  const char* name;
  std::uint32_t min = 0;
  std::uint32_t max = 0;
};
constexpr FieldRule second_rule = {"second", 0, 59};
constexpr FieldRule minute_rule = {"minute", 0, 59};
constexpr FieldRule hour_rule = {"hour", 0, 23};
constexpr FieldRule day_rule = {"day of month", 1, 31};
constexpr FieldRule month_rule = {"month", 1, 12};
constexpr FieldRule weekday_rule = {"day of week", 0, 7};

Unexpected<Error> refuse_cron(const std::string& message) {
  return fail(Errc::invalid_argument, "cron: " + message, "cron");
}

Unexpected<Error> refuse_part(const FieldRule& rule, std::string_view part, const std::string& why) {
  return refuse_cron("the field " + std::string(rule.name) + " has \"" + clipped(part, 32) + "\", " + why);
}

std::string allowed_in(const FieldRule& rule) {
  std::string text = "allowed: " + std::to_string(rule.min) + " to " + std::to_string(rule.max);
  if (&rule == &month_rule) text += " or JAN to DEC";
  if (&rule == &weekday_rule) text += " (0 and 7 are Sunday) or SUN to SAT";
  return text;
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return upper(x) == upper(y); });
}

std::optional<std::uint32_t> digits(std::string_view text) {
  std::uint32_t value = 0;
  if (text.empty() || text.size() > 4) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<std::uint32_t> cron_value(const FieldRule& rule, std::string_view text, std::string_view part) {
  if (&rule == &month_rule) {
    for (std::uint32_t i = 0; i < std::size(month_names); ++i) {
      if (equals_ignoring_case(text, month_names[i])) return i + 1;
    }
  }
  if (&rule == &weekday_rule) {
    for (std::uint32_t i = 0; i < std::size(weekday_names); ++i) {
      if (equals_ignoring_case(text, weekday_names[i])) return i;
    }
  }
  const auto value = digits(text);
  if (!value) return refuse_part(rule, part, "which is not a value of it; " + allowed_in(rule));
  if (*value < rule.min || *value > rule.max)
    return refuse_part(rule, part, "which is out of range; " + allowed_in(rule));
  return *value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// "*", "a", "a-b", each perhaps with "/step".
Result<std::uint64_t> cron_set(const FieldRule& rule, std::string_view part) {
  const std::size_t slash = part.find('/');
  const std::string_view range = part.substr(0, slash);
  std::uint32_t step = 1;
  if (slash != std::string_view::npos) {
    const auto given = digits(part.substr(slash + 1));
    if (!given || *given == 0 || *given > rule.max) {
      return refuse_part(rule, part, "whose step is not a number from 1 to " + std::to_string(rule.max));
    }
    step = *given;
  }
  std::uint32_t from = rule.min;
  std::uint32_t to = &rule == &weekday_rule ? 6 : rule.max;
  if (range != "*") {
    const std::size_t dash = range.find('-');
    FF_TRY(first, cron_value(rule, range.substr(0, dash), part));
    from = first;
    // "5/15" goes on to the end, as everywhere.
    if (dash != std::string_view::npos) {
      FF_TRY(end, cron_value(rule, range.substr(dash + 1), part));
      to = end;
    } else if (slash == std::string_view::npos) {
      to = from;
    }
    // FRI-SUN: the week may end with Sunday too.
    if (&rule == &weekday_rule && dash != std::string_view::npos && to == 0 && from > 0) to = 7;
    if (to < from) return refuse_part(rule, part, "whose end is before its beginning");
  }
  std::uint64_t set = 0;
  for (std::uint32_t value = from; value <= to; value += step) set |= std::uint64_t{1} << value;
  return set;
}

Result<std::uint64_t> cron_field(const FieldRule& rule, std::string_view text) {
  std::uint64_t set = 0;
  for (const std::string_view part : split(text, ',')) {
    FF_TRY(some, cron_set(rule, part));
    set |= some;
  }
  return set;
}

Result<void> read_days(Cron& cron, std::string_view text) {
  cron.any_day = text.front() == '*' || text == "?";
  if (text == "?") text = "*";
  for (const std::string_view part : split(text, ',')) {
    if (part == "L" || part == "l") {
      cron.last_day = true;
      continue;
    }
    FF_TRY(some, cron_set(day_rule, part));
    cron.days |= static_cast<std::uint32_t>(some);
  }
  return {};
}

// "FRI#2" is the second Friday of a month, "FRIL" or "5L" the last.
Result<bool> read_nth(Cron& cron, std::string_view part) {
  const std::size_t hash = part.find('#');
  if (hash != std::string_view::npos) {
    FF_TRY(weekday, cron_value(weekday_rule, part.substr(0, hash), part));
    const auto n = digits(part.substr(hash + 1));
    if (!n || *n < 1 || *n > 5) return refuse_part(weekday_rule, part, "whose number after # is not 1 to 5");
    cron.nth[weekday % 7] |= static_cast<std::uint8_t>(1U << *n);
    return true;
  }
  if (part.size() < 2 || upper(part.back()) != 'L') return false;
  FF_TRY(weekday, cron_value(weekday_rule, part.substr(0, part.size() - 1), part));
  cron.nth[weekday % 7] |= std::uint8_t{1} << last_of_month;
  return true;
}

Result<void> read_weekdays(Cron& cron, std::string_view text) {
  cron.any_weekday = text.front() == '*' || text == "?";
  if (text == "?") text = "*";
  for (const std::string_view part : split(text, ',')) {
    FF_TRY(special, read_nth(cron, part));
    if (special) continue;
    FF_TRY(some, cron_set(weekday_rule, part));
    cron.weekdays |= static_cast<std::uint32_t>(some);
  }
  if ((cron.weekdays & 0x80U) != 0) cron.weekdays = (cron.weekdays & 0x7fU) | 1U;
  return {};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// ---- Searching

bool has(std::uint64_t set, std::uint32_t n) { return ((set >> n) & 1U) != 0; }

bool is_nth(const Cron& cron, const year_month_day& date, std::uint32_t weekday) {
  const std::uint8_t wanted = cron.nth[weekday];
  if (wanted == 0) return false;
  const auto day = static_cast<unsigned>(date.day());
  if (has(wanted, (day - 1) / 7 + 1)) return true;
  const auto days_of_month = static_cast<unsigned>((date.year() / date.month() / last).day());
  return has(wanted, last_of_month) && day + 7 > days_of_month;
}

bool matches_day(const Cron& cron, const year_month_day& date) {
  const std::uint32_t weekday = std::chrono::weekday(sys_days(date)).c_encoding();
  const bool is_last = date.day() == (date.year() / date.month() / last).day();
  const bool by_day = has(cron.days, static_cast<unsigned>(date.day())) || (cron.last_day && is_last);
  const bool by_weekday = has(cron.weekdays, weekday) || is_nth(cron, date, weekday);
  // The rule of cron since 1977: if both fields restrict the days, either is enough.
  return cron.any_day || cron.any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

std::optional<std::uint32_t> next_in(std::uint64_t set, std::uint32_t from) {
  if (from > 63) return std::nullopt;
  const std::uint64_t rest = set >> from << from;
  if (rest == 0) return std::nullopt;
  return static_cast<std::uint32_t>(std::countr_zero(rest));
}

// The first matching second of a day from this one on.
std::optional<std::int64_t> next_in_day(const Cron& cron, std::int64_t from_s) {
  const auto first_hour = static_cast<std::uint32_t>(from_s / 3600);
  const auto first_minute = static_cast<std::uint32_t>(from_s / 60 % 60);
  const auto first_second = static_cast<std::uint32_t>(from_s % 60);
  for (auto hour = next_in(cron.hours, first_hour); hour; hour = next_in(cron.hours, *hour + 1)) {
    const bool same_hour = *hour == first_hour;
    for (auto minute = next_in(cron.minutes, same_hour ? first_minute : 0); minute;
         minute = next_in(cron.minutes, *minute + 1)) {
      const bool same_minute = same_hour && *minute == first_minute;
      const auto second = next_in(cron.seconds, same_minute ? first_second : 0);
      if (second) return std::int64_t{*hour} * 3600 + std::int64_t{*minute} * 60 + *second;
    }
  }
  return std::nullopt;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

year_month_day date_of(std::int64_t day) { return sys_days(days(static_cast<int>(day))); }

// ---- Days of rest

Unexpected<Error> refuse_rest_day(std::string_view text) {
  return fail(Errc::invalid_argument,
              "exceptions: \"" + clipped(text, 48) +
                  "\" is neither a date (2026-12-24), nor two with a slash between them (2026-12-24/2027-01-01), nor a "
                  "day of every year (12-25)",
              "exceptions");
}

std::optional<std::int64_t> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = digits(text.substr(0, 4));
  const auto month = digits(text.substr(5, 2));
  const auto day = digits(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const year_month_day date(std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                            std::chrono::day(*day));
  if (!date.ok()) return std::nullopt;
  return sys_days(date).time_since_epoch().count();
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> parse_yearly(std::string_view text) {
  if (text.size() != 5 || text[2] != '-') return std::nullopt;
  const auto month = digits(text.substr(0, 2));
  const auto day = digits(text.substr(3, 2));
  if (!month || !day) return std::nullopt;
  const std::chrono::month_day date = std::chrono::month(*month) / std::chrono::day(*day);
  if (!date.ok()) return std::nullopt;
  return std::pair{*month, *day};
}

}  // namespace

Result<Cron> parse_cron(std::string_view text) {
  if (text.size() > limits::max_cron_bytes) {
    return refuse_cron("has " + std::to_string(text.size()) + " bytes; allowed: at most " +
                       std::to_string(limits::max_cron_bytes));
  }
  for (const auto& [name, meaning] : macros) {
    if (equals_ignoring_case(text, name)) return parse_cron(meaning);
  }
  if (!text.empty() && text.front() == '@') {
    return refuse_cron("\"" + clipped(text, 32) +
                       "\" is unknown; allowed: @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly");
  }
  std::vector<std::string_view> words = words_of(text);
  if (words.size() != 5 && words.size() != 6) {
    return refuse_cron("has " + std::to_string(words.size()) +
                       " fields; allowed: five (minute, hour, day of month, month, day of week), or six with the "
                       "second in front");
  }
  Cron cron;
  if (words.size() == 6) {
    FF_TRY(seconds, cron_field(second_rule, words.front()));
    cron.seconds = seconds;
    words.erase(words.begin());
  }
  FF_TRY(minutes, cron_field(minute_rule, words[0]));
  FF_TRY(hours, cron_field(hour_rule, words[1]));
  FF_TRY_VOID(read_days(cron, words[2]));
  FF_TRY(months, cron_field(month_rule, words[3]));
  FF_TRY_VOID(read_weekdays(cron, words[4]));
  cron.minutes = minutes;
  cron.hours = static_cast<std::uint32_t>(hours);
  cron.months = static_cast<std::uint32_t>(months);
  cron.every_hour = words[1].front() == '*';
  return cron;
}

bool RestDays::contains(std::int64_t day) const {
  for (const auto& [first, end] : spans) {
    if (day >= first && day <= end) return true;
  }
  if (yearly.empty()) return false;
  const year_month_day date = date_of(day);
  const std::pair wanted{static_cast<std::uint32_t>(static_cast<unsigned>(date.month())),
                         static_cast<std::uint32_t>(static_cast<unsigned>(date.day()))};
  return std::find(yearly.begin(), yearly.end(), wanted) != yearly.end();
}

Result<RestDays> parse_rest_days(const std::vector<std::string>& texts) {
  RestDays rest;
  for (const std::string_view text : texts) {
    if (const auto yearly = parse_yearly(text)) {
      rest.yearly.push_back(*yearly);
      continue;
    }
    const std::size_t slash = text.find('/');
    const auto first = parse_date(text.substr(0, slash));
    const auto end = slash == std::string_view::npos ? first : parse_date(text.substr(slash + 1));
    if (!first || !end) return refuse_rest_day(text);
    if (*end < *first) {
      return fail(Errc::invalid_argument, "exceptions: \"" + std::string(text) + "\" ends before it begins",
                  "exceptions");
    }
    rest.spans.emplace_back(*first, *end);
  }
  return rest;
}

std::optional<std::int64_t> next_local(const Cron& cron, const RestDays& rest, std::int64_t from_s) {
  std::int64_t day = floor_div(from_s, day_s);
  std::int64_t second = from_s - day * day_s;
  const std::int64_t end = day + searched_days;
  while (day < end) {
    const year_month_day date = date_of(day);
    if (!has(cron.months, static_cast<unsigned>(date.month()))) {
      const auto days_of_month = static_cast<unsigned>((date.year() / date.month() / last).day());
      day += days_of_month - static_cast<unsigned>(date.day()) + 1;
      second = 0;
      continue;
    }
    if (matches_day(cron, date) && !rest.contains(day)) {
      if (const auto found = next_in_day(cron, second)) return day * day_s + *found;
    }
    ++day;
    second = 0;
  }
  return std::nullopt;
}

}  // namespace flowfabric
