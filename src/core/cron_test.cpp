#include "core/cron.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "base/entropy.hpp"
#include "base/text.hpp"

namespace flowfabric {
namespace {

// "2026-03-29 02:00", with or without seconds, as local seconds.
std::int64_t local_time(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const int read = std::sscanf(text.c_str(), "%d-%d-%d %d:%d:%d", &year, &month, &day, &hour, &minute, &second);
  EXPECT_GE(read, 5) << text;
  const std::chrono::year_month_day date(std::chrono::year{year}, std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400 + hour * 3600 + minute * 60 + second;
}

std::string text_of(std::int64_t local) { return format_utc(local * 1000).substr(0, 19); }

std::vector<std::string> following(const std::string& expression, const std::string& from, std::size_t count,
                                   const std::vector<std::string>& exceptions = {}) {
  const auto cron = parse_cron(expression);
  EXPECT_TRUE(cron) << expression << ": " << (cron ? "" : cron.error().message);
  const RestDays rest = parse_rest_days(exceptions).value();
  std::vector<std::string> times;
  std::int64_t at = local_time(from);
  while (times.size() < count) {
    const auto next = next_local(*cron, rest, at);
    if (!next) break;
    times.push_back(text_of(*next));
    at = *next + 1;
  }
  return times;
}

using Times = std::vector<std::string>;

TEST(Cron, TimesThatExpressionsName) {
  struct Row {
    const char* expression;
    const char* from;
    Times expected;
  };
  const Row rows[] = {
      {"* * * * *", "2026-01-01 00:00:30", {"2026-01-01T00:01:00", "2026-01-01T00:02:00"}},
      {"0 2 * * *", "2026-01-01 02:00", {"2026-01-01T02:00:00", "2026-01-02T02:00:00"}},
      {"*/15 9-10 * * *", "2026-01-01 09:50", {"2026-01-01T10:00:00", "2026-01-01T10:15:00"}},
      {"5/20 * * * *", "2026-01-01 00:06", {"2026-01-01T00:25:00", "2026-01-01T00:45:00", "2026-01-01T01:05:00"}},
      {"*/20 * * * * *", "2026-01-01 00:00:01", {"2026-01-01T00:00:20", "2026-01-01T00:00:40", "2026-01-01T00:01:00"}},
      {"30 15 10 * * *", "2026-01-01 00:00", {"2026-01-01T10:15:30", "2026-01-02T10:15:30"}},
      {"0 0 31 * *", "2026-01-01 00:00", {"2026-01-31T00:00:00", "2026-03-31T00:00:00", "2026-05-31T00:00:00"}},
      {"0 0 29 2 *", "2026-01-01 00:00", {"2028-02-29T00:00:00", "2032-02-29T00:00:00"}},
      {"0 0 29 FEB ?", "2096-03-01 00:00", {"2104-02-29T00:00:00"}},  // 2100 is no leap year
      {"0 0 L * *", "2026-02-01 00:00", {"2026-02-28T00:00:00", "2026-03-31T00:00:00"}},
      {"0 0 15,L 2 *", "2028-01-01 00:00", {"2028-02-15T00:00:00", "2028-02-29T00:00:00"}},
      // 2026-01-01 is a Thursday. Both fields restrict the days: either is enough.
      {"0 0 13 * FRI",
       "2026-02-01 00:00",
       {"2026-02-06T00:00:00", "2026-02-13T00:00:00", "2026-02-20T00:00:00", "2026-02-27T00:00:00",
        "2026-03-06T00:00:00", "2026-03-13T00:00:00"}},
      // One of them begins with *: both have to agree.
      {"0 0 */2 * FRI", "2026-01-01 00:00", {"2026-01-09T00:00:00", "2026-01-23T00:00:00", "2026-02-13T00:00:00"}},
      {"0 9 * * MON-FRI", "2026-01-02 10:00", {"2026-01-05T09:00:00", "2026-01-06T09:00:00"}},
      {"0 9 * * 7", "2026-01-01 00:00", {"2026-01-04T09:00:00"}},
      {"0 9 * * 0", "2026-01-01 00:00", {"2026-01-04T09:00:00"}},
      {"0 9 * * sat-sun", "2026-01-01 00:00", {"2026-01-03T09:00:00", "2026-01-04T09:00:00", "2026-01-10T09:00:00"}},
      {"0 9 * * 5-7", "2026-01-01 00:00", {"2026-01-02T09:00:00", "2026-01-03T09:00:00", "2026-01-04T09:00:00"}},
      {"0 9 * * FRI#2", "2026-01-01 00:00", {"2026-01-09T09:00:00", "2026-02-13T09:00:00"}},
      {"0 9 * * MON#5", "2026-01-01 00:00", {"2026-03-30T09:00:00", "2026-06-29T09:00:00"}},
      {"0 9 * * FRIL", "2026-01-01 00:00", {"2026-01-30T09:00:00", "2026-02-27T09:00:00"}},
      {"0 9 * JAN,jul 1#1", "2026-02-01 00:00", {"2026-07-06T09:00:00", "2027-01-04T09:00:00"}},
      {"@hourly", "2026-01-01 00:01", {"2026-01-01T01:00:00"}},
      {"@Daily", "2026-01-01 00:01", {"2026-01-02T00:00:00"}},
      {"@weekly", "2026-01-01 00:01", {"2026-01-04T00:00:00"}},
      {"@monthly", "2026-01-01 00:01", {"2026-02-01T00:00:00"}},
      {"@yearly", "2026-01-01 00:01", {"2027-01-01T00:00:00"}},
      {"59 23 31 12 *", "1969-12-30 00:00", {"1969-12-31T23:59:00"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(following(row.expression, row.from, row.expected.size()), row.expected) << row.expression;
  }
}

TEST(Cron, WhatNeverComes) {
  EXPECT_EQ(following("0 0 30 2 *", "2026-01-01 00:00", 1), Times{});
  EXPECT_EQ(following("0 0 31 4,6,9,11 *", "2026-01-01 00:00", 1), Times{});
  EXPECT_EQ(following("0 0 25 12 *", "2026-01-01 00:00", 1, {"12-25"}), Times{});
}

TEST(Cron, Exceptions) {
  EXPECT_EQ(following("0 8 * * *", "2026-12-23 00:00", 3, {"2026-12-24/2026-12-26", "01-01", "2026-12-28"}),
            (Times{"2026-12-23T08:00:00", "2026-12-27T08:00:00", "2026-12-29T08:00:00"}));
  EXPECT_EQ(following("0 8 * * *", "2028-02-28 00:00", 2, {"02-29"}),
            (Times{"2028-02-28T08:00:00", "2028-03-01T08:00:00"}));
}

TEST(Cron, RefusalsNameTheField) {
  struct Row {
    const char* expression;
    const char* message;
  };
  const Row rows[] = {
      {"",
       "cron: has 0 fields; allowed: five (minute, hour, day of month, month, day of week), or six with the second "
       "in front"},
      {"* * * *",
       "cron: has 4 fields; allowed: five (minute, hour, day of month, month, day of week), or six with the "
       "second in front"},
      {"60 * * * *", "cron: the field minute has \"60\", which is out of range; allowed: 0 to 59"},
      {"0 24 * * *", "cron: the field hour has \"24\", which is out of range; allowed: 0 to 23"},
      {"0 0 0 * *", "cron: the field day of month has \"0\", which is out of range; allowed: 1 to 31"},
      {"0 0 * 13 *", "cron: the field month has \"13\", which is out of range; allowed: 1 to 12 or JAN to DEC"},
      {"0 0 * * 8",
       "cron: the field day of week has \"8\", which is out of range; allowed: 0 to 7 (0 and 7 are Sunday) or SUN to "
       "SAT"},
      {"x * * * *", "cron: the field minute has \"x\", which is not a value of it; allowed: 0 to 59"},
      {"-1 * * * *", "cron: the field minute has \"-1\", which is not a value of it; allowed: 0 to 59"},
      {"1, * * * *", "cron: the field minute has \"\", which is not a value of it; allowed: 0 to 59"},
      {"30-10 * * * *", "cron: the field minute has \"30-10\", whose end is before its beginning"},
      {"*/0 * * * *", "cron: the field minute has \"*/0\", whose step is not a number from 1 to 59"},
      {"*/60 * * * *", "cron: the field minute has \"*/60\", whose step is not a number from 1 to 59"},
      {"0 0 * * FRI#6", "cron: the field day of week has \"FRI#6\", whose number after # is not 1 to 5"},
      {"@often",
       "cron: \"@often\" is unknown; allowed: @yearly, @annually, @monthly, @weekly, @daily, @midnight, "
       "@hourly"},
  };
  for (const Row& row : rows) {
    const auto cron = parse_cron(row.expression);
    ASSERT_FALSE(cron) << row.expression;
    EXPECT_EQ(cron.error().message, row.message);
    EXPECT_EQ(cron.error().field, "cron");
    EXPECT_EQ(cron.error().code, Errc::invalid_argument);
  }
  EXPECT_FALSE(parse_cron(std::string(257, '*')));
}

TEST(Cron, RefusedExceptions) {
  for (const char* text : {"", "2026-02-30", "02-30", "2026-1-1", "2026-01-01/", "/2026-01-01", "tomorrow",
                           "2026-01-02/2026-01-01", "13-01", "2026-01-01/01-02"}) {
    const auto rest = parse_rest_days({text});
    ASSERT_FALSE(rest) << text;
    EXPECT_EQ(rest.error().field, "exceptions");
  }
}

// Any text is either refused or has times that it names.
TEST(Cron, AnyTextWillDo) {
  const Entropy entropy = seeded_entropy(7);
  const std::string_view letters = "0123456789*/-,?#L FRIMONJAN@";
  const std::vector<std::string> parts = {"*", "?", "L",     "1",     "*/2", "3-5", "10",
                                          "0", "7", "1-9/3", "FRI#2", "JAN", "5L"};
  int accepted = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string text;
    for (std::uint64_t n = 4 + entropy() % 3; n > 0; --n) text += parts[entropy() % parts.size()] + " ";
    for (std::uint64_t n = entropy() % 4; n > 0; --n)
      text[entropy() % text.size()] = letters[entropy() % letters.size()];
    const auto cron = parse_cron(text);
    if (!cron) continue;
    ++accepted;
    const std::int64_t from = local_time("2026-01-01 00:00") + static_cast<std::int64_t>(entropy() % 100000000);
    const auto next = next_local(*cron, {}, from);
    if (next) {
      EXPECT_GE(*next, from) << text;
      EXPECT_EQ(next_local(*cron, {}, *next), next) << text;
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace flowfabric
