#include "core/ingress.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

std::string bytes(std::size_t size) { return std::string(size, 'x'); }

CreateRequest good_create() {
  CreateRequest request;
  request.kind = "job";
  return request;
}

ClaimRequest good_claim() {
  ClaimRequest request;
  request.worker_id = "w";
  request.worker_instance_id = "w-1";
  return request;
}

// One change of a request and the field that the error names; an empty field means that it is accepted.
template <class Request>
struct Case {
  const char* what;
  std::function<void(Request&)> change;
  std::string field;
  Errc code = Errc::invalid_argument;
};

template <class Request, class Admit>
void run_cases(const std::vector<Case<Request>>& cases, const Request& good, Admit admit_it) {
  for (const auto& item : cases) {
    SCOPED_TRACE(item.what);
    Request request = good;
    item.change(request);
    const Result<void> result = admit_it(request);
    EXPECT_EQ(result.has_value(), item.field.empty()) << (result ? "" : result.error().message);
    if (result) continue;
    EXPECT_EQ(result.error().code, item.code);
    EXPECT_EQ(result.error().field, item.field);
    EXPECT_EQ(result.error().message.substr(0, item.field.size()), item.field) << "the sentence names the field";
  }
}

Tags many_tags(std::size_t count) {
  Tags tags;
  for (std::size_t i = 0; i < count; ++i) tags["app.k" + std::to_string(i)] = "";
  return tags;
}

std::vector<std::string> many_capabilities(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("c" + std::to_string(i));
  return all;
}

const std::vector<Case<CreateRequest>> create_texts = {
    {"as it is", [](CreateRequest&) {}, ""},
    {"namespace at the limit", [](CreateRequest& r) { r.name_space = bytes(limits::max_namespace_bytes); }, ""},
    {"namespace over", [](CreateRequest& r) { r.name_space = bytes(limits::max_namespace_bytes + 1); }, "namespace"},
    {"namespace empty", [](CreateRequest& r) { r.name_space = ""; }, "namespace"},
    {"namespace with a control", [](CreateRequest& r) { r.name_space = "a\nb"; }, "namespace"},
    {"lane at the limit", [](CreateRequest& r) { r.lane = bytes(limits::max_lane_bytes); }, ""},
    {"lane over", [](CreateRequest& r) { r.lane = bytes(limits::max_lane_bytes + 1); }, "lane"},
    {"lane empty", [](CreateRequest& r) { r.lane = ""; }, "lane"},
    {"lane with a space", [](CreateRequest& r) { r.lane = "a ~b"; }, ""},
    {"lane outside ASCII", [](CreateRequest& r) { r.lane = "\xc3\xbc"; }, "lane"},
    {"lane with DEL", [](CreateRequest& r) { r.lane = "\x7f"; }, "lane"},
    {"kind at the limit", [](CreateRequest& r) { r.kind = bytes(limits::max_kind_bytes); }, ""},
    {"kind over", [](CreateRequest& r) { r.kind = bytes(limits::max_kind_bytes + 1); }, "kind"},
    {"kind empty", [](CreateRequest& r) { r.kind = ""; }, "kind"},
    {"kind not UTF-8", [](CreateRequest& r) { r.kind = "\xff"; }, "kind"},
    {"encoding at the limit", [](CreateRequest& r) { r.payload_encoding = bytes(limits::max_encoding_bytes); }, ""},
    {"encoding over", [](CreateRequest& r) { r.payload_encoding = bytes(limits::max_encoding_bytes + 1); },
     "payload_encoding"},
    {"creator at the limit", [](CreateRequest& r) { r.creator = bytes(limits::max_creator_bytes); }, ""},
    {"creator over", [](CreateRequest& r) { r.creator = bytes(limits::max_creator_bytes + 1); }, "creator"},
    {"key at the limit", [](CreateRequest& r) { r.idempotency_key = bytes(limits::max_idempotency_key_bytes); }, ""},
    {"key over", [](CreateRequest& r) { r.idempotency_key = bytes(limits::max_idempotency_key_bytes + 1); },
     "idempotency_key"},
    {"binary payload", [](CreateRequest& r) { r.payload = std::string("\0\xff\xfe", 3); }, ""},
    {"payload at the limit", [](CreateRequest& r) { r.payload = bytes(limits::default_max_payload_bytes); }, ""},
    {"payload over", [](CreateRequest& r) { r.payload = bytes(limits::default_max_payload_bytes + 1); }, "payload",
     Errc::payload_too_large},
};

const std::vector<Case<CreateRequest>> create_numbers = {
    {"least priority", [](CreateRequest& r) { r.priority = limits::min_priority; }, ""},
    {"below", [](CreateRequest& r) { r.priority = limits::min_priority - 1; }, "priority"},
    {"greatest priority", [](CreateRequest& r) { r.priority = limits::max_priority; }, ""},
    {"above", [](CreateRequest& r) { r.priority = limits::max_priority + 1; }, "priority"},
    {"last moment", [](CreateRequest& r) { r.delay_until = limits::max_timestamp_ms; }, ""},
    {"delay after it", [](CreateRequest& r) { r.delay_until = limits::max_timestamp_ms + 1; }, "delay_until"},
    {"delay below zero", [](CreateRequest& r) { r.delay_until = -1; }, "delay_until"},
    {"deadline after it", [](CreateRequest& r) { r.deadline_at = limits::max_timestamp_ms + 1; }, "deadline_at"},
    {"deadline below zero", [](CreateRequest& r) { r.deadline_at = -1; }, "deadline_at"},
    {"first moment", [](CreateRequest& r) { r.deadline_at = limits::min_timestamp_ms; }, ""},
    {"delay in seconds", [](CreateRequest& r) { r.delay_until = 1'794'792'917; }, "delay_until"},
    {"deadline in seconds", [](CreateRequest& r) { r.deadline_at = 1'794'792'917; }, "deadline_at"},
    {"relative delay", [](CreateRequest& r) { r.delay_ms = 0; }, ""},
    {"relative delay below zero", [](CreateRequest& r) { r.delay_ms = -1; }, "delay_ms"},
    {"relative delay over", [](CreateRequest& r) { r.delay_ms = limits::max_duration_ms + 1; }, "delay_ms"},
    {"two delays", [](CreateRequest& r) { r.delay_ms = 1, r.delay_until = limits::min_timestamp_ms; }, "delay_ms"},
    {"relative deadline", [](CreateRequest& r) { r.deadline_ms = 1; }, ""},
    {"relative deadline of nothing", [](CreateRequest& r) { r.deadline_ms = 0; }, "deadline_ms"},
    {"relative deadline over", [](CreateRequest& r) { r.deadline_ms = limits::max_duration_ms + 1; }, "deadline_ms"},
    {"two deadlines", [](CreateRequest& r) { r.deadline_ms = 1, r.deadline_at = limits::min_timestamp_ms; },
     "deadline_ms"},
    {"tags at the limit", [](CreateRequest& r) { r.tags = many_tags(limits::max_tags); }, ""},
    {"tags over", [](CreateRequest& r) { r.tags = many_tags(limits::max_tags + 1); }, "tags"},
    {"tag value at the limit", [](CreateRequest& r) { r.tags["a.b"] = bytes(limits::max_tag_value_bytes); }, ""},
    {"tag value over", [](CreateRequest& r) { r.tags["a.b"] = bytes(limits::max_tag_value_bytes + 1); }, "tags.a.b"},
    {"tag value with a control", [](CreateRequest& r) { r.tags["a.b"] = "\x1f"; }, "tags.a.b"},
    {"tag key malformed", [](CreateRequest& r) { r.tags["nodot"] = ""; }, "tags"},
    {"capabilities at the limit",
     [](CreateRequest& r) { r.required_capabilities = many_capabilities(limits::max_capabilities); }, ""},
    {"capabilities over",
     [](CreateRequest& r) { r.required_capabilities = many_capabilities(limits::max_capabilities + 1); },
     "required_capabilities"},
    {"capability bytes at the limit",
     [](CreateRequest& r) { r.required_capabilities = {"a", bytes(limits::max_capabilities_bytes - 2)}; }, ""},
    {"capability bytes over",
     [](CreateRequest& r) { r.required_capabilities = {"a", bytes(limits::max_capabilities_bytes - 1)}; },
     "required_capabilities"},
    {"capability empty", [](CreateRequest& r) { r.required_capabilities = {""}; }, "required_capabilities"},
    {"capability with a comma", [](CreateRequest& r) { r.required_capabilities = {"a,b"}; }, "required_capabilities"},
    {"capability with a space", [](CreateRequest& r) { r.required_capabilities = {"a b"}; }, "required_capabilities"},
    {"capability not UTF-8", [](CreateRequest& r) { r.required_capabilities = {"\xff"}; }, "required_capabilities"},
    {"a policy out of range", [](CreateRequest& r) { r.policy.dedup_window_ms = 0; }, "policy.dedup_window_ms"},
};

TEST(Ingress, Create) {
  const auto admit_it = [](CreateRequest& request) { return admit(request, IngressLimits{}); };
  run_cases(create_texts, good_create(), admit_it);
  run_cases(create_numbers, good_create(), admit_it);
}

TEST(Ingress, ThePayloadLimitIsTheEnginesChoice) {
  CreateRequest create = good_create();
  create.payload = "1234";
  EXPECT_TRUE(admit(create, {4, 4}));
  EXPECT_FALSE(admit(create, {3, 4}));
  EXPECT_TRUE(admit(CompleteRequest{"1234", ""}, {3, 4}));
  EXPECT_EQ(admit(CompleteRequest{"12345", ""}, {9, 4}).error().code, Errc::payload_too_large);
}

TEST(Ingress, CapabilitiesBecomeCanonical) {
  CreateRequest create = good_create();
  create.required_capabilities = {"b", "a", "b"};
  ASSERT_TRUE(admit(create, IngressLimits{}));
  EXPECT_EQ(create.required_capabilities, (std::vector<std::string>{"a", "b"}));
  ClaimRequest claim = good_claim();
  claim.lanes = {"y", "x", "y"};
  claim.capabilities = {"b", "a", "b"};
  ASSERT_TRUE(admit(claim));
  EXPECT_EQ(claim.lanes, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(claim.capabilities, (std::vector<std::string>{"a", "b"}));
}

TEST(Ingress, TagKeys) {
  for (const std::string good : {"a.b", "app.name", "a1_.b", "app.1", "app._x", "app.a.b.c", "app.a..b", "a.b."}) {
    EXPECT_TRUE(admit_tag_key(good)) << good;
  }
  for (const std::string bad : {"", "a", "a.", ".b", ".", "A.b", "a.B", "1a.b", "_a.b", "a-b.c", "a.b-c", "a b.c",
                                "a..b", "a.\xc3\xbc", "a.b=c"}) {
    const auto result = admit_tag_key(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().field, "tags");
  }
  EXPECT_TRUE(admit_tag_key("a." + bytes(limits::max_tag_key_bytes - 2)));
  EXPECT_FALSE(admit_tag_key("a." + bytes(limits::max_tag_key_bytes - 1)));
}

const std::vector<Case<Policy>> policy_cases = {
    {"as it is", [](Policy&) {}, ""},
    {"retries at the limit", [](Policy& p) { p.retry->max_retries = limits::max_max_retries; }, ""},
    {"retries over", [](Policy& p) { p.retry->max_retries = limits::max_max_retries + 1; }, "policy.retry.max_retries"},
    {"no delay", [](Policy& p) { p.retry->initial_delay_ms = 0; }, ""},
    {"delay below zero", [](Policy& p) { p.retry->initial_delay_ms = -1; }, "policy.retry.initial_delay_ms"},
    {"longest delay", [](Policy& p) { p.retry->max_delay_ms = limits::max_duration_ms; }, ""},
    {"delay over", [](Policy& p) { p.retry->max_delay_ms = limits::max_duration_ms + 1; }, "policy.retry.max_delay_ms"},
    {"least multiplier", [](Policy& p) { p.retry->multiplier_percent = 100; }, ""},
    {"below it", [](Policy& p) { p.retry->multiplier_percent = 99; }, "policy.retry.multiplier_percent"},
    {"greatest multiplier", [](Policy& p) { p.retry->multiplier_percent = 10000; }, ""},
    {"above it", [](Policy& p) { p.retry->multiplier_percent = 10001; }, "policy.retry.multiplier_percent"},
    {"categories at the limit",
     [](Policy& p) { p.retry->retryable_categories = many_capabilities(limits::max_retry_categories); }, ""},
    {"categories over",
     [](Policy& p) { p.retry->retryable_categories = many_capabilities(limits::max_retry_categories + 1); },
     "policy.retry.retryable_categories"},
    {"category empty", [](Policy& p) { p.retry->retryable_categories = {""}; }, "policy.retry.retryable_categories"},
    {"category over", [](Policy& p) { p.retry->retryable_categories = {bytes(limits::max_category_bytes + 1)}; },
     "policy.retry.retryable_categories"},
    {"shortest timeout", [](Policy& p) { p.attempt_timeout_ms = 1; }, ""},
    {"no time at all", [](Policy& p) { p.attempt_timeout_ms = 0; }, "policy.attempt_timeout_ms"},
    {"timeout over", [](Policy& p) { p.attempt_timeout_ms = limits::max_duration_ms + 1; },
     "policy.attempt_timeout_ms"},
    {"grace below zero", [](Policy& p) { p.reclaim_grace_ms = -1; }, "policy.reclaim_grace_ms"},
    {"reclaims at the limit", [](Policy& p) { p.max_reclaims = limits::max_max_reclaims; }, ""},
    {"reclaims over", [](Policy& p) { p.max_reclaims = limits::max_max_reclaims + 1; }, "policy.max_reclaims"},
    {"replays at the limit", [](Policy& p) { p.max_replays = limits::max_max_replays; }, ""},
    {"replays over", [](Policy& p) { p.max_replays = limits::max_max_replays + 1; }, "policy.max_replays"},
    {"shortest window", [](Policy& p) { p.dedup_window_ms = 1; }, ""},
    {"no window", [](Policy& p) { p.dedup_window_ms = 0; }, "policy.dedup_window_ms"},
    {"kept for no time", [](Policy& p) { p.retention.completed_ms = 0; }, ""},
    {"completed", [](Policy& p) { p.retention.completed_ms = -1; }, "policy.retention.completed_ms"},
    {"failed", [](Policy& p) { p.retention.failed_ms = -1; }, "policy.retention.failed_ms"},
    {"cancelled", [](Policy& p) { p.retention.cancelled_ms = -1; }, "policy.retention.cancelled_ms"},
    {"expired", [](Policy& p) { p.retention.expired_ms = -1; }, "policy.retention.expired_ms"},
    {"skipped", [](Policy& p) { p.retention.skipped_ms = limits::max_duration_ms + 1; }, "policy.retention.skipped_ms"},
};

TEST(Ingress, Policies) {
  Policy policy;
  policy.retry = RetryPolicy{};
  run_cases(policy_cases, policy, [](const Policy& p) { return admit(p); });
}

const std::vector<Case<ClaimRequest>> claim_cases = {
    {"as it is", [](ClaimRequest&) {}, ""},
    {"worker at the limit", [](ClaimRequest& r) { r.worker_id = bytes(limits::max_worker_id_bytes); }, ""},
    {"worker over", [](ClaimRequest& r) { r.worker_id = bytes(limits::max_worker_id_bytes + 1); }, "worker_id"},
    {"worker empty", [](ClaimRequest& r) { r.worker_id = ""; }, "worker_id"},
    {"worker with a space", [](ClaimRequest& r) { r.worker_id = "a b"; }, "worker_id"},
    {"instance over", [](ClaimRequest& r) { r.worker_instance_id = bytes(limits::max_worker_id_bytes + 1); },
     "worker_instance_id"},
    {"instance empty", [](ClaimRequest& r) { r.worker_instance_id = ""; }, "worker_instance_id"},
    {"of one namespace", [](ClaimRequest& r) { r.name_space = bytes(limits::max_namespace_bytes); }, ""},
    {"of none", [](ClaimRequest& r) { r.name_space = ""; }, "namespace"},
    {"namespace over", [](ClaimRequest& r) { r.name_space = bytes(limits::max_namespace_bytes + 1); }, "namespace"},
    {"no lanes", [](ClaimRequest& r) { r.lanes.clear(); }, "lanes"},
    {"lanes at the limit", [](ClaimRequest& r) { r.lanes = many_capabilities(limits::max_claim_lanes); }, ""},
    {"lanes over", [](ClaimRequest& r) { r.lanes = many_capabilities(limits::max_claim_lanes + 1); }, "lanes"},
    {"a bad lane", [](ClaimRequest& r) { r.lanes = {"ok", "\n"}; }, "lanes[1]"},
    {"a weight", [](ClaimRequest& r) { r.lane_weights = {{r.lanes.front(), limits::max_weight}}; }, ""},
    {"a weight of another lane", [](ClaimRequest& r) { r.lane_weights = {{"other", 2}}; }, "lane_weights"},
    {"a weight of 0", [](ClaimRequest& r) { r.lane_weights = {{r.lanes.front(), 0}}; }, "lane_weights.default"},
    {"a weight over", [](ClaimRequest& r) { r.lane_weights = {{r.lanes.front(), limits::max_weight + 1}}; },
     "lane_weights.default"},
    {"a bad capability", [](ClaimRequest& r) { r.capabilities = {"a,b"}; }, "capabilities"},
    {"none wanted", [](ClaimRequest& r) { r.max_executions = 0; }, "max_executions"},
    {"most wanted", [](ClaimRequest& r) { r.max_executions = limits::max_claim; }, ""},
    {"more than that", [](ClaimRequest& r) { r.max_executions = limits::max_claim + 1; }, "max_executions"},
    {"shortest lease", [](ClaimRequest& r) { r.lease_ttl_ms = limits::min_lease_ttl_ms; }, ""},
    {"shorter", [](ClaimRequest& r) { r.lease_ttl_ms = limits::min_lease_ttl_ms - 1; }, "lease_ttl_ms"},
    {"longest lease", [](ClaimRequest& r) { r.lease_ttl_ms = limits::max_lease_ttl_ms; }, ""},
    {"longer", [](ClaimRequest& r) { r.lease_ttl_ms = limits::max_lease_ttl_ms + 1; }, "lease_ttl_ms"},
    {"longest wait", [](ClaimRequest& r) { r.wait_ms = limits::max_wait_ms; }, ""},
    {"longer wait", [](ClaimRequest& r) { r.wait_ms = limits::max_wait_ms + 1; }, "wait_ms"},
};

TEST(Ingress, Claims) {
  run_cases(claim_cases, good_claim(), [](ClaimRequest& request) { return admit(request); });
}

TEST(Ingress, WhatWorkersReport) {
  EXPECT_TRUE(admit(ProgressReport{100, bytes(limits::max_message_bytes)}));
  EXPECT_EQ(admit(ProgressReport{101, {}}).error().field, "percent");
  EXPECT_EQ(admit(ProgressReport{{}, bytes(limits::max_message_bytes + 1)}).error().field, "message");
  EXPECT_EQ(admit(CompleteRequest{"", bytes(limits::max_encoding_bytes + 1)}, {}).error().field, "result_encoding");
  EXPECT_EQ(admit(CompleteRequest{bytes(limits::default_max_payload_bytes + 1), ""}, {}).error().field, "result");

  const std::vector<Case<FailRequest>> cases = {
      {"as it is", [](FailRequest&) {}, ""},
      {"category empty", [](FailRequest& r) { r.category = ""; }, "category"},
      {"category at the limit", [](FailRequest& r) { r.category = bytes(limits::max_category_bytes); }, ""},
      {"category over", [](FailRequest& r) { r.category = bytes(limits::max_category_bytes + 1); }, "category"},
      {"message of lines", [](FailRequest& r) { r.message = "one\ntwo"; }, ""},
      {"message over", [](FailRequest& r) { r.message = bytes(limits::max_message_bytes + 1); }, "message"},
      {"detail at the limit", [](FailRequest& r) { r.detail = bytes(limits::max_failure_detail_bytes); }, ""},
      {"detail over", [](FailRequest& r) { r.detail = bytes(limits::max_failure_detail_bytes + 1); }, "detail",
       Errc::payload_too_large},
  };
  run_cases(cases, FailRequest{}, [](const FailRequest& request) { return admit(request); });
}

TEST(Ingress, WhatOperatorsAskFor) {
  EXPECT_TRUE(admit(Operator{"ops", bytes(limits::max_reason_bytes)}));
  EXPECT_EQ(admit(Operator{"ops", bytes(limits::max_reason_bytes + 1)}).error().field, "reason");
  EXPECT_EQ(admit(Operator{"", ""}).error().field, "operator");
  EXPECT_EQ(admit(Operator{bytes(limits::max_creator_bytes + 1), ""}).error().field, "operator");
  EXPECT_EQ(admit(TagChanges{}).error().field, "set");
  EXPECT_EQ(admit(TagChanges{{{"bad", ""}}, {}}).error().field, "set");
  EXPECT_EQ(admit(TagChanges{{{"app.k", "\x01"}}, {}}).error().field, "set.app.k");
  EXPECT_EQ(admit(TagChanges{{}, {"app.k", "bad"}}).error().field, "remove[1]");
  const TagChanges many{{}, std::vector<std::string>(limits::max_tags + 1, "app.k")};
  EXPECT_EQ(admit(many).error().message, "remove: has 65 entries; allowed: at most 64");
  EXPECT_TRUE(admit(TagChanges{{}, {"a.b"}}));
  EXPECT_EQ(admit(NamespaceInfo{"", {}}).error().field, "namespace");
  NamespaceInfo info{"n", {}};
  info.retention.failed_ms = -1;
  EXPECT_EQ(admit(info).error().field, "retention.failed_ms");
  EXPECT_TRUE(admit_execution_id({partition_count - 1, {}}));
  EXPECT_EQ(admit_execution_id({partition_count, {}}).error().field, "execution_id");
}

TEST(Ingress, Lists) {
  const std::vector<Case<ListRequest>> cases = {
      {"as it is", [](ListRequest&) {}, ""},
      {"no rows", [](ListRequest& r) { r.limit = 0; }, "limit"},
      {"most rows", [](ListRequest& r) { r.limit = limits::max_page; }, ""},
      {"more rows", [](ListRequest& r) { r.limit = limits::max_page + 1; }, "limit"},
      {"namespace", [](ListRequest& r) { r.name_space = ""; }, "namespace"},
      {"lane", [](ListRequest& r) { r.lane = ""; }, "lane"},
      {"kind", [](ListRequest& r) { r.kind = ""; }, "kind"},
      {"tag key", [](ListRequest& r) { r.tag = {"bad", ""}; }, "tag"},
      {"tag value", [](ListRequest& r) { r.tag = {"a.b", "\n"}; }, "tag.a.b"},
  };
  run_cases(cases, ListRequest{}, [](const ListRequest& request) { return admit(request); });
}

// ---- The fleet -----------------------------------------------------------------------------------------------------

// The worker fields of every request. Requests differ in the rest.
template <class Request>
std::vector<Case<Request>> worker_cases() {
  return {
      {"as it is", [](Request&) {}, ""},
      {"worker at the limit", [](Request& r) { r.worker_id = bytes(limits::max_worker_id_bytes); }, ""},
      {"worker over", [](Request& r) { r.worker_id = bytes(limits::max_worker_id_bytes + 1); }, "worker_id"},
      {"worker empty", [](Request& r) { r.worker_id = ""; }, "worker_id"},
      {"worker with a space", [](Request& r) { r.worker_id = "a b"; }, "worker_id"},
      {"worker with a zero", [](Request& r) { r.worker_id = std::string("a\0b", 3); }, "worker_id"},
      {"worker not UTF-8", [](Request& r) { r.worker_id = "\xff"; }, "worker_id"},
      {"instance at the limit", [](Request& r) { r.worker_instance_id = bytes(limits::max_worker_id_bytes); }, ""},
      {"instance over", [](Request& r) { r.worker_instance_id = bytes(limits::max_worker_id_bytes + 1); },
       "worker_instance_id"},
      {"instance empty", [](Request& r) { r.worker_instance_id = ""; }, "worker_instance_id"},
      {"instance with a control", [](Request& r) { r.worker_instance_id = "a\x7f"; }, "worker_instance_id"},
      {"capabilities at the limit", [](Request& r) { r.capabilities = many_capabilities(limits::max_capabilities); },
       ""},
      {"capabilities over", [](Request& r) { r.capabilities = many_capabilities(limits::max_capabilities + 1); },
       "capabilities"},
      {"capability empty", [](Request& r) { r.capabilities = {"a", ""}; }, "capabilities"},
      {"capability with a comma", [](Request& r) { r.capabilities = {"a,b"}; }, "capabilities"},
      {"capability with a space", [](Request& r) { r.capabilities = {"a b"}; }, "capabilities"},
      {"capability bytes over", [](Request& r) { r.capabilities = {bytes(limits::max_capabilities_bytes + 1)}; },
       "capabilities"},
  };
}

template <class Request>
Request from_worker(Request request = {}) {
  request.worker_id = "w";
  request.worker_instance_id = "w-1";
  return request;
}

const auto admit_any = [](auto& request) { return admit(request); };

TEST(IngressOfTheFleet, Registrations) {
  using R = WorkerRegistration;
  run_cases(worker_cases<R>(), from_worker<R>(), admit_any);
  const std::vector<Case<R>> cases = {
      {"namespace empty", [](R& r) { r.name_space = ""; }, "namespace"},
      {"namespace over", [](R& r) { r.name_space = bytes(limits::max_namespace_bytes + 1); }, "namespace"},
      {"namespace with a zero", [](R& r) { r.name_space = std::string("a\0b", 3); }, "namespace"},
      {"no lanes", [](R& r) { r.lanes.clear(); }, "lanes"},
      {"lanes at the limit", [](R& r) { r.lanes = many_capabilities(limits::max_claim_lanes); }, ""},
      {"lanes over", [](R& r) { r.lanes = many_capabilities(limits::max_claim_lanes + 1); }, "lanes"},
      {"a bad lane", [](R& r) { r.lanes = {"ok", ""}; }, "lanes[1]"},
      {"no time to live", [](R& r) { r.liveness_ttl_ms = 0; }, "liveness_ttl_ms"},
      {"shortest", [](R& r) { r.liveness_ttl_ms = limits::min_liveness_ttl_ms; }, ""},
      {"shorter", [](R& r) { r.liveness_ttl_ms = limits::min_liveness_ttl_ms - 1; }, "liveness_ttl_ms"},
      {"longest", [](R& r) { r.liveness_ttl_ms = limits::max_liveness_ttl_ms; }, ""},
      {"longer", [](R& r) { r.liveness_ttl_ms = limits::max_liveness_ttl_ms + 1; }, "liveness_ttl_ms"},
  };
  run_cases(cases, from_worker<R>(), admit_any);
  R registration = from_worker<R>();
  registration.lanes = {"y", "x", "y"};
  registration.capabilities = {"b", "a", "b"};
  ASSERT_TRUE(admit(registration));
  EXPECT_EQ(registration.lanes, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(registration.capabilities, (std::vector<std::string>{"a", "b"}));
}

TEST(IngressOfTheFleet, Heartbeats) {
  using R = HeartbeatRequest;
  const std::vector<Case<R>> cases = {
      {"as it is", [](R&) {}, ""},
      {"namespace", [](R& r) { r.name_space = ""; }, "namespace"},
      {"instance", [](R& r) { r.worker_instance_id = ""; }, "worker_instance_id"},
      {"leases at the limit", [](R& r) { r.leases.resize(limits::max_bulk_items); }, ""},
      {"leases over", [](R& r) { r.leases.resize(limits::max_bulk_items + 1); }, "leases"},
  };
  R good;
  good.worker_instance_id = "w-1";
  run_cases(cases, good, admit_any);
}

TEST(IngressOfTheFleet, NamesAndDeaths) {
  EXPECT_TRUE(admit_worker_name("n", "w-1"));
  EXPECT_EQ(admit_worker_name("", "w-1").error().field, "namespace");
  EXPECT_EQ(admit_worker_name("n", "").error().field, "worker_instance_id");
  EXPECT_EQ(admit_worker_name("n", "a\tb").error().field, "worker_instance_id");
  EXPECT_TRUE(admit_death({"ops", bytes(limits::max_death_reason_bytes)}));
  EXPECT_EQ(admit_death({"ops", bytes(limits::max_death_reason_bytes + 1)}).error().field, "reason");
  EXPECT_EQ(admit_death({"ops", "one\ntwo"}).error().field, "reason") << "other reasons may have lines, this may not";
  EXPECT_EQ(admit_death({"", ""}).error().field, "operator");
}

TEST(IngressOfTheFleet, Lists) {
  using W = ListWorkersRequest;
  const std::vector<Case<W>> workers = {
      {"as it is", [](W&) {}, ""},
      {"namespace", [](W& r) { r.name_space = ""; }, "namespace"},
      {"lane", [](W& r) { r.lane = "\n"; }, "lane"},
      {"capability empty", [](W& r) { r.capability = ""; }, "capability"},
      {"capability with a comma", [](W& r) { r.capability = "a,b"; }, "capability"},
      {"cursor at the limit", [](W& r) { r.cursor = bytes(limits::max_cursor_bytes); }, ""},
      {"cursor over", [](W& r) { r.cursor = bytes(limits::max_cursor_bytes + 1); }, "cursor"},
      {"no rows", [](W& r) { r.limit = 0; }, "limit"},
      {"most rows", [](W& r) { r.limit = limits::max_page; }, ""},
      {"more rows", [](W& r) { r.limit = limits::max_page + 1; }, "limit"},
  };
  run_cases(workers, W{}, admit_any);
  using L = ListExpiredLeasesRequest;
  const std::vector<Case<L>> leases = {
      {"as it is", [](L&) {}, ""},
      {"namespace", [](L& r) { r.name_space = ""; }, "namespace"},
      {"before time", [](L& r) { r.as_of = -1; }, "as_of"},
      {"last moment", [](L& r) { r.as_of = limits::max_timestamp_ms; }, ""},
      {"after it", [](L& r) { r.as_of = limits::max_timestamp_ms + 1; }, "as_of"},
      {"cursor over", [](L& r) { r.cursor = bytes(limits::max_cursor_bytes + 1); }, "cursor"},
      {"no rows", [](L& r) { r.limit = 0; }, "limit"},
      {"most rows", [](L& r) { r.limit = limits::max_expired_leases_page; }, ""},
      {"more rows", [](L& r) { r.limit = limits::max_expired_leases_page + 1; }, "limit"},
  };
  run_cases(leases, L{}, admit_any);
}

template <class Request>
std::vector<Case<Request>> grant_ttl_cases() {
  return {
      {"no time", [](Request& r) { r.grant_ttl_ms = 0; }, "grant_ttl_ms"},
      {"shortest", [](Request& r) { r.grant_ttl_ms = 1; }, ""},
      {"longest", [](Request& r) { r.grant_ttl_ms = limits::max_grant_ttl_ms; }, ""},
      {"longer", [](Request& r) { r.grant_ttl_ms = limits::max_grant_ttl_ms + 1; }, "grant_ttl_ms"},
  };
}

TEST(IngressOfTheFleet, Grants) {
  run_cases(worker_cases<GrantRequest>(), from_worker<GrantRequest>(), admit_any);
  run_cases(grant_ttl_cases<GrantRequest>(), from_worker<GrantRequest>(), admit_any);
  const std::vector<Case<GrantRequest>> grants = {
      {"last partition", [](GrantRequest& r) { r.execution_id.partition = partition_count - 1; }, ""},
      {"partition over", [](GrantRequest& r) { r.execution_id.partition = partition_count; }, "execution_id"},
  };
  run_cases(grants, from_worker<GrantRequest>(), admit_any);

  run_cases(worker_cases<ClaimForWorkerRequest>(), from_worker<ClaimForWorkerRequest>(), admit_any);
  run_cases(grant_ttl_cases<ClaimForWorkerRequest>(), from_worker<ClaimForWorkerRequest>(), admit_any);
  ClaimForWorkerRequest claim = from_worker<ClaimForWorkerRequest>();
  claim.lane = "";
  EXPECT_EQ(admit(claim).error().field, "lane");

  GrantRequest request = from_worker<GrantRequest>();
  request.capabilities = {"b", "a", "b"};
  ASSERT_TRUE(admit(request));
  EXPECT_EQ(request.capabilities, (std::vector<std::string>{"a", "b"})) << "they are compared in order";
}

TEST(IngressOfTheFleet, Redemptions) {
  using R = RedeemRequest;
  run_cases(worker_cases<R>(), from_worker<R>(), admit_any);
  const std::vector<Case<R>> cases = {
      {"partition over", [](R& r) { r.execution_id.partition = partition_count; }, "execution_id"},
      {"namespace empty", [](R& r) { r.worker_namespace = ""; }, "worker_namespace"},
      {"namespace with a control", [](R& r) { r.worker_namespace = "\n"; }, "worker_namespace"},
      {"shortest lease", [](R& r) { r.lease_ttl_ms = limits::min_lease_ttl_ms; }, ""},
      {"shorter", [](R& r) { r.lease_ttl_ms = limits::min_lease_ttl_ms - 1; }, "lease_ttl_ms"},
      {"longest lease", [](R& r) { r.lease_ttl_ms = limits::max_lease_ttl_ms; }, ""},
      {"longer", [](R& r) { r.lease_ttl_ms = limits::max_lease_ttl_ms + 1; }, "lease_ttl_ms"},
  };
  run_cases(cases, from_worker<R>(), admit_any);
  R request = from_worker<R>();
  request.capabilities = {"b", "a", "b"};
  ASSERT_TRUE(admit(request));
  EXPECT_EQ(request.capabilities, (std::vector<std::string>{"a", "b"}));
}

TEST(IngressOfTheFleet, ClaimsSayWhereTheWorkerIsRegistered) {
  ClaimRequest claim = good_claim();
  claim.worker_namespace = "";
  EXPECT_EQ(admit(claim).error().field, "worker_namespace");
}

TEST(IngressOfTheFleet, RetentionAndKeys) {
  const std::vector<Case<RetentionRun>> cases = {
      {"as it is", [](RetentionRun&) {}, ""},
      {"of any age", [](RetentionRun& r) { r.older_than_ms = 0; }, ""},
      {"of the future", [](RetentionRun& r) { r.older_than_ms = -1; }, "older_than_ms"},
      {"oldest", [](RetentionRun& r) { r.older_than_ms = limits::max_duration_ms; }, ""},
      {"older", [](RetentionRun& r) { r.older_than_ms = limits::max_duration_ms + 1; }, "older_than_ms"},
      {"namespace", [](RetentionRun& r) { r.name_space = ""; }, "namespace"},
      {"lane", [](RetentionRun& r) { r.lane = ""; }, "lane"},
  };
  run_cases(cases, RetentionRun{}, admit_any);
  EXPECT_TRUE(admit_grace(0));
  EXPECT_TRUE(admit_grace(limits::max_duration_ms));
  EXPECT_EQ(admit_grace(-1).error().field, "grace_ms");
  EXPECT_EQ(admit_grace(limits::max_duration_ms + 1).error().field, "grace_ms");
}

TEST(Ingress, LengthsAreSaidAsLengths) {
  ClaimRequest claim;
  claim.worker_id = claim.worker_instance_id = "w";
  claim.lanes = std::vector<std::string>(limits::max_claim_lanes + 1, "l");
  EXPECT_EQ(admit(claim).error().message, "lanes: has 65 entries; allowed: 1 to 64");
  ListRequest list;
  list.cursor = std::string(5000, 'c');
  EXPECT_EQ(admit(list).error().message, "cursor: has 5000 bytes; allowed: at most 1024");
  EXPECT_EQ(admit_handles(std::vector<Handle>(limits::max_bulk_items + 1)).error().message,
            "handles: has 10001 entries; allowed: at most 10000");
}

TEST(Ingress, NothingIsCalledWhatAPathCannotName) {
  for (const std::string dots : {".", ".."}) {
    WorkerRegistration registration;
    registration.worker_id = "w";
    registration.worker_instance_id = dots;
    EXPECT_EQ(admit(registration).error().field, "worker_instance_id");
    CreateRequest create;
    create.kind = "k";
    create.lane = dots;
    EXPECT_EQ(admit(create, {}).error().field, "lane");
    create.lane = "l";
    create.name_space = dots;
    EXPECT_EQ(admit(create, {}).error().field, "namespace");
    EXPECT_EQ(admit(ApiKeyRequest{.name = dots}).error().field, "name");
    registration.worker_instance_id = dots + "x";
    EXPECT_TRUE(admit(registration));
  }
}

TEST(Ingress, TextsBesideAGrantHaveABound) {
  GrantRequest grant;
  grant.worker_id = grant.worker_instance_id = "w";
  grant.capability_hash = bytes(limits::max_capability_hash_bytes);
  grant.route_snapshot = grant.admission_summary = bytes(limits::max_grant_note_bytes);
  EXPECT_TRUE(admit(grant));
  for (std::string GrantRequest::* text :
       {&GrantRequest::capability_hash, &GrantRequest::route_snapshot, &GrantRequest::admission_summary}) {
    GrantRequest over = grant;
    over.*text += 'x';
    EXPECT_EQ(admit(over).error().code, Errc::invalid_argument);
    over.*text = "\xff";
    EXPECT_EQ(admit(over).error().code, Errc::invalid_argument);
  }
}

TEST(Ingress, StepsAndCheckpointsHaveTheLimitOfResults) {
  IngressLimits limits;
  limits.max_result_bytes = 8;
  EXPECT_TRUE(admit_checkpoint("12345678", "text", limits));
  const auto checkpoint = admit_checkpoint("123456789", "text", limits);
  ASSERT_FALSE(checkpoint);
  EXPECT_EQ(checkpoint.error().code, Errc::payload_too_large);
  EXPECT_EQ(checkpoint.error().field, "checkpoint");
  StepRequest step;
  step.position = 1;
  step.name = "charge";
  step.result = "12345678";
  EXPECT_TRUE(admit(step, limits));
  step.result += '9';
  EXPECT_EQ(admit(step, limits).error().code, Errc::payload_too_large);
  step.result.clear();
  step.name.clear();
  EXPECT_EQ(admit(step, limits).error().field, "name");
  step.name = "charge";
  step.position = 0;
  EXPECT_EQ(admit(step, limits).error().field, "position");
}

}  // namespace
}  // namespace flowfabric
