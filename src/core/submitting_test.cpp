// Keys at submission: what a create does, by the state of the execution that has its key; and the stored forms.
#include <gtest/gtest.h>

#include "core/ingress.hpp"
#include "core/submitting.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

CreateRequest submitted(const std::string& payload = {}) {
  CreateRequest request;
  request.kind = "job";
  request.payload = payload;
  return request;
}

CreateRequest with_unique(OnConflict on_conflict) {
  CreateRequest request = submitted();
  request.unique = UniqueKey{"k", on_conflict};
  return request;
}

// Executions lie in the partition of their key; ids are given, so that creates can be told apart.
CreateCommand create_under_key(Rehearsal& stage, const CreateRequest& request) {
  CreateCommand command = stage.create_command(request);
  command.id.partition = placement(request, command.id.uuid);
  return command;
}

// Brings a new execution with a unique key into a state.
struct HolderState {
  const char* name;
  PublicState state;
  std::function<void(Rehearsal&, const ExecutionId&)> reach;
  bool has_ended;
};

Fence held_by(Rehearsal& stage, const ExecutionId& id) { return fence_of(stage.lease(id)); }

const std::vector<HolderState>& holder_states() {
  static const std::vector<HolderState> states = {
      {"waiting", PublicState::waiting, [](Rehearsal&, const ExecutionId&) {}, false},
      {"active", PublicState::active, [](Rehearsal& s, const ExecutionId& id) { s.lease(id); }, false},
      {"delayed", PublicState::delayed,
       [](Rehearsal& s, const ExecutionId& id) { s.expect<DelayReply>(DelayCommand{held_by(s, id), s.now + 50}); },
       false},
      {"completed", PublicState::completed,
       [](Rehearsal& s, const ExecutionId& id) { s.expect<Done>(CompleteCommand{held_by(s, id), {}}); }, true},
      {"failed", PublicState::failed,
       [](Rehearsal& s, const ExecutionId& id) { s.expect<FailReply>(FailCommand{held_by(s, id), {}}); }, true},
      {"cancelled", PublicState::cancelled,
       [](Rehearsal& s, const ExecutionId& id) { s.expect<CancelReply>(CancelCommand{id, {"ops", {}}}); }, true},
      {"expired", PublicState::expired, [](Rehearsal& s, const ExecutionId&) { s.now += 1000; }, true},
  };
  return states;
}

TEST(UniqueKeys, EveryRuleInEveryStateOfTheHolder) {
  for (const HolderState& holder : holder_states()) {
    for (const OnConflict rule : {OnConflict::reject, OnConflict::reuse, OnConflict::replace}) {
      SCOPED_TRACE(std::string(holder.name) + ", " + std::string(to_string(rule)));
      Rehearsal stage;
      CreateRequest first = with_unique(OnConflict::reject);
      first.deadline_ms = 1000;
      const ExecutionId old = stage.expect<Created>(create_under_key(stage, first)).execution_id;
      holder.reach(stage, old);
      const auto reply = stage.run(create_under_key(stage, with_unique(rule)));
      EXPECT_EQ(stage.state(old),
                !holder.has_ended && rule == OnConflict::replace ? PublicState::cancelled : holder.state);
      if (!holder.has_ended && rule == OnConflict::reject) {
        ASSERT_FALSE(reply);
        EXPECT_EQ(reply.error().code, Errc::conflict);
        continue;
      }
      ASSERT_TRUE(reply) << reply.error().message;
      const auto& created = std::get<Created>(*reply);
      const CreateOutcome wanted = holder.has_ended            ? CreateOutcome::created
                                   : rule == OnConflict::reuse ? CreateOutcome::returned
                                                               : CreateOutcome::replaced;
      EXPECT_EQ(created.outcome, wanted);
      EXPECT_EQ(created.duplicate, wanted == CreateOutcome::returned);
      EXPECT_EQ(created.execution_id == old, wanted == CreateOutcome::returned);
      EXPECT_EQ(created.replaced.has_value(), wanted == CreateOutcome::replaced);
      EXPECT_EQ(stage.facts(created.execution_id).submit.holds, SubmitKeyKind::unique);
    }
  }
}

// Of an execution whose key is still in its record, because nobody had both at hand, the clock releases it.
TEST(UniqueKeys, TheClockReleasesWhatIsOwed) {
  Rehearsal stage;
  const CreateRequest request = with_unique(OnConflict::reject);
  const ExecutionId id = stage.expect<Created>(create_under_key(stage, request)).execution_id;
  const Key key = *submit_key_of(request);
  stage.expect<CancelReply>(CancelCommand{id, {"ops", {}}});
  EXPECT_TRUE(owes_key(stage.facts(id)));
  EXPECT_TRUE(stage.has_record(key));
  EXPECT_GT(stage.due(id), 0);
  EXPECT_LE(stage.due(id), stage.now);
  EXPECT_FALSE(stage.expect<RemoveReply>(RemoveCommand{id, stage.now + 1}).removed);
  stage.sweep();
  EXPECT_FALSE(owes_key(stage.facts(id)));
  EXPECT_FALSE(stage.has_record(key));
  stage.now += 1;
  EXPECT_TRUE(stage.expect<RemoveReply>(RemoveCommand{id, stage.now + 1}).removed);
}

// Another execution has taken it meanwhile: that one keeps it.
TEST(UniqueKeys, WhatIsOwedIsNotTakenFromAnother) {
  Rehearsal stage;
  const CreateRequest request = with_unique(OnConflict::reject);
  const ExecutionId first = stage.expect<Created>(create_under_key(stage, request)).execution_id;
  stage.expect<CancelReply>(CancelCommand{first, {"ops", {}}});
  const ExecutionId second = stage.expect<Created>(create_under_key(stage, request)).execution_id;
  stage.sweep();
  EXPECT_EQ(stage.facts(first).submit.holds, SubmitKeyKind::none);
  EXPECT_EQ(stage.facts(second).submit.holds, SubmitKeyKind::unique);
  EXPECT_EQ(stage.refusal(create_under_key(stage, request)), Errc::conflict);
  EXPECT_EQ(stage.refusal(ReplayCommand{first, {"ops", {}}}), Errc::conflict);
  EXPECT_EQ(stage.state(first), PublicState::cancelled);
}

TEST(DebounceKeys, TheStartMovesNoFurtherThanItMay) {
  Rehearsal stage;
  CreateRequest request = submitted("a");
  request.debounce = Debounce{"k", 100, 250};
  const TimestampMs first_at = stage.now;
  const ExecutionId id = stage.expect<Created>(create_under_key(stage, request)).execution_id;
  EXPECT_EQ(stage.facts(id).delay_until, first_at + 100);
  for (const std::int64_t after : {80, 160, 240}) {
    stage.now = first_at + after;
    EXPECT_EQ(stage.expect<Created>(create_under_key(stage, request)).execution_id, id);
    EXPECT_EQ(stage.facts(id).delay_until, first_at + std::min<std::int64_t>(after + 100, 250));
  }
  EXPECT_EQ(stage.facts(id).submit.merged, 3U);
  stage.now = first_at + 250;
  EXPECT_NE(stage.expect<Created>(create_under_key(stage, request)).execution_id, id);
}

TEST(SubmitKeys, PlacesFollowFromTheKey) {
  const CreateRequest request = with_unique(OnConflict::reject);
  CreateRequest other = with_unique(OnConflict::replace);
  other.idempotency_key = "call";
  const Uuid uuid = *parse_uuid("00000000-0000-7000-8000-000000000001");
  EXPECT_EQ(placement(request, uuid), submit_key_of(request)->partition());
  EXPECT_EQ(placement(other, uuid), placement(request, uuid));
  EXPECT_EQ(idempotency_key_of(other).partition(), placement(request, uuid));
  CreateRequest debounced = submitted();
  debounced.debounce = Debounce{"k", 1, {}};
  EXPECT_NE(submit_key_of(debounced), submit_key_of(request));
  CreateRequest plain = submitted();
  plain.idempotency_key = "call";
  EXPECT_EQ(idempotency_key_of(plain), idempotency_key("default", "call"));
  EXPECT_NE(idempotency_key_of(plain), idempotency_key_of(other));
}

TEST(SubmitKeys, RecordsReadBackAsTheyWereWritten) {
  SubmitKeyRecord record;
  record.name_space = "shop";
  record.kind = SubmitKeyKind::throttle;
  record.key = "k";
  record.execution_id = {7, *parse_uuid("00000000-0000-7000-8000-000000000001")};
  record.starts.starts = {{1000, 1}, {2000, 3}};
  record.expires_at = 5000;
  record.armed_due = 4000;
  const Key key = submit_key(record.kind, record.name_space, record.key);
  const std::string fixed = encode_fixed(record);
  const std::string body = encode(record);
  EXPECT_EQ(decode_submit_key({key, 1, fixed, body}).value(), record);
  for (std::size_t n = 0; n < body.size(); ++n) {
    EXPECT_FALSE(decode_submit_key({key, 1, fixed, body.substr(0, n)}));
  }
  for (std::size_t n = 0; n < fixed.size(); ++n) EXPECT_FALSE(decode_submit_key({key, 1, fixed.substr(0, n), body}));
}

TEST(SubmitKeys, ExecutionsReadBackAsTheyWereWritten) {
  Rehearsal stage;
  CreateRequest request = submitted("a");
  request.debounce = Debounce{"k", 100, {}};
  const ExecutionId id = stage.expect<Created>(create_under_key(stage, request)).execution_id;
  request.payload = "bc";
  stage.expect<Created>(create_under_key(stage, request));
  const Execution execution = stage.execution(id);
  EXPECT_EQ(execution.spec.submit_key_kind, SubmitKeyKind::debounce);
  EXPECT_EQ(execution.spec.submit_key, "k");
  EXPECT_EQ(execution.payload_bytes(), 2U);
  EXPECT_EQ(decode_spec(encode(execution.spec)).value(), execution.spec);
  EXPECT_EQ(decode_facts(encode(execution.facts)).value(), execution.facts);
  Record record{execution_key(id), 1, encode(execution.spec), encode(execution.facts)};
  EXPECT_TRUE(decode_execution(record));
  Spec without = execution.spec;
  without.submit_key_kind = SubmitKeyKind::none;
  record.fixed = encode(without);
  EXPECT_EQ(decode_execution(record).error().code, Errc::corruption) << "it holds a key that it does not have";
}

TEST(SubmitKeys, DigestsTellRequestsApart) {
  const CreateRequest plain = submitted();
  const CreateRequest reject = with_unique(OnConflict::reject);
  EXPECT_NE(request_digest(plain), request_digest(reject));
  EXPECT_NE(request_digest(reject), request_digest(with_unique(OnConflict::replace)));
  EXPECT_EQ(request_digest(reject), request_digest(with_unique(OnConflict::reject)));
}

}  // namespace
}  // namespace flowfabric
