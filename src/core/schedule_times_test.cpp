#include "core/schedule_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/entropy.hpp"
#include "base/text.hpp"
#include "engine/time_zones.hpp"

namespace flowfabric {
namespace {

// "2026-03-29T01:00:00Z"
TimestampMs utc(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const int read = std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second);
  EXPECT_GE(read, 5) << text;
  const std::chrono::year_month_day date(std::chrono::year{year}, std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * 86400 + hour * 3600 + minute * 60 + second) * 1000;
}

ScheduleTimes times_of(const ScheduleSpec& spec) {
  auto times = ScheduleTimes::of(spec, system_time_zones().get());
  EXPECT_TRUE(times) << (times ? "" : times.error().message);
  return *times;
}

ScheduleTimes cron_in(const std::string& cron, const std::string& zone) {
  ScheduleSpec spec;
  spec.cron = cron;
  spec.time_zone = zone;
  return times_of(spec);
}

using Texts = std::vector<std::string>;

Texts texts_of(const std::vector<TimestampMs>& times) {
  Texts texts;
  for (const TimestampMs at : times) texts.push_back(format_utc(at).substr(0, 16) + "Z");
  return texts;
}

struct Row {
  const char* zone;
  const char* cron;
  const char* after;
  Texts expected;  // the firings that follow
};

// The table of docs/schedules.md, in four zones.
TEST(ScheduleTimes, WhenClocksAreSetForward) {
  const Row rows[] = {
      // Berlin: at 01:00Z clocks go from 02:00 to 03:00.
      {"Europe/Berlin",
       "30 2 * * *",
       "2026-03-28T00:00",
       {"2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"}},
      {"Europe/Berlin", "0 2 * * *", "2026-03-28T02:00", {"2026-03-29T01:00Z", "2026-03-30T00:00Z"}},
      {"Europe/Berlin", "0 3 * * *", "2026-03-28T02:00", {"2026-03-29T01:00Z", "2026-03-30T01:00Z"}},
      {"Europe/Berlin",
       "*/20 2,3 * * *",
       "2026-03-29T00:00",
       {"2026-03-29T01:00Z", "2026-03-29T01:20Z", "2026-03-29T01:40Z", "2026-03-30T00:00Z"}},
      {"Europe/Berlin",
       "0 * * * *",
       "2026-03-28T23:30",
       {"2026-03-29T00:00Z", "2026-03-29T01:00Z", "2026-03-29T02:00Z"}},
      {"Europe/Berlin", "15 * * * *", "2026-03-28T23:30", {"2026-03-29T00:15Z", "2026-03-29T01:15Z"}},
      {"Europe/Berlin",
       "0 */2 * * *",
       "2026-03-28T22:30",
       {"2026-03-28T23:00Z", "2026-03-29T02:00Z", "2026-03-29T04:00Z"}},
      // New York: at 07:00Z from 02:00 to 03:00.
      {"America/New_York", "30 2 * * *", "2026-03-07T08:00", {"2026-03-08T07:00Z", "2026-03-09T06:30Z"}},
      {"America/New_York",
       "*/30 * * * *",
       "2026-03-08T06:10",
       {"2026-03-08T06:30Z", "2026-03-08T07:00Z", "2026-03-08T07:30Z"}},
      // Lord Howe: at 15:30Z from 02:00 to 02:30.
      {"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00", {"2026-10-03T15:30Z", "2026-10-04T15:15Z"}},
      {"Australia/Lord_Howe", "45 2 * * *", "2026-10-03T00:00", {"2026-10-03T15:45Z", "2026-10-04T15:45Z"}},
      {"Australia/Lord_Howe",
       "*/30 * * * *",
       "2026-10-03T14:40",
       {"2026-10-03T15:00Z", "2026-10-03T15:30Z", "2026-10-03T16:00Z"}},
      // Kathmandu is at 05:45 all year.
      {"Asia/Kathmandu",
       "0 2 * * *",
       "2026-03-28T00:00",
       {"2026-03-28T20:15Z", "2026-03-29T20:15Z", "2026-03-30T20:15Z"}},
      {"Asia/Kathmandu", "0 * * * *", "2026-03-28T00:00", {"2026-03-28T00:15Z", "2026-03-28T01:15Z"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(
        texts_of(cron_in(row.cron, row.zone).next(utc(row.after), static_cast<std::uint32_t>(row.expected.size()))),
        row.expected)
        << row.zone << " " << row.cron;
  }
}

TEST(ScheduleTimes, WhenClocksAreSetBack) {
  const Row rows[] = {
      // Berlin: at 01:00Z from 03:00 to 02:00. The first 02:30 is 00:30Z, the second 01:30Z.
      {"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00", {"2026-10-25T00:30Z", "2026-10-26T01:30Z"}},
      {"Europe/Berlin", "0 3 * * *", "2026-10-24T12:00", {"2026-10-25T02:00Z", "2026-10-26T02:00Z"}},
      {"Europe/Berlin",
       "*/30 2 * * *",
       "2026-10-24T12:00",
       {"2026-10-25T00:00Z", "2026-10-25T00:30Z", "2026-10-26T01:00Z"}},
      {"Europe/Berlin",
       "0 * * * *",
       "2026-10-24T23:30",
       {"2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"}},
      {"Europe/Berlin",
       "30 * * * *",
       "2026-10-25T00:00",
       {"2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-25T02:30Z"}},
      // A search that begins within the second time around.
      {"Europe/Berlin", "30 2 * * *", "2026-10-25T01:10", {"2026-10-26T01:30Z"}},
      // New York: at 06:00Z from 02:00 to 01:00.
      {"America/New_York", "30 1 * * *", "2026-10-31T12:00", {"2026-11-01T05:30Z", "2026-11-02T06:30Z"}},
      {"America/New_York",
       "30 * * * *",
       "2026-11-01T05:00",
       {"2026-11-01T05:30Z", "2026-11-01T06:30Z", "2026-11-01T07:30Z"}},
      // Lord Howe: at 15:00Z from 02:00 to 01:30.
      {"Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00", {"2026-04-04T14:45Z", "2026-04-05T15:15Z"}},
      {"Australia/Lord_Howe",
       "*/15 * * * *",
       "2026-04-04T14:20",
       {"2026-04-04T14:30Z", "2026-04-04T14:45Z", "2026-04-04T15:00Z", "2026-04-04T15:15Z", "2026-04-04T15:30Z"}},
      {"Asia/Kathmandu", "30 2 * * *", "2026-10-24T12:00", {"2026-10-24T20:45Z", "2026-10-25T20:45Z"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(
        texts_of(cron_in(row.cron, row.zone).next(utc(row.after), static_cast<std::uint32_t>(row.expected.size()))),
        row.expected)
        << row.zone << " " << row.cron;
  }
}

// Also after 2037, where old files of zones end: the rule at the end of the file goes on.
TEST(ScheduleTimes, DistantYears) {
  EXPECT_EQ(texts_of(cron_in("0 12 1 7 *", "Europe/Berlin").next(utc("2060-01-01T00:00"), 1)),
            (Texts{"2060-07-01T10:00Z"}));
  EXPECT_EQ(texts_of(cron_in("0 12 1 1 *", "Europe/Berlin").next(utc("2060-02-01T00:00"), 1)),
            (Texts{"2061-01-01T11:00Z"}));
}

TEST(ScheduleTimes, Bounds) {
  ScheduleSpec spec;
  spec.cron = "0 * * * *";
  spec.start_at = utc("2026-05-01T10:00");
  spec.end_at = utc("2026-05-01T12:00");
  EXPECT_EQ(texts_of(times_of(spec).next(0, 10)), (Texts{"2026-05-01T10:00Z", "2026-05-01T11:00Z"}));
}

TEST(ScheduleTimes, Intervals) {
  ScheduleSpec spec;
  spec.every_ms = 90 * 60 * 1000;
  EXPECT_EQ(texts_of(times_of(spec).next(utc("2026-05-01T00:00"), 2)),
            (Texts{"2026-05-01T01:30Z", "2026-05-01T03:00Z"}));
  spec.anchor_at = utc("2026-05-01T00:10");
  EXPECT_EQ(texts_of(times_of(spec).next(utc("2026-05-01T00:00"), 2)),
            (Texts{"2026-05-01T00:10Z", "2026-05-01T01:40Z"}));
  EXPECT_EQ(texts_of(times_of(spec).next(utc("2026-04-30T22:00"), 1)), (Texts{"2026-04-30T22:40Z"}));
  // Days of rest are those of the time zone.
  spec.exceptions = {"2026-05-01/2026-05-02"};
  spec.time_zone = "Europe/Berlin";
  spec.every_ms = 3600 * 1000;
  spec.anchor_at = 0;
  EXPECT_EQ(texts_of(times_of(spec).next(utc("2026-04-30T20:30"), 3)),
            (Texts{"2026-04-30T21:00Z", "2026-05-02T22:00Z", "2026-05-02T23:00Z"}));
}

TEST(ScheduleTimes, UnknownZones) {
  for (const char* zone : {"", "Mars/Phobos", "../../etc/passwd", "/etc/localtime", "localtime", "Europe/../UTC",
                           "utc ", "right/Europe/Berlin", "tzdata.zi", "Fixed/UTC+01:00:00", "file:Europe/Berlin"}) {
    ScheduleSpec spec;
    spec.cron = "* * * * *";
    spec.time_zone = zone;
    const auto times = ScheduleTimes::of(spec, system_time_zones().get());
    ASSERT_FALSE(times) << zone;
    EXPECT_EQ(times.error().field, "time_zone");
  }
  ScheduleSpec spec;
  spec.cron = "* * * * *";
  EXPECT_TRUE(ScheduleTimes::of(spec, nullptr)) << "UTC needs no tables";
  spec.time_zone = "Europe/Berlin";
  EXPECT_FALSE(ScheduleTimes::of(spec, nullptr));
}

// What the rules say, computed minute by minute, against the search.
std::vector<TimestampMs> by_minutes(const ScheduleSpec& spec, const TimeZone& zone, std::int64_t from_s,
                                    std::int64_t to_s) {
  const Cron cron = *parse_cron(spec.cron);
  const RestDays rest = *parse_rest_days(spec.exceptions);
  const auto named = [&](std::int64_t local) { return next_local(cron, rest, local) == local; };
  std::set<std::int64_t> found;
  if (cron.every_hour) {
    for (std::int64_t at = from_s; at <= to_s; at += 60) {
      if (named(zone.local(at))) found.insert(at);
    }
  } else {
    for (std::int64_t local = from_s - 2 * 86400; local < to_s + 2 * 86400; local += 60) {
      if (named(local)) found.insert(zone.instant(local));
    }
  }
  std::vector<TimestampMs> times;
  for (const std::int64_t at : found) {
    if (at > from_s && at <= to_s) times.push_back(at * 1000);
  }
  return times;
}

TEST(ScheduleTimes, TheSearchFindsWhatTheRulesSay) {
  const Entropy entropy = seeded_entropy(20261);
  const auto zones = system_time_zones();
  const std::vector<std::string> names = {"Europe/Berlin",  "America/New_York",  "Australia/Lord_Howe",
                                          "Asia/Kathmandu", "Africa/Casablanca", "America/St_Johns"};
  const std::vector<std::string> minutes = {"*", "*/7", "0", "30", "15,45", "59"};
  const std::vector<std::string> hours = {"*", "*/3", "0-4", "1", "2", "2,3", "23"};
  for (int i = 0; i < 400; ++i) {
    ScheduleSpec spec;
    spec.time_zone = names[entropy() % names.size()];
    spec.cron = minutes[entropy() % minutes.size()] + " " + hours[entropy() % hours.size()] + " * * *";
    if (entropy() % 3 == 0) spec.exceptions = {"2026-03-29", "10-25"};
    const TimeZone& zone = *zones->find(spec.time_zone);
    // Half of them around a change of the clocks.
    std::int64_t from = utc("2026-01-01T00:00") / 1000 + static_cast<std::int64_t>(entropy() % (365 * 86400));
    from -= from % 60;
    const auto change = zone.next_transition(from);
    if (change && entropy() % 2 == 0) from = *change - 86400;
    const std::int64_t to = from + 2 * 86400;
    const auto expected = by_minutes(spec, zone, from, to);
    const auto found = times_of(spec).next(from * 1000, static_cast<std::uint32_t>(expected.size()));
    EXPECT_EQ(texts_of(found), texts_of(expected)) << spec.time_zone << " " << spec.cron;
  }
}

}  // namespace
}  // namespace flowfabric
