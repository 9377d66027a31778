// What the program shows of durable steps, and what it does with them: executions show, steps, replay --from-step,
// check-deploy.
#include <fstream>
#include <stdexcept>

#include "cli/fixture.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

class Steps : public OnAStore {
 protected:
  // An execution on lane work whose handler recorded these steps and then failed, for good or to be retried in an hour.
  std::string run_steps(const std::vector<std::string>& names, FailRequest::Retryable retryable) {
    const auto engine = open_engine();
    CreateRequest request{.lane = "work", .kind = "order"};
    request.policy.retry = RetryPolicy{};
    request.policy.retry->max_retries = 3;
    request.policy.retry->initial_delay_ms = 3600 * 1000;
    const auto id = must(engine->create(std::move(request))).execution_id;
    const auto claimed = must(
        engine->claim({.worker_id = "w", .worker_instance_id = "w-1", .lanes = {"work"}, .lease_ttl_ms = 3600 * 1000}));
    const Handle& handle = claimed.at(0).handle;
    std::uint32_t position = 0;
    for (const std::string& name : names) {
      StepRequest step{.position = ++position, .name = name, .result = "{\"n\":1}", .result_encoding = "json"};
      step.duration_ms = 1500;
      if (name == "nap") step.sleep_ms = 3 * 3600 * 1000;
      must(engine->record_step(handle, std::move(step)));
    }
    must(engine->fail(handle, {.category = "broken", .message = "no luck", .retryable = retryable}));
    return to_string(id);
  }
  std::string ended(const std::vector<std::string>& names) { return run_steps(names, FailRequest::Retryable::never); }
  std::string unfinished(const std::vector<std::string>& names) {
    return run_steps(names, FailRequest::Retryable::by_policy);
  }
  Finished check_deploy(const std::string& document, const Words& more = {}) {
    const std::string path = folder_.path() / "steps.json";
    std::ofstream(path) << document;
    return run(Words{"check-deploy", path} + more);
  }

  test::TempDir folder_;
};
INSTANTIATE_TEST_SUITE_P(, Steps, testing::ValuesIn(all_ways()), way_name);

TEST_P(Steps, ShowHasATimelineOfAttemptsAndSteps) {
  const std::string id = ended({"reserve", "nap", "charge"});
  const Finished shown = run({"executions", "show", id});
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (const char* part :
       {"TIMELINE", "attempt 0 on w-1: ended_failure, broken: no luck", "  step 1 reserve: succeeded", "1500ms",
        "  step 2 nap: sleep until ", "3h", "  step 3 charge: succeeded"}) {
    EXPECT_TRUE(contains(shown.out, part)) << part << "\n" << shown.out;
  }
  const auto document = run_json({"executions", "show", id});
  EXPECT_EQ(document.at("steps").as_array().size(), 3u);
  EXPECT_EQ(document.at("steps").at(0).at("result").at("n").as_int64(), 1);
}

TEST_P(Steps, AreListedAPageAtATime) {
  populate();
  EXPECT_EQ(run({"executions", "steps", people.completed}).out, "no recorded steps\n");
  const std::string id = ended({"reserve", "nap", "charge"});
  const Finished first = run({"executions", "steps", id, "--limit", "2"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(contains(first.out, "reserve")) << first.out;
  EXPECT_FALSE(contains(first.out, "charge")) << first.out;
  EXPECT_TRUE(contains(first.out, "--cursor 3")) << first.out;
  EXPECT_TRUE(contains(run({"executions", "steps", id, "--cursor", "3"}).out, "charge"));
  EXPECT_EQ(run_json({"executions", "steps", id, "--all"}).at("steps").as_array().size(), 3u);
  EXPECT_EQ(text(run_json({"executions", "steps", id, "--limit", "1"}).at("next_cursor")), "2");
  const Finished wrong = run({"executions", "steps", id, "--cursor", "x"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(contains(wrong.err, "not a cursor")) << wrong.err;
}

TEST_P(Steps, ReplayKeepsThoseBeforeTheOneThatIsNamed) {
  const std::string id = ended({"reserve", "charge", "ship"});
  const Finished unknown = run({"executions", "replay", id, "--from-step", "mail"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_TRUE(contains(unknown.err, "no recorded step \"mail\"; recorded are: reserve, charge, ship")) << unknown.err;
  const Finished replayed = run({"executions", "replay", id, "--from-step", "charge"});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_EQ(run_json({"executions", "steps", id}).at("steps").as_array().size(), 1u);
}

TEST_P(Steps, CheckDeployListsThoseThatWouldBreak) {
  const std::string broken = unfinished({"reserve", "charge"});
  const std::string good = unfinished({"reserve"});
  ended({"something", "else"});
  const std::string changed = R"({"kinds": {"order": ["reserve", "check", "charge"], "other": ["a"]}})";
  const Finished found = check_deploy(changed);
  EXPECT_EQ(found.code, 1) << found.err;
  EXPECT_TRUE(contains(found.out, broken)) << found.out;
  EXPECT_FALSE(contains(found.out, good)) << found.out;
  EXPECT_TRUE(contains(found.out, "reserve, check, charge")) << found.out;
  EXPECT_TRUE(contains(found.out, "2 kinds declared, 2 unfinished executions examined, 1 would break\n")) << found.out;

  const Finished document = check_deploy(changed, {"--json"});
  const auto report = boost::json::parse(document.out);
  ASSERT_EQ(report.at("would_break").as_array().size(), 1u);
  EXPECT_EQ(text(report.at("would_break").at(0).at("execution_id")), broken);
  EXPECT_EQ(report.at("would_break").at(0).at("position").as_int64(), 2);
  EXPECT_EQ(text(report.at("would_break").at(0).at("step")), "charge");

  const Finished fine = check_deploy(R"({"kinds": {"order": ["reserve", "check?", "charge"]}})");
  EXPECT_EQ(fine.code, 0) << fine.out << fine.err;
  EXPECT_EQ(fine.out, "one kind declared, 2 unfinished executions examined, 0 would break\n");
  EXPECT_EQ(check_deploy(changed, {"--lane", "elsewhere"}).code, 0);
}

TEST_P(Steps, CheckDeployRefusesWhatIsNoListOfSteps) {
  for (const char* document : {"", "[]", R"({"kinds": {}})", R"({"kinds": {"a": "b"}})"}) {
    const Finished refused = check_deploy(document);
    EXPECT_EQ(refused.code, 2) << document;
    EXPECT_TRUE(contains(refused.err, "FILE: ")) << refused.err;
  }
  const Finished absent = run({"check-deploy", (folder_.path() / "none.json").string()});
  EXPECT_EQ(absent.code, 2);
  EXPECT_TRUE(contains(absent.err, "cannot open")) << absent.err;
}

}  // namespace
}  // namespace flowfabric::cli_test
