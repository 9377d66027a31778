#include "observe/tracer.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace flowfabric::observe {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds for_ever{3'600'000};

Span named(std::string name) {
  Span span;
  span.name = std::move(name);
  return span;
}

std::vector<std::string> names_of(const std::optional<std::vector<Span>>& batch) {
  std::vector<std::string> names;
  if (!batch) return {"nothing more"};
  for (const Span& span : *batch) names.push_back(span.name);
  return names;
}
using Names = std::vector<std::string>;

TEST(Traceparent, IsReadWhole) {
  const auto context = read_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id[0], 0x0a);
  EXPECT_EQ(context->trace_id[15], 0x9c);
  EXPECT_EQ(context->parent_id[0], 0xb7);
  EXPECT_EQ(context->parent_id[7], 0x31);
  EXPECT_TRUE(context->sampled);
  EXPECT_FALSE(read_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02")->sampled);
  EXPECT_TRUE(read_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03")->sampled);
  EXPECT_FALSE(read_traceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  EXPECT_FALSE(read_traceparent(""));
}

TEST(Span, CutsTextsThatAreTooLong) {
  Span span;
  span.add("key", std::string(100'000, 'x'));
  span.fail(std::string(100'000, 'y'));
  EXPECT_LE(std::get<std::string>(span.attributes[0].value).size(), max_span_text_bytes + 10);
  EXPECT_LE(span.problem.size(), max_span_text_bytes + 10);
}

TEST(Tracer, HandsOutInOrderAndInBatches) {
  Tracer tracer;
  for (const char* name : {"a", "b", "c"}) tracer.record(named(name));
  EXPECT_EQ(tracer.queued(), 3u);
  EXPECT_EQ(names_of(tracer.next_batch(2, for_ever)), (Names{"a", "b"})) << "there are enough, so nobody waits";
  EXPECT_EQ(names_of(tracer.next_batch(2, milliseconds(0))), Names{"c"});
  EXPECT_EQ(names_of(tracer.next_batch(2, milliseconds(0))), Names{});
}

TEST(Tracer, WhatDoesNotFitIsDroppedAndCounted) {
  Tracer tracer({1, 2});
  for (const char* name : {"a", "b", "c", "d"}) tracer.record(named(name));
  EXPECT_EQ(tracer.dropped_when_full.value(), 2u);
  EXPECT_EQ(names_of(tracer.next_batch(10, milliseconds(0))), (Names{"a", "b"}));
  tracer.record(named("e"));
  EXPECT_EQ(names_of(tracer.next_batch(10, milliseconds(0))), Names{"e"});
}

TEST(Tracer, AFullBatchWakesWhoWaits) {
  Tracer tracer;
  std::optional<std::vector<Span>> batch;
  std::thread waiting([&] { batch = tracer.next_batch(2, for_ever); });
  tracer.record(named("a"));
  tracer.record(named("b"));
  waiting.join();
  EXPECT_EQ(names_of(batch), (Names{"a", "b"}));
}

TEST(Tracer, AfterTheEndItGivesWhatIsThereAndTakesNoMore) {
  Tracer tracer;
  tracer.record(named("a"));
  tracer.finish();
  tracer.record(named("b"));
  EXPECT_EQ(tracer.dropped_at_stop.value(), 1u);
  EXPECT_EQ(names_of(tracer.next_batch(10, for_ever)), Names{"a"});
  EXPECT_EQ(names_of(tracer.next_batch(10, for_ever)), Names{"nothing more"});
}

std::size_t sampled_of(const Tracer& tracer, std::size_t count) {
  std::size_t sampled = 0;
  for (std::size_t i = 0; i < count; ++i) {
    TraceId id{};  // as little random as possible
    id[15] = static_cast<std::uint8_t>(i);
    id[14] = static_cast<std::uint8_t>(i >> 8);
    if (tracer.samples(id)) ++sampled;
  }
  return sampled;
}

TEST(Tracer, SamplesAsManyAsItIsTold) {
  EXPECT_EQ(sampled_of(Tracer({0, 1}), 10'000), 0u);
  EXPECT_EQ(sampled_of(Tracer({1, 1}), 10'000), 10'000u);
  const std::size_t some = sampled_of(Tracer({0.25, 1}), 10'000);
  EXPECT_GT(some, 2'200u);
  EXPECT_LT(some, 2'800u);
  EXPECT_EQ(some, sampled_of(Tracer({0.25, 1}), 10'000)) << "two servers must agree";
}

}  // namespace
}  // namespace flowfabric::observe
