#include "wire/shapes.hpp"

#include <gtest/gtest.h>

#include "wire/fleet_shapes.hpp"

namespace flowfabric::wire {
namespace {

template <class T>
Error refusal(const std::string& text) {
  const auto read = from_json<T>(text);
  EXPECT_FALSE(read) << text;
  if (read) return {};
  EXPECT_EQ(read.error().code, Errc::invalid_argument) << text;
  EXPECT_TRUE(read.error().message.starts_with(read.error().field + ": ")) << read.error().message;
  return read.error();
}

template <class T>
std::string again(const std::string& text) {
  const auto read = from_json<T>(text);
  EXPECT_TRUE(read) << read.error().message;
  return read ? to_json(*read) : "";
}

ExecutionId some_id() { return *parse_execution_id("fp7-01890000-0000-7000-8000-000000000001"); }

// ---- Refusals

TEST(Shapes, RefuseByName) {
  const std::pair<const char*, const char*> mistakes[] = {
      {R"([])", "body"},
      {R"({})", "kind"},
      {R"({"kind":1})", "kind"},
      {R"({"kind":"k","kind":"k"})", "kind"},
      {R"({"kind":"k","colour":"red"})", "colour"},
      {R"({"kind":"k","priority":"1"})", "priority"},
      {R"({"kind":"k","priority":1.5})", "priority"},
      {R"({"kind":"k","priority":2147483648})", "priority"},
      {R"({"kind":"k","priority":-2147483649})", "priority"},
      {R"({"kind":"k","tags":[]})", "tags"},
      {R"({"kind":"k","tags":{"a.b":1}})", "tags.a.b"},
      {R"({"kind":"k","tags":{"a.b":"1","a.b":"2"}})", "tags.a.b"},
      {R"({"kind":"k","required_capabilities":["a",2]})", "required_capabilities[1]"},
      {R"({"kind":"k","id":"nonsense"})", "id"},
      {R"({"kind":"k","payload_base64":"*"})", "payload_base64"},
      {R"({"kind":"k","payload_base64":5})", "payload_base64"},
      {R"({"kind":"k","payload":1,"payload_base64":"AA=="})", "payload_base64"},
      {R"({"kind":"k","payload_base64":"AA==","payload":1})", "payload"},
      {R"({"kind":"k","policy":{"retry":{"max_retries":-1}}})", "policy.retry.max_retries"},
      {R"({"kind":"k","policy":{"retry":{"backoff":"linear"}}})", "policy.retry.backoff"},
      {R"({"kind":"k","policy":{"retention":{"done_ms":1}}})", "policy.retention.done_ms"},
      {R"({"kind":"k","policy":null})", "policy"},
      {R"({"kind":"k","delay_until":true})", "delay_until"},
  };
  for (const auto& [text, field] : mistakes) EXPECT_EQ(refusal<CreateRequest>(text).field, field) << text;
  const Error unknown = refusal<CreateRequest>(R"({"kind":"k","policy":{"on_lease_lost":"forget"}})");
  EXPECT_NE(unknown.message.find("allowed: requeue, manual"), std::string::npos) << unknown.message;
  EXPECT_NE(refusal<CreateRequest>(R"({"kind":true})").message.find("not true or false"), std::string::npos);
}

TEST(Shapes, NumbersAtTheEdges) {
  EXPECT_EQ(from_json<std::uint8_t>("255"), std::uint8_t{255});
  EXPECT_EQ(refusal<std::uint8_t>("256").message, "body: is 256; allowed: 0 to 255");
  EXPECT_EQ(from_json<std::uint64_t>("9223372036854775807"), std::uint64_t{INT64_MAX});
  EXPECT_EQ(refusal<std::uint64_t>("9223372036854775808").field, "body");
  EXPECT_EQ(refusal<std::uint32_t>("-1").field, "body");
  EXPECT_EQ(from_json<std::int64_t>("-9223372036854775808"), INT64_MIN);
}

TEST(Shapes, NullIsRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"kind":"k","id":null})", "id"},
      {R"({"kind":"k","lane":null})", "lane"},
      {R"({"kind":"k","delay_until":null})", "delay_until"},
      {R"({"kind":"k","tags":null})", "tags"},
      {R"({"kind":"k","tags":{"app.k":null}})", "tags.app.k"},
      {R"({"kind":"k","policy":null})", "policy"},
      {R"({"kind":"k","policy":{"retry":null}})", "policy.retry"},
      {R"({"kind":"k","policy":{"attempt_timeout_ms":null}})", "policy.attempt_timeout_ms"},
  };
  for (const auto& [json, field] : cases) EXPECT_EQ(refusal<CreateRequest>(json).field, field);
  EXPECT_EQ(refusal<ListRequest>(R"({"namespace":null})").message, "namespace: must be a string, not null");
  EXPECT_EQ(from_json<CreateRequest>(R"({"kind":"k","payload":null})")->payload, "null") << "a payload may be any JSON";
}

// ---- Bytes of users

TEST(Shapes, JsonIsKeptByteForByte) {
  const std::string payload = R"({ "z" : [1.10, 1e2,"\u0041"],  "a":null })";
  const auto read = from_json<CreateRequest>(R"({"kind":"k","payload":)" + payload + "}");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->payload, payload);
  EXPECT_EQ(read->payload_encoding, "json");
  ExecutionContext context{"k", payload, "json", {}};
  EXPECT_EQ(to_json(context), R"({"kind":"k","payload":)" + payload + R"(,"payload_encoding":"json","tags":{}})");
}

TEST(Shapes, OtherBytesTravelInBase64) {
  for (const auto& [bytes, label] : std::vector<std::pair<std::string, std::string>>{{std::string("\x00\xff", 2), ""},
                                                                                     {"{}", ""},
                                                                                     {"{}", "msgpack"},
                                                                                     {"{", "json"},
                                                                                     {" {}", "json"},
                                                                                     {"{}\n", "json"}}) {
    const ExecutionContext context{"k", bytes, label, {}};
    const std::string text = to_json(context);
    EXPECT_NE(text.find("payload_base64"), std::string::npos) << text;
    const auto read = from_json<ExecutionContext>(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->payload, bytes);
    EXPECT_EQ(read->payload_encoding, label);
  }
}

TEST(Shapes, NoBytesAreLeftOut) {
  EXPECT_EQ(to_json(ExecutionContext{"k", "", "", {}}), R"({"kind":"k","tags":{}})");
  EXPECT_EQ(from_json<CreateRequest>(R"({"kind":"k"})")->payload, "");
}

TEST(Shapes, ALabelOfTheCallersIsKept) {
  EXPECT_EQ(from_json<CompleteRequest>(R"({"result":1,"result_encoding":"x"})")->result_encoding, "x");
  EXPECT_EQ(from_json<CompleteRequest>(R"({"result_encoding":"x","result":1})")->result_encoding, "x");
}

TEST(Shapes, DetailsAreJsonWhenTheyAreJson) {
  EXPECT_EQ(from_json<FailRequest>(R"({"detail":{"line": 7}})")->detail, R"({"line": 7})");
  EXPECT_EQ(from_json<FailRequest>(R"({"detail_base64":"//4="})")->detail, "\xff\xfe");
  for (const std::string bytes : {R"({"line": 7})", "plain words", "17", "17 ", "\xff"}) {
    const auto read = from_json<Failure>(to_json(Failure{"c", "m", bytes}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->detail, bytes);
  }
}

TEST(Shapes, DeepPayloadsSurviveTheWrappingOfReplies) {
  const std::string deep = std::string(max_user_depth, '[') + std::string(max_user_depth, ']');
  ClaimedExecution claimed;
  claimed.payload = deep;
  claimed.payload_encoding = "json";
  const auto read = from_reply<std::vector<ClaimedExecution>>(to_json(std::vector{claimed}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->front().payload, deep);
}

// ---- Round trips

TEST(Shapes, RequestsReadBackWhatTheyWrite) {
  const std::string full =
      R"({"namespace":"n","lane":"l","kind":"k","payload":[1],"payload_encoding":"json","priority":-5,)"
      R"("tags":{"a.b":"c"},"required_capabilities":["gpu"],"policy":{"retry":{"max_retries":1,"backoff":"fixed",)"
      R"("initial_delay_ms":5,"max_delay_ms":6,"multiplier_percent":100,"jitter":"full","retryable_categories":["x"]},)"
      R"("attempt_timeout_ms":9,"on_lease_lost":"manual","reclaim_grace_ms":1,"max_reclaims":2,"max_replays":3,)"
      R"("dedup_window_ms":4,"retention":{"completed_ms":1,"failed_ms":2,"cancelled_ms":3,"expired_ms":4,)"
      R"("skipped_ms":5}},"delay_until":7,"deadline_at":8,"delay_ms":9,"deadline_ms":10,"creator":"c","idempotency_key":"i",)"
      R"("id":"01890000-0000-7000-8000-000000000001",)"
      R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","reserve":{"tokens":5}})";
  EXPECT_EQ(again<CreateRequest>(full), full);
  const std::string filter =
      R"({"namespace":"n","lane":"l","kind":"k","states":["waiting","failed"],"tag":{"a.b":"c"},)"
      R"("flow":"01890000-0000-7000-8000-000000000001","created_from":1,"created_before":2,"finished_from":3,)"
      R"("finished_before":4})";
  EXPECT_EQ(again<ListRequest>(filter), filter);
  EXPECT_EQ(refusal<ListRequest>(R"({"tag":{"a.b":"1","a.c":"2"}})").field, "tag");
}

TEST(Shapes, ThePolicyIsTheOneOfTheLibrary) {
  const Policy policy{.retry = RetryPolicy{.max_retries = 7, .retryable_categories = {"a"}},
                      .attempt_timeout_ms = 5,
                      .on_lease_lost = OnLeaseLost::manual,
                      .retention = {.failed_ms = 9}};
  EXPECT_EQ(parse_policy_json(to_json(policy)), policy);
  EXPECT_EQ(from_json<Policy>(policy_to_json(policy)), policy);
}

TEST(Shapes, RepliesReadBackWhatTheyWrite) {
  ExecutionDescription description;
  description.summary = {.execution_id = some_id(), .name_space = "n", .public_state = PublicState::failed};
  description.lease = Lease{.lease_epoch = 3, .expires_at = 9};
  description.attempts = {Attempt{
      .attempt_index = 1, .timeout_left_ms = 4, .previous_attempt_index = 0, .failure = Failure{"c", "m", "\xff"}}};
  description.explain = {{"terminal", "It has ended.", 0}};
  const auto read = from_json<ExecutionDescription>(to_json(description));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->summary, description.summary);
  EXPECT_EQ(read->lease, description.lease);
  EXPECT_EQ(read->attempts, description.attempts);
  EXPECT_EQ(read->explain, description.explain);
  EXPECT_EQ(read->policy, description.policy);

  const LaneCounts counts{"l", {{PublicState::waiting, 3}, {PublicState::failed, 1}}};
  EXPECT_EQ(to_json(counts), R"({"lane":"l","counts":{"waiting":3,"failed":1}})");
  EXPECT_EQ(from_json<LaneCounts>(to_json(counts)), counts);
  EXPECT_EQ(refusal<LaneCounts>(R"({"counts":{"lost":1}})").field, "counts.lost");

  const KeyRotation rotation{2, {{1, 5, 6}, {2, 7, 0}}};
  EXPECT_EQ(from_json<KeyRotation>(to_json(rotation)), rotation);
  const WorkerInfo worker{.name_space = "n", .worker_instance_id = "i", .lanes = {"a"}, .state = WorkerState::lapsed};
  EXPECT_EQ(from_json<WorkerInfo>(to_json(worker)), worker);
}

TEST(Shapes, ErrorsKeepEverything) {
  for (const Error& error : {Error{Errc::already_terminal, "over", {}, {{"outcome", "failed"}}},
                             Error{Errc::invalid_argument, "lane: no", "lane", {}}}) {
    const auto read = from_json<ErrorBody>(to_json(ErrorBody{error}));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->error, error);
  }
  EXPECT_EQ(to_json(ErrorBody{{Errc::overloaded, "busy", {}, {}}}),
            R"({"error":{"code":"overloaded","message":"busy","retryable":true}})");
}

TEST(Shapes, RepliesOfNewerServersAreUnderstood) {
  const std::string text = R"({"decision":"failed","next_attempt_index":0,"reason":"never","mood":{"x":[1]}})";
  EXPECT_EQ(from_reply<FailReply>(text)->reason, "never");
  EXPECT_EQ(refusal<FailReply>(text).field, "mood");
  EXPECT_FALSE(from_reply<FailReply>(R"({"decision":"postponed"})"));
}

// ---- Schemas

TEST(Shapes, SchemasOfRepliesDemandWhatIsAlwaysWritten) {
  Schemas requests;
  Codec<CreateRequest>::schema(requests);
  EXPECT_NE(requests.named["CreateRequest"].find(R"("required":["kind"])"), std::string::npos);
  Schemas replies;
  replies.of_replies = true;
  Codec<ExecutionResult>::schema(replies);
  EXPECT_NE(replies.named["ExecutionResult"].find(R"("required":["outcome"])"), std::string::npos)
      << replies.named["ExecutionResult"];
  EXPECT_TRUE(replies.named.contains("Failure")) << "what is inside has a name too";
}

}  // namespace
}  // namespace flowfabric::wire
