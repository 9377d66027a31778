// Hostile senders: tokens that are not what they should be, floods of signals, and decisions of those who may not decide.
#include <gtest/gtest.h>

#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

constexpr std::size_t most_record_bytes = 2 * limits::max_kept_signal_bytes;

CreateRequest attacked_job() {
  CreateRequest request;
  request.kind = "job";
  return request;
}

WaitpointRequest plain_waitpoint(const std::string& name) {
  WaitpointRequest waitpoint;
  waitpoint.name = name;
  return waitpoint;
}

WaitpointRequest approval_waitpoint(const std::string& name, std::vector<std::string> approvers,
                                    std::uint32_t needed = 1) {
  WaitpointRequest waitpoint = plain_waitpoint(name);
  ApprovalRequest& approval = waitpoint.approval.emplace();
  approval.title = "May it go on?";
  approval.approvers = std::move(approvers);
  approval.needed = needed;
  return waitpoint;
}

SuspendRequest admitted_wait(std::vector<WaitpointRequest> waitpoints, std::optional<WaitCondition> condition = {}) {
  SuspendRequest request;
  request.waitpoints = std::move(waitpoints);
  request.condition = std::move(condition);
  const auto admitted = admit(request);
  EXPECT_TRUE(admitted) << (admitted ? "" : admitted.error().message);
  return request;
}

WaitCondition counted(std::uint32_t n, CountBy by, const std::string& waitpoint) {
  WaitCondition condition;
  condition.count = SignalCount{n, by, {SignalMatch{waitpoint, {}, {}, {}}}};
  return condition;
}

SignalCommand by_name(const ExecutionId& id, const std::string& waitpoint, const std::string& source = "",
                      const std::string& key = "") {
  SignalCommand command;
  command.id = id;
  command.request.waitpoint = waitpoint;
  command.request.source = source;
  command.request.idempotency_key = key;
  return command;
}

// An execution that waits, and the means of those outside.
struct AttackedWait {
  Rehearsal stage;
  ExecutionId id = stage.create(attacked_job());
  SuspendReply reply{};

  explicit AttackedWait(const SuspendRequest& request) { suspend(request); }

  void suspend(const SuspendRequest& request) {
    const Fence fence = fence_of(stage.lease(id));
    reply = stage.expect<SuspendReply>(SuspendCommand{fence, request});
  }
  SignalCommand by_token(const std::string& token, const std::string& key = "") {
    SignalCommand command;
    const auto claims = stage.signer().verify_waitpoint(token, stage.now);
    EXPECT_TRUE(claims);
    command.id = claims->execution_id;
    command.token = *claims;
    command.request.idempotency_key = key;
    return command;
  }
  WaitFacts waits() const { return *stage.facts(id).waits; }
  std::size_t record_bytes() const { return encode(stage.facts(id)).size(); }
};

void expect_same_refusal(const Error& error) {
  const Error wanted = refuse_wait_token().error();
  EXPECT_EQ(error.code, wanted.code);
  EXPECT_EQ(error.message, wanted.message);
  EXPECT_EQ(error.field, wanted.field);
}

template <class T>
void expect_token_refused(const Result<T>& result) {
  ASSERT_FALSE(result);
  expect_same_refusal(result.error());
}

// ---- Tokens --------------------------------------------------------------------------------------------------------

TEST(WaitTokens, WhateverIsWrongTheRefusalIsTheSame) {
  AttackedWait attacked(admitted_wait({plain_waitpoint("a")}));
  const TokenSigner& signer = attacked.stage.signer();
  const std::string token = attacked.reply.tokens.at(0).token;
  const std::string bytes = *from_base64url(token);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string flipped = bytes;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    expect_token_refused(signer.verify_waitpoint(to_base64url(flipped), attacked.stage.now));
  }
  for (std::size_t length = 0; length < token.size(); ++length) {
    expect_token_refused(signer.verify_waitpoint(token.substr(0, length), attacked.stage.now));
  }
  for (const std::string& longer : {token + "A", token + token, token + "=", " " + token, std::string(5000, 'A')}) {
    expect_token_refused(signer.verify_waitpoint(longer, attacked.stage.now));
  }
  const TokenSigner foreign(KeyringRecord{{{1, "another secret", 0, 0}}});
  expect_token_refused(foreign.verify_waitpoint(token, attacked.stage.now));
  const TokenSigner newer(KeyringRecord{{{2, "the secret of the rehearsal", 0, 0}}});
  expect_token_refused(newer.verify_waitpoint(token, attacked.stage.now));
  const TokenSigner rotated(
      KeyringRecord{{{1, "the secret of the rehearsal", 0, attacked.stage.now}, {2, "another", 0, 0}}});
  EXPECT_TRUE(rotated.verify_waitpoint(token, attacked.stage.now - 1));
  expect_token_refused(rotated.verify_waitpoint(token, attacked.stage.now));
}

TEST(WaitTokens, OtherSignedTextsAreNoTokens) {
  AttackedWait attacked(admitted_wait({plain_waitpoint("a")}));
  const TokenSigner& signer = attacked.stage.signer();
  GrantClaims grant;
  grant.execution_id = attacked.id;
  grant.worker_id = "a";
  expect_token_refused(signer.verify_waitpoint(signer.sign_grant(grant), 0));
  expect_token_refused(signer.verify_waitpoint(signer.sign_session({"a", 5}), 0));
  expect_token_refused(signer.verify_waitpoint(signer.sign_handle({attacked.id, 1, 0, {}}, HandleKind::fresh, "a"), 0));
  EXPECT_FALSE(signer.verify_grant(attacked.reply.tokens.at(0).token, 0));
  EXPECT_FALSE(signer.verify_session(attacked.reply.tokens.at(0).token, 0));
  EXPECT_FALSE(signer.verify_handle(attacked.reply.tokens.at(0).token, 0));
}

TEST(WaitTokens, ExpiredOnesAreRefusedToTheMillisecond) {
  WaitpointRequest brief = plain_waitpoint("a");
  brief.token_ttl_ms = 100;
  AttackedWait attacked(admitted_wait({brief}, counted(2, CountBy::signals, "a")));
  const SignalCommand command = attacked.by_token(attacked.reply.tokens.at(0).token);
  attacked.stage.now += 99;
  EXPECT_EQ(attacked.stage.expect<SignalReply>(command).effect, SignalEffect::accepted);
  attacked.stage.now += 1;
  expect_token_refused(attacked.stage.run(command));
  EXPECT_EQ(attacked.waits().signals.size(), 1U);
}

TEST(WaitTokens, OneForAnExecutionThatIsNotThereTellsNothing) {
  AttackedWait attacked(admitted_wait({plain_waitpoint("a")}));
  SignalCommand command = attacked.by_token(attacked.reply.tokens.at(0).token);
  command.id.uuid.bytes[15] ^= 1;
  command.token->execution_id = command.id;
  expect_token_refused(attacked.stage.run(command));
}

TEST(WaitTokens, OneOfAnotherExecutionDoesNothingHere) {
  AttackedWait attacked(admitted_wait({plain_waitpoint("a")}));
  const ExecutionId other = attacked.stage.create(attacked_job());
  const Fence fence = fence_of(attacked.stage.lease(other));
  const auto second = attacked.stage.expect<SuspendReply>(SuspendCommand{fence, admitted_wait({plain_waitpoint("a")})});
  EXPECT_EQ(attacked.stage.expect<SignalReply>(attacked.by_token(second.tokens.at(0).token)).execution_id, other);
  EXPECT_EQ(attacked.stage.state(attacked.id), PublicState::suspended);
  EXPECT_EQ(attacked.stage.state(other), PublicState::resumable);
}

TEST(WaitTokens, ReplayedOnesDoNothingToALaterWait) {
  AttackedWait attacked(admitted_wait({plain_waitpoint("a")}));
  const SignalCommand old = attacked.by_token(attacked.reply.tokens.at(0).token);
  attacked.stage.expect<Done>(ResumeCommand{attacked.id, {"operator", "because"}});
  attacked.suspend(admitted_wait({plain_waitpoint("a")}));
  EXPECT_EQ(attacked.stage.refusal(old), Errc::waitpoint_closed);
  EXPECT_EQ(attacked.stage.state(attacked.id), PublicState::suspended);
}

TEST(WaitTokens, RevokedOnesAreRefusedAlsoWithAKeyThatWasUsed) {
  AttackedWait attacked(admitted_wait({plain_waitpoint("a")}, counted(3, CountBy::signals, "a")));
  const std::string token = attacked.reply.tokens.at(0).token;
  const SignalCommand used = attacked.by_token(token, "key");
  EXPECT_EQ(attacked.stage.expect<SignalReply>(used).effect, SignalEffect::accepted);
  EXPECT_TRUE(attacked.stage.expect<SignalReply>(used).duplicate);
  ReissueTokenCommand reissue{attacked.id, {}, {"operator", ""}};
  reissue.request.waitpoint = "a";
  reissue.request.revoke_earlier = true;
  const auto fresh = attacked.stage.expect<WaitpointToken>(reissue);
  expect_token_refused(attacked.stage.run(used));
  expect_token_refused(attacked.stage.run(attacked.by_token(token)));
  EXPECT_TRUE(attacked.stage.expect<SignalReply>(attacked.by_token(fresh.token, "key")).duplicate);
  EXPECT_EQ(attacked.stage.expect<SignalReply>(attacked.by_token(fresh.token)).effect, SignalEffect::accepted);
}

// ---- Floods --------------------------------------------------------------------------------------------------------

TEST(WaitFloods, SignalsThatMakeNoDifferenceAreNotKept) {
  AttackedWait attacked(admitted_wait({plain_waitpoint("a")}, counted(2, CountBy::sources, "a")));
  attacked.stage.expect<SignalReply>(by_name(attacked.id, "a", "ann"));
  const std::size_t bytes = attacked.record_bytes();
  const std::uint64_t version = attacked.stage.version(execution_key(attacked.id));
  for (int i = 0; i < 1000; ++i) {
    SignalCommand again = by_name(attacked.id, "a", "ann", i % 2 == 0 ? "" : "key-" + std::to_string(i));
    again.request.payload = std::string(limits::max_signal_bytes, 'x');
    EXPECT_EQ(attacked.stage.expect<SignalReply>(again).effect, SignalEffect::ignored);
  }
  EXPECT_EQ(attacked.record_bytes(), bytes);
  EXPECT_EQ(attacked.stage.version(execution_key(attacked.id)), version);
  EXPECT_EQ(attacked.stage.expect<SignalReply>(by_name(attacked.id, "a", "bob")).effect, SignalEffect::resumed);
}

TEST(WaitFloods, EarlySignalsAreKeptUpToTheLimits) {
  Rehearsal stage;
  const ExecutionId id = stage.create(attacked_job());
  std::size_t kept = 0;
  std::size_t refused = 0;
  for (int name = 0; name < 4; ++name) {
    for (int i = 0; i < 110; ++i) {
      const std::string waitpoint = "flood-" + std::to_string(name);
      const auto reply = stage.run(by_name(id, waitpoint, "ann", "key-" + std::to_string(i)));
      if (reply) {
        ++kept;
      } else {
        EXPECT_EQ(reply.error().code, Errc::overloaded);
        ++refused;
      }
    }
  }
  EXPECT_EQ(kept, limits::max_kept_signals);
  EXPECT_EQ(refused, 440 - limits::max_kept_signals);
  const Facts facts = stage.facts(id);
  EXPECT_EQ(facts.waits->signals.size(), limits::max_kept_signals);
  EXPECT_EQ(facts.waits->keys.size(), limits::max_signal_keys);
  EXPECT_LT(encode(facts).size(), most_record_bytes);
}

TEST(WaitFloods, PayloadsAreKeptUpToTheLimit) {
  Rehearsal stage;
  const ExecutionId id = stage.create(attacked_job());
  std::size_t kept = 0;
  for (int i = 0; i < 50; ++i) {
    SignalCommand command = by_name(id, "flood-" + std::to_string(i));
    command.request.payload = std::string(limits::max_signal_bytes, 'x');
    kept += stage.run(command) ? 1 : 0;
  }
  EXPECT_EQ(kept, limits::max_kept_signal_bytes / limits::max_signal_bytes);
  EXPECT_LT(encode(stage.facts(id)).size(), most_record_bytes);
}

TEST(WaitFloods, WhatNobodyWaitsForDoesNotKeepAwayWhatIsAwaited) {
  AttackedWait attacked(admitted_wait({plain_waitpoint("a")}));
  for (int i = 0; i < 300; ++i) {
    SignalCommand command = by_name(attacked.id, "flood-" + std::to_string(i));
    command.request.payload = std::string(3000, 'x');
    std::ignore = attacked.stage.run(command);
  }
  SignalCommand awaited = by_name(attacked.id, "a");
  awaited.request.payload = std::string(limits::max_signal_bytes, 'x');
  EXPECT_EQ(attacked.stage.expect<SignalReply>(awaited).effect, SignalEffect::resumed);
}

TEST(WaitFloods, AWaitForManySignalsEnds) {
  AttackedWait attacked(
      admitted_wait({plain_waitpoint("a")}, counted(limits::max_condition_count, CountBy::signals, "a")));
  for (std::uint32_t i = 1; i < limits::max_condition_count; ++i) {
    ASSERT_EQ(attacked.stage.expect<SignalReply>(by_name(attacked.id, "a")).effect, SignalEffect::accepted) << i;
  }
  EXPECT_LT(attacked.record_bytes(), most_record_bytes);
  EXPECT_EQ(attacked.stage.expect<SignalReply>(by_name(attacked.id, "a")).effect, SignalEffect::resumed);
}

TEST(WaitFloods, AConditionThatNeedsMoreSignalsThanAreKeptIsRefused) {
  WaitCondition both;
  both.all_of = {counted(200, CountBy::signals, "a"), counted(200, CountBy::sources, "a")};
  SuspendRequest request;
  request.waitpoints = {plain_waitpoint("a")};
  request.condition = both;
  const auto admitted = admit(request);
  ASSERT_FALSE(admitted);
  EXPECT_EQ(admitted.error().code, Errc::invalid_argument);
  EXPECT_EQ(admitted.error().field, "condition");
  both.all_of = {counted(128, CountBy::signals, "a"), counted(128, CountBy::sources, "a")};
  request.condition = both;
  EXPECT_TRUE(admit(request));
}

// S6
TEST(WaitFloods, AKeyThatWasUsedIsKnownAtTheLimit) {
  Rehearsal stage;
  const ExecutionId id = stage.create(attacked_job());
  for (std::size_t i = 0; i < limits::max_waitpoint_signals; ++i) {
    stage.expect<SignalReply>(by_name(id, "a", "", "key-" + std::to_string(i)));
  }
  EXPECT_EQ(stage.refusal(by_name(id, "a", "", "a new key")), Errc::overloaded);
  const auto again = stage.expect<SignalReply>(by_name(id, "a", "", "key-7"));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.number, 8U);
  EXPECT_EQ(again.effect, SignalEffect::kept);
}

// ---- Decisions -----------------------------------------------------------------------------------------------------

SignalCommand early_decision(const ExecutionId& id, const std::string& name, const std::string& source) {
  SignalCommand command = by_name(id, "ok", source);
  command.request.name = name;
  return command;
}

TEST(WaitDecisions, EarlySignalsOfOthersDoNotDecide) {
  for (const bool has_condition : {false, true}) {
    Rehearsal stage;
    const ExecutionId id = stage.create(attacked_job());
    stage.expect<SignalReply>(early_decision(id, "approve", "eve"));
    stage.expect<SignalReply>(early_decision(id, "approve", ""));
    stage.expect<SignalReply>(early_decision(id, "anything", "ann"));
    WaitCondition any;
    any.signal = SignalMatch{"ok", {}, {}, {}};
    const auto request =
        admitted_wait({approval_waitpoint("ok", {"ann", "bob"})}, has_condition ? std::optional(any) : std::nullopt);
    const Fence fence = fence_of(stage.lease(id));
    EXPECT_TRUE(stage.expect<SuspendReply>(SuspendCommand{fence, request}).suspended);
    EXPECT_TRUE(decisions_at(*stage.facts(id).waits, 1).empty());
    EXPECT_EQ(stage.refusal(early_decision(id, "approve", "eve")), Errc::permission_denied);
    EXPECT_EQ(stage.expect<SignalReply>(early_decision(id, "approve", "ann")).effect, SignalEffect::resumed);
  }
}

TEST(WaitDecisions, NobodyApprovesAnonymouslyAheadOfTime) {
  Rehearsal stage;
  const ExecutionId id = stage.create(attacked_job());
  stage.expect<SignalReply>(early_decision(id, "approve", ""));
  const Fence fence = fence_of(stage.lease(id));
  const auto request = admitted_wait({approval_waitpoint("ok", {})});
  EXPECT_TRUE(stage.expect<SuspendReply>(SuspendCommand{fence, request}).suspended);
}

TEST(WaitDecisions, ThePersonsFirstEarlyDecisionCounts) {
  Rehearsal stage;
  const ExecutionId id = stage.create(attacked_job());
  stage.expect<SignalReply>(early_decision(id, "approve", "ann"));
  stage.expect<SignalReply>(early_decision(id, "reject", "ann"));
  const Fence fence = fence_of(stage.lease(id));
  const auto request = admitted_wait({approval_waitpoint("ok", {"ann", "bob"}, 2)});
  EXPECT_TRUE(stage.expect<SuspendReply>(SuspendCommand{fence, request}).suspended);
  EXPECT_EQ(stage.expect<SignalReply>(early_decision(id, "approve", "bob")).effect, SignalEffect::resumed);
}

TEST(WaitDecisions, SignalsFromBeforeItWasAnApprovalAreNoDecisions) {
  Rehearsal stage;
  const ExecutionId id = stage.create(attacked_job());
  const Fence fence = fence_of(stage.lease(id));
  stage.expect<WaitpointToken>(OpenWaitpointCommand{fence, plain_waitpoint("ok")});
  stage.expect<SignalReply>(early_decision(id, "hello", "ann"));
  stage.expect<SignalReply>(early_decision(id, "approve", "eve"));
  const auto request = admitted_wait({approval_waitpoint("ok", {"ann"})});
  EXPECT_TRUE(stage.expect<SuspendReply>(SuspendCommand{fence, request}).suspended);
  EXPECT_TRUE(decisions_at(*stage.facts(id).waits, 1).empty());
  EXPECT_EQ(stage.expect<SignalReply>(early_decision(id, "approve", "ann")).effect, SignalEffect::resumed);
}

}  // namespace
}  // namespace flowfabric
