// The commands for waits, signals and approvals, on a store and through a server.
#include <fstream>
#include <stdexcept>

#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include "cli/fixture.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

constexpr std::uint32_t waits_lease_ms = 3600 * 1000;

template <class T>
T expect_value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

struct Waiting {
  std::string id;
  std::vector<std::string> tokens;
};

class Waits : public OnAStore {
 protected:
  static SuspendRequest on(const std::vector<std::string>& waitpoints) {
    SuspendRequest request;
    for (const std::string& name : waitpoints)
      request.waitpoints.push_back({.name = name, .token_ttl_ms = {}, .approval = {}});
    return request;
  }
  static SuspendRequest on_approval(std::vector<std::string> approvers, std::uint32_t needed) {
    SuspendRequest request = on({"ship it"});
    ApprovalRequest& approval = request.waitpoints[0].approval.emplace();
    approval.title = "Ship version 7?";
    approval.context = "42 changes";
    approval.approvers = std::move(approvers);
    approval.needed = needed;
    return request;
  }
  Waiting suspend(SuspendRequest request, const std::string& name_space = "default") const {
    const auto engine = open_engine();
    CreateRequest create{.lane = "work", .kind = "order"};
    create.name_space = name_space;
    Waiting made{to_string(expect_value(engine->create(std::move(create))).execution_id), {}};
    const auto claimed = expect_value(engine->claim(
        {.worker_id = "w", .worker_instance_id = "w-1", .lanes = {"work"}, .lease_ttl_ms = waits_lease_ms}));
    const SuspendReply reply = expect_value(engine->suspend(claimed.at(0).handle, std::move(request)));
    for (const WaitpointToken& token : reply.tokens) made.tokens.push_back(token.token);
    return made;
  }
  // How the last wait ended, as the next claim tells it.
  WaitOutcome outcome_of(const std::string& id) const {
    const auto engine = open_engine();
    const auto claimed = expect_value(engine->claim(
        {.worker_id = "w", .worker_instance_id = "w-1", .lanes = {"work"}, .lease_ttl_ms = waits_lease_ms}));
    if (claimed.size() != 1 || to_string(claimed.front().execution_id) != id) throw std::runtime_error("not claimed");
    return claimed.front().last_wait.value();
  }
  std::string state_of(const std::string& id) const {
    return text(run_json({"executions", "show", id}).at("summary").at("public_state"));
  }
  void refuses(const Finished& finished, int code, const std::string& part) {
    EXPECT_EQ(finished.code, code) << finished.err;
    EXPECT_TRUE(contains(finished.err, part)) << finished.err;
    EXPECT_EQ(finished.out, "");
  }

  test::TempDir folder_;
};

INSTANTIATE_TEST_SUITE_P(, Waits, testing::ValuesIn(all_ways()), way_name);

TEST_P(Waits, ASignalIsSentByName) {
  const Waiting one = suspend(on({"paid", "packed"}));
  const Finished first = run({"signals", "send", one.id, "paid", "--name", "received", "--payload", R"({"amount":42})",
                              "--source", "bank", "--key", "p-1"});
  EXPECT_EQ(first.out, one.id + " has the signal and waits for more\n") << first.err;
  const Finished again = run({"signals", "send", one.id, "paid", "--key", "p-1"});
  EXPECT_TRUE(contains(again.out, "it was delivered before")) << again.out;
  const Finished needless = run({"signals", "send", one.id, "paid"});
  EXPECT_TRUE(contains(needless.out, "has ignored the signal")) << needless.out;
  const Finished early = run({"signals", "send", one.id, "delivered"});
  EXPECT_TRUE(contains(early.out, "keeps the signal for its next wait")) << early.out;

  const std::string file = folder_.file("packed.txt");
  std::ofstream(file) << "two parcels";
  const auto last = run_json({"signals", "send", one.id, "packed", "--payload", "@" + file});
  EXPECT_EQ(text(last.at("effect")), "resumed");
  const WaitOutcome outcome = outcome_of(one.id);
  ASSERT_EQ(outcome.signals.size(), 2u);
  EXPECT_EQ(outcome.signals[0].name, "received");
  EXPECT_EQ(outcome.signals[0].payload_encoding, "json");
  EXPECT_EQ(outcome.signals[0].source, "bank");
  EXPECT_EQ(outcome.signals[1].payload, "two parcels");
  EXPECT_EQ(outcome.signals[1].payload_encoding, "");
}

TEST_P(Waits, ASignalIsSentWithAToken) {
  const Waiting one = suspend(on({"a", "b"}));
  const auto first = run_json({"signals", "send", "--token", one.tokens[0]});
  EXPECT_EQ(text(first.at("effect")), "accepted");
  EXPECT_EQ(text(first.at("execution_id")), one.id);
  const std::string file = folder_.file("token");
  std::ofstream(file) << one.tokens[1] << "\n";
  EXPECT_EQ(text(run_json({"signals", "send", "--token-file", file}).at("effect")), "resumed");

  const Finished late = run({"signals", "send", "--token", one.tokens[0]});
  refuses(late, 4, "is closed");
  const Finished forged = run({"signals", "send", "--token", one.tokens[0] + "x"});
  refuses(forged, 4, "this token is not accepted");
  EXPECT_FALSE(contains(forged.err, one.tokens[0])) << "tokens are not shown";
}

TEST_P(Waits, MistakesInSignalsAreOneSentence) {
  const std::string id = "fp7-01890000-0000-7000-8000-000000000001";
  refuses(run({"signals", "send"}), 2, "ID: is missing");
  refuses(run({"signals", "send", id}), 2, "WAITPOINT: is missing");
  refuses(run({"signals", "send", id, "a", "--token", "t"}), 2, "ID: the token says");
  refuses(run({"signals", "send", "--token", "t", "--token-file", "f"}), 2, "--token-file: is given beside --token");
  refuses(run({"signals", "send", id, "a", "--payload", "@/no/such/file"}), 2, "--payload: ");
  refuses(run({"signals", "send", id, ".."}), 2, "waitpoint");
  refuses(run({"signals", "send", id, "a"}), 3, "there is no execution");
  refuses(run({"approvals", "decide", id, "a", "maybe"}), 2, "DECISION: unknown value");
  refuses(run({"waitpoints", "reissue", id, "a", "--ttl", "soon"}), 2, "--ttl");
  refuses(run({"executions", "signal", id}), 2, "--waitpoint NAME is missing");
}

TEST_P(Waits, AreListedTheLongestFirst) {
  EXPECT_EQ(run({"waits", "list"}).out, "no execution is suspended\n");
  EXPECT_EQ(run({"approvals", "list"}).out, "nothing waits for an approval\n");
  const Waiting first = suspend(on({"paid"}));
  const Waiting second = suspend(on_approval({"ada", "bob"}, 2), "team");
  const Finished listed = run({"waits", "list"});
  EXPECT_EQ(lines(listed.out), 3u) << listed.out;
  EXPECT_LT(listed.out.find(first.id), listed.out.find(second.id)) << listed.out;
  EXPECT_TRUE(contains(listed.out, "paid")) << listed.out;
  const auto json = run_json({"waits", "list", "--approvals"}).at("waits");
  ASSERT_EQ(json.as_array().size(), 1u);
  EXPECT_EQ(text(json.at(0).at("execution_id")), second.id);
  EXPECT_EQ(run_json({"waits", "list", "--namespace", "team"}).at("waits").as_array().size(), 1u);
  EXPECT_EQ(run_json({"waits", "list", "--limit", "1"}).at("waits").as_array().size(), 1u);
  EXPECT_TRUE(contains(run({"waits", "list", "--limit", "1"}).out, "--cursor"));
  const Finished all = run({"waits", "list", "--all"});
  EXPECT_EQ(lines(all.out), 3u) << all.out;

  const Finished inbox = run({"approvals", "list"});
  for (const char* part : {"ship it", "Ship version 7?", "0 of 2", "ada, bob"}) {
    EXPECT_TRUE(contains(inbox.out, part)) << part << "\n" << inbox.out;
  }
  EXPECT_FALSE(contains(inbox.out, first.id)) << inbox.out;
}

TEST_P(Waits, WhatAnExecutionWaitsForIsShown) {
  SuspendRequest request = on_approval({}, 2);
  request.reason = "the release";
  request.timeout_ms = 24 * waits_lease_ms;
  const Waiting one = suspend(std::move(request));
  EXPECT_EQ(run({"approvals", "decide", one.id, "ship it", "approve", "--actor", "ada", "--comment", "at last"}).code,
            0);
  for (const Words& words : {Words{"waits", "show", one.id}, Words{"executions", "show", one.id}}) {
    const Finished shown = run(words);
    EXPECT_EQ(shown.code, 0) << shown.err;
    for (const char* part : {"the release", "ship it", "Ship version 7?", "2 needed", "everybody", "ada", "at last",
                             "42 changes", "\"count\"", "fail"}) {
      EXPECT_TRUE(contains(shown.out, part)) << part << "\n" << shown.out;
    }
  }
  EXPECT_TRUE(run_json({"executions", "show", one.id}).at("waits").as_object().contains("wait"));
  const auto json = run_json({"waits", "show", one.id});
  EXPECT_EQ(text(json.at("waitpoints").at(0).at("approval").at("decisions").at(0).at("actor")), "ada");

  populate();
  EXPECT_EQ(run({"waits", "show", people.waiting[0]}).out, people.waiting[0] + " waits for nothing\n");
  EXPECT_FALSE(run_json({"executions", "show", people.waiting[0]}).as_object().contains("waits"));
  EXPECT_FALSE(run_json({"executions", "show", people.failed}).as_object().contains("waits"));
}

TEST_P(Waits, PeopleDecide) {
  const Waiting one = suspend(on_approval({"ada", "bob"}, 1));
  refuses(run({"approvals", "decide", one.id, "ship it", "approve", "--actor", "eve"}), 8, "eve is not one of");
  refuses(run({"approvals", "decide", one.id, "other", "approve", "--actor", "ada"}), 4, "no open approval");
  const auto reply =
      run_json({"approvals", "decide", one.id, "ship it", "reject", "--actor", "bob", "--comment", "no"});
  EXPECT_EQ(text(reply.at("effect")), "resumed");
  const WaitOutcome outcome = outcome_of(one.id);
  EXPECT_EQ(outcome.cause, WaitCause::veto);
  EXPECT_EQ(outcome.signals.at(0).source, "bob");
  EXPECT_EQ(outcome.signals.at(0).payload, "no");
}

TEST_P(Waits, OnAStoreTheDeciderIsTheUser) {
  const Waiting one = suspend(on_approval({}, 1));
  const Finished decided = run({"approvals", "decide", one.id, "ship it", "approve"});
  if (served()) {
    refuses(decided, 2, "actor");
  } else {
    EXPECT_EQ(decided.code, 0) << decided.err;
    EXPECT_FALSE(outcome_of(one.id).signals.at(0).source.empty());
  }
}

TEST_P(Waits, WaitpointsAreListedClosedAndReissued) {
  SuspendRequest request = on({"a", "b"});
  request.condition.emplace().count = SignalCount{1, CountBy::signals, {SignalMatch{}}};
  const Waiting one = suspend(std::move(request));
  const Finished listed = run({"waitpoints", "list", one.id});
  EXPECT_EQ(lines(listed.out), 3u) << listed.out;
  EXPECT_EQ(run_json({"waitpoints", "list", one.id}).at("waitpoints").as_array().size(), 2u);

  const Finished closed = run(Words{"waitpoints", "close", one.id, "a", "--reason", "unused"} + by("clara"));
  EXPECT_EQ(closed.out, "waitpoint \"a\" of " + one.id + " is closed\n") << closed.err;
  refuses(run({"waitpoints", "close", one.id, "a"}), 3, "no open waitpoint");
  refuses(run({"waitpoints", "close", one.id, "b"}), 4, "could never end");
  EXPECT_EQ(run_json({"waitpoints", "list", one.id}).at("waitpoints").as_array().size(), 1u);

  const Finished reissued = run(
      Words{"waitpoints", "reissue", one.id, "b", "--source", "bank", "--ttl", "1h", "--revoke-earlier"} + by("clara"));
  ASSERT_EQ(reissued.code, 0) << reissued.err;
  const std::string token = reissued.out.substr(0, reissued.out.size() - 1);
  EXPECT_GT(run_json({"waitpoints", "reissue", one.id, "b", "--ttl", "1h"}).at("expires_at").as_int64(), 0);
  refuses(run({"signals", "send", "--token", one.tokens[1]}), 4, "this token is not accepted");
  refuses(run({"signals", "send", "--token", token, "--source", "eve"}), 2, "another sender");
  EXPECT_EQ(text(run_json({"signals", "send", "--token", token}).at("effect")), "resumed");
  EXPECT_EQ(outcome_of(one.id).signals.at(0).source, "bank");

  const auto events = run_json({"executions", "history", one.id, "--all"}).at("events");
  const std::string history = boost::json::serialize(events);
  for (const char* part : {"waitpoint_closed", "waitpoint_reissued", "a: unused"}) {
    EXPECT_TRUE(contains(history, part)) << part << "\n" << history;
  }
  EXPECT_TRUE(contains(history, "\"actor\":\"" + actor("clara") + "\"")) << history;
  EXPECT_FALSE(contains(history, token)) << "tokens are not recorded";
  EXPECT_EQ(run({"waitpoints", "list", one.id}).out, "no open waitpoints\n");
}

TEST_P(Waits, AnOperatorResumes) {
  const Waiting one = suspend(on({"paid"}));
  const Finished resumed = run(Words{"executions", "resume", one.id, "--reason", "paid in cash"} + by("clara"));
  EXPECT_EQ(resumed.out, one.id + " is resumed\n") << resumed.err;
  refuses(run({"executions", "resume", one.id}), 4, "only a suspended execution can be resumed");
  const Finished shown = run({"waits", "show", one.id});
  EXPECT_TRUE(contains(shown.out, "operator " + actor("clara") + ", paid in cash")) << shown.out;
  const WaitOutcome outcome = outcome_of(one.id);
  EXPECT_EQ(outcome.cause, WaitCause::by_operator);
  EXPECT_EQ(outcome.by, actor("clara"));
  EXPECT_EQ(outcome.reason, "paid in cash");
}

TEST_P(Waits, ManyAreSignalledByAFilter) {
  std::vector<std::string> ids;
  ids.reserve(3);
  for (int i = 0; i < 3; ++i) ids.push_back(suspend(on({"go"})).id);
  populate();  // on the same lane; none of these is suspended
  const Words signal = {"executions", "signal", "--waitpoint", "go", "--lane", "work", "--payload", "{}", "--key", "k"};
  EXPECT_EQ(run(signal + Words{"--dry-run"}).out, "3 executions would be signalled\n");
  EXPECT_EQ(run(signal).code, 2) << "without a confirmation";
  EXPECT_EQ(states_of(ids), std::set<std::string>{"suspended"});
  const Finished sent = run(signal + Words{"--yes"});
  EXPECT_EQ(sent.out, "3 executions signalled\n") << sent.err;
  EXPECT_EQ(states_of(ids), std::set<std::string>{"resumable"});
  EXPECT_EQ(run(signal + Words{"--yes"}).out, "no matching executions\n");

  const auto again = run_json({"executions", "signal", ids[0], "--waitpoint", "go", "--key", "k"});
  EXPECT_EQ(again.at("unchanged").as_int64(), 1);
  EXPECT_TRUE(again.at("results").at(0).at("signal").at("duplicate").as_bool());
  const Finished named = run({"executions", "signal", ids[0], "--waitpoint", "go"});
  EXPECT_EQ(named.out, ids[0] + " signalled: kept\n") << named.err;
}

}  // namespace
}  // namespace flowfabric::cli_test
