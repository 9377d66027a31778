// Signing keys: rotation, grace, several engines, and secrecy.
#include <flowfabric/engine.hpp>

#include "base/hashing.hpp"
#include "conformance/fleet_suite.hpp"
#include "engine/engine_impl.hpp"

namespace flowfabric::test {
namespace {

class EngineKeys : public FleetSuite {
 protected:
  std::vector<SigningKeyInfo> keys() { return value_of(reads::keys(engine().store())); }
  std::vector<std::string> secrets() {
    const auto records = value_of(engine().store().load({keyring_key()}));
    std::vector<std::string> all;
    for (const auto& key : value_of(decode_keyring(records.at(0).body)).keys) all.push_back(key.secret);
    return all;
  }
  static bool accepts(Driver& driver, const Handle& handle) {
    const auto fence = driver.runtime().fence_of(handle);
    if (!fence && fence.error().code != Errc::invalid_handle) throw std::runtime_error(fence.error().message);
    return fence.has_value();
  }
  ClaimedExecution hold(Driver& driver) {
    engine().make();
    return value_of(driver.claim(ask_as("w-1"))).at(0);
  }
};
ON_EVERY_STORE(EngineKeys);

TEST_P(EngineKeys, a_rotation_is_listed_and_logged) {
  const TimestampMs began = now();
  EXPECT_EQ(keys(), (std::vector<SigningKeyInfo>{{1, began, 0}}));
  engine().advance(1000);
  const KeyRotation rotation = value_of(engine().rotate_keys(5000, {"ops", "monthly"}));
  EXPECT_EQ(rotation.key_id, 2u);
  EXPECT_EQ(rotation.keys, (std::vector<SigningKeyInfo>{{1, began, now() + 5000}, {2, now(), 0}}));
  EXPECT_EQ(keys(), rotation.keys);
  EventFilter filter;
  filter.types = {EventType::keys_rotated};
  const auto events = events_from(start_cursor("earliest"), filter);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].actor, "ops");
  for (const std::int64_t grace : {std::int64_t{-1}, limits::max_duration_ms + 1}) {
    EXPECT_EQ(error_of(engine().rotate_keys(grace)).field, "grace_ms");
  }
  EXPECT_EQ(keys(), rotation.keys);
}

TEST_P(EngineKeys, handles_of_an_old_key_are_accepted_for_the_grace_and_refused_after_it) {
  const ClaimedExecution old = hold(engine());
  value_of(engine().rotate_keys(5000));
  const ClaimedExecution fresh = hold(engine());
  engine().advance(4999);
  EXPECT_TRUE(engine().renew(old).has_value());
  EXPECT_TRUE(engine().renew(fresh).has_value());
  engine().advance(1);
  EXPECT_FALSE(accepts(engine(), old.handle));
  EXPECT_TRUE(accepts(engine(), fresh.handle));
  const HeartbeatReply reply = heartbeat(beat("w-1", {old.handle, fresh.handle}));
  EXPECT_EQ(refusal(reply.leases[0]), Errc::invalid_handle);
  EXPECT_TRUE(reply.leases[1].has_value());
  EXPECT_TRUE(is_held_by(old)) << "the lease itself stands until it expires";
  engine().advance(600000);
  EXPECT_FALSE(is_held_by(old));
}

TEST_P(EngineKeys, a_renewal_and_a_heartbeat_answer_with_a_handle_of_the_current_key) {
  for (const bool by_heartbeat : {false, true}) {
    SCOPED_TRACE(by_heartbeat);
    const ClaimedExecution claimed = hold(engine());
    const Fence lease = engine().fence(claimed);
    value_of(engine().rotate_keys(5000));
    engine().advance(4000);
    const Handle fresh = by_heartbeat ? value_of(heartbeat(beat("w-1", {claimed.handle})).leases.at(0)).handle
                                      : value_of(engine().renew(claimed)).handle;
    EXPECT_NE(fresh, claimed.handle);
    engine().advance(5000);
    EXPECT_FALSE(accepts(engine(), claimed.handle));
    ASSERT_TRUE(accepts(engine(), fresh)) << "the attempt outlives the grace";
    ASSERT_TRUE(accepts(second(), fresh));
    const Fence fence = value_of(engine().runtime().fence_of(fresh));
    EXPECT_EQ(fence, lease);
    call<Done>(CompleteCommand{fence, {"done", {}}});
    EXPECT_EQ(state(claimed.execution_id), PublicState::completed);
  }
}

TEST_P(EngineKeys, no_grace_makes_everything_that_is_out_worthless_at_once) {
  const ClaimedExecution claimed = hold(engine());
  const ExecutionId id = engine().make();
  const Grant grant = value_of(engine().issue_claim_grant(grant_for(id)));
  value_of(engine().rotate_keys(0));
  EXPECT_FALSE(accepts(engine(), claimed.handle));
  EXPECT_EQ(refusal(engine().claim_from_grant(redeem(grant))), Errc::invalid_claim_grant);
  EXPECT_EQ(keys().size(), 1u);
  engine().advance(5000);
  EXPECT_EQ(engine().take().execution_id, id) << "the execution is not lost with its grant";
  engine().advance(600000);
  EXPECT_FALSE(is_held_by(claimed));
}

TEST_P(EngineKeys, grants_of_an_old_key_are_accepted_for_the_grace_and_refused_after_it) {
  const auto made = make_jobs(2);
  const Grant in_time = value_of(engine().issue_claim_grant(grant_for(made[0], 60000)));
  const Grant late = value_of(engine().issue_claim_grant(grant_for(made[1], 60000)));
  value_of(engine().rotate_keys(5000));
  engine().advance(4999);
  EXPECT_EQ(value_of(engine().claim_from_grant(redeem(in_time))).execution_id, made[0]);
  engine().advance(1);
  EXPECT_EQ(refusal(engine().claim_from_grant(redeem(late))), Errc::invalid_claim_grant);
  EXPECT_TRUE(facts(made[1]).grant.has_value());
  engine().advance(55000);
  EXPECT_EQ(engine().take().execution_id, made[1]);
}

TEST_P(EngineKeys, a_new_rotation_never_prolongs_an_older_grace) {
  const ClaimedExecution oldest = hold(engine());
  value_of(engine().rotate_keys(5000));
  const ClaimedExecution older = hold(engine());
  value_of(engine().rotate_keys(60000));
  engine().advance(5000);
  EXPECT_FALSE(accepts(engine(), oldest.handle));
  EXPECT_TRUE(accepts(engine(), older.handle));
  value_of(engine().rotate_keys(100));
  engine().advance(100);
  EXPECT_FALSE(accepts(engine(), older.handle)) << "but it may cut one short";
  EXPECT_EQ(keys().back().key_id, 4u);
}

TEST_P(EngineKeys, there_is_room_for_so_many_keys_in_their_grace) {
  for (std::size_t i = 1; i < limits::max_signing_keys; ++i) value_of(engine().rotate_keys(60000));
  const ClaimedExecution claimed = hold(engine());
  EXPECT_EQ(refusal(engine().rotate_keys(60000)), Errc::overloaded);
  EXPECT_TRUE(accepts(engine(), claimed.handle));
  engine().advance(60000);
  EXPECT_EQ(value_of(engine().rotate_keys(60000)).keys.size(), 2u);
  EXPECT_TRUE(accepts(engine(), claimed.handle));
}

TEST_P(EngineKeys, keys_are_in_the_store_and_outlive_the_engine) {
  const ClaimedExecution first = hold(engine());
  value_of(engine().rotate_keys(60000));
  const ClaimedExecution next = hold(engine());
  const auto before = keys();
  engine_.reset();
  engine_ = open_engine(99);
  EXPECT_EQ(keys(), before);
  EXPECT_TRUE(accepts(engine(), first.handle));
  EXPECT_TRUE(engine().complete(next).has_value());
  engine().advance(60000);
  EXPECT_FALSE(accepts(engine(), first.handle));
}

// ---- Several engines -----------------------------------------------------------------------------------------------

TEST_P(EngineKeys, another_engine_accepts_what_a_new_key_signed_whether_or_not_it_heard) {
  second();
  value_of(engine().rotate_keys(5000));
  const ClaimedExecution claimed = hold(engine());
  EXPECT_TRUE(accepts(second(), claimed.handle)) << "it meets the key and asks for it";
  const ExecutionId id = engine().make();
  const Grant grant = value_of(engine().issue_claim_grant(grant_for(id)));
  EXPECT_EQ(value_of(second().claim_from_grant(redeem(grant))).execution_id, id);
}

TEST_P(EngineKeys, another_engine_accepts_a_grant_of_a_new_key_whether_or_not_it_heard) {
  second();
  value_of(engine().rotate_keys(5000));
  const ExecutionId id = engine().make();
  const Grant grant = value_of(engine().issue_claim_grant(grant_for(id)));
  EXPECT_EQ(value_of(second().claim_from_grant(redeem(grant))).execution_id, id);
}

TEST_P(EngineKeys, another_engine_hears_of_a_rotation_and_signs_with_the_new_key) {
  const ClaimedExecution old = hold(second());
  EXPECT_TRUE(accepts(second(), old.handle));
  value_of(engine().rotate_keys(0));
  EXPECT_FALSE(accepts(engine(), old.handle));
  EXPECT_TRUE(comes_true(second(), [&] { return !accepts(second(), old.handle); }));
  EXPECT_TRUE(accepts(engine(), hold(second()).handle));
}

TEST_P(EngineKeys, another_engine_refuses_an_old_key_after_the_grace) {
  const ClaimedExecution old = hold(second());
  value_of(engine().rotate_keys(5000));
  ASSERT_TRUE(accepts(second(), hold(engine()).handle)) << "by now it knows";
  engine().advance(4999);
  second().settle();
  EXPECT_TRUE(accepts(second(), old.handle));
  clock_.advance_ms(1);
  second().settle();
  EXPECT_FALSE(accepts(second(), old.handle));
}

// The engine that rotates dies before it sends its notification.
TEST_P(EngineKeys, another_engine_learns_of_a_rotation_that_nobody_announced) {
  const ClaimedExecution old = hold(engine());
  {
    const auto watch = std::make_shared<Watch>();
    RuntimeOptions options;
    options.writers = 1;
    Driver doomed(std::make_unique<WatchedStore>(open_store(), watch), clock_, 77, options);
    doomed.settle();
    watch->calls = 0;
    watch->death = Watch::Death::after;
    watch->fatal_call = 2;  // a read and the commit
    EXPECT_FALSE(doomed.rotate_keys(0).has_value());
  }
  ASSERT_EQ(keys().back().key_id, 2u) << "the rotation is committed";
  engine().advance(61000);
  EXPECT_FALSE(accepts(engine(), old.handle)) << "a keep-alive later the old key is worth nothing here either";
  const auto witness = open_engine(88);
  EXPECT_TRUE(accepts(*witness, hold(engine()).handle)) << "and new handles are signed with the new one";
}

TEST_P(EngineKeys, two_engines_rotate_at_once_and_agree) {
  second();
  std::vector<std::uint32_t> here, there;
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) there.push_back(value_of(second().rotate_keys(600000)).key_id);
  });
  for (int i = 0; i < 5; ++i) here.push_back(value_of(engine().rotate_keys(600000)).key_id);
  other.join();
  std::set<std::uint32_t> all(here.begin(), here.end());
  all.insert(there.begin(), there.end());
  EXPECT_EQ(all.size(), 10u) << "no id twice";
  EXPECT_EQ(keys().size(), 11u);
  const ClaimedExecution mine = hold(engine());
  EXPECT_TRUE(comes_true(second(), [&] { return accepts(second(), mine.handle); }));
  const ClaimedExecution theirs = hold(second());
  EXPECT_TRUE(comes_true(engine(), [&] { return accepts(engine(), theirs.handle); }));
}

TEST_P(EngineKeys, a_flood_of_forged_tokens_costs_the_store_one_word_a_second) {
  const auto watch = std::make_shared<Watch>();
  Driver driver(std::make_unique<WatchedStore>(open_store(), watch), clock_, 5);
  const ClaimedExecution claimed = hold(driver);
  auto bytes = from_base64url(claimed.handle);
  ASSERT_TRUE(bytes.has_value());
  (*bytes)[2] = 77;  // a key id that does not exist
  const std::string forged = to_base64url(*bytes);
  driver.advance(2000);
  watch->calls = 0;
  for (int i = 0; i < 500; ++i) EXPECT_FALSE(accepts(driver, forged));
  EXPECT_LE(watch->calls, 1);
}

// ---- Secrets -------------------------------------------------------------------------------------------------------

TEST_P(EngineKeys, no_secret_is_ever_shown) {
  const ExecutionId id = engine().make();
  const Grant grant = value_of(engine().issue_claim_grant(grant_for(id)));
  value_of(engine().rotate_keys(60000, {"ops", "monthly"}));
  std::string shown;
  for (const Event& event : events_from(start_cursor("earliest"))) {
    shown += event.actor + "\n" + event.reason + "\n" + event.worker_instance_id + "\n";
  }
  for (const auto& info : keys()) shown += std::to_string(info.key_id) + "\n";
  for (const Reason& reason : engine().describe(id).explain) shown += reason.sentence + "\n";
  RedeemRequest forged;
  forged.execution_id = id;
  forged.worker_id = forged.worker_instance_id = "w";
  for (const std::string& key : {std::string("x"), grant.grant_key.substr(0, 50), grant.grant_key + "A"}) {
    forged.grant_key = key;
    shown += error_of(engine().claim_from_grant(forged)).message + "\n";
    shown += error_of(engine().runtime().fence_of(key)).message + "\n";
  }
  for (const std::string& secret : secrets()) {
    EXPECT_GE(secret.size(), 32u);
    for (const std::string& text : {secret, to_hex(secret), to_base64url(secret)}) {
      EXPECT_EQ(shown.find(text), std::string::npos);
    }
  }
  EXPECT_EQ(shown.find(grant.grant_key), std::string::npos) << "what redeems a grant is not logged either";
  EXPECT_NE(shown.find(grant.grant_id), std::string::npos) << "its id is";
}

TEST_P(EngineKeys, the_threaded_engine_rotates_too) {
  const auto threaded = value_of(start_engine(open_store(), {}));
  value_of(threaded->create(job()));
  const ClaimedExecution claimed = value_of(threaded->claim(ask())).at(0);
  EXPECT_EQ(value_of(threaded->rotate_keys(60000)).key_id, 2u);
  EXPECT_EQ(value_of(threaded->list_keys()).size(), 2u);
  EXPECT_TRUE(threaded->renew(claimed.handle).has_value());
  EXPECT_EQ(value_of(threaded->rotate_keys(0)).keys.size(), 1u);
  EXPECT_EQ(refusal(threaded->renew(claimed.handle)), Errc::invalid_handle);
  threaded->stop();
}

TEST_P(EngineKeys, the_threaded_engine_renews_handles_and_knows_their_namespace_without_a_read) {
  const auto watch = std::make_shared<Watch>();
  const auto threaded = value_of(start_engine(std::make_unique<WatchedStore>(open_store(), watch), {}));
  CreateRequest request = job();
  request.name_space = "team";
  value_of(threaded->create(request));
  const ClaimedExecution claimed = value_of(threaded->claim(ask())).at(0);
  const std::vector<std::optional<std::string>> expected = {"team", std::nullopt, "team"};
  value_of(threaded->rotate_keys(60000));
  const Handle fresh = value_of(threaded->renew(claimed.handle)).handle;
  EXPECT_NE(fresh, claimed.handle);
  EXPECT_EQ(value_of(threaded->namespace_of(claimed.execution_id)), "team");
  EXPECT_EQ(value_of(threaded->namespaces_of({claimed.handle, "nonsense", fresh})), expected);
  threaded->stop();
  const int before = watch->calls;
  EXPECT_EQ(value_of(threaded->namespaces_of({claimed.handle, "nonsense", fresh})), expected);
  EXPECT_EQ(watch->calls, before) << "the handles say it themselves";
}

}  // namespace
}  // namespace flowfabric::test
