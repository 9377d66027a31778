#include "core/records.hpp"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "base/codec.hpp"
#include "base/entropy.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/route.hpp"

namespace flowfabric {
namespace {

Uuid some_uuid(std::uint8_t first) {
  Uuid uuid;
  for (std::size_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::uint8_t>(first + i * 13);
  return uuid;
}

RetentionPolicy full_retention() { return {1, 2, 3, 4, limits::max_duration_ms}; }

Policy full_policy() {
  Policy policy;
  policy.retry = RetryPolicy{7, RetryPolicy::Backoff::fixed, 11, 12, 150, RetryPolicy::Jitter::full, {"io", "net"}};
  policy.attempt_timeout_ms = 13;
  policy.on_lease_lost = OnLeaseLost::manual;
  policy.reclaim_grace_ms = 14;
  policy.max_reclaims = 15;
  policy.max_replays = 16;
  policy.dedup_window_ms = 17;
  policy.retention = full_retention();
  return policy;
}

Spec full_spec() {
  Spec spec;
  spec.name_space = "space";
  spec.lane = "lane";
  spec.kind = "kind";
  spec.creator = "creator";
  spec.payload_encoding = "raw";
  spec.payload = std::string("\0\xff\n", 3);
  spec.payload_bytes = 3;
  spec.required_capabilities = {"a", "b"};
  spec.route = route_of(spec.lane, spec.required_capabilities);
  spec.policy = full_policy();
  spec.namespace_retention = full_retention();
  spec.deadline_span_ms = 5;
  spec.flow = some_uuid(1);
  spec.created_at = 6;
  spec.request_digest = UINT64_MAX;
  return spec;
}

Attempt full_attempt() {
  Attempt attempt;
  attempt.attempt_index = 1;
  attempt.attempt_id = some_uuid(2);
  attempt.attempt_type = AttemptType::replay;
  attempt.attempt_state = AttemptState::interrupted_reclaimed;
  attempt.lease_epoch = 3;
  attempt.worker_id = "w";
  attempt.worker_instance_id = "w-1";
  attempt.started_at = 4;
  attempt.suspended_at = 5;
  attempt.resumed_at = 6;
  attempt.ended_at = 7;
  attempt.timeout_at = 8;
  attempt.timeout_left_ms = 9;
  attempt.previous_attempt_index = 0;
  attempt.reason = "why";
  attempt.requested_by = "who";
  attempt.failure = Failure{"category", "message", std::string("\0d", 2)};
  attempt.has_result = true;
  return attempt;
}

Release full_release() {
  Release release;
  release.operation = Release::Operation::cancel;
  release.lease_id = some_uuid(3);
  release.lease_epoch = 1;
  release.attempt_index = 2;
  release.request_digest = 3;
  release.fail = {FailReply::Decision::failed, 4, 5, "reason"};
  release.delay_until = 6;
  return release;
}

Facts full_facts() {
  Facts facts;
  facts.phase = Phase::terminal;
  facts.outcome = Outcome::skipped;
  facts.priority = limits::min_priority;
  facts.gates = UINT32_MAX;
  facts.delay_until = 1;
  facts.delay_cause = DelayCause::reclaim_grace;
  facts.deadline_at = 2;
  facts.lease_epoch = UINT64_MAX;
  facts.lease = Lease{some_uuid(4), 3, "fleet", "w", "w-1", 4, 5, 6, 7};
  facts.lost = {LeaseLoss::revoked, 8, some_uuid(7), "v", "v-1", 9, 10};
  facts.grant = HeldGrant{GrantKind::reclaim, std::string("\0id", 3), "u", 20};
  facts.pending = PendingAttempt{AttemptType::replay, 9, "reason", "who"};
  facts.attempt = full_attempt();
  facts.attempt_count = 10;
  facts.retry_count = 11;
  facts.reclaim_count = 12;
  facts.replay_count = 13;
  facts.ready_sequence = (1ULL << 63) - 1;
  facts.armed_due = 14;
  facts.started_at = 15;
  facts.finished_at = 16;
  facts.last_transition_at = 17;
  facts.last_mutation_at = 18;
  facts.retain_until = limits::max_timestamp_ms;
  facts.progress = Progress{100, "done", 19};
  facts.failure = Failure{"c", "m", "d"};
  facts.cancellation_reason = "enough";
  facts.cancelled_by = "ops";
  facts.tags = {{"app.a", ""}, {"app.b", "2"}};
  facts.release = full_release();
  facts.has_result = true;
  facts.result_is_inline = true;
  facts.result = std::string("\0r", 2);
  facts.attempt->result_encoding = "raw";
  return facts;
}

Facts facts_with_steps() {
  Facts facts = full_facts();
  facts.steps.good = {{1, 4}, {6, 7}};
  facts.steps.failed = {{5, 0}, {8, 9}};
  facts.has_checkpoint = true;
  return facts;
}

Event full_event() {
  Event event;
  event.type = EventType::keys_rotated;
  event.at = 1;
  event.execution_id = ExecutionId{255, some_uuid(5)};
  event.worker_instance_id = "w-1";
  event.name_space = "space";
  event.lane = "lane";
  event.kind = "kind";
  event.attempt_index = 2;
  event.lease_epoch = 3;
  event.state_before = PublicState::skipped;
  event.state_after = PublicState::resumable;
  event.actor = "who";
  event.reason = "why";
  event.next_at = 4;
  return event;
}

LaneRecord full_lane() { return {{"lane", LaneState::disabled, 1, "who", "why"}}; }
NamespaceRecord full_namespace() { return {{"space", full_retention()}}; }
IdempotencyRecord full_idempotency() { return {{255, some_uuid(6)}, UINT64_MAX, 1, 2}; }
KeyringRecord full_keyring() { return {{{1, "first", 3, 4}, {2, std::string("\0second", 7), 5, 0}}}; }

WorkerRecord full_worker() {
  WorkerRecord record;
  WorkerInfo& info = record.info;
  info.name_space = "space";
  info.worker_id = "w";
  info.worker_instance_id = "w-1";
  info.lanes = {"fast", "slow"};
  info.capabilities = {"cuda", "gpu"};
  info.liveness_ttl_ms = UINT32_MAX;
  info.registered_at = 1;
  info.last_heartbeat_at = 2;
  info.expires_at = limits::max_timestamp_ms;
  info.partition = worker_partition("w-1");
  info.draining = true;
  info.state = WorkerState::ttl_swept;
  info.ended_at = 3;
  info.ended_by = "who";
  info.reason = "why";
  record.release_until = 4;
  record.armed_due = 5;
  return record;
}

// Every kind of record as bytes, with a function that decodes it and tells whether that worked.
struct Sample {
  std::string name;
  std::string bytes;
  std::function<Result<std::string>(std::string_view)> again;  // decodes and encodes
};

template <class Decode>
std::function<Result<std::string>(std::string_view)> again_with(Decode decode) {
  return [decode](std::string_view bytes) -> Result<std::string> {
    const auto value = decode(bytes);
    if (!value) return Unexpected(value.error());
    return encode(*value);
  };
}

std::vector<Sample> samples() {
  return {
      {"spec", encode(full_spec()), again_with(decode_spec)},
      {"default spec", encode(Spec{}), again_with(decode_spec)},
      {"facts", encode(full_facts()), again_with(decode_facts)},
      {"default facts", encode(Facts{}), again_with(decode_facts)},
      {"step facts", encode(facts_with_steps()), again_with(decode_facts)},
      {"attempt", encode(full_attempt()), again_with(decode_attempt)},
      {"default attempt", encode(Attempt{}), again_with(decode_attempt)},
      {"lane", encode(full_lane()), again_with(decode_lane)},
      {"default lane", encode(LaneRecord{}), again_with(decode_lane)},
      {"namespace", encode(full_namespace()), again_with(decode_namespace)},
      {"default namespace", encode(NamespaceRecord{}), again_with(decode_namespace)},
      {"idempotency", encode(full_idempotency()), again_with(decode_idempotency)},
      {"default idempotency", encode(IdempotencyRecord{}), again_with(decode_idempotency)},
      {"keyring", encode(full_keyring()), again_with(decode_keyring)},
      {"default keyring", encode(KeyringRecord{}), again_with(decode_keyring)},
      {"worker", encode(full_worker()), again_with(decode_worker)},
      {"default worker", encode(WorkerRecord{}), again_with(decode_worker)},
      {"event", encode(full_event()), again_with(decode_event)},
      {"default event", encode(Event{}), again_with(decode_event)},
  };
}

// Bytes in a separate allocation, so that a sanitizer detects reading one byte too far.
std::vector<char> alone(std::string_view bytes) { return {bytes.begin(), bytes.end()}; }

Result<std::string> decode_alone(const Sample& sample, std::string_view bytes) {
  const std::vector<char> block = alone(bytes);
  return sample.again({block.data(), block.size()});
}

TEST(Records, EveryFieldRoundTrips) {
  EXPECT_EQ(decode_spec(encode(full_spec())), full_spec());
  EXPECT_EQ(decode_facts(encode(full_facts())), full_facts());
  EXPECT_EQ(decode_facts(encode(facts_with_steps())), facts_with_steps());
  EXPECT_EQ(decode_attempt(encode(full_attempt())), full_attempt());
  EXPECT_EQ(decode_event(encode(full_event())), full_event());
  EXPECT_EQ(decode_lane(encode(full_lane()))->info, full_lane().info);
  EXPECT_EQ(decode_namespace(encode(full_namespace()))->info, full_namespace().info);
  const auto idempotency = *decode_idempotency(encode(full_idempotency()));
  EXPECT_EQ(idempotency.execution_id, full_idempotency().execution_id);
  EXPECT_EQ(idempotency.request_digest, UINT64_MAX);
  EXPECT_EQ(idempotency.expires_at, 1);
  EXPECT_EQ(idempotency.armed_due, 2);
  const auto keyring = *decode_keyring(encode(full_keyring()));
  ASSERT_EQ(keyring.keys.size(), 2u);
  EXPECT_EQ(keyring.keys[1].key_id, 2u);
  EXPECT_EQ(keyring.keys[1].secret, full_keyring().keys[1].secret);
  EXPECT_EQ(keyring.keys[0].created_at, 3);
  EXPECT_EQ(keyring.keys[0].expires_at, 4);
  EXPECT_EQ(keyring.keys[1].created_at, 5);
  EXPECT_EQ(keyring.keys[1].expires_at, 0);
  EXPECT_EQ(decode_worker(encode(full_worker())), full_worker());
}

TEST(Records, DefaultsRoundTrip) {
  Spec nothing;
  nothing.route = route_of("", {});
  EXPECT_EQ(decode_spec(encode(nothing)), nothing);
  EXPECT_EQ(decode_facts(encode(Facts{})), Facts{});
  EXPECT_EQ(decode_attempt(encode(Attempt{})), Attempt{});
  EXPECT_EQ(decode_event(encode(Event{})), Event{});
  for (const Sample& sample : samples()) EXPECT_EQ(sample.again(sample.bytes), sample.bytes) << sample.name;
}

TEST(Records, EveryReleaseOperationRoundTrips) {
  for (const auto operation :
       {Release::Operation::none, Release::Operation::complete, Release::Operation::fail, Release::Operation::delay,
        Release::Operation::cancel, Release::Operation::release, Release::Operation::join}) {
    Facts facts;
    if (operation != Release::Operation::none) facts.release = full_release();
    facts.release.operation = operation;
    EXPECT_EQ(decode_facts(encode(facts)), facts);
  }
}

TEST(Records, EveryTruncationIsCorruption) {
  for (const Sample& sample : samples()) {
    for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
      const auto result = decode_alone(sample, std::string_view(sample.bytes).substr(0, size));
      ASSERT_FALSE(result) << sample.name << " cut to " << size;
      EXPECT_EQ(result.error().code, Errc::corruption);
    }
  }
}

TEST(Records, AByteTooManyIsCorruption) {
  for (const Sample& sample : samples()) {
    const auto result = decode_alone(sample, sample.bytes + '\0');
    ASSERT_FALSE(result) << sample.name;
    EXPECT_EQ(result.error().code, Errc::corruption);
  }
}

TEST(Records, AnotherLayoutIsCorruption) {
  for (const Sample& sample : samples()) {
    for (const int layout : {0, 9, 255}) {
      std::string bytes = sample.bytes;
      bytes[0] = static_cast<char>(layout);
      const auto result = decode_alone(sample, bytes);
      ASSERT_FALSE(result) << sample.name;
      EXPECT_NE(result.error().message.find("layout"), std::string::npos);
    }
  }
}

TEST(Records, WhatHasOneLayoutOnlyRefusesTheSecond) {
  for (const Sample& sample : samples()) {
    const bool has_two =
        sample.name.ends_with("facts") || sample.name.ends_with("event") || sample.name.ends_with("keyring");
    if (has_two) continue;
    std::string bytes = sample.bytes;
    bytes[0] = 2;
    const auto result = decode_alone(sample, bytes);
    ASSERT_FALSE(result) << sample.name;
    EXPECT_EQ(result.error().code, Errc::corruption);
  }
}

// ---- Layout 1 ------------------------------------------------------------------------------------------------------

// Bytes as written before grants, worker namespaces and expiring keys existed.
const char facts_of_layout_1[] =
    "010305ffff03ffffffff0f020404ffffffffffffffffff010104111e2b3845525f6c798693a0adbac703017703772d31040a0c0e0208010301"
    "0906726561736f6e0377686f0101020f1c293643505d6a7784919eabb8c5030603017703772d31080a0c0e10120100037768790377686f0108"
    "63617465676f7279076d65737361676502006401037261770a0b0c0dffffffffffffffff7f1c1e202224feeffea1fa9d7301016404646f6e65"
    "26010163016d016406656e6f756768036f707302056170702e6100056170702e6201320403101d2a3744515e6b7885929facb9c60102030108"
    "0506726561736f6e0c0101020072";
const char event_of_layout_1[] =
    "01110201ff0105121f2c394653606d7a8794a1aebbc8057370616365046c616e65046b696e640102030b060377686f0377687908";
const char keyring_of_layout_1[] = "0102010566697273740207007365636f6e64";

// Fields that layout 1 does not have get their default values.
Facts facts_before_layout_2() {
  Facts facts = full_facts();
  facts.lease->worker_namespace.clear();
  facts.lost = {};
  facts.lost.cause = LeaseLoss::revoked;
  facts.lost.lease_epoch = 8;
  facts.grant.reset();
  return facts;
}

TEST(Layout1, FactsAreStillReadAndWrittenAnew) {
  const auto facts = decode_facts(*from_hex(facts_of_layout_1));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(*facts, facts_before_layout_2());
  EXPECT_EQ(encode(*facts)[0], 2);
  EXPECT_EQ(decode_facts(encode(*facts)), facts);
}

TEST(Layout1, EventsAreStillRead) {
  Event expected = full_event();
  expected.type = EventType::namespace_changed;
  expected.worker_instance_id.clear();
  EXPECT_EQ(decode_event(*from_hex(event_of_layout_1)), expected);
  EXPECT_EQ(to_hex(encode(expected)), event_of_layout_1) << "an event that names no worker looks as it always did";
}

TEST(Layout1, KeyringsAreStillReadAndTheirKeysDoNotExpire) {
  const auto keyring = decode_keyring(*from_hex(keyring_of_layout_1));
  ASSERT_TRUE(keyring) << keyring.error().message;
  ASSERT_EQ(keyring->keys.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(keyring->keys[i].key_id, full_keyring().keys[i].key_id);
    EXPECT_EQ(keyring->keys[i].secret, full_keyring().keys[i].secret);
    EXPECT_EQ(keyring->keys[i].created_at, 0);
    EXPECT_EQ(keyring->keys[i].expires_at, 0);
  }
}

TEST(Layout1, TruncationsAndExtraBytesAreCorruption) {
  const std::vector<Sample> old = {
      {"facts", *from_hex(facts_of_layout_1), again_with(decode_facts)},
      {"event", *from_hex(event_of_layout_1), again_with(decode_event)},
      {"keyring", *from_hex(keyring_of_layout_1), again_with(decode_keyring)},
  };
  for (const Sample& sample : old) {
    for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
      EXPECT_FALSE(decode_alone(sample, std::string_view(sample.bytes).substr(0, size))) << sample.name << " " << size;
    }
    EXPECT_FALSE(decode_alone(sample, sample.bytes + '\0')) << sample.name;
  }
}

TEST(Records, MutatedBytesGiveCorruptionOrAValue) {
  const Entropy entropy = seeded_entropy(11);
  for (const Sample& sample : samples()) {
    for (int round = 0; round < 3000; ++round) {
      std::string bytes = sample.bytes;
      const std::uint64_t changes = 1 + entropy() % 4;
      for (std::uint64_t i = 0; i < changes; ++i) bytes[entropy() % bytes.size()] = static_cast<char>(entropy());
      if (entropy() % 4 == 0) bytes.resize(entropy() % (bytes.size() + 1));
      const auto result = decode_alone(sample, bytes);
      if (!result) {
        EXPECT_EQ(result.error().code, Errc::corruption) << sample.name;
      }
    }
  }
}

TEST(Records, RandomBytesGiveCorruptionOrAValue) {
  const Entropy entropy = seeded_entropy(12);
  for (const Sample& sample : samples()) {
    for (int round = 0; round < 1000; ++round) {
      std::string bytes(1, static_cast<char>(1 + entropy() % 2));
      for (std::uint64_t size = entropy() % 64; size > 0; --size) bytes += static_cast<char>(entropy());
      const auto result = decode_alone(sample, bytes);
      if (!result) {
        EXPECT_EQ(result.error().code, Errc::corruption);
      }
    }
  }
}

// ---- Values that no enum has ---------------------------------------------------------------------------------------

// Where the two encodings differ is the enum: every value above the last is tried there.
template <class T, class Decode>
void expect_bound(const T& lowest, const T& greatest, std::uint8_t last, Decode decode, const char* what) {
  const std::string a = encode(lowest);
  std::string b = encode(greatest);
  ASSERT_EQ(a.size(), b.size()) << what;
  const auto place = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
  ASSERT_LT(place, a.size()) << what;
  EXPECT_EQ(static_cast<std::uint8_t>(b[place]), last) << what;
  for (int value = last + 1; value < 256; ++value) {
    b[place] = static_cast<char>(value);
    const auto result = decode(b);
    ASSERT_FALSE(result) << what << " " << value;
    EXPECT_EQ(result.error().code, Errc::corruption);
  }
}

template <class Member>
void expect_fact_bound(Member Facts::* member, Member last, const char* what) {
  Facts greatest;
  greatest.*member = last;
  Facts lowest;
  lowest.*member = Member{};
  expect_bound(lowest, greatest, static_cast<std::uint8_t>(last), decode_facts, what);
}

TEST(Records, UnknownEnumValuesInFactsAreCorruption) {
  expect_fact_bound(&Facts::phase, Phase::terminal, "phase");
  expect_fact_bound(&Facts::outcome, Outcome::skipped, "outcome");
  expect_fact_bound(&Facts::delay_cause, DelayCause::reclaim_grace, "delay_cause");
  Facts low;
  Facts high;
  low.lost.cause = LeaseLoss::expired;
  high.lost.cause = LeaseLoss::revoked;
  expect_bound(low, high, 2, decode_facts, "lost.cause");
  low = {};
  low.grant = HeldGrant{};
  high = low;
  high.grant->kind = GrantKind::reclaim;
  expect_bound(low, high, 1, decode_facts, "grant.kind");
  low = {};
  low.release = full_release();
  high = low;
  low.release.operation = Release::Operation::complete;
  high.release.operation = Release::Operation::join;
  expect_bound(low, high, 6, decode_facts, "release.operation");
  low = high;
  low.release.fail.decision = FailReply::Decision::retry_scheduled;
  expect_bound(low, high, 1, decode_facts, "release.fail.decision");
  low.pending = PendingAttempt{};
  high = low;
  high.pending->type = AttemptType::replay;
  expect_bound(low, high, 3, decode_facts, "pending.type");
}

TEST(Records, UnknownEnumValuesElsewhereAreCorruption) {
  Attempt attempt;
  Attempt attempt_high;
  attempt_high.attempt_type = AttemptType::replay;
  expect_bound(attempt, attempt_high, 3, decode_attempt, "attempt_type");
  attempt_high = attempt;
  attempt_high.attempt_state = AttemptState::interrupted_reclaimed;
  expect_bound(attempt, attempt_high, 6, decode_attempt, "attempt_state");
  Spec spec;
  spec.policy.retry = RetryPolicy{};
  Spec spec_high = spec;
  spec_high.policy.retry->backoff = RetryPolicy::Backoff::fixed;
  expect_bound(spec, spec_high, 1, decode_spec, "backoff");
  spec_high = spec;
  spec_high.policy.retry->jitter = RetryPolicy::Jitter::full;
  expect_bound(spec, spec_high, 1, decode_spec, "jitter");
  spec_high = spec;
  spec_high.policy.on_lease_lost = OnLeaseLost::manual;
  expect_bound(spec, spec_high, 1, decode_spec, "on_lease_lost");
  expect_bound(LaneRecord{}, LaneRecord{{"", LaneState::disabled, 0, "", ""}}, 3, decode_lane, "lane state");
  Event event;
  Event event_high;
  event_high.type = EventType::budget_adjusted;
  expect_bound(event, event_high, 76, decode_event, "event type");
  event_high = event;
  event_high.state_before = PublicState::skipped;
  expect_bound(event, event_high, 11, decode_event, "state_before");
  event_high = event;
  event_high.state_after = PublicState::skipped;
  expect_bound(event, event_high, 11, decode_event, "state_after");
  WorkerRecord worker;
  WorkerRecord worker_high;
  worker_high.info.state = WorkerState::ttl_swept;
  expect_bound(worker, worker_high, 3, decode_worker, "worker state");
}

TEST(Records, AnEventOfTypeZeroIsCorruption) {
  std::string bytes = encode(Event{});
  ASSERT_EQ(bytes[1], 1) << "the type follows the layout";
  bytes[1] = 0;
  const auto event = decode_event(bytes);
  ASSERT_FALSE(event) << "event types start at one";
  EXPECT_EQ(event.error().code, Errc::corruption);
}

TEST(Records, NumbersTooGreatForTheirFieldAreCorruption) {
  Encoder idempotency;
  idempotency.u8(1);
  idempotency.unsigned_number(65536 + 5);
  idempotency.uuid({});
  idempotency.unsigned_number(0);
  idempotency.number(0);
  idempotency.number(0);
  EXPECT_FALSE(decode_idempotency(idempotency.take())) << "a partition of 65541 must not be read as 5";

  const std::string facts = encode(Facts{});
  Encoder priority;
  priority.number(1LL << 32);
  const std::string wide = facts.substr(0, 3) + priority.take() + facts.substr(4);
  EXPECT_FALSE(decode_facts(wide)) << "a priority of 2^32 must not be read as 0";
}

// ---- Keys ----------------------------------------------------------------------------------------------------------

TEST(Keys, LayoutIsKindIdPartition) {
  const Key key = make_key(RecordKind::lane, "abc", 0x0102);
  EXPECT_EQ(key.bytes, std::string("labc\x01\x02"));
  EXPECT_EQ(key.kind(), RecordKind::lane);
  EXPECT_EQ(key.id(), "abc");
  EXPECT_EQ(key.partition(), 0x0102);
  EXPECT_EQ(make_key(RecordKind::lane, "", 0xffff).partition(), 0xffff);
}

TEST(Keys, OfExecutionsCarryTheWholeId) {
  const ExecutionId id{200, some_uuid(9)};
  const Key key = execution_key(id);
  EXPECT_EQ(key.bytes.size(), 19u);
  EXPECT_EQ(key.kind(), RecordKind::execution);
  EXPECT_EQ(execution_id_of(key), id);
}

TEST(Keys, OrderByKindThenId) {
  EXPECT_LT(execution_key({255, some_uuid(255)}), lane_key("a"));
  EXPECT_LT(lane_key("a"), lane_key("b"));
  EXPECT_LT(lane_key("zzz"), namespace_key("a"));
  const Entropy entropy = seeded_entropy(3);
  const Key earlier = execution_key({255, time_ordered_uuid(1000, 0, entropy)});
  const Key later = execution_key({0, time_ordered_uuid(1001, 0, entropy)});
  EXPECT_LT(earlier, later) << "executions lie in the order of their creation, whatever their partition";
}

TEST(Keys, OfNamesLiveInThePartitionOfTheName) {
  EXPECT_EQ(lane_key("default").partition(), partition_of("default"));
  EXPECT_EQ(namespace_key("default").partition(), partition_of("default"));
  EXPECT_NE(lane_key("x"), namespace_key("x"));
  EXPECT_EQ(keyring_key().kind(), RecordKind::keyring);
}

TEST(Keys, OfIdempotencyDependOnBothNames) {
  EXPECT_EQ(idempotency_key("a", "b"), idempotency_key("a", "b"));
  EXPECT_NE(idempotency_key("a", "b"), idempotency_key("b", "a"));
  EXPECT_NE(idempotency_key("ab", "c"), idempotency_key("a", "bc"));
  EXPECT_EQ(idempotency_key("a", "b").bytes.size(), 35u);
  EXPECT_EQ(idempotency_key("a", "b").partition(), partition_of(idempotency_key("a", "b").id()));
}

// Pages of workers are pages of keys, so keys must be ordered like the names.
TEST(Keys, OfWorkersOrderByNamespaceThenInstance) {
  const std::pair<const char*, const char*> ordered[] = {{"a", "w"}, {"a", "w-1"},     {"a", "w-10"}, {"a", "w-2"},
                                                         {"a", "x"}, {"a b", "w"},     {"ab", "a"},   {"ab", "w"},
                                                         {"b", "!"}, {"b", "\xc3\xbc"}};
  for (std::size_t i = 1; i < std::size(ordered); ++i) {
    EXPECT_LT(worker_key(ordered[i - 1].first, ordered[i - 1].second), worker_key(ordered[i].first, ordered[i].second))
        << i;
  }
  EXPECT_NE(worker_key("ab", "c"), worker_key("a", "bc"));
}

TEST(Keys, OfWorkersLieByTheirInstance) {
  EXPECT_EQ(worker_partition("foobar"), 0x85944171f73967e8ULL % 256);
  EXPECT_EQ(worker_key("a", "w-1").partition(), worker_partition("w-1"));
  EXPECT_EQ(worker_key("b", "w-1").partition(), worker_partition("w-1"));
  EXPECT_EQ(worker_key("a", "w-1").kind(), RecordKind::worker);
}

TEST(Keys, FitTheirLimitAtTheLongestNames) {
  EXPECT_LE(worker_key(std::string(limits::max_namespace_bytes, 'n'), std::string(limits::max_worker_id_bytes, 'w'))
                .bytes.size(),
            limits::max_key_bytes);
  EXPECT_LE(namespace_key(std::string(limits::max_namespace_bytes, 'n')).bytes.size(), limits::max_key_bytes);
  EXPECT_LE(lane_key(std::string(limits::max_lane_bytes, 'l')).bytes.size(), limits::max_key_bytes);
}

// ---- Digests -------------------------------------------------------------------------------------------------------

CreateRequest full_request() {
  CreateRequest request;
  request.kind = "job";
  request.payload = "p";
  request.tags = {{"app.a", "1"}};
  request.required_capabilities = {"gpu"};
  request.policy = full_policy();
  return request;
}

TEST(Digests, EveryPartOfARequestCounts) {
  const std::uint64_t digest = request_digest(full_request());
  const std::vector<std::function<void(CreateRequest&)>> changes = {
      [](CreateRequest& r) { r.name_space = "x"; },
      [](CreateRequest& r) { r.lane = "x"; },
      [](CreateRequest& r) { r.kind = "x"; },
      [](CreateRequest& r) { r.payload = "x"; },
      [](CreateRequest& r) { r.payload_encoding = "x"; },
      [](CreateRequest& r) { r.priority = 1; },
      [](CreateRequest& r) { r.tags["app.a"] = "2"; },
      [](CreateRequest& r) { r.required_capabilities.push_back("x"); },
      [](CreateRequest& r) { r.policy.max_replays = 99; },
      [](CreateRequest& r) { r.policy.retention.failed_ms.reset(); },
      [](CreateRequest& r) { r.creator = "x"; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CreateRequest request = full_request();
    changes[i](request);
    EXPECT_NE(request_digest(request), digest) << i;
  }
}

TEST(Digests, TimesIdAndKeyDoNotCount) {
  CreateRequest request = full_request();
  request.delay_until = 5;
  request.deadline_at = 6;
  request.id = some_uuid(1);
  request.idempotency_key = "k";
  EXPECT_EQ(request_digest(request), request_digest(full_request()));
}

TEST(Digests, NeighboursDoNotRunIntoEachOther) {
  CreateRequest a = full_request();
  CreateRequest b = full_request();
  a.kind = "ab";
  a.payload = "c";
  b.kind = "a";
  b.payload = "bc";
  EXPECT_NE(request_digest(a), request_digest(b));
}

TEST(Records, ALaneRemembersItsRegistration) {
  const LaneRecord plain{{"l", LaneState::paused, 5, "ada", "why"}};
  EXPECT_EQ(encode(plain)[0], '\x01') << "as it always was";
  EXPECT_EQ(decode_lane(encode(plain))->info, plain.info);
  const LaneRecord registered{{"l", LaneState::active, 0, "", "", 7, "bob"}};
  const std::string bytes = encode(registered);
  EXPECT_EQ(decode_lane(bytes)->info, registered.info);
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_FALSE(decode_lane(bytes.substr(0, i))) << i;
}

// Facts with a grant, as the version before wrote them: without the instance and the texts.
TEST(Records, AGrantOfLayout2IsStillRead) {
  Facts facts;
  facts.grant = HeldGrant{GrantKind::reclaim, std::string(32, 'g'), "w", 9};
  std::string bytes = encode(facts);
  ASSERT_EQ(bytes[0], '\x03');
  ASSERT_EQ(bytes.substr(bytes.size() - 4), std::string(4, '\0'));
  bytes[0] = '\x02';
  bytes.resize(bytes.size() - 4);
  EXPECT_EQ(decode_facts(bytes), facts);
  facts.grant->worker_instance_id = "w-1";
  facts.grant->admission_summary = "summary";
  EXPECT_EQ(decode_facts(encode(facts)), facts);
}

}  // namespace
}  // namespace flowfabric
