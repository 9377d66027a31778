#include "observe/metrics.hpp"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "observe/process.hpp"
#include "support/exposition.hpp"

namespace flowfabric::observe {
namespace {

using test::parse_exposition;

TEST(Metrics, WritesEachKindInTheTextFormat) {
  Registry registry;
  auto& calls = registry.counters({"calls_total", "Calls.", {Label::closed("name"), Label::closed("outcome")}});
  calls.with("create", "ok").add(3);
  calls.with("claim", "not_found").add();
  registry.gauges({"depth", "How deep it is."}).with().set(-2);
  auto& took = registry.histograms({"took_seconds", "How long."}, {{1'000'000, 2'500'000}, 1e9}).with();
  took.observe(1'000'000);  // a bound belongs to its bucket
  took.observe(1'000'001);
  took.observe(5'000'000'000);
  registry.computed_gauges({"answer", "Asked for."}, one_value([] { return 0.5; }));
  EXPECT_EQ(registry.text(),
            "# HELP answer Asked for.\n"
            "# TYPE answer gauge\n"
            "answer 0.5\n"
            "# HELP calls_total Calls.\n"
            "# TYPE calls_total counter\n"
            "calls_total{name=\"claim\",outcome=\"not_found\"} 1\n"
            "calls_total{name=\"create\",outcome=\"ok\"} 3\n"
            "# HELP depth How deep it is.\n"
            "# TYPE depth gauge\n"
            "depth -2\n"
            "# HELP took_seconds How long.\n"
            "# TYPE took_seconds histogram\n"
            "took_seconds_bucket{le=\"0.001\"} 1\n"
            "took_seconds_bucket{le=\"0.0025\"} 2\n"
            "took_seconds_bucket{le=\"+Inf\"} 3\n"
            "took_seconds_sum 5.002000001\n"
            "took_seconds_count 3\n");
}

TEST(Metrics, EscapesWhatUsersChoose) {
  Registry registry;
  const std::string nasty = "a\\b\"c\nd{}=, é";
  registry.counters({"made_total", "A back\\slash and\na new \"line\".", {Label::open("lane")}}).with(nasty).add();
  const auto read = parse_exposition(registry.text());
  EXPECT_EQ(read.sum("made_total", {{"lane", nasty}}), 1);
  EXPECT_EQ(read.families.at("made_total").help, "A back\\slash and\na new \"line\".");
}

TEST(Metrics, AFamilyWithoutSeriesHasItsHeadOnly) {
  Registry registry;
  registry.counters({"made_total", "Made.", {Label::open("lane")}});
  registry.computed_gauges({"unknown", "Not known now."}, [] { return std::vector<Sample>{}; });
  const auto read = parse_exposition(registry.text());
  EXPECT_EQ(read.families.size(), 2u);
  EXPECT_TRUE(read.families.at("made_total").samples.empty());
}

TEST(Metrics, BeyondItsBoundAFamilyCallsWhatUsersChooseOther) {
  Registry registry;
  auto& ends = registry.counters({"ends_total", "Ends.", {Label::open("lane"), Label::closed("outcome")}, 10});
  for (int lane = 0; lane < 1000; ++lane) {
    ends.with(std::to_string(lane), "ok").add();
    ends.with(std::to_string(lane), "failed").add(2);
  }
  ends.with("0", "ok").add();  // existing series are still counted
  const auto read = parse_exposition(registry.text());
  EXPECT_EQ(read.samples("ends_total").size(), 12u);
  EXPECT_EQ(read.sum("ends_total", {{"lane", "0"}, {"outcome", "ok"}}), 2);
  EXPECT_EQ(read.sum("ends_total", {{"lane", "other"}, {"outcome", "ok"}}), 995);
  EXPECT_EQ(read.sum("ends_total", {{"outcome", "failed"}}), 2000);
}

TEST(Metrics, ALabelThatIsWronglyCalledClosedIsBoundedToo) {
  Registry registry;
  auto& calls = registry.counters({"calls_total", "Calls.", {Label::closed("who")}, 10});
  for (int who = 0; who < 10000; ++who) calls.with(std::to_string(who)).add();
  const auto read = parse_exposition(registry.text());
  EXPECT_LE(read.samples("calls_total").size(), 100u);
  EXPECT_EQ(read.sum("calls_total"), 10000);
}

TEST(Metrics, WhatIsComputedIsBoundedToo) {
  Registry registry;
  registry.computed_gauges({"ready", "Ready.", {Label::open("lane")}, 10}, [] {
    std::vector<Sample> samples;
    for (int lane = 0; lane < 100; ++lane) samples.push_back({{std::to_string(lane)}, 1});
    return samples;
  });
  const auto read = parse_exposition(registry.text());
  EXPECT_EQ(read.samples("ready").size(), 11u);
  EXPECT_EQ(read.sum("ready", {{"lane", "other"}}), 90);
}

TEST(Metrics, NothingIsLostBetweenThreadsThatMakeAndCountSeries) {
  Registry registry;
  auto& calls = registry.counters({"calls_total", "Calls.", {Label::open("lane")}, 50});
  auto& took = registry.histograms({"took", "Took.", {Label::open("lane")}, 50}, sizes());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const std::string lane = std::to_string(i % 100);
        calls.with(lane).add();
        took.with(lane).observe(i % 2000);
        if (i % 1000 == 0) parse_exposition(registry.text());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto read = parse_exposition(registry.text());
  EXPECT_EQ(read.sum("calls_total"), 80000);
  EXPECT_EQ(read.sum("took_count"), 80000);
  EXPECT_EQ(read.samples("calls_total").size(), 51u);
}

TEST(Metrics, ADearQuestionIsAskedAgainOnlyAfterTwentyTimesAsLong) {
  constexpr std::int64_t second = 1'000'000'000;
  std::int64_t now = 1000 * second;
  std::int64_t takes = second / 10;
  int asked = 0;
  const Compute compute = seldom(
      [&] {
        now += takes;
        return std::vector<Sample>{{{}, static_cast<double>(++asked)}};
      },
      [&] { return now; });
  EXPECT_EQ(compute().front().value, 1);
  now += 2 * second - 1;
  EXPECT_EQ(compute().front().value, 1);
  now += 1;
  takes = 10 * second;
  EXPECT_EQ(compute().front().value, 2);
  now += 30 * second - 1;
  EXPECT_EQ(compute().front().value, 2);
  now += 1;
  EXPECT_EQ(compute().front().value, 3) << "half a minute is the most";
}

TEST(Metrics, TheProcessIsDescribed) {
  Registry registry;
  add_process_metrics(registry, "1.2.3");
  const auto read = parse_exposition(registry.text());
  EXPECT_GT(read.sum("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(read.sum("process_cpu_seconds_total"), 0);
  EXPECT_GE(read.sum("process_open_fds"), 3);
  const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double started = read.sum("process_start_time_seconds");
  EXPECT_LT(started, now + 2);
  EXPECT_GT(started, now - 24 * 3600);
  EXPECT_EQ(read.sum("flowfabric_build_info", {{"version", "1.2.3"}}), 1);
}

// Other tests rely on this parser.
TEST(Exposition, RefusesWhatIsNotTheFormat) {
  const std::string head = "# HELP a_total A.\n# TYPE a_total counter\n";
  EXPECT_NO_THROW(parse_exposition(head + "a_total{x=\"1\"} 1\n"));
  for (const std::string bad : {
           "a_total 1",                        // no end of line
           "a_total\n",                        // no value
           "a_total  1\n",                     // two spaces
           "a_total 1 \n",                     // a space at the end
           "a_total one\n",                    // no number
           "a_total nan\n",                    // no number of ours
           "a_total -1\n",                     // a counter that fell
           "a_total 1\n\n",                    // an empty line
           "a_total 1\na_total 1\n",           // twice
           "a_total{} 1\n",                    // no label
           "a_total{x=\"1\",} 1\n",            // a comma too many
           "a_total{x=1} 1\n",                 // no quotes
           "a_total{x=\"1\",x=\"2\"} 1\n",     // a label twice
           "a_total{1x=\"1\"} 1\n",            // no name
           "a_total{x=\"\\t\"} 1\n",           // no such escape
           "a_total{x=\"1} 1\n",               // no end
           "a_total{x=\"1\"} 1\na_total 1\n",  // different labels
           "b_total 1\n",                      // without a head
           "# comment\na_total 1\n",
           "# HELP a_total A.\n# TYPE a_total counter\n",  // the same family again
           "# HELP b_total B.\n",                          // no type
           "# TYPE b_total counter\nb_total 1\n",          // no help
           "# HELP b B.\n# TYPE b counter\nb 1\n",         // a counter by another name
           "# HELP b B.\n# TYPE b tally\nb 1\n",           // no such type
       }) {
    EXPECT_THROW(parse_exposition(head + bad), std::runtime_error) << bad;
  }
}

TEST(Exposition, RefusesHistogramsThatDoNotAddUp) {
  const std::string head = "# HELP h H.\n# TYPE h histogram\n";
  EXPECT_NO_THROW(parse_exposition(head + "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3.5\nh_count 2\n"));
  for (const std::string bad : {
           "h_bucket{le=\"1\"} 1\nh_sum 3.5\nh_count 1\n",                           // no +Inf
           "h_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\nh_sum 3.5\nh_count 2\n",  // falls
           "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 2\n",
           "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3.5\nh_count 3\n",  // another count
           "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_count 2\n",             // no sum
           "h_bucket{le=\"+Inf\"} 2\nh_sum{le=\"1\"} 1\nh_count 2\n",                // le elsewhere
       }) {
    EXPECT_THROW(parse_exposition(head + bad), std::runtime_error) << bad;
  }
}

}  // namespace
}  // namespace flowfabric::observe
