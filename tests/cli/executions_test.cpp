// The commands for executions and lanes, by the real program on real stores.
#include <sys/wait.h>

#include <cstdlib>
#include <set>

#include "base/hashing.hpp"
#include "cli/fixture.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

class Executions : public OnAStore {};
INSTANTIATE_TEST_SUITE_P(, Executions, testing::ValuesIn(all_ways()), way_name);

const std::string unknown_id = "fp7-01890000-0000-7000-8000-000000000001";

TEST_P(Executions, ListIsATableForPeople) {
  EXPECT_EQ(run({"executions", "list"}).out, "this store has no executions yet\n");
  populate();
  const Finished list = run({"executions", "list"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_EQ(list.err, "");
  EXPECT_TRUE(list.out.starts_with("EXECUTION ")) << list.out;
  EXPECT_EQ(lines(list.out), 8u) << list.out;
  for (const std::string& id : {people.failed, people.completed, people.active}) {
    EXPECT_TRUE(contains(list.out, id)) << list.out;
  }
  EXPECT_FALSE(contains(list.out, "\x1b")) << "a file is no terminal";
  EXPECT_EQ(lines(run({"executions", "list", "--state", "failed", "--state", "completed"}).out), 3u);
  EXPECT_EQ(lines(run({"executions", "list", "--lane", "mail", "--kind", "send"}).out), 4u);
  EXPECT_EQ(lines(run({"executions", "list", "--tag", "app.team=billing"}).out), 2u);
  EXPECT_EQ(run({"executions", "list", "--namespace", "elsewhere"}).out, "no matching executions\n");
}

TEST_P(Executions, ListPagesCoverEverythingOnce) {
  populate();
  std::set<std::string> seen;
  std::string cursor;
  int pages = 0;
  do {
    Words words = {"executions", "list", "--limit", "3"};
    if (!cursor.empty()) words.insert(words.end(), {"--cursor", cursor});
    const auto page = run_json(words);
    for (const auto& execution : page.at("executions").as_array()) {
      EXPECT_TRUE(seen.insert(text(execution.at("execution_id"))).second);
      EXPECT_TRUE(execution.at("created_at").is_int64());
    }
    cursor = text(page.at("next_cursor"));
    ++pages;
  } while (!cursor.empty() && pages < 10);
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(pages, 3);
  const auto all = run_json({"executions", "list", "--all"});
  EXPECT_EQ(all.at("executions").as_array().size(), 7u);
  EXPECT_EQ(text(all.at("next_cursor")), "");
  EXPECT_TRUE(contains(run({"executions", "list", "--limit", "3"}).out, "--cursor "));
}

TEST_P(Executions, ShowTellsEverything) {
  populate();
  const Finished shown = run({"executions", "show", people.active, "--payload"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (const char* part : {"lifecycle phase  active", "held by", "w-1 (w)", "\"on_lease_lost\":\"requeue\"", "initial",
                           "It is running: w-1 holds its lease until ", "hello"}) {
    EXPECT_TRUE(contains(shown.out, part)) << part << "\n" << shown.out;
  }
  const auto document = run_json({"executions", "show", people.completed, "--payload", "--result"});
  EXPECT_EQ(text(document.at("summary").at("execution_id")), people.completed);
  EXPECT_EQ(text(document.at("state").at("terminal_outcome")), "success");
  EXPECT_FALSE(document.as_object().contains("lease")) << "what is not set is left out";
  EXPECT_EQ(document.at("attempts").as_array().size(), 1u);
  EXPECT_EQ(text(document.at("context").at("payload_base64")), "//4=");
  EXPECT_EQ(text(document.at("result").at("result_base64")), to_base64("grüße"));
  const auto failed = run_json({"executions", "show", people.failed});
  EXPECT_EQ(text(failed.at("failure").at("category")), "broken");
  EXPECT_EQ(text(failed.at("explain").at(0).at("code")), "terminal");
  EXPECT_EQ(failed.as_object().if_contains("context"), nullptr);
}

TEST_P(Executions, CreateMakesOneAndPrintsItsId) {
  const Finished made = run({"executions",
                             "create",
                             "--kind",
                             "send",
                             "--lane",
                             "post",
                             "--payload",
                             R"({"to":"ada"})",
                             "--priority",
                             "-3",
                             "--tag",
                             "app.team=x",
                             "--require",
                             "gpu,eu",
                             "--delay",
                             "1h",
                             "--deadline",
                             "2h",
                             "--policy",
                             R"({"retry":{"max_retries":7}})",
                             "--idempotency-key",
                             "k"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string id = made.out.substr(0, made.out.size() - 1);
  const auto shown = run_json({"executions", "show", id, "--payload"});
  EXPECT_EQ(text(shown.at("summary").at("namespace")), "default");
  EXPECT_EQ(text(shown.at("summary").at("lane")), "post");
  EXPECT_EQ(text(shown.at("context").at("payload").at("to")), "ada");
  EXPECT_EQ(shown.at("summary").at("priority").as_int64(), -3);
  EXPECT_EQ(shown.at("required_capabilities").as_array().size(), 2u);
  EXPECT_EQ(shown.at("policy").at("retry").at("max_retries").as_int64(), 7);
  EXPECT_EQ(shown.at("deadline_at").as_int64() - shown.at("delay_until").as_int64(), 3600 * 1000);
  const Finished again = run({"executions",
                              "create",
                              "--kind",
                              "send",
                              "--lane",
                              "post",
                              "--payload",
                              R"({"to":"ada"})",
                              "--priority",
                              "-3",
                              "--tag",
                              "app.team=x",
                              "--require",
                              "eu",
                              "--require",
                              "gpu",
                              "--policy",
                              R"({"retry":{"max_retries":7}})",
                              "--idempotency-key",
                              "k"});
  EXPECT_EQ(again.out, made.out);
  EXPECT_TRUE(contains(again.err, "earlier request")) << again.err;
  EXPECT_FALSE(run_json({"executions", "create", "--kind", "k"}).at("duplicate").as_bool());
}

TEST_P(Executions, CreateTakesKeysAtSubmission) {
  const Words unique = {"executions", "create", "--kind", "k", "--unique", "u", "--on-conflict"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Finished first = run(with(unique, {"reject"}));
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.err, "");
  EXPECT_EQ(run(with(unique, {"reject"})).code, 4);
  const Finished returned = run(with(unique, {"return"}));
  EXPECT_EQ(returned.out, first.out);
  EXPECT_TRUE(contains(returned.err, "has the unique key")) << returned.err;
  const Finished replaced = run(with(unique, {"replace"}));
  EXPECT_NE(replaced.out, first.out);
  EXPECT_TRUE(contains(replaced.err, first.out.substr(0, first.out.find('\n')))) << replaced.err;
  EXPECT_TRUE(contains(run({"executions", "show", replaced.out.substr(0, replaced.out.find('\n'))}).out, "unique key"));

  const Words debounce = {"executions", "create", "--kind", "k", "--debounce", "d", "--debounce-delay", "10m"};
  const Finished waiting = run(debounce);
  EXPECT_EQ(waiting.code, 0) << waiting.err;
  const Finished merged = run(debounce);
  EXPECT_EQ(merged.out, waiting.out);
  EXPECT_TRUE(contains(merged.err, "has the new input")) << merged.err;

  const Words throttle = {"executions", "create", "--kind", "k", "--throttle", "t", "--throttle-period", "10m"};
  EXPECT_EQ(run(throttle).code, 0);
  EXPECT_EQ(run(throttle).code, 5);
  EXPECT_EQ(run(with(throttle, {"--on-throttle", "return"})).code, 0);
}

TEST_P(Executions, CreateRefusesWhatItCannotRead) {
  const std::vector<std::pair<Words, std::string>> mistakes = {
      {{"--lane", "l"}, "--kind"},
      {{"--kind", "k", "--payload", "a", "--payload-file", "b"}, "--payload-file"},
      {{"--kind", "k", "--payload-file", "/nonexistent/file"}, "--payload-file"},
      {{"--kind", "k", "--payload-file", "/"}, "--payload-file"},
      {{"--kind", "k", "--delay", "soon"}, "--delay"},
      {{"--kind", "k", "--deadline", "1794792917"}, "deadline_at"},
      {{"--kind", "k", "--policy", "{"}, "--policy"},
      {{"--kind", "k", "--id", "7"}, "--id"},
      {{"--kind", "k", "--unique", "u", "--on-conflict", "wait"}, "--on-conflict"},
      {{"--kind", "k", "--on-conflict", "return"}, "--on-conflict"},
      {{"--kind", "k", "--debounce", "d"}, "--debounce-delay"},
      {{"--kind", "k", "--throttle", "t"}, "--throttle-period"},
      {{"--kind", "k", "--throttle", "t", "--throttle-period", "1m", "--on-throttle", "drop"}, "--on-throttle"},
      {{"--kind", "k", "--require", "a,,b"}, "--require"}};
  for (const auto& [words, part] : mistakes) {
    Words all = {"executions", "create"};
    all.insert(all.end(), words.begin(), words.end());
    const Finished refused = run(all);
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_TRUE(contains(refused.err, part)) << refused.err;
  }
}

TEST_P(Executions, TimesAndListsNarrowTheList) {
  populate();
  EXPECT_EQ(lines(run({"executions", "list", "--state", "failed,completed"}).out), 3u);
  EXPECT_EQ(run({"executions", "list", "--created-before", "2020-01-01T00:00:00Z"}).out, "no matching executions\n");
  EXPECT_EQ(lines(run({"executions", "list", "--created-from", "2020-01-01T00:00:00Z"}).out), 8u);
  EXPECT_EQ(lines(run({"executions", "list", "--finished-from", "2020-01-01T00:00:00Z"}).out), 3u);
  EXPECT_EQ(run({"executions", "list", "--created-from", "1794792917"}).code, 2) << "seconds";
  EXPECT_EQ(run({"executions", "cancel", "--created-before", "2020-01-01T00:00:00Z", "--yes"}).out,
            "no matching executions\n");
}

TEST_P(Executions, EventsShowTheLog) {
  populate();
  const Finished page = run({"events", "--type", "completed,failed"});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_EQ(lines(page.out), 3u) << page.out;
  EXPECT_TRUE(contains(page.out, people.completed)) << page.out;
  const auto first = run_json({"events", "--limit", "2"});
  EXPECT_EQ(first.at("events").as_array().size(), 2u);
  const auto second = run_json({"events", "--limit", "2", "--cursor", text(first.at("next_cursor"))});
  EXPECT_NE(second.at("events").at(0), first.at("events").at(0));
  const auto claimed = run_json({"events", "--execution", people.active, "--type", "claimed"});
  EXPECT_EQ(text(claimed.at("events").at(0).at("worker_instance_id")), "w-1");
  EXPECT_EQ(run({"events", "--type", "sleeping"}).code, 2);
  EXPECT_EQ(run({"events", "--follow", "--limit", "5"}).code, 2);
}

TEST_P(Executions, EventsAreFollowedUntilTheProgramIsStopped) {
  populate();
  const test::TempDir folder;
  const Finished followed =
      run_script("export FLOWFABRIC_STORE='" + place() + "'\n" +
                     R"sh(flowfabric events --follow --cursor earliest --json >events 2>end & pid=$!
until grep -q completed events; do sleep 0.05; done
id=$(flowfabric executions create --kind later)
until grep -q "$id" events; do sleep 0.05; done
kill $pid
wait $pid && code=0 || code=$?
echo "exit $code"
cursor=$(sed -n 's/.*--cursor //p' end)
flowfabric executions create --kind afterwards >id
flowfabric events --cursor "$cursor" --json | grep -q "$(cat id)" && echo continued
)sh",
                 folder.file(""));
  EXPECT_TRUE(contains(followed.out, "exit 130") && contains(followed.out, "continued"))
      << followed.out << followed.err;
}

TEST_P(Executions, NamespacesHaveSettings) {
  EXPECT_EQ(run({"namespaces", "list"}).out, "no namespace has settings of its own\n");
  EXPECT_EQ(run({"namespaces", "set", "team"}).code, 2);
  const Finished set = run({"namespaces", "set", "team", "--completed", "2h", "--failed", "7d"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_TRUE(contains(set.out, "2h") && contains(set.out, "7d")) << set.out;
  const auto changed = run_json({"namespaces", "set", "team", "--failed", "default"});
  EXPECT_EQ(changed.at("retention").at("completed_ms").as_int64(), 2 * 3600 * 1000) << "stays as it is";
  EXPECT_FALSE(changed.at("retention").as_object().contains("failed_ms"));
  EXPECT_EQ(text(run_json({"namespaces", "list"}).at("namespaces").at(0).at("namespace")), "team");
  EXPECT_EQ(text(run_json({"namespaces", "show", "team"}).at("namespace")), "team");
}

TEST_P(Executions, LanesCanBeDisabled) {
  populate();
  EXPECT_EQ(run({"lanes", "disable", "mail"}).out, "lane mail is disabled\n");
  EXPECT_EQ(run({"executions", "create", "--kind", "k", "--lane", "mail"}).code, 4);
}

TEST_P(Executions, RetentionCanBeRehearsed) {
  populate();
  EXPECT_EQ(run({"retention", "run", "--older-than", "0s", "--lane", "work", "--dry-run"}).code, 0);
  const auto rehearsed = run_json({"retention", "run", "--older-than", "0s", "--dry-run"});
  EXPECT_EQ(rehearsed.at("matched").as_int64(), 2);
  EXPECT_EQ(rehearsed.at("removed").as_int64(), 0);
  EXPECT_EQ(run_json({"retention", "run", "--dry-run"}).at("matched").as_int64(), 0) << "no retention is over";
  EXPECT_EQ(run_json({"executions", "list"}).at("executions").as_array().size(), 7u) << "nothing is gone";
  EXPECT_EQ(run_json({"events", "--type", "retention_run"}).at("events").as_array().size(), 0u);
}

TEST_P(Executions, TheEarlierFormOfAnIdIsRead) {
  populate();
  const std::size_t hyphen = people.active.find('-');
  ASSERT_TRUE(people.active.starts_with("fp")) << people.active;
  const std::string earlier = "{fp:" + people.active.substr(2, hyphen - 2) + "}:" + people.active.substr(hyphen + 1);
  EXPECT_EQ(text(run_json({"executions", "show", earlier}).at("summary").at("execution_id")), people.active);
}

TEST_P(Executions, ExplainAndHistory) {
  populate();
  EXPECT_TRUE(contains(run({"executions", "explain", people.waiting[0]}).out, "waits for a worker"));
  EXPECT_TRUE(contains(run({"executions", "explain", people.delayed}).out, people.delayed + ": delayed\n"));
  const auto reasons = run_json({"executions", "explain", people.delayed});
  EXPECT_EQ(text(reasons.at("reasons").at(0).at("code")), "waiting_for_delay");
  const Finished table = run({"executions", "history", people.failed});
  for (const char* part : {"created", "claimed", "failed", "Z"}) EXPECT_TRUE(contains(table.out, part)) << table.out;
  const auto first = run_json({"executions", "history", people.failed, "--limit", "1"});
  const auto rest =
      run_json({"executions", "history", people.failed, "--all", "--cursor", text(first.at("next_cursor"))});
  EXPECT_EQ(text(first.at("events").at(0).at("type")), "created");
  EXPECT_EQ(rest.at("events").as_array().size(), 2u);
}

TEST_P(Executions, CancelOneNeedsNoConfirmation) {
  populate();
  const Finished cancelled = run(Words{"executions", "cancel", people.waiting[0], "--reason", "storm"} + by("ada"));
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_EQ(cancelled.out, people.waiting[0] + " cancelled\n");
  const auto again = run_json({"executions", "cancel", people.waiting[0]});
  EXPECT_EQ(again.at("unchanged").as_int64(), 1);
  EXPECT_EQ(again.at("results").at(0).at("already_cancelled").as_bool(), true);
  const auto events = run_json({"executions", "history", people.waiting[0]}).at("events").as_array();
  EXPECT_EQ(text(events.back().at("actor")), actor("ada"));
  EXPECT_EQ(text(events.back().at("reason")), "storm");
  const Finished ended = run({"executions", "cancel", people.completed});
  EXPECT_EQ(ended.code, 4);
  EXPECT_EQ(lines(ended.err), 1u) << ended.err;
  EXPECT_TRUE(contains(ended.err, people.completed)) << ended.err;
}

TEST_P(Executions, ManyAreCancelledOnlyAfterAsking) {
  populate();
  const Finished refused = run({"executions", "cancel", "--lane", "mail"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(contains(refused.err, "cancel 3 executions?")) << refused.err;
  EXPECT_TRUE(contains(refused.err, "--yes")) << refused.err;
  EXPECT_EQ(run({"executions", "cancel", people.waiting[0], people.waiting[1]}).code, 2);
  EXPECT_EQ(run({"executions", "cancel", "--lane", "mail", "--dry-run"}).out, "3 executions would be cancelled\n");
  const auto counted = run_json({"executions", "cancel", "--lane", "mail", "--dry-run"});
  EXPECT_EQ(counted.at("matched").as_int64(), 3);
  EXPECT_EQ(counted.at("dry_run").as_bool(), true);
  EXPECT_EQ(states_of(people.waiting), (std::set<std::string>{"waiting"})) << "nothing has changed so far";
  const Finished done = run({"executions", "cancel", "--lane", "mail", "--yes"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "3 executions cancelled\n");
  EXPECT_EQ(states_of(people.waiting), (std::set<std::string>{"cancelled"}));
}

TEST_P(Executions, EveryFailureIsReported) {
  populate();
  const Words words = {"executions", "cancel", people.completed, people.waiting[0], unknown_id, "--yes"};
  const Finished plain = run(words);
  EXPECT_EQ(plain.code, 4) << "the first failure decides";
  EXPECT_EQ(lines(plain.err), 2u) << plain.err;
  EXPECT_TRUE(contains(plain.err, people.completed) && contains(plain.err, unknown_id)) << plain.err;
  EXPECT_TRUE(contains(plain.out, people.waiting[0] + " cancelled\n")) << plain.out;
  EXPECT_TRUE(contains(plain.out, "one execution cancelled, 2 failed\n")) << plain.out;
  Words as_json = words;
  as_json.push_back("--json");
  const Finished json = run(as_json);
  EXPECT_EQ(json.code, 4);
  EXPECT_EQ(lines(json.err), 1u);
  EXPECT_EQ(text(boost::json::parse(json.err).at("error").at("code")), "already_terminal");
  const auto report = boost::json::parse(json.out);
  EXPECT_EQ(report.at("failed").as_int64(), 2);
  EXPECT_EQ(text(report.at("failures").at(1).at("error").at("code")), "not_found");
}

TEST_P(Executions, ReplayPriorityTagsAndLeases) {
  populate();
  EXPECT_EQ(run({"executions", "replay", "--lane", "work"}).out, "one execution replayed\n") << "the failed one alone";
  EXPECT_EQ(states_of({people.failed}), (std::set<std::string>{"waiting"}));
  const auto replayed = run_json({"executions", "replay", people.completed});
  EXPECT_EQ(replayed.at("results").at(0).at("replay_count").as_int64(), 1);
  EXPECT_EQ(run({"executions", "replay", people.active}).code, 4);

  EXPECT_EQ(run({"executions", "priority", people.delayed, "--to", "-7"}).out, people.delayed + " given priority -7\n");
  EXPECT_EQ(run({"executions", "priority", "--lane", "mail", "--to", "5", "--yes"}).out,
            "3 executions given priority 5\n");
  EXPECT_EQ(run_json({"executions", "show", people.delayed}).at("summary").at("priority").as_int64(), -7);

  EXPECT_EQ(run({"executions", "tags", people.delayed}).out, "no tags\n");
  EXPECT_EQ(run({"executions", "tags", people.delayed, "--set", "a.b=c=d", "--set", "a.c=1", "--remove", "a.x"}).out,
            "a.b=c=d\na.c=1\n");
  EXPECT_EQ(text(run_json({"executions", "tags", people.delayed, "--remove", "a.c"}).at("tags").at("a.b")), "c=d");
  EXPECT_EQ(run({"executions", "tags", people.delayed, "--set", "UPPER=1"}).code, 2);

  const std::string lease = text(run_json({"executions", "show", people.active}).at("lease").at("lease_id"));
  const std::string other = "01890000-0000-7000-8000-000000000001";
  EXPECT_EQ(run({"executions", "revoke-lease", people.active, "--lease-id", other}).code, 4);
  const auto revoked = run_json({"executions", "revoke-lease", people.active, "--lease-id", lease});
  EXPECT_EQ(text(revoked.at("lease_id")), lease);
  EXPECT_EQ(run({"executions", "revoke-lease", people.active}).code, 4);
}

TEST_P(Executions, LanesShowTheirStateAndWhatIsOnThem) {
  populate();
  EXPECT_EQ(run(Words{"lanes", "pause", "mail", "--reason", "storm"} + by("ada")).out, "lane mail is paused\n");
  const Finished table = run({"lanes", "list"});
  EXPECT_TRUE(contains(table.out, "WAITING")) << table.out;
  EXPECT_TRUE(contains(table.out, "paused")) << table.out;
  const auto list = run_json({"lanes", "list"}).at("lanes").as_array();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(text(list[0].at("lane")), "mail");
  EXPECT_EQ(text(list[0].at("state")), "paused");
  EXPECT_EQ(text(list[0].at("changed_by")), actor("ada"));
  EXPECT_EQ(list[0].at("counts").at("waiting").as_int64(), 3);
  EXPECT_EQ(list[1].at("counts").at("active").as_int64(), 1);
  EXPECT_TRUE(contains(run({"executions", "explain", people.waiting[0]}).out, "is paused"));
  EXPECT_EQ(text(run_json({"lanes", "drain", "mail"}).at("state")), "draining");
  EXPECT_EQ(run({"lanes", "resume", "mail"}).out, "lane mail is active\n");
}

TEST_P(Executions, OnATerminalThereIsColourAndAQuestion) {
  populate();
  const Words list = {"executions", "list", "--store", place()};
  EXPECT_TRUE(contains(run_on_terminal(list, "").out, "\x1b[31mfailed\x1b[0m"));
  EXPECT_FALSE(contains(run_on_terminal(list, "", {"NO_COLOR=1"}).out, "\x1b"));
  const Words cancel = {"executions", "cancel", "--lane", "mail", "--store", place()};
  const Finished declined = run_on_terminal(cancel, "n\n");
  EXPECT_EQ(declined.code, 1);
  EXPECT_TRUE(contains(declined.out, "cancel 3 executions? [y/N]")) << declined.out;
  EXPECT_TRUE(contains(declined.out, "nothing was changed")) << declined.out;
  EXPECT_EQ(states_of(people.waiting), (std::set<std::string>{"waiting"}));
  const Finished agreed = run_on_terminal(cancel, "y\n");
  EXPECT_EQ(agreed.code, 0) << agreed.out;
  EXPECT_EQ(states_of(people.waiting), (std::set<std::string>{"cancelled"}));
}

TEST_P(Executions, ABigActionShowsItsProgressOnATerminal) {
  create_many("bulk", 400);
  const Finished done = run_on_terminal({"executions", "cancel", "--lane", "bulk", "--yes", "--store", place()}, "");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(contains(done.out, "400/400")) << done.out;
  EXPECT_TRUE(contains(done.out, "400 executions cancelled")) << done.out;
  const Finished quiet = run({"executions", "replay", "--lane", "bulk", "--state", "cancelled", "--yes"});
  EXPECT_EQ(quiet.out, "400 executions replayed\n");
}

TEST_P(Executions, MistakesAreOneLine) {
  populate();
  const std::vector<std::pair<Words, int>> mistakes = {{{"executions", "canel"}, 2},
                                                       {{"executions", "list", "--nonsense"}, 2},
                                                       {{"executions", "list", "--cursor", "nonsense"}, 2},
                                                       {{"executions", "list", "--lane", std::string(65, 'x')}, 2},
                                                       {{"executions", "show"}, 2},
                                                       {{"executions", "show", "nonsense"}, 2},
                                                       {{"executions", "show", unknown_id}, 3},
                                                       {{"executions", "explain", unknown_id}, 3},
                                                       {{"executions", "history", unknown_id}, 3},
                                                       {{"executions", "tags", unknown_id}, 3},
                                                       {{"executions", "replay", unknown_id}, 3},
                                                       {{"executions", "revoke-lease", unknown_id}, 3},
                                                       {{"lanes", "pause", "nowhere"}, 3},
                                                       {{"lanes", "pause"}, 2},
                                                       {{"lanes", "pause", std::string(65, 'x')}, 2}};
  for (const auto& [words, code] : mistakes) {
    const Finished plain = run(words);
    EXPECT_EQ(plain.code, code) << plain.err;
    EXPECT_EQ(plain.out, "");
    EXPECT_EQ(lines(plain.err), 1u) << plain.err;
    Words as_json = words;
    as_json.push_back("--json");
    const Finished json = run(as_json);
    EXPECT_EQ(json.code, code) << json.err;
    EXPECT_EQ(lines(json.err), 1u) << json.err;
    const auto error = boost::json::parse(json.err).at("error");
    for (const char* field : {"code", "message"}) EXPECT_TRUE(error.at(field).is_string());
  }
}

TEST(Output, ThatCannotBeWrittenIsNoSuccess) {
  const std::string program = FF_BIN_DIR "/flowfabric";
  const int status = std::system((program + " --help > /dev/full 2> /dev/null").c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), describe(Errc::unavailable).exit_code);
}

}  // namespace
}  // namespace flowfabric::cli_test
