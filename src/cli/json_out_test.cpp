#include "cli/json_out.hpp"

#include <gtest/gtest.h>

#include "base/hashing.hpp"
#include "cli/complaint.hpp"

namespace flowfabric::cli {
namespace {

const ExecutionId some_id = parse_execution_id("fp7-01890000-0000-7000-8000-000000000001").value();

TEST(JsonOut, ErrorsAreThoseOfTheApi) {
  EXPECT_EQ(error_to_json(Error{Errc::not_found, "there is no \"x\"", "ID", {}}),
            R"({"error":{"code":"not_found","message":"there is no \"x\"","field":"ID","retryable":false}})");
  EXPECT_EQ(error_to_json(Error{Errc::unavailable, "b\xffse", "", {}}),
            R"({"error":{"code":"unavailable","message":"b?se","retryable":true}})");
}

TEST(JsonOut, ListsAreThoseOfTheApi) {
  ListReply reply;
  ExecutionSummary summary;
  summary.execution_id = some_id;
  summary.name_space = "default";
  summary.lane = "mail";
  summary.kind = "send";
  summary.priority = -3;
  summary.tags = {{"app.team", "billing"}};
  summary.created_at = 1767323045678;
  reply.executions = {summary};
  reply.next_cursor = "abc";
  EXPECT_EQ(to_json(reply),
            R"({"executions":[{"execution_id":"fp7-01890000-0000-7000-8000-000000000001","namespace":"default",)"
            R"("lane":"mail","kind":"send","public_state":"waiting","priority":-3,"tags":{"app.team":"billing"},)"
            R"("created_at":1767323045678,"attempt_count":0}],"next_cursor":"abc"})");
  EXPECT_EQ(to_json(ListReply{}), R"({"executions":[],"next_cursor":""})");
}

TEST(JsonOut, WhatIsNotSetIsLeftOut) {
  const std::string text = to_json(ShownExecution{});
  for (const char* absent : {"lease\"", "attempt\"", "failure\"", "progress\"", "context\"", "creator\"", "null"}) {
    EXPECT_EQ(text.find("\"" + std::string(absent)), std::string::npos) << absent << text;
  }
  EXPECT_NE(text.find(R"("on_lease_lost":"requeue")"), std::string::npos) << text;
}

TEST(JsonOut, BytesAreJsonOrBase64AsInTheApi) {
  ShownExecution shown;
  shown.context = ExecutionContext{"send", R"({"to":"grüße"})", "json", {}};
  shown.result = ExecutionResult{};
  shown.result->result = std::string("\x00\xff\x10", 3);
  const std::string text = to_json(shown);
  EXPECT_NE(text.find(R"("payload":{"to":"grüße"})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("result_base64":"AP8Q")"), std::string::npos) << text;
}

TEST(JsonOut, Base64) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("\xfb\xff"), "+/8=");
}

TEST(JsonOut, BulkReportsNameSuccessesAndFailures) {
  BulkReport report;
  report.action = "replay";
  report.matched = 2;
  report.changed = 1;
  report.results = {{.execution_id = some_id, .replay_count = 2, .public_state = PublicState::waiting}};
  report.failures = {{some_id, Error{Errc::not_terminal, "it runs", "", {}}}};
  EXPECT_EQ(to_json(report),
            R"({"action":"replay","dry_run":false,"interrupted":false,"matched":2,"changed":1,"unchanged":0,)"
            R"("skipped":0,"failed":1,"results":[{"execution_id":"fp7-01890000-0000-7000-8000-000000000001",)"
            R"("replay_count":2,"public_state":"waiting"}],"failures":[{"execution_id":)"
            R"("fp7-01890000-0000-7000-8000-000000000001","error":{"code":"not_terminal","message":"it runs",)"
            R"("retryable":false}}]})");
}

TEST(JsonOut, LanesCarryTheirCounts) {
  const LaneView lane{LaneInfo{"mail", LaneState::paused, 5, "ada", "storm", 3, "bob"}, {{PublicState::failed, 2}}};
  EXPECT_EQ(to_json(ShownLanes{{lane}}),
            R"({"lanes":[{"lane":"mail","state":"paused","changed_at":5,"changed_by":"ada","reason":"storm",)"
            R"("registered_at":3,"registered_by":"bob","counts":{"failed":2}}]})");
}

}  // namespace
}  // namespace flowfabric::cli
