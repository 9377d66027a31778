// Grants: a reservation of one execution for one worker, and its redemption. Also the keys that sign them.
#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

CreateRequest grantable() {
  CreateRequest request;
  request.kind = "job";
  return request;
}

CreateRequest manual_job(std::uint32_t max_reclaims = 1000) {
  CreateRequest request = grantable();
  request.policy.on_lease_lost = OnLeaseLost::manual;
  request.policy.max_reclaims = max_reclaims;
  return request;
}

// An execution whose lease has just been revoked.
ExecutionId lost(Rehearsal& stage, const CreateRequest& request) {
  const ExecutionId id = stage.create(request);
  stage.lease(id);
  stage.now += 10;
  stage.expect<RevokeReply>(RevokeCommand{id, {}, {"ops", "stuck"}});
  return id;
}

template <class Outcome, class T>
Outcome outcome_of(const T& outcome) {
  if (const auto* found = std::get_if<Outcome>(&outcome)) return *found;
  ADD_FAILURE() << "another outcome, alternative " << outcome.index();
  return {};
}

ClaimedExecution reclaim(Rehearsal& stage, const Grant& grant) {
  return outcome_of<Claimed>(stage.expect<ReclaimExecutionOutcome>(Rehearsal::redeem_command(grant))).execution;
}

std::string why_not(Rehearsal& stage, const GrantCommand& command) {
  return outcome_of<NotReclaimable>(stage.expect<IssueReclaimGrantOutcome>(command)).detail;
}

std::uint64_t version(const Rehearsal& stage, const ExecutionId& id) { return stage.version(execution_key(id)); }

// ---- Claim grants --------------------------------------------------------------------------------------------------

TEST(ClaimGrants, SayWhatTheyReserveForWhomAndHowLong) {
  Rehearsal stage;
  CreateRequest request = grantable();
  request.lane = "fast";
  const ExecutionId id = stage.create(request);
  const Grant grant = stage.expect<Grant>(GrantCommand{GrantKind::claim, {id, "w", "w-7", {}, 5000}});
  EXPECT_EQ(grant.kind, GrantKind::claim);
  EXPECT_EQ(grant.execution_id, id);
  EXPECT_EQ(grant.lane, "fast");
  EXPECT_EQ(grant.worker_id, "w");
  EXPECT_EQ(grant.worker_instance_id, "w-7");
  EXPECT_EQ(grant.expires_at, stage.now + 5000);
  EXPECT_EQ(grant.grant_id, to_hex(grant_id_of(grant.grant_key)));
  const auto claims = stage.signer().verify_grant(grant.grant_key, stage.now);
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->kind, GrantKind::claim);
  EXPECT_EQ(claims->execution_id, id);
  EXPECT_EQ(claims->worker_id, "w");
  EXPECT_EQ(claims->worker_instance_id, "w-7");
  EXPECT_EQ(claims->expires_at, grant.expires_at);
}

TEST(ClaimGrants, AreLoggedByTheirIdAndNeverByTheirKey) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  const Grant grant = stage.claim_grant(id);
  ASSERT_EQ(stage.last_events.size(), 1u);
  const Event& event = stage.last_events[0];
  EXPECT_EQ(event.type, EventType::grant_issued);
  EXPECT_EQ(event.actor, "w");
  EXPECT_EQ(event.next_at, grant.expires_at);
  EXPECT_NE(event.reason.find(grant.grant_id), std::string::npos);
  EXPECT_EQ(event.state_before, event.state_after);
  EXPECT_EQ(encode(event).find(grant.grant_key), std::string::npos);
  EXPECT_EQ(encode(stage.facts(id)).find(grant.grant_key), std::string::npos) << "only its hash is stored";
}

TEST(ClaimGrants, AreNoTransition) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  const TimestampMs created = stage.now;
  stage.now += 5;
  stage.claim_grant(id);
  EXPECT_EQ(stage.facts(id).last_transition_at, created);
  EXPECT_EQ(stage.facts(id).last_mutation_at, stage.now);
  stage.now += 50;
  stage.due_now(id);
  EXPECT_EQ(stage.facts(id).last_transition_at, created);
}

TEST(ClaimGrants, KeepItFromEverybodyElseUntilTheyRunOut) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  const ReadyEntry place = *stage.ready(id);
  stage.create(grantable());
  stage.claim_grant(id);
  EXPECT_FALSE(stage.ready(id));
  EXPECT_EQ(stage.refusal(LeaseCommand{id, "default", "v", "v-1", 500}), Errc::not_active);
  stage.now += 49;
  EXPECT_EQ(stage.refusal(Rehearsal::grant_command(GrantKind::claim, id)), Errc::grant_already_exists);
  stage.now += 1;
  stage.due_now(id);
  EXPECT_EQ(stage.ready(id), place) << "at its old place, before those that came later";
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].type, EventType::grant_expired);
  EXPECT_EQ(stage.last_events[0].actor, "clock");
  EXPECT_EQ(stage.due(id), 0);
  stage.lease(id);
}

TEST(ClaimGrants, BecomeALease) {
  Rehearsal stage;
  CreateRequest request = grantable();
  request.payload = "work";
  const ExecutionId id = stage.create(request);
  const Grant grant = stage.claim_grant(id);
  stage.now += 49;
  RedeemCommand redeem = Rehearsal::redeem_command(grant, 700);
  redeem.request.worker_instance_id = "w-2";
  redeem.request.worker_namespace = "fleet";
  const auto claim = stage.expect<ClaimedExecution>(redeem);
  EXPECT_EQ(claim.payload, "work");
  EXPECT_EQ(claim.handle_kind, HandleKind::fresh);
  EXPECT_EQ(claim.lease.worker_id, "w");
  EXPECT_EQ(claim.lease.worker_instance_id, "w-2");
  EXPECT_EQ(claim.lease.worker_namespace, "fleet");
  EXPECT_EQ(claim.lease.expires_at, stage.now + 700);
  EXPECT_EQ(stage.signer().verify_handle(claim.handle, stage.now), (HandleClaims{fence_of(claim), claim.name_space}));
  EXPECT_FALSE(stage.facts(id).grant);
  EXPECT_EQ(stage.group_of(id).group, holder_group("fleet", "w-2"));
  EXPECT_EQ(stage.history(id), (std::vector{EventType::created, EventType::grant_issued, EventType::claimed}));
  stage.expect<Done>(CompleteCommand{fence_of(claim), {}});
}

TEST(ClaimGrants, AreUsedOnce) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  const Grant grant = stage.claim_grant(id);
  const auto claim = stage.expect<ClaimedExecution>(Rehearsal::redeem_command(grant));
  const std::uint64_t before = version(stage, id);
  EXPECT_EQ(stage.refusal(Rehearsal::redeem_command(grant)), Errc::invalid_claim_grant);
  EXPECT_EQ(version(stage, id), before);
  stage.expect<DelayReply>(DelayCommand{fence_of(claim), stage.now});
  EXPECT_EQ(stage.refusal(Rehearsal::redeem_command(grant)), Errc::invalid_claim_grant) << "nor when it is ready again";
  stage.now = grant.expires_at;
  EXPECT_EQ(stage.refusal(Rehearsal::redeem_command(grant)), Errc::claim_grant_expired);
}

TEST(ClaimGrants, EndAtTheirExpiryNotAfterIt) {
  for (const bool clock_first : {false, true}) {
    for (const std::int64_t off : {-1, 0, 1}) {
      Rehearsal stage;
      const ExecutionId id = stage.create(grantable());
      const Grant grant = stage.claim_grant(id);
      stage.now = grant.expires_at + off;
      if (clock_first) stage.due_now(id);
      const auto reply = stage.run(Rehearsal::redeem_command(grant));
      ASSERT_EQ(reply.has_value(), off < 0);
      if (reply) continue;
      EXPECT_EQ(reply.error().code, Errc::claim_grant_expired);
      EXPECT_TRUE(stage.ready(id)) << "others may have it";
    }
  }
}

TEST(ClaimGrants, AnOlderOneDoesNotOpenANewerOne) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  const Grant first = stage.claim_grant(id);
  stage.now = first.expires_at;
  const Grant second = stage.claim_grant(id);
  EXPECT_EQ(stage.refusal(Rehearsal::redeem_command(first)), Errc::claim_grant_expired);
  stage.expect<ClaimedExecution>(Rehearsal::redeem_command(second));
}

TEST(ClaimGrants, ResumeWhatWasPutOff) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  stage.expect<DelayReply>(DelayCommand{fence_of(stage.lease(id)), stage.now});
  const auto claim = stage.expect<ClaimedExecution>(Rehearsal::redeem_command(stage.claim_grant(id)));
  EXPECT_EQ(claim.handle_kind, HandleKind::resumed);
  EXPECT_EQ(claim.attempt.attempt_index, 0u);
  EXPECT_EQ(stage.history(id).back(), EventType::resumed);
}

TEST(ClaimGrants, CountAsAReclaimWhereOneIsPending) {
  Rehearsal stage;
  const ExecutionId id = lost(stage, grantable());
  const auto claim = stage.expect<ClaimedExecution>(Rehearsal::redeem_command(stage.claim_grant(id)));
  EXPECT_EQ(claim.handle_kind, HandleKind::reclaimed);
  EXPECT_EQ(stage.facts(id).reclaim_count, 1u);
}

TEST(ClaimGrants, NeedEveryCapabilityTwice) {
  Rehearsal stage;
  CreateRequest request = grantable();
  request.required_capabilities = {"cuda", "gpu", "tpu"};
  const ExecutionId id = stage.create(request);
  GrantCommand command = Rehearsal::grant_command(GrantKind::claim, id);
  command.request.capabilities = {"gpu", "other"};
  const auto reply = stage.run(command);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::capability_mismatch);
  const std::vector<std::pair<std::string, std::string>> missing = {{"missing", "cuda,tpu"}};
  EXPECT_EQ(reply.error().details, missing);
  EXPECT_TRUE(stage.ready(id));
  command.request.capabilities = {"cuda", "gpu", "other", "tpu"};
  const Grant grant = stage.expect<Grant>(command);
  RedeemCommand redeem = Rehearsal::redeem_command(grant);
  EXPECT_EQ(stage.refusal(redeem), Errc::capability_mismatch);
  ASSERT_TRUE(stage.facts(id).grant) << "the worker may come again with what it promised";
  redeem.request.capabilities = command.request.capabilities;
  stage.expect<ClaimedExecution>(redeem);
}

TEST(ClaimGrants, OfAClaimThatKeepsToItsNamespace) {
  Rehearsal stage;
  CreateRequest request = grantable();
  request.name_space = "mine";
  const ExecutionId id = stage.create(request);
  GrantCommand command = Rehearsal::grant_command(GrantKind::claim, id);
  command.name_space = "other";
  EXPECT_EQ(stage.refusal(command), Errc::not_eligible);
  EXPECT_TRUE(stage.ready(id)) << "it is not reserved";
  command.name_space = "mine";
  EXPECT_EQ(stage.expect<Grant>(command).execution_id, id);
}

TEST(ClaimGrants, ObeyTheLane) {
  for (const LaneState state : {LaneState::active, LaneState::paused, LaneState::draining, LaneState::disabled}) {
    SCOPED_TRACE(to_string(state));
    const bool serves = state == LaneState::active || state == LaneState::draining;
    Rehearsal stage;
    const ExecutionId granted = stage.create(grantable());
    const ExecutionId id = stage.create(grantable());
    const Grant grant = stage.claim_grant(granted);
    stage.expect<LaneInfo>(LaneCommand{"default", state, {}});
    const auto issued = stage.run(Rehearsal::grant_command(GrantKind::claim, id));
    const auto redeemed = stage.run(Rehearsal::redeem_command(grant));
    ASSERT_EQ(issued.has_value(), serves);
    ASSERT_EQ(redeemed.has_value(), serves);
    if (serves) continue;
    EXPECT_EQ(issued.error().code, Errc::not_eligible);
    EXPECT_EQ(redeemed.error().code, Errc::not_eligible);
    stage.expect<LaneInfo>(LaneCommand{"default", LaneState::active, {}});
    stage.expect<ClaimedExecution>(Rehearsal::redeem_command(grant));
  }
}

TEST(ClaimGrants, LetAPriorityChangeMeanwhile) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  const ReadyEntry place = *stage.ready(id);
  stage.claim_grant(id);
  stage.expect<Done>(PriorityCommand{id, 9, {}});
  EXPECT_FALSE(stage.ready(id));
  stage.now += 50;
  stage.due_now(id);
  EXPECT_EQ(stage.ready(id)->priority, 9);
  EXPECT_EQ(stage.ready(id)->sequence, place.sequence);
}

TEST(ClaimGrants, EndWithTheExecution) {
  Rehearsal stage;
  CreateRequest request = grantable();
  request.deadline_at = stage.now + 30;
  const ExecutionId expires = stage.create(request);
  const Grant late = stage.claim_grant(expires);
  EXPECT_EQ(stage.due(expires), request.deadline_at);
  const ExecutionId cancelled = stage.create(grantable());
  const Grant useless = stage.claim_grant(cancelled);
  stage.expect<CancelReply>(CancelCommand{cancelled, {}});
  EXPECT_EQ(stage.refusal(Rehearsal::redeem_command(useless)), Errc::already_terminal);
  stage.now += 30;
  EXPECT_EQ(stage.refusal(Rehearsal::redeem_command(late)), Errc::already_terminal);
  EXPECT_EQ(stage.state(expires), PublicState::expired);
  for (const ExecutionId& id : {expires, cancelled}) EXPECT_FALSE(stage.facts(id).grant);
  stage.expect<ReplayReply>(ReplayCommand{cancelled, {}});
  EXPECT_TRUE(stage.ready(cancelled));
  EXPECT_EQ(stage.refusal(Rehearsal::redeem_command(useless)), Errc::invalid_claim_grant) << "a new life";
}

TEST(ClaimGrants, OfOneExecutionDoNotOpenAnother) {
  Rehearsal stage;
  const ExecutionId first = stage.create(grantable());
  const ExecutionId second = stage.create(grantable());
  RedeemCommand redeem = Rehearsal::redeem_command(stage.claim_grant(first));
  stage.claim_grant(second);
  redeem.request.execution_id = second;
  EXPECT_EQ(stage.refusal(redeem), Errc::invalid_claim_grant);
  for (const std::string& bad : {std::string(), redeem.grant_id.substr(0, 31), redeem.grant_id + "x"}) {
    redeem.grant_id = bad;
    redeem.request.execution_id = first;
    EXPECT_EQ(stage.refusal(redeem), Errc::invalid_claim_grant);
  }
}

// ---- Reclaim grants ------------------------------------------------------------------------------------------------

TEST(ReclaimGrants, MakeANewAttemptOfWhatWasLost) {
  for (const bool manual : {false, true}) {
    SCOPED_TRACE(manual);
    Rehearsal stage;
    const ExecutionId id = lost(stage, manual ? manual_job() : grantable());
    const Facts before = stage.facts(id);
    const Grant grant = stage.reclaim_grant(id);
    EXPECT_EQ(grant.kind, GrantKind::reclaim);
    stage.now += 5;
    const ClaimedExecution claim = reclaim(stage, grant);
    EXPECT_EQ(claim.handle_kind, HandleKind::reclaimed);
    EXPECT_EQ(claim.attempt.attempt_type, AttemptType::reclaim);
    EXPECT_EQ(claim.attempt.attempt_index, 1u);
    EXPECT_EQ(claim.attempt.previous_attempt_index, 0u);
    EXPECT_EQ(claim.attempt.reason, manual ? "lease_revoked" : "stuck");
    EXPECT_EQ(claim.attempt.requested_by, manual ? "w" : "ops");
    const Facts after = stage.facts(id);
    EXPECT_EQ(after.lease_epoch, before.lease_epoch + 1);
    EXPECT_EQ(after.reclaim_count, before.reclaim_count + 1);
    EXPECT_EQ(after.phase, Phase::active);
    EXPECT_FALSE(after.grant || after.pending);
    EXPECT_EQ(stage.last_events.back().type, EventType::lease_reclaimed);
    EXPECT_EQ(decode_attempt(*stage.satellite(id, SatelliteKind::attempt, 0))->attempt_state,
              AttemptState::interrupted_reclaimed);
    EXPECT_TRUE(stage.members(lost_leases_group).empty());
    stage.expect<Done>(CompleteCommand{fence_of(claim), {}});
  }
}

TEST(ReclaimGrants, GiveTheNewAttemptItsWholeTime) {
  Rehearsal stage;
  CreateRequest request = manual_job();
  request.policy.attempt_timeout_ms = 200;
  const ExecutionId id = lost(stage, request);
  stage.now += 5000;
  EXPECT_EQ(reclaim(stage, stage.reclaim_grant(id)).attempt.timeout_at, stage.now + 200);
}

TEST(ReclaimGrants, AreForLostLeasesOnly) {
  Rehearsal stage;
  const auto ask = [](const ExecutionId& id) { return Rehearsal::grant_command(GrantKind::reclaim, id); };
  const ExecutionId waiting = stage.create(grantable());
  EXPECT_NE(why_not(stage, ask(waiting)).find("waiting"), std::string::npos);
  const ExecutionId held = stage.create(grantable());
  const ClaimedExecution claim = stage.lease(held);
  const std::uint64_t before = version(stage, held);
  EXPECT_NE(why_not(stage, ask(held)).find("w-1 holds a live lease"), std::string::npos);
  EXPECT_EQ(version(stage, held), before);
  stage.now = claim.lease.expires_at - 1;
  why_not(stage, ask(held));
  stage.now += 1;
  stage.reclaim_grant(held);
  const ExecutionId ended = stage.create(grantable());
  stage.expect<CancelReply>(CancelCommand{ended, {}});
  EXPECT_NE(why_not(stage, ask(ended)).find("cancelled"), std::string::npos);
  EXPECT_EQ(stage.refusal(ask({7, Uuid{{99}}})), Errc::not_found);
}

TEST(ReclaimGrants, AReclaimOnceTakenUpIsNoLongerLost) {
  Rehearsal stage;
  const ExecutionId id = lost(stage, grantable());
  const Fence fence = fence_of(stage.lease(id));
  const GrantCommand ask = Rehearsal::grant_command(GrantKind::reclaim, id);
  why_not(stage, ask);
  stage.expect<DelayReply>(DelayCommand{fence, stage.now + 100});
  why_not(stage, ask);
  stage.now += 100;
  EXPECT_NE(why_not(stage, ask).find("resumable"), std::string::npos);
}

TEST(ReclaimGrants, AskForCapabilitiesAndLane) {
  Rehearsal stage;
  CreateRequest request = manual_job();
  request.required_capabilities = {"gpu", "tpu"};
  const ExecutionId id = lost(stage, request);
  GrantCommand ask = Rehearsal::grant_command(GrantKind::reclaim, id);
  EXPECT_EQ(why_not(stage, ask), "capability_mismatch: gpu,tpu");
  ask.request.capabilities = {"gpu", "tpu"};
  stage.expect<LaneInfo>(LaneCommand{"default", LaneState::paused, {}});
  EXPECT_NE(why_not(stage, ask).find("paused"), std::string::npos);
  stage.expect<LaneInfo>(LaneCommand{"default", LaneState::active, {}});
  const auto granted = outcome_of<Granted>(stage.expect<IssueReclaimGrantOutcome>(ask));
  RedeemCommand redeem = Rehearsal::redeem_command(granted.grant);
  const auto refused = stage.expect<ReclaimExecutionOutcome>(redeem);
  EXPECT_EQ(outcome_of<NotReclaimable>(refused).detail, "capability_mismatch: gpu,tpu");
  redeem.request.capabilities = {"gpu", "tpu"};
  outcome_of<Claimed>(stage.expect<ReclaimExecutionOutcome>(redeem));
}

TEST(ReclaimGrants, WithoutOneNothingChanges) {
  Rehearsal stage;
  for (const CreateRequest& request : {grantable(), manual_job(), manual_job(1)}) {
    const ExecutionId id = lost(stage, request);
    RedeemCommand redeem;
    redeem.kind = GrantKind::reclaim;
    redeem.grant_id = std::string(32, 'x');
    redeem.grant_expires_at = stage.now + 100;
    redeem.request.execution_id = id;
    const std::uint64_t before = version(stage, id);
    outcome_of<GrantNotFound>(stage.expect<ReclaimExecutionOutcome>(redeem));
    EXPECT_EQ(version(stage, id), before);
    const Grant grant = stage.reclaim_grant(id);
    outcome_of<GrantNotFound>(stage.expect<ReclaimExecutionOutcome>(redeem));
    EXPECT_EQ(version(stage, id), before + 1) << "nor beside a valid one";
    reclaim(stage, grant);
    outcome_of<GrantNotFound>(stage.expect<ReclaimExecutionOutcome>(Rehearsal::redeem_command(grant)));
    EXPECT_EQ(version(stage, id), before + 2) << "nor with one that is used up";
  }
}

TEST(ReclaimGrants, HoldOffTheEndOfTheGrace) {
  Rehearsal stage;
  CreateRequest request = grantable();
  request.policy.reclaim_grace_ms = 20;
  const ExecutionId id = lost(stage, request);
  const Grant grant = stage.reclaim_grant(id, 50);
  EXPECT_EQ(stage.due(id), grant.expires_at);
  stage.now += 49;
  stage.due_now(id);
  EXPECT_EQ(stage.state(id), PublicState::delayed) << "the grace is long over";
  EXPECT_EQ(stage.members(lost_leases_group), std::vector{execution_key(id)});
  stage.now += 1;
  stage.due_now(id);
  EXPECT_TRUE(stage.ready(id));
  EXPECT_TRUE(stage.members(lost_leases_group).empty());
  ASSERT_EQ(stage.last_events.size(), 2u);
  EXPECT_EQ(stage.last_events[0].type, EventType::grant_expired);
  EXPECT_EQ(stage.last_events[1].type, EventType::ready);
  outcome_of<GrantNotFound>(stage.expect<ReclaimExecutionOutcome>(Rehearsal::redeem_command(grant)));
}

TEST(ReclaimGrants, AShortOneLeavesTheRestOfTheGrace) {
  Rehearsal stage;
  CreateRequest request = grantable();
  request.policy.reclaim_grace_ms = 200;
  const ExecutionId id = lost(stage, request);
  const TimestampMs end = stage.now + 200;
  stage.reclaim_grant(id, 50);
  stage.now += 50;
  stage.due_now(id);
  EXPECT_EQ(stage.state(id), PublicState::delayed);
  EXPECT_EQ(stage.due(id), end);
  stage.reclaim_grant(id, 50);
}

TEST(ReclaimGrants, PutAManualOneBackWhereItWaited) {
  Rehearsal stage;
  const ExecutionId id = lost(stage, manual_job());
  const Grant grant = stage.reclaim_grant(id);
  stage.now = grant.expires_at;
  stage.due_now(id);
  EXPECT_EQ(stage.state(id), PublicState::waiting);
  EXPECT_EQ(stage.due(id), 0);
  EXPECT_EQ(stage.members(lost_leases_group), std::vector{execution_key(id)});
  reclaim(stage, stage.reclaim_grant(id));
}

TEST(ReclaimGrants, TheCapEndsItAndSaysSo) {
  for (const bool manual : {false, true}) {
    Rehearsal stage;
    CreateRequest request = manual ? manual_job(2) : grantable();
    request.policy.max_reclaims = 2;
    const ExecutionId id = lost(stage, request);
    for (int i = 0; i < 2; ++i) {
      reclaim(stage, stage.reclaim_grant(id));
      stage.expect<RevokeReply>(RevokeCommand{id, {}, {"ops", ""}});
    }
    EXPECT_EQ(stage.state(id), PublicState::failed);
    ASSERT_EQ(stage.last_events.size(), 2u);
    EXPECT_EQ(stage.last_events[0].type, EventType::lease_revoked);
    EXPECT_EQ(stage.last_events[1].type, EventType::failed);
    const GrantCommand ask = Rehearsal::grant_command(GrantKind::reclaim, id);
    EXPECT_EQ(outcome_of<ReclaimCapExceeded>(stage.expect<IssueReclaimGrantOutcome>(ask)).count, 2u);
    stage.expect<ReplayReply>(ReplayCommand{id, {}});
    EXPECT_EQ(stage.facts(id).reclaim_count, 0u);
    why_not(stage, ask);
  }
}

// A worker may choose any failure category.
TEST(ReclaimGrants, OnlyTheCapIsCalledTheCap) {
  Rehearsal stage;
  const ExecutionId failed = stage.create(grantable());
  const Fence fence = fence_of(stage.lease(failed));
  stage.expect<FailReply>(FailCommand{fence, {reclaim_cap_category, "", "", FailRequest::Retryable::never}});
  why_not(stage, Rehearsal::grant_command(GrantKind::reclaim, failed));
  CreateRequest retried = grantable();
  retried.policy.retry = RetryPolicy{};
  const ExecutionId cancelled = stage.create(retried);
  stage.expect<FailReply>(FailCommand{fence_of(stage.lease(cancelled)), {reclaim_cap_category, "", "", {}}});
  stage.expect<CancelReply>(CancelCommand{cancelled, {}});
  why_not(stage, Rehearsal::grant_command(GrantKind::reclaim, cancelled));
}

TEST(ReclaimGrants, EndWithTheExecutionAndSayHow) {
  Rehearsal stage;
  const ExecutionId id = lost(stage, manual_job());
  const Grant grant = stage.reclaim_grant(id);
  stage.expect<CancelReply>(CancelCommand{id, {}});
  const auto outcome = stage.expect<ReclaimExecutionOutcome>(Rehearsal::redeem_command(grant));
  EXPECT_NE(outcome_of<NotReclaimable>(outcome).detail.find("cancelled"), std::string::npos);
  EXPECT_TRUE(stage.members(lost_leases_group).empty());
}

TEST(ReclaimGrants, ADeadlineEndsWhatIsGranted) {
  Rehearsal stage;
  CreateRequest request = manual_job();
  request.deadline_at = stage.now + 30;
  const ExecutionId id = lost(stage, request);
  const Grant grant = stage.reclaim_grant(id);
  EXPECT_EQ(stage.due(id), request.deadline_at);
  stage.now = grant.expires_at;
  stage.due_now(id);
  EXPECT_EQ(stage.state(id), PublicState::expired);
  EXPECT_EQ(stage.history(id).back(), EventType::expired);
  outcome_of<NotReclaimable>(stage.expect<ReclaimExecutionOutcome>(Rehearsal::redeem_command(grant)));
}

// A claim grant is not a reclaim grant, and vice versa.
TEST(Grants, KindsAreNotMixedUp) {
  Rehearsal stage;
  const ExecutionId id = lost(stage, grantable());
  RedeemCommand as_reclaim = Rehearsal::redeem_command(stage.claim_grant(id));
  as_reclaim.kind = GrantKind::reclaim;
  outcome_of<GrantNotFound>(stage.expect<ReclaimExecutionOutcome>(as_reclaim));
  EXPECT_EQ(stage.refusal(Rehearsal::grant_command(GrantKind::reclaim, id)), Errc::grant_already_exists);
  const ExecutionId other = lost(stage, grantable());
  RedeemCommand as_claim = Rehearsal::redeem_command(stage.reclaim_grant(other));
  as_claim.kind = GrantKind::claim;
  EXPECT_EQ(stage.refusal(as_claim), Errc::invalid_claim_grant);
  EXPECT_TRUE(stage.facts(id).grant && stage.facts(other).grant);
}

// After redemption the clock processes the execution at the end of its lease, not also at the expiry of the grant.
TEST(Grants, LeaveNoEarlyEntryBehind) {
  Rehearsal stage;
  const ExecutionId claimed = stage.create(grantable());
  stage.expect<ClaimedExecution>(Rehearsal::redeem_command(stage.claim_grant(claimed)));
  EXPECT_EQ(stage.due(claimed), stage.facts(claimed).lease->expires_at);
  const ExecutionId reclaimed = lost(stage, manual_job());
  reclaim(stage, stage.reclaim_grant(reclaimed));
  EXPECT_EQ(stage.due(reclaimed), stage.facts(reclaimed).lease->expires_at);
}

// ---- One batch -----------------------------------------------------------------------------------------------------

TEST(GrantBatches, OneGrantIsIssuedAndUsedOnce) {
  Rehearsal stage;
  Workspace batch;
  const CreateCommand create = stage.create_command(grantable());
  ASSERT_TRUE(stage.decide_in(batch, create));
  const auto issued = stage.decide_in(batch, Rehearsal::grant_command(GrantKind::claim, create.id));
  ASSERT_TRUE(issued);
  const auto second = stage.decide_in(batch, Rehearsal::grant_command(GrantKind::claim, create.id));
  EXPECT_EQ(second.error().code, Errc::grant_already_exists);
  const RedeemCommand redeem = Rehearsal::redeem_command(std::get<Grant>(*issued));
  EXPECT_TRUE(stage.decide_in(batch, redeem));
  EXPECT_EQ(stage.decide_in(batch, redeem).error().code, Errc::invalid_claim_grant);
  stage.commit(batch);
  EXPECT_EQ(stage.state(create.id), PublicState::active);
  EXPECT_FALSE(stage.ready(create.id));
  EXPECT_EQ(stage.history(create.id), (std::vector{EventType::created, EventType::grant_issued, EventType::claimed}));
}

TEST(GrantBatches, AReclaimGrantIsIssuedAndUsedOnce) {
  Rehearsal stage;
  const ExecutionId id = lost(stage, manual_job());
  Workspace batch;
  const auto issued = stage.decide_in(batch, Rehearsal::grant_command(GrantKind::reclaim, id));
  const Grant grant = outcome_of<Granted>(std::get<IssueReclaimGrantOutcome>(*issued)).grant;
  const RedeemCommand redeem = Rehearsal::redeem_command(grant);
  outcome_of<Claimed>(std::get<ReclaimExecutionOutcome>(*stage.decide_in(batch, redeem)));
  outcome_of<GrantNotFound>(std::get<ReclaimExecutionOutcome>(*stage.decide_in(batch, redeem)));
  const auto again = stage.decide_in(batch, Rehearsal::grant_command(GrantKind::reclaim, id));
  outcome_of<NotReclaimable>(std::get<IssueReclaimGrantOutcome>(*again));
  stage.commit(batch);
  EXPECT_EQ(stage.facts(id).reclaim_count, 1u);
}

TEST(GrantBatches, ACancelTakesTheGrantAlong) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  Workspace batch;
  const auto issued = stage.decide_in(batch, Rehearsal::grant_command(GrantKind::claim, id));
  ASSERT_TRUE(stage.decide_in(batch, CancelCommand{id, {}}));
  const auto redeemed = stage.decide_in(batch, Rehearsal::redeem_command(std::get<Grant>(*issued)));
  EXPECT_EQ(redeemed.error().code, Errc::already_terminal);
  EXPECT_EQ(stage.decide_in(batch, Rehearsal::grant_command(GrantKind::claim, id)).error().code,
            Errc::already_terminal);
  stage.commit(batch);
  EXPECT_FALSE(stage.ready(id));
  EXPECT_FALSE(stage.facts(id).grant);
}

TEST(GrantBatches, ALeaseAndAGrantDoNotBothWin) {
  for (const bool lease_first : {false, true}) {
    Rehearsal stage;
    const ExecutionId id = stage.create(grantable());
    Workspace batch;
    const Command lease = LeaseCommand{id, "default", "v", "v-1", 500};
    const Command grant = Rehearsal::grant_command(GrantKind::claim, id);
    EXPECT_TRUE(stage.decide_in(batch, lease_first ? lease : grant));
    EXPECT_EQ(stage.decide_in(batch, lease_first ? grant : lease).error().code,
              lease_first ? Errc::not_eligible : Errc::not_active);
    stage.commit(batch);
    EXPECT_EQ(stage.facts(id).grant.has_value(), !lease_first);
    EXPECT_EQ(stage.facts(id).lease.has_value(), lease_first);
  }
}

TEST(GrantBatches, APauseInTheSameBatchCounts) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  Workspace batch;
  ASSERT_TRUE(stage.decide_in(batch, LaneCommand{"default", LaneState::paused, {}}));
  EXPECT_EQ(stage.decide_in(batch, Rehearsal::grant_command(GrantKind::claim, id)).error().code, Errc::not_eligible);
  ASSERT_TRUE(stage.decide_in(batch, LaneCommand{"default", LaneState::active, {}}));
  EXPECT_TRUE(stage.decide_in(batch, Rehearsal::grant_command(GrantKind::claim, id)));
  stage.commit(batch);
}

// ---- Removing ------------------------------------------------------------------------------------------------------

TEST(Removing, TakesWhatEndedBeforeATimeWhateverItsPolicy) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  stage.expect<CancelReply>(CancelCommand{id, {}});
  const TimestampMs end = stage.now;
  EXPECT_FALSE(stage.expect<RemoveReply>(RemoveCommand{id, end}).removed);
  EXPECT_TRUE(stage.exists(id));
  EXPECT_TRUE(stage.expect<RemoveReply>(RemoveCommand{id, end + 1}).removed);
  EXPECT_FALSE(stage.exists(id));
  EXPECT_TRUE(stage.history(id).empty());
  EXPECT_EQ(stage.refusal(RemoveCommand{id, end + 1}), Errc::not_found);
}

TEST(Removing, WithoutATimeObeysRetention) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  stage.expect<CancelReply>(CancelCommand{id, {}});
  stage.now += stage.default_retention_ms - 1;
  EXPECT_FALSE(stage.expect<RemoveReply>(RemoveCommand{id, {}}).removed);
  NamespaceInfo info{"default", {}};
  info.retention.cancelled_ms = 5;
  stage.expect<NamespaceInfo>(NamespaceCommand{info, {}});
  EXPECT_TRUE(stage.expect<RemoveReply>(RemoveCommand{id, {}}).removed) << "as its namespace says today";
  EXPECT_FALSE(stage.exists(id));
}

TEST(Removing, LeavesTheEndToBeLoggedFirst) {
  Rehearsal stage;
  CreateRequest request = grantable();
  request.deadline_at = stage.now + 10;
  request.policy.retention.expired_ms = 0;
  const ExecutionId id = stage.create(request);
  stage.now += 10;
  EXPECT_FALSE(stage.expect<RemoveReply>(RemoveCommand{id, stage.now + 1}).removed);
  EXPECT_EQ(stage.history(id).back(), EventType::expired);
  EXPECT_TRUE(stage.expect<RemoveReply>(RemoveCommand{id, stage.now + 1}).removed);
}

TEST(Removing, AsAWholeIsOneEventOfTheOperator) {
  Rehearsal stage;
  const RetentionPolicy kept{5, {}, {}, {}, {}};
  stage.expect<NamespaceInfo>(NamespaceCommand{{"tenant", kept}, {}});
  stage.expect<Done>(NoteRetentionCommand{{1000, "tenant", "mail"}, 7, {"ops", "tidy"}});
  ASSERT_EQ(stage.last_events.size(), 1u);
  const Event event = stage.last_events[0];
  EXPECT_EQ(event.type, EventType::retention_run);
  EXPECT_EQ(event.actor, "ops");
  EXPECT_EQ(event.name_space, "tenant");
  EXPECT_EQ(event.lane, "mail");
  EXPECT_NE(event.reason.find("removed 7 ended executions"), std::string::npos) << event.reason;
  EXPECT_NE(event.reason.find("tidy"), std::string::npos) << event.reason;
  const auto again = stage.expect<NamespaceInfo>(NamespaceCommand{{"tenant", kept}, {}});
  EXPECT_EQ(again.retention, kept);
  EXPECT_TRUE(stage.last_events.empty()) << "the namespace says what it said";

  stage.expect<Done>(NoteRetentionCommand{{}, 0, {"ops", ""}});
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].name_space, "") << "it was about all of them";
}

TEST(Removing, InABatchWithOthers) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  stage.expect<CancelReply>(CancelCommand{id, {}});
  stage.now += 5;
  Workspace batch;
  const auto removed = stage.decide_in(batch, RemoveCommand{id, stage.now});
  EXPECT_TRUE(std::get<RemoveReply>(*removed).removed);
  EXPECT_EQ(stage.decide_in(batch, RemoveCommand{id, stage.now}).error().code, Errc::not_found);
  EXPECT_EQ(stage.decide_in(batch, ReplayCommand{id, {}}).error().code, Errc::not_found);
  EXPECT_EQ(stage.decide_in(batch, Rehearsal::grant_command(GrantKind::claim, id)).error().code, Errc::not_found);
  stage.commit(batch);
  EXPECT_FALSE(stage.exists(id));
}

// ---- Keys ----------------------------------------------------------------------------------------------------------

std::vector<std::uint32_t> ids_of(const KeyRotation& rotation) {
  std::vector<std::uint32_t> ids;
  for (const SigningKeyInfo& key : rotation.keys) ids.push_back(key.key_id);
  return ids;
}

KeyRotation rotate(Rehearsal& stage, std::int64_t grace_ms) {
  return stage.expect<KeyRotation>(RotateKeysCommand{grace_ms, {"ops", ""}});
}

TEST(KeyRotations, TheNewestSignsAndTheOthersExpire) {
  Rehearsal stage;
  EXPECT_EQ(rotate(stage, 1000), (KeyRotation{1, {{1, stage.now, 0}}}));
  const TimestampMs first = stage.now;
  stage.now += 10;
  EXPECT_EQ(rotate(stage, 1000), (KeyRotation{2, {{1, first, stage.now + 1000}, {2, stage.now, 0}}}));
  const KeyringRecord keyring = stage.keyring();
  ASSERT_EQ(keyring.keys.size(), 2u);
  EXPECT_EQ(keyring.keys[0].secret.size(), 32u);
  EXPECT_NE(keyring.keys[0].secret, keyring.keys[1].secret);
  EXPECT_EQ(keyring.keys[0].expires_at, stage.now + 1000);
  EXPECT_EQ(keyring.keys[1].expires_at, 0);
}

TEST(KeyRotations, NeverProlongAKey) {
  Rehearsal stage;
  rotate(stage, 0);
  rotate(stage, 100);
  const TimestampMs until = stage.now + 100;
  const KeyRotation longer = rotate(stage, 5000);
  EXPECT_EQ(longer.keys[0].expires_at, until);
  EXPECT_EQ(longer.keys[1].expires_at, stage.now + 5000);
  const KeyRotation shorter = rotate(stage, 50);
  EXPECT_EQ(shorter.keys[0].expires_at, stage.now + 50);
  EXPECT_EQ(shorter.keys[1].expires_at, stage.now + 50);
}

TEST(KeyRotations, DropWhatHasExpiredAndNeverUseANumberAgain) {
  Rehearsal stage;
  rotate(stage, 0);
  rotate(stage, 100);
  stage.now += 99;
  EXPECT_EQ(ids_of(rotate(stage, 100)), (std::vector<std::uint32_t>{1, 2, 3}));
  stage.now += 1;
  EXPECT_EQ(ids_of(rotate(stage, 100)), (std::vector<std::uint32_t>{2, 3, 4}));
  EXPECT_EQ(ids_of(rotate(stage, 0)), std::vector<std::uint32_t>{5}) << "without grace the older ones go at once";
  EXPECT_EQ(ids_of(rotate(stage, 100)), (std::vector<std::uint32_t>{5, 6}));
}

TEST(KeyRotations, AreBounded) {
  Rehearsal stage;
  for (std::size_t i = 0; i < limits::max_signing_keys; ++i) rotate(stage, 1000);
  EXPECT_EQ(stage.keyring().keys.size(), limits::max_signing_keys);
  const std::uint64_t before = stage.version(keyring_key());
  EXPECT_EQ(stage.refusal(RotateKeysCommand{1000, {}}), Errc::overloaded);
  EXPECT_EQ(stage.version(keyring_key()), before);
  stage.now += 1000;
  EXPECT_EQ(rotate(stage, 1000).keys.size(), 2u);
}

// A rotation without grace invalidates the older keys: it must not be refused because there are too many.
TEST(KeyRotations, WithoutGraceAreNeverTooMany) {
  Rehearsal stage;
  for (std::size_t i = 0; i < limits::max_signing_keys; ++i) rotate(stage, 1000);
  EXPECT_EQ(rotate(stage, 0).keys.size(), 1u);
}

TEST(KeyRotations, SecretsStayInTheKeyring) {
  Rehearsal stage;
  for (int i = 0; i < 3; ++i) {
    rotate(stage, 1000);
    ASSERT_EQ(stage.last_events.size(), 1u);
    EXPECT_EQ(stage.last_events[0].type, EventType::keys_rotated);
    EXPECT_EQ(stage.last_events[0].actor, "ops");
    for (const auto& key : stage.keyring().keys) {
      const std::string bytes = encode(stage.last_events[0]);
      EXPECT_EQ(bytes.find(key.secret), std::string::npos);
      EXPECT_EQ(bytes.find(to_hex(key.secret)), std::string::npos);
      EXPECT_EQ(bytes.find(to_base64url(key.secret)), std::string::npos);
    }
  }
}

TEST(KeyRotations, HandlesAndGrantsOutliveThemForTheGrace) {
  Rehearsal stage;
  rotate(stage, 0);
  stage.reload_keys();
  const ExecutionId held = stage.create(grantable());
  const ClaimedExecution claim = stage.lease(held, 60000);
  const ExecutionId granted = stage.create(grantable());
  const Grant grant = stage.claim_grant(granted, 60000);
  rotate(stage, 1000);
  stage.reload_keys();
  stage.now += 999;
  EXPECT_EQ(stage.signer().verify_handle(claim.handle, stage.now), (HandleClaims{fence_of(claim), claim.name_space}));
  EXPECT_TRUE(stage.signer().verify_grant(grant.grant_key, stage.now));
  stage.now += 1;
  EXPECT_FALSE(stage.signer().verify_handle(claim.handle, stage.now));
  EXPECT_FALSE(stage.signer().verify_grant(grant.grant_key, stage.now));
}

TEST(KeyRotations, AndGrantsInOneBatch) {
  Rehearsal stage;
  rotate(stage, 0);
  stage.reload_keys();
  const ExecutionId id = stage.create(grantable());
  Workspace batch;
  ASSERT_TRUE(stage.decide_in(batch, RotateKeysCommand{1000, {}}));
  const auto issued = stage.decide_in(batch, Rehearsal::grant_command(GrantKind::claim, id));
  const auto more = stage.decide_in(batch, RotateKeysCommand{500, {}});
  EXPECT_EQ(ids_of(std::get<KeyRotation>(*more)), (std::vector<std::uint32_t>{1, 2, 3}));
  stage.commit(batch);
  stage.reload_keys();
  const Grant grant = std::get<Grant>(*issued);
  EXPECT_TRUE(stage.signer().verify_grant(grant.grant_key, stage.now)) << "the key that signed it has its grace";
  stage.expect<ClaimedExecution>(Rehearsal::redeem_command(grant));
}

TEST(ClaimGrants, KeepTheInstanceAndTheTextsOfTheScheduler) {
  Rehearsal stage;
  const ExecutionId id = stage.create(grantable());
  GrantCommand command = Rehearsal::grant_command(GrantKind::claim, id);
  command.request.worker_instance_id = "w-7";
  command.request.capability_hash = "c0ffee";
  command.request.route_snapshot = R"({"lane":"default"})";
  command.request.admission_summary = "3 of 5 slots\n";
  const Grant grant = stage.expect<Grant>(command);
  EXPECT_EQ(grant.capability_hash, "c0ffee");
  EXPECT_EQ(grant.route_snapshot, R"({"lane":"default"})");
  EXPECT_EQ(grant.admission_summary, "3 of 5 slots\n");
  const HeldGrant held = *stage.facts(id).grant;
  EXPECT_EQ(held.worker_instance_id, "w-7");
  EXPECT_EQ(held.capability_hash, grant.capability_hash);
  EXPECT_EQ(held.route_snapshot, grant.route_snapshot);
  EXPECT_EQ(held.admission_summary, grant.admission_summary);
  stage.expect<ClaimedExecution>(Rehearsal::redeem_command(grant));
  EXPECT_FALSE(stage.facts(id).grant);
}

TEST(ReclaimGrants, ACallerMayAllowFewerReclaimsThanThePolicy) {
  for (const std::uint32_t cap : {0u, 1u, 2u}) {
    SCOPED_TRACE(cap);
    Rehearsal stage;
    const ExecutionId id = lost(stage, manual_job());
    const auto again = reclaim(stage, stage.reclaim_grant(id));
    EXPECT_EQ(again.attempt.attempt_type, AttemptType::reclaim);
    stage.expect<RevokeReply>(RevokeCommand{id, {}, {"ops", ""}});
    RedeemCommand command = Rehearsal::redeem_command(stage.reclaim_grant(id));
    command.request.max_reclaim_count = cap;
    const auto outcome = stage.expect<ReclaimExecutionOutcome>(command);
    if (cap == 2) {
      EXPECT_TRUE(std::holds_alternative<Claimed>(outcome));
      continue;
    }
    EXPECT_EQ(outcome_of<ReclaimCapExceeded>(outcome).count, 1u);
    EXPECT_EQ(stage.state(id), PublicState::failed);
    EXPECT_EQ(stage.facts(id).failure->category, "max_reclaims_exceeded");
    EXPECT_EQ(stage.history(id).back(), EventType::failed);
    EXPECT_FALSE(stage.facts(id).grant);
    EXPECT_EQ(outcome_of<ReclaimCapExceeded>(stage.expect<ReclaimExecutionOutcome>(command)).count, 1u);
  }
}

TEST(ClaimGrants, HaveNoUseForALimitOfReclaims) {
  Rehearsal stage;
  const Grant grant = stage.claim_grant(stage.create(grantable()));
  RedeemRequest request = Rehearsal::redeem_command(grant).request;
  request.max_reclaim_count = 3;
  const auto claims = stage.signer().verify_grant(grant.grant_key, stage.now);
  EXPECT_EQ(admit_grant(*claims, GrantKind::claim, request).error().field, "max_reclaim_count");
}

}  // namespace
}  // namespace flowfabric
