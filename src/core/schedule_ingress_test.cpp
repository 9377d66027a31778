#include "core/schedule_ingress.hpp"

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

ScheduleRequest good() {
  ScheduleRequest request;
  request.name = "nightly";
  request.cron = "0 2 * * *";
  request.execution.kind = "report";
  return request;
}

template <class Change>
Error refused(Change change) {
  ScheduleRequest request = good();
  change(request);
  const auto admitted = admit(request, IngressLimits{}, nullptr);
  EXPECT_FALSE(admitted);
  return admitted ? Error{} : admitted.error();
}

TEST(ScheduleIngress, WhatIsGoodIsAdmitted) {
  ScheduleRequest request = good();
  EXPECT_TRUE(admit(request, IngressLimits{}, nullptr));
  request.name_space = "tenant";
  request.execution.required_capabilities = {"b", "a", "b"};
  EXPECT_TRUE(admit(request, IngressLimits{}, nullptr));
  EXPECT_EQ(request.execution.name_space, "tenant");
  EXPECT_EQ(request.execution.required_capabilities, (std::vector<std::string>{"a", "b"}));
}

ScheduleRequest good_flow() {
  ScheduleRequest request = good();
  request.execution = {};
  request.flow.emplace();
  request.flow->kind = "report";
  FlowNode& node = request.flow->nodes.emplace_back();
  node.name = "a";
  node.request.kind = "job";
  return request;
}

TEST(ScheduleIngress, AFlowInsteadOfAnExecution) {
  ScheduleRequest request = good_flow();
  request.name_space = "tenant";
  EXPECT_TRUE(admit(request, IngressLimits{}, nullptr));
  EXPECT_EQ(request.flow->name_space, "tenant");
  EXPECT_EQ(request.flow->nodes[0].request.name_space, "tenant");
}

TEST(ScheduleIngress, EveryRefusalOfAFlowNamesItsField) {
  using R = ScheduleRequest;
  struct Row {
    const char* field;
    void (*change)(R&);
  };
  const Row rows[] = {
      {"flow", [](R& r) { r.execution.kind = "job"; }},
      {"execution", [](R& r) { r.flow.reset(); }},
      {"flow.id", [](R& r) { r.flow->id.emplace(); }},
      {"flow.idempotency_key", [](R& r) { r.flow->idempotency_key = "k"; }},
      {"flow.open", [](R& r) { r.flow->open = true; }},
      {"flow.deadline_at", [](R& r) { r.flow->deadline_at = limits::max_timestamp_ms; }},
      {"flow.namespace", [](R& r) { r.flow->name_space = "another"; }},
      {"flow.kind", [](R& r) { r.flow->kind = ""; }},
      {"flow.nodes", [](R& r) { r.flow->nodes.clear(); }},
      {"flow.tags", [](R& r) { r.flow->tags["schedule.at"] = "x"; }},
      {"flow.nodes[0].tags", [](R& r) { r.flow->nodes[0].request.tags["schedule.name"] = "x"; }},
      {"flow.nodes[0].delay_until", [](R& r) { r.flow->nodes[0].request.delay_until = limits::max_timestamp_ms; }},
      {"flow.nodes[0].deadline_at", [](R& r) { r.flow->nodes[0].request.deadline_at = limits::max_timestamp_ms; }},
      {"flow.nodes[0].kind", [](R& r) { r.flow->nodes[0].request.kind = ""; }},
      {"flow.edges[0].to", [](R& r) { r.flow->edges = {{"a", "b"}}; }},
      {"flow.nodes",
       [](R& r) {
         const FlowNode node = r.flow->nodes[0];
         for (std::size_t i = 0; i < limits::max_schedule_flow_nodes; ++i) {
           r.flow->nodes.push_back(node);
           r.flow->nodes.back().name = "n" + std::to_string(i);
         }
       }},
      {"flow.nodes",
       [](R& r) { r.flow->nodes[0].request.payload = std::string(limits::max_schedule_flow_bytes, 'x'); }},
  };
  for (const Row& row : rows) {
    ScheduleRequest request = good_flow();
    row.change(request);
    const auto admitted = admit(request, IngressLimits{}, nullptr);
    ASSERT_FALSE(admitted) << row.field;
    EXPECT_EQ(admitted.error().field, row.field) << admitted.error().message;
  }
}

TEST(ScheduleIngress, EveryRefusalNamesItsField) {
  using R = ScheduleRequest;
  struct Row {
    const char* field;
    void (*change)(R&);
  };
  const Row rows[] = {
      {"namespace", [](R& r) { r.name_space = ""; }},
      {"name", [](R& r) { r.name = ""; }},
      {"name", [](R& r) { r.name = std::string(129, 'x'); }},
      {"name", [](R& r) { r.name = "a/b"; }},
      {"name", [](R& r) { r.name = "a b"; }},
      {"name", [](R& r) { r.name = ".."; }},
      {"name", [](R& r) { r.name = "\x01"; }},
      {"name", [](R& r) { r.name = "\xff"; }},
      {"cron", [](R& r) { r.cron = ""; }},
      {"cron", [](R& r) { r.every_ms = 1000; }},
      {"cron", [](R& r) { r.cron = "61 * * * *"; }},
      {"every_ms", [](R& r) { r.cron = "", r.every_ms = 999; }},
      {"every_ms", [](R& r) { r.cron = "", r.every_ms = INT64_MAX; }},
      {"every_ms", [](R& r) { r.cron = "", r.every_ms = -1; }},
      {"anchor_at", [](R& r) { r.anchor_at = limits::min_timestamp_ms; }},
      {"time_zone", [](R& r) { r.time_zone = "Mars/Phobos"; }},
      {"time_zone", [](R& r) { r.time_zone = ""; }},
      {"exceptions", [](R& r) { r.exceptions = {"soon"}; }},
      {"exceptions", [](R& r) { r.exceptions.assign(401, "12-25"); }},
      {"start_at", [](R& r) { r.start_at = 5; }},
      {"end_at", [](R& r) { r.start_at = r.end_at = limits::min_timestamp_ms; }},
      {"jitter_ms", [](R& r) { r.jitter_ms = -1; }},
      {"start_window_ms", [](R& r) { r.start_window_ms = INT64_MAX; }},
      {"catch_up_limit", [](R& r) { r.catch_up_limit = 0; }},
      {"catch_up_limit", [](R& r) { r.catch_up_limit = 1001; }},
      {"execution", [](R& r) { r.execution.kind = ""; }},
      {"execution.lane", [](R& r) { r.execution.lane = ""; }},
      {"execution.id", [](R& r) { r.execution.id = Uuid{}; }},
      {"execution.idempotency_key", [](R& r) { r.execution.idempotency_key = "k"; }},
      {"execution.delay_until", [](R& r) { r.execution.delay_until = limits::min_timestamp_ms; }},
      {"execution.deadline_at", [](R& r) { r.execution.deadline_at = limits::min_timestamp_ms; }},
      {"execution.payload", [](R& r) { r.execution.payload = std::string(64 * 1024 + 1, 'x'); }},
      {"execution.tags", [](R& r) { r.execution.tags["schedule.name"] = "x"; }},
      {"execution.tags",
       [](R& r) {
         for (int i = 0; i < 63; ++i) r.execution.tags["app.t" + std::to_string(i)] = "x";
       }},
  };
  for (const Row& row : rows) {
    const Error error = refused(row.change);
    EXPECT_EQ(error.field, row.field) << error.message;
    EXPECT_EQ(error.message.find(std::string(row.field) + ": "), 0U) << error.message;
  }
}

TEST(ScheduleIngress, Ranges) {
  EXPECT_EQ(admit(BackfillRequest{0, 1}).error().field, "from");
  EXPECT_EQ(admit(BackfillRequest{limits::min_timestamp_ms, 0}).error().field, "to");
  EXPECT_EQ(admit(BackfillRequest{limits::min_timestamp_ms, limits::min_timestamp_ms}).error().field, "to");
  EXPECT_EQ(admit(NextRunsRequest{0, 0}).error().field, "count");
  EXPECT_EQ(admit(NextRunsRequest{0, 1001}).error().field, "count");
  EXPECT_EQ(admit(TriggerRequest{false, std::string(257, 'x')}).error().field, "idempotency_key");
  ListSchedulesRequest list;
  list.limit = 0;
  EXPECT_EQ(admit(list).error().field, "limit");
}

}  // namespace
}  // namespace flowfabric
