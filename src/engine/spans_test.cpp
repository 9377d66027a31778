// Commands in, spans out: the lease periods and runs that the state machine reports, and the relation of their spans.
#include "engine/spans.hpp"

#include <gtest/gtest.h>

#include "base/hashing.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

using observe::Span;

constexpr const char* sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr const char* not_sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

std::string attribute(const Span& span, std::string_view key) {
  for (const observe::Attribute& one : span.attributes) {
    if (one.key != key) continue;
    const auto* text = std::get_if<std::string>(&one.value);
    return text != nullptr ? *text : std::to_string(std::get<std::int64_t>(one.value));
  }
  return "none";
}

template <std::size_t size>
std::string hex(const std::array<std::uint8_t, size>& id) {
  return to_hex({reinterpret_cast<const char*>(id.data()), id.size()});
}

class EngineSpans : public testing::Test {
 protected:
  ExecutionId create(CreateRequest request) {
    request.kind = "job";
    request.lane = "mail";
    id_ = stage.create(request);
    return id_;
  }
  // Runs commands as one batch; returns its spans in the order of "name outcome".
  std::vector<Span> batch(const std::vector<Command>& commands) {
    Workspace workspace;
    for (const Command& command : commands) {
      auto reply = stage.decide_in(workspace, command);
      EXPECT_TRUE(reply) << reply.error().message;
      if (reply && std::holds_alternative<ClaimedExecution>(*reply)) claimed = std::get<ClaimedExecution>(*reply);
    }
    record_spans(workspace.at(execution_key(id_)), tracer);
    stage.commit(workspace);
    return *tracer.next_batch(100, std::chrono::milliseconds(0));
  }
  std::vector<Span> claim(std::uint32_t ttl_ms = 500) {
    return batch({LeaseCommand{id_, "default", "w", "w-1", ttl_ms}});
  }
  Span one(const Command& command) {
    auto spans = batch({command});
    EXPECT_EQ(spans.size(), 1u);
    return spans.empty() ? Span{} : spans.front();
  }

  Rehearsal stage;
  observe::Tracer tracer;
  ClaimedExecution claimed;

 private:
  ExecutionId id_;
};

TEST_F(EngineSpans, ACompletedExecutionIsATree) {
  CreateRequest request;
  request.traceparent = sampled;
  const ExecutionId id = create(request);
  const TimestampMs created = stage.now;
  stage.now += 10;
  EXPECT_TRUE(claim().empty()) << "nothing has ended yet";
  stage.now += 20;
  const auto spans = batch({CompleteCommand{fence_of(claimed), {}}});
  ASSERT_EQ(spans.size(), 2u);
  const Span& life = spans[0];
  const Span& turn = spans[1];
  EXPECT_EQ(life.name, "execution job");
  EXPECT_EQ(hex(life.trace_id), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(hex(life.parent_id), "b7ad6b7169203331");
  EXPECT_EQ(life.start_ns, created * 1'000'000);
  EXPECT_EQ(life.end_ns, (created + 30) * 1'000'000);
  EXPECT_EQ(attribute(life, "flowfabric.execution.id"), to_string(id));
  EXPECT_EQ(attribute(life, "flowfabric.lane"), "mail");
  EXPECT_EQ(attribute(life, "flowfabric.outcome"), "completed");
  EXPECT_FALSE(life.failed);
  EXPECT_EQ(turn.name, "attempt job");
  EXPECT_EQ(turn.trace_id, life.trace_id);
  EXPECT_EQ(turn.parent_id, life.span_id);
  EXPECT_EQ(turn.start_ns, (created + 10) * 1'000'000);
  EXPECT_EQ(turn.end_ns, life.end_ns);
  EXPECT_EQ(attribute(turn, "flowfabric.outcome"), "completed");
  EXPECT_EQ(attribute(turn, "flowfabric.attempt.index"), "0");
  EXPECT_EQ(attribute(turn, "flowfabric.worker.instance_id"), "w-1");
  EXPECT_EQ(attribute(turn, "flowfabric.ended_by"), "w-1");
  EXPECT_FALSE(turn.failed);
}

TEST_F(EngineSpans, EveryTurnHasItsOwnAndAllHangUnderOneLife) {
  CreateRequest request;
  request.policy.retry = RetryPolicy{};
  create(request);
  claim();
  const Span failed = one(FailCommand{fence_of(claimed), {"smtp", "greylisted", {}}});
  EXPECT_EQ(attribute(failed, "flowfabric.outcome"), "retry_scheduled");
  EXPECT_EQ(attribute(failed, "error.type"), "smtp");
  EXPECT_EQ(failed.problem, "greylisted");
  EXPECT_TRUE(failed.failed);
  stage.now += 100000;
  claim();
  const Span delayed = one(DelayCommand{fence_of(claimed), stage.now + 10});
  EXPECT_EQ(attribute(delayed, "flowfabric.outcome"), "delayed");
  EXPECT_EQ(attribute(delayed, "flowfabric.attempt.index"), "1");
  EXPECT_EQ(attribute(delayed, "error.type"), "none");
  EXPECT_FALSE(delayed.failed);
  stage.now += 10;
  claim();
  const auto last = batch({CancelHeldCommand{fence_of(claimed), "enough"}});
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(attribute(last[0], "flowfabric.outcome"), "cancelled");
  EXPECT_EQ(attribute(last[1], "flowfabric.attempt.index"), "1") << "the delayed attempt went on";
  EXPECT_FALSE(last[0].failed);
  for (const Span& turn : {failed, delayed, last[1]}) {
    EXPECT_EQ(turn.parent_id, last[0].span_id);
    EXPECT_EQ(turn.trace_id, last[0].trace_id);
  }
  EXPECT_NE(delayed.span_id, last[1].span_id);
  EXPECT_NE(delayed.span_id, failed.span_id);
}

TEST_F(EngineSpans, TheClockEndsTurnsAndTheNextOneMayBeginInTheSameBatch) {
  const ExecutionId id = create({});
  claim();
  const TimestampMs begun = stage.now;
  stage.now += 600;
  const auto spans = batch({DueCommand{execution_key(id)}, LeaseCommand{id, "default", "v", "v-1", 500}});
  ASSERT_EQ(spans.size(), 1u) << "the second turn has only begun";
  EXPECT_EQ(attribute(spans[0], "flowfabric.outcome"), "lease_expired");
  EXPECT_EQ(attribute(spans[0], "flowfabric.worker.instance_id"), "w-1") << "not the one who came after";
  EXPECT_EQ(attribute(spans[0], "flowfabric.ended_by"), "clock");
  EXPECT_EQ(spans[0].start_ns, begun * 1'000'000);
  EXPECT_TRUE(spans[0].failed);
}

TEST_F(EngineSpans, ATimeoutIsAFailure) {
  CreateRequest request;
  request.policy.attempt_timeout_ms = 50;
  const ExecutionId id = create(request);
  claim();
  stage.now += 60;
  const auto spans = batch({DueCommand{execution_key(id)}});
  ASSERT_EQ(spans.size(), 2u);
  for (const Span& span : spans) {
    EXPECT_EQ(attribute(span, "flowfabric.outcome"), "failed");
    EXPECT_EQ(attribute(span, "error.type"), "timeout");
    EXPECT_EQ(attribute(span, "flowfabric.ended_by"), "clock");
  }
}

TEST_F(EngineSpans, ALeaseThatIsLostTooOftenEndsATurnAndALife) {
  CreateRequest request;
  request.policy.max_reclaims = 0;
  const ExecutionId id = create(request);
  claim();
  stage.now += 600;
  const auto spans = batch({DueCommand{execution_key(id)}});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(attribute(spans[0], "flowfabric.outcome"), "lease_expired");
  EXPECT_EQ(attribute(spans[0], "error.type"), "lease_expired");
  EXPECT_EQ(attribute(spans[1], "flowfabric.outcome"), "failed");
  EXPECT_EQ(attribute(spans[1], "error.type"), reclaim_cap_category);
  EXPECT_EQ(spans[0].parent_id, spans[1].span_id);
}

TEST_F(EngineSpans, WhatEndsUnclaimedHasNoTurn) {
  const ExecutionId id = create({});
  const Span life = one(CancelCommand{id, {"clara", "no longer wanted"}});
  EXPECT_EQ(life.name, "execution job");
  EXPECT_EQ(attribute(life, "flowfabric.ended_by"), "clara");
}

TEST_F(EngineSpans, AReplayIsAnotherLife) {
  const ExecutionId id = create({});
  claim();
  const auto first = batch({CompleteCommand{fence_of(claimed), {}}, ReplayCommand{id, {"clara", "again"}}});
  claim();
  const auto second = batch({CompleteCommand{fence_of(claimed), {}}});
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(attribute(first[0], "flowfabric.replay"), "0") << "it was over before the replay in the same batch";
  EXPECT_EQ(attribute(second[0], "flowfabric.replay"), "1");
  EXPECT_NE(first[0].span_id, second[0].span_id);
  EXPECT_EQ(first[1].parent_id, first[0].span_id);
  EXPECT_EQ(second[1].parent_id, second[0].span_id);
}

TEST_F(EngineSpans, WithoutASubmittersTraceTheExecutionIsOneOfItsOwn) {
  const ExecutionId id = create({});
  const Span life = one(CancelCommand{id, {"clara", ""}});
  EXPECT_EQ(life.trace_id, id.uuid.bytes);
  EXPECT_EQ(life.parent_id, observe::SpanId{});
}

TEST_F(EngineSpans, TheIdsAreTheSameWhoeverMakesThem) {
  CreateRequest request;
  request.id = parse_uuid("018f0000-0000-7000-8000-000000000001").value();
  const ExecutionId id = create(request);
  claim();
  const auto spans = batch({CancelCommand{id, {"clara", ""}}});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(hex(spans[0].span_id),
            to_hex({reinterpret_cast<const char*>(sha256(to_string(id) + " life 0").data()), 8}));
  EXPECT_EQ(hex(spans[1].span_id),
            to_hex({reinterpret_cast<const char*>(sha256(to_string(id) + " turn 1").data()), 8}));
}

TEST_F(EngineSpans, NobodyWantsATraceThatIsNotSampled) {
  CreateRequest request;
  request.traceparent = not_sampled;
  const ExecutionId id = create(request);
  EXPECT_TRUE(batch({CancelCommand{id, {"clara", ""}}}).empty());
}

TEST_F(EngineSpans, TheRatioIsForTracesThatBeginHere) {
  observe::Tracer none({0, 100});
  for (const bool given : {false, true}) {
    CreateRequest request;
    if (given) request.traceparent = sampled;
    const ExecutionId id = create(request);
    Workspace workspace;
    EXPECT_TRUE(stage.decide_in(workspace, CancelCommand{id, {"clara", ""}}));
    record_spans(workspace.at(execution_key(id)), none);
    stage.commit(workspace);
    EXPECT_EQ(none.queued(), given ? 1u : 0u);
  }
}

}  // namespace
}  // namespace flowfabric
