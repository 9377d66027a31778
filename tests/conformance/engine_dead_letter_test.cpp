// Dead letters and redrives on every store.
#include <algorithm>

#include "conformance/engine_suite.hpp"
#include "core/dead_letter_ingress.hpp"
#include "core/fingerprint.hpp"
#include "engine/dead_letter_reads.hpp"

namespace flowfabric::test {
namespace {

using Ids = std::vector<ExecutionId>;

class EngineDeadLetters : public EngineSuite {
 protected:
  void fail_with(const ClaimedExecution& claim, const std::string& message, const std::string& category = "error") {
    call<FailReply>(FailCommand{engine().fence(claim), {category, message, {}}});
  }
  // Makes executions that fail at once, a millisecond apart.
  Ids make_failed(std::size_t count, const std::string& message, CreateRequest request = job()) {
    Ids ids;
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(make(request));
      fail_with(claim(ask(1, {request.lane})).at(0), message + " " + std::to_string(i));
      engine().advance(1);
    }
    return ids;
  }
  static CreateRequest replayable(std::uint32_t max_replays) {
    CreateRequest request = job();
    request.policy.max_replays = max_replays;
    return request;
  }

  std::vector<DeadLetterGroup> groups(const ListDeadLettersRequest& request = {}) {
    return value_of(reads::dead_letters(engine().store(), request)).groups;
  }
  DeadLetterDetails details(const std::string& fingerprint, std::uint32_t limit = 100, std::string cursor = {}) {
    return value_of(reads::dead_letter_group(engine().store(), {"default", fingerprint, std::move(cursor), limit}));
  }
  static Ids ids_in(const DeadLetterDetails& page) {
    Ids ids;
    for (const DeadLetter& one : page.executions) ids.push_back(one.summary.execution_id);
    return ids;
  }
  Result<CreateRedriveCommand> command(RedriveRequest request) {
    return reads::redrive_command(engine().store(), std::move(request), {"ops", "why"}, engine().runtime().new_uuid());
  }
  std::string redrive(RedriveRequest request) {
    return call<RedriveInfo>(value_of(command(std::move(request)))).redrive_id;
  }
  static RedriveRequest everything(const std::string& rate = {}) {
    RedriveRequest request;
    request.all = true;
    request.rate = rate;
    return request;
  }
  RedriveInfo info(const std::string& id) {
    return value_of(reads::redrive(engine().store(), value_of(parse_redrive_id(id))));
  }
  RedriveInfo change(const std::string& id, RedriveAction action) {
    return call<RedriveInfo>(RedriveActionCommand{value_of(parse_redrive_id(id)), action, {"ops", "so"}});
  }
  void forget_fingerprint(const ExecutionId& id) {
    Execution execution = engine().execution(id);
    const Record record = value_of(engine().store().load({execution_key(id)})).at(0);
    ChangeSet set;
    erase_letter(*letter_of(execution), set);
    execution.facts.letter = {};
    RootChange& root = set.roots.emplace_back();
    root.key = record.key;
    root.expected_version = record.version;
    root.last_entry = record.last_entry;
    root.place = record.place;
    root.body = encode(execution.facts);
    root.listing = listing_of(execution);
    const auto session = value_of(engine().store().open_session());
    ASSERT_EQ(value_of(session->commit({set})), std::vector<Verdict>{Verdict::committed});
    ASSERT_TRUE(session->settle());
  }
  std::size_t count_in_state(const Ids& ids, PublicState wanted) {
    return static_cast<std::size_t>(
        std::count_if(ids.begin(), ids.end(), [&](const ExecutionId& id) { return state(id) == wanted; }));
  }
};

TEST_P(EngineDeadLetters, AreGroupedByWhatWentWrong) {
  const Ids timeouts = make_failed(3, "no answer from 10.0.0.1 after 3000 ms, request");
  const Ids missing = make_failed(1, "cannot open /var/data/file.txt:");
  const auto all = groups();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].count, 3U);
  EXPECT_EQ(all[0].kind, "job");
  EXPECT_EQ(all[0].category, "error");
  EXPECT_EQ(all[0].message, "no answer from <n> after <n> ms, request <n>");
  EXPECT_EQ(all[0].example, "no answer from 10.0.0.1 after 3000 ms, request 2");
  EXPECT_EQ(all[0].last_at - all[0].first_at, 2);
  EXPECT_EQ(all[0].lanes, (std::vector<DeadLetterLane>{{"default", 3}}));
  EXPECT_EQ(all[1].message, "cannot open <path>: <n>");
  EXPECT_EQ(engine().describe(missing[0]).fingerprint, all[1].fingerprint);
  // The last failure first, in pages.
  const DeadLetterDetails first = details(all[0].fingerprint, 2);
  EXPECT_EQ(ids_in(first), (Ids{timeouts[2], timeouts[1]}));
  EXPECT_EQ(first.group.count, 3U);
  const DeadLetterDetails second = details(all[0].fingerprint, 2, first.next_cursor);
  EXPECT_EQ(ids_in(second), Ids{timeouts[0]});
  EXPECT_EQ(second.next_cursor, "");
}

TEST_P(EngineDeadLetters, ListInPagesAndByLane) {
  make_failed(3, "alpha");
  make_failed(2, "beta", job("mail"));
  make_failed(1, "alpha", job("mail"));
  ListDeadLettersRequest request;
  request.limit = 1;
  const auto first = value_of(reads::dead_letters(engine().store(), request));
  ASSERT_EQ(first.groups.size(), 1U);
  EXPECT_EQ(first.groups[0].count, 4U);
  EXPECT_EQ(first.total_groups, 2U);
  EXPECT_EQ(first.executions, 6U);
  request.cursor = first.next_cursor;
  const auto second = value_of(reads::dead_letters(engine().store(), request));
  ASSERT_EQ(second.groups.size(), 1U);
  EXPECT_EQ(second.groups[0].message, "beta <n>");
  EXPECT_EQ(second.next_cursor, "");
  request = {};
  request.lane = "mail";
  const auto mail = groups(request);
  ASSERT_EQ(mail.size(), 2U);
  EXPECT_EQ(mail[0].count, 2U);
  EXPECT_EQ(mail[1].count, 1U);
  request = {};
  request.kind = "other";
  EXPECT_TRUE(groups(request).empty());
  request = {};
  request.name_space = "elsewhere";
  EXPECT_TRUE(groups(request).empty());
}

TEST_P(EngineDeadLetters, AGroupEndsWithItsLastExecution) {
  const Ids ids = make_failed(2, "alpha");
  const std::string fingerprint = groups().at(0).fingerprint;
  call<ReplayReply>(ReplayCommand{ids[0], {"ops", {}}});
  EXPECT_EQ(groups().at(0).count, 1U);
  EXPECT_EQ(ids_in(details(fingerprint)), Ids{ids[1]});
  EXPECT_EQ(engine().describe(ids[0]).fingerprint, "");
  // The retention of the other one ends.
  engine().advance(8LL * 24 * 3600 * 1000);
  EXPECT_TRUE(groups().empty());
  EXPECT_EQ(refusal(reads::dead_letter_group(engine().store(), {"default", fingerprint, {}, 10})), Errc::not_found);
}

TEST_P(EngineDeadLetters, ManyFailuresOfOneCauseAtOnceDoNotConflict) {
  std::vector<CreateRequest> requests(40, job());
  make_many(requests);
  const Claims claims = claim(ask(40));
  std::vector<Command> commands;
  for (const auto& claimed : claims) commands.push_back(FailCommand{engine().fence(claimed), {"error", "same", {}}});
  const std::uint64_t stale = engine().runtime().statistics().stale;
  for (const auto& reply : call_together(engine(), std::move(commands))) EXPECT_TRUE(reply);
  EXPECT_EQ(engine().runtime().statistics().stale, stale);
  EXPECT_EQ(groups().at(0).count, 40U);
}

TEST_P(EngineDeadLetters, ARedriveReplaysAGroup) {
  const Ids alpha = make_failed(250, "alpha");
  const Ids beta = make_failed(2, "beta");
  RedriveRequest request;
  request.fingerprints = {engine().describe(alpha[0]).fingerprint};
  const std::string id = redrive(request);
  engine().settle();
  const RedriveInfo done = info(id);
  EXPECT_EQ(done.state, RedriveState::completed);
  EXPECT_EQ(done.found, 250U);
  EXPECT_EQ(done.replayed, 250U);
  EXPECT_EQ(done.left, 0U);
  EXPECT_EQ(done.created_by, "ops");
  EXPECT_EQ(count_in_state(alpha, PublicState::waiting), 250U);
  EXPECT_EQ(count_in_state(beta, PublicState::failed), 2U);
  EXPECT_EQ(engine().describe(alpha[7]).redrive_id, id);
  EXPECT_EQ(groups().size(), 1U);
  const auto events = value_of(reads::history(engine().store(), alpha[0], {}, 100)).events;
  EXPECT_EQ(events.back().type, EventType::replayed);
  EXPECT_EQ(events.back().actor, "ops");
  EXPECT_EQ(events.back().reason, "redrive " + id + ": why");
}

TEST_P(EngineDeadLetters, ARedriveKeepsToItsRate) {
  const Ids ids = make_failed(10, "alpha");
  const std::string id = redrive(everything("100/1m"));
  engine().settle();
  EXPECT_EQ(info(id).replayed, 1U);
  EXPECT_EQ(info(id).next_at, now() + 600);
  EXPECT_EQ(info(id).left, 9U);
  engine().advance(599);
  EXPECT_EQ(info(id).replayed, 1U);
  engine().advance(1);
  EXPECT_EQ(info(id).replayed, 2U);
  // The first that failed comes first.
  EXPECT_EQ(state(ids[1]), PublicState::waiting);
  EXPECT_EQ(state(ids[2]), PublicState::failed);
  engine().advance(8 * 600);
  EXPECT_EQ(info(id).state, RedriveState::completed);
  EXPECT_EQ(info(id).replayed, 10U);
}

TEST_P(EngineDeadLetters, ARedriveIsPausedResumedAndCancelled) {
  const Ids ids = make_failed(5, "alpha");
  const std::string id = redrive(everything("1/1s"));
  engine().settle();
  EXPECT_EQ(change(id, RedriveAction::pause).state, RedriveState::paused);
  engine().advance(10000);
  EXPECT_EQ(info(id).replayed, 1U);
  change(id, RedriveAction::resume);
  engine().advance(1000);
  EXPECT_EQ(info(id).replayed, 3U);
  const RedriveInfo cancelled = change(id, RedriveAction::cancel);
  EXPECT_EQ(cancelled.state, RedriveState::cancelled);
  EXPECT_EQ(cancelled.left, 2U);
  engine().advance(10000);
  EXPECT_EQ(count_in_state(ids, PublicState::failed), 2U);
  EXPECT_EQ(change(id, RedriveAction::cancel).state, RedriveState::cancelled);
  EXPECT_EQ(refused(RedriveActionCommand{value_of(parse_redrive_id(id)), RedriveAction::resume, {}}), Errc::conflict);
  std::vector<EventType> types;
  for (const Event& event : events_from(start_cursor("earliest"))) {
    if (event.redrive_id == id) types.push_back(event.type);
  }
  EXPECT_EQ(types, (std::vector{EventType::redrive_created, EventType::redrive_paused, EventType::redrive_resumed,
                                EventType::redrive_cancelled}));
  // It is kept for a week.
  engine().advance(7LL * 24 * 3600 * 1000);
  EXPECT_EQ(refusal(reads::redrive(engine().store(), value_of(parse_redrive_id(id)))), Errc::not_found);
}

TEST_P(EngineDeadLetters, WhatFailsAgainIsCountedAndNotReplayedAgain) {
  const Ids ids = make_failed(3, "alpha");
  const std::string id = redrive(everything("1/1s"));
  engine().settle();
  for (int i = 0; i < 6; ++i) {
    for (const auto& again : claim(ask(5))) fail_with(again, "alpha 7");
    engine().advance(1000);
  }
  const RedriveInfo done = info(id);
  EXPECT_EQ(done.state, RedriveState::completed);
  EXPECT_EQ(done.replayed, 3U);
  EXPECT_EQ(done.failed_again, 3U);
  for (const ExecutionId& one : ids) EXPECT_EQ(engine().describe(one).replay_count, 1U);
  // Another redrive replays them once more.
  const std::string next = redrive(everything());
  engine().settle();
  EXPECT_EQ(info(next).replayed, 3U);
  EXPECT_EQ(info(id).failed_again, 0U);
}

// They fail again within the same millisecond, before the redrive is through.
TEST_P(EngineDeadLetters, NothingIsReplayedTwiceByOneRedriveInOneMillisecond) {
  const Ids ids = make_many({job(), job(), job()});
  for (const auto& claimed : claim(ask(3))) fail_with(claimed, "alpha 1");
  redrive(everything());
  for (int i = 0; i < 5; ++i) {
    engine().settle();
    for (const auto& again : claim(ask(5))) fail_with(again, "alpha 7");
  }
  for (const ExecutionId& one : ids) EXPECT_EQ(engine().describe(one).replay_count, 1U);
  EXPECT_EQ(groups().at(0).count, 3U);
}

TEST_P(EngineDeadLetters, RefusalsAreCountedAndNamed) {
  const Ids never = make_failed(150, "alpha", replayable(0));
  const Ids once = make_failed(2, "alpha", replayable(1));
  const std::string id = redrive(everything());
  engine().settle();
  const RedriveInfo done = info(id);
  EXPECT_EQ(done.state, RedriveState::completed);
  EXPECT_EQ(done.replayed, 2U);
  EXPECT_EQ(done.refused, 150U);
  ASSERT_EQ(done.refusals.size(), 100U);
  EXPECT_EQ(done.refusals[0], (RefusedRedrive{never[0], RedriveRefusal::max_replays}));
  EXPECT_EQ(count_in_state(never, PublicState::failed), 150U);
  EXPECT_EQ(count_in_state(once, PublicState::waiting), 2U);
}

TEST_P(EngineDeadLetters, ARedriveOfNamedExecutionsSaysWhichItCannotReplay) {
  const Ids ids = make_failed(2, "alpha");
  CreateRequest elsewhere = job();
  elsewhere.name_space = "elsewhere";
  const Ids foreign = make_failed(1, "alpha", elsewhere);
  const ExecutionId waiting = make(job());
  RedriveRequest request;
  ExecutionId absent = ids[0];
  absent.uuid.bytes[15] ^= 1;
  request.execution_ids = {ids[1], ids[0], ids[0], waiting, foreign[0], absent};
  const std::string id = redrive(request);
  engine().settle();
  const RedriveInfo done = info(id);
  EXPECT_EQ(done.state, RedriveState::completed);
  EXPECT_EQ(done.found, 5U);
  EXPECT_EQ(done.replayed, 2U);
  EXPECT_EQ(done.refused, 3U);
  std::map<ExecutionId, RedriveRefusal> why;
  for (const RefusedRedrive& one : done.refusals) why[one.execution_id] = one.reason;
  EXPECT_EQ(why[waiting], RedriveRefusal::not_failed);
  EXPECT_EQ(why[foreign[0]], RedriveRefusal::not_found);
  EXPECT_EQ(why[absent], RedriveRefusal::not_found);
}

TEST_P(EngineDeadLetters, AUniqueKeyThatAnotherExecutionHasKeepsAnExecutionFromBeingReplayed) {
  CreateRequest unique = job();
  unique.unique = UniqueKey{"ada", OnConflict::reject};
  const Ids ids = make_failed(2, "alpha", unique);
  CreateRequest other = job();
  other.unique = UniqueKey{"bob", OnConflict::reject};
  const Ids blocked = make_failed(1, "alpha", other);
  make(other);
  const std::string id = redrive(everything());
  engine().settle();
  const RedriveInfo done = info(id);
  EXPECT_EQ(done.state, RedriveState::completed);
  EXPECT_EQ(done.replayed, 1U) << "one of the two has the key now";
  std::map<ExecutionId, RedriveRefusal> why;
  for (const RefusedRedrive& one : done.refusals) why[one.execution_id] = one.reason;
  EXPECT_EQ(why, (std::map<ExecutionId, RedriveRefusal>{{ids[1], RedriveRefusal::unique_key},
                                                        {blocked[0], RedriveRefusal::unique_key}}));
  EXPECT_EQ(refusal(engine().create(unique)), Errc::conflict);
}

TEST_P(EngineDeadLetters, ANodeOfAFlowIsReplayedWithItsFlowOnly) {
  FlowRequest flow;
  flow.kind = "flow";
  flow.nodes.push_back({"only", job()});
  const FlowId flow_id = value_of(engine().submit_flow(flow)).flow_id;
  fail_with(claim(ask()).at(0), "alpha");
  engine().settle();
  EXPECT_EQ(groups().at(0).count, 1U);
  const std::string id = redrive(everything());
  engine().settle();
  ASSERT_EQ(info(id).refusals.size(), 1U);
  EXPECT_EQ(info(id).refusals[0].reason, RedriveRefusal::flow_node);
  // With the flow the node starts again, and its dead letter is gone.
  call<FlowReplayReply>(ReplayFlowCommand{flow_id, std::nullopt, true, {"ops", {}}});
  engine().settle();
  EXPECT_TRUE(groups().empty());
  fail_with(claim(ask()).at(0), "alpha");
  engine().advance(8LL * 24 * 3600 * 1000);
  EXPECT_TRUE(groups().empty());
}

TEST_P(EngineDeadLetters, AFilterSelects) {
  CreateRequest tagged = job();
  tagged.tags["app.customer"] = "a";
  const Ids a = make_failed(2, "alpha", tagged);
  const Ids other = make_failed(2, "alpha");
  RedriveRequest request;
  request.tag = {"app.customer", "a"};
  request.category = "error";
  redrive(request);
  engine().settle();
  EXPECT_EQ(count_in_state(a, PublicState::waiting), 2U);
  EXPECT_EQ(count_in_state(other, PublicState::failed), 2U);
  request = {};
  request.failed_before = engine().execution(other[1]).facts.finished_at;
  redrive(request);
  engine().settle();
  EXPECT_EQ(state(other[0]), PublicState::waiting);
  EXPECT_EQ(state(other[1]), PublicState::failed);
}

TEST_P(EngineDeadLetters, TheSameIdempotencyKeyMakesOneRedrive) {
  make_failed(1, "alpha");
  RedriveRequest request = everything();
  request.idempotency_key = "k";
  const std::string id = redrive(request);
  engine().settle();
  const RedriveInfo again = call<RedriveInfo>(value_of(command(request)));
  EXPECT_EQ(again.redrive_id, id);
  EXPECT_TRUE(again.duplicate);
  request.rate = "1/1s";
  EXPECT_EQ(refused(value_of(command(request))), Errc::conflict);
}

TEST_P(EngineDeadLetters, AnotherEngineGoesOn) {
  const Ids ids = make_failed(5, "alpha");
  const std::string id = redrive(everything("1/1s"));
  engine().settle();
  engine_.reset();
  clock_.advance_ms(10000);
  engine_ = open_engine(3);
  engine().advance(10000);
  EXPECT_EQ(info(id).state, RedriveState::completed);
  EXPECT_EQ(info(id).replayed, 5U);
  EXPECT_EQ(count_in_state(ids, PublicState::waiting), 5U);
}

TEST_P(EngineDeadLetters, TwoEnginesReplayEachOnce) {
  const Ids ids = make_failed(30, "alpha");
  second();
  const std::string id = redrive(everything("10/1s"));
  for (int i = 0; i < 40; ++i) {
    clock_.advance_ms(100);
    engine().settle();
    second().settle();
  }
  EXPECT_EQ(info(id).replayed, 30U);
  for (const ExecutionId& one : ids) EXPECT_EQ(engine().describe(one).replay_count, 1U);
}

// As an earlier version wrote it: without a fingerprint, and without a letter.
TEST_P(EngineDeadLetters, FailuresOfEarlierVersionsAreFoundAndReplayed) {
  const Ids old = make_failed(3, "alpha");
  const Ids fresh = make_failed(2, "beta");
  for (const ExecutionId& id : old) forget_fingerprint(id);
  const auto all = groups();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].fingerprint, "older");
  EXPECT_EQ(all[0].count, 3U);
  EXPECT_EQ(all[0].example, "alpha 0");
  const DeadLetterDetails page = details("older", 2);
  EXPECT_EQ(ids_in(page), (Ids{old[0], old[1]}));
  EXPECT_EQ(ids_in(details("older", 2, page.next_cursor)), Ids{old[2]});
  EXPECT_EQ(engine().describe(old[0]).fingerprint, "older");
  RedriveRequest request;
  request.fingerprints = {"older"};
  const std::string id = redrive(request);
  engine().settle();
  EXPECT_EQ(info(id).replayed, 3U);
  EXPECT_EQ(count_in_state(old, PublicState::waiting), 3U);
  EXPECT_EQ(count_in_state(fresh, PublicState::failed), 2U);
  ASSERT_EQ(groups().size(), 1U);
  // Once they fail again they have a fingerprint.
  for (const auto& again : claim(ask(5))) fail_with(again, "alpha 7");
  EXPECT_EQ(groups().at(0).message, "alpha <n>");
  EXPECT_EQ(groups().at(0).count, 3U);
}

TEST_P(EngineDeadLetters, IntegrityPutsBackALostLetterAndRemovesAStrayOne) {
  const Ids ids = make_failed(2, "alpha");
  const Execution first = engine().execution(ids[0]);
  const Execution second_one = engine().execution(ids[1]);
  ChangeSet lost;
  erase_letter(*letter_of(first), lost);
  ChangeSet stray;
  Letter letter = *letter_of(second_one);
  letter.key = letter_key(ids[1], 77);
  letter.version = 5;
  put_letter(letter, stray);
  const auto session = value_of(engine().store().open_session());
  value_of(session->commit({lost, stray}));
  ASSERT_TRUE(session->settle());
  std::vector<std::string> repairs;
  const auto note = [&](const IntegrityFinding& finding) { repairs.push_back(finding.repair); };
  EXPECT_EQ(value_of(check_integrity(engine().store(), true, note)).problems, 2U);
  std::sort(repairs.begin(), repairs.end());
  EXPECT_EQ(repairs, (std::vector<std::string>{"removed it", "wrote it again"}));
  EXPECT_EQ(ids_in(details(fingerprint_text(first.facts.letter.fingerprint))), (Ids{ids[1], ids[0]}));
  call<ReplayReply>(ReplayCommand{ids[0], {"ops", {}}});
}

TEST_P(EngineDeadLetters, BadSelectionsAreRefused) {
  make_failed(1, "alpha");
  const auto refuses = [&](const char* field, RedriveRequest request) {
    const auto made = command(std::move(request));
    ASSERT_FALSE(made) << field;
    EXPECT_EQ(made.error().field, field) << made.error().message;
  };
  refuses("all", {});
  RedriveRequest request = everything();
  request.execution_ids = {make(job())};
  refuses("execution_ids", request);
  for (const char* rate : {"x", "0/1m", "1/0m", "1/1", "1/1y", "/1m", "-1/1m", "1/99999999999d"}) {
    refuses("rate", everything(rate));
  }
  request = {};
  request.fingerprints = {"xyz"};
  refuses("fingerprint", request);
  request.fingerprints = {"0123456789abcdef"};
  refuses("fingerprints", request);
  EXPECT_EQ(refused(RedriveActionCommand{{}, RedriveAction::pause, {}}), Errc::not_found);
}

ON_EVERY_STORE(EngineDeadLetters);

}  // namespace
}  // namespace flowfabric::test
