#include "core/hooks.hpp"

#include <gtest/gtest.h>

#include "base/hashing.hpp"
#include "base/limits.hpp"

namespace flowfabric {
namespace {

constexpr TimestampMs noon = 1531420618000;  // as in the example of Slack's documentation
const char* const execution = "fp17-0193e0a2-7c55-7d6e-8f3a-6b1f0c9d2e41";

HookRequest hook_of(HookScheme scheme) {
  HookRequest request;
  request.name = "orders";
  request.scheme = scheme;
  request.execution_at = "/data/execution";
  request.waitpoint = "paid";
  return request;
}

HooksRecord record_of(HookRequest request, std::vector<HooksRecord::Secret> secrets) {
  HooksRecord record;
  record.hooks.push_back({std::move(request), noon, "ops", std::move(secrets)});
  return record;
}

std::string hex_of(const std::string& secret, const std::string& bytes) { return to_hex(Signer(secret).sign(bytes)); }

HookCall hmac_call(const std::string& secret, const std::string& body) {
  return {"orders", {{"x-signature", hex_of(secret, body)}}, {}, body};
}

template <class T>
T wish_of(const HooksRecord& record, const HookCall& call, TimestampMs now = noon) {
  const auto wish = receive(record, call, now);
  EXPECT_TRUE(wish) << (wish ? "" : wish.error().message);
  return wish && std::holds_alternative<T>(*wish) ? std::get<T>(*wish) : T{};
}

TEST(Hooks, GithubsOwnExampleIsAccepted) {
  HookRequest request = hook_of(HookScheme::github);
  request.action = HookAction::create;
  request.kind = "push";
  const HooksRecord record = record_of(request, {{"It's a Secret to Everybody", 0}});
  HookCall call{"orders",
                {{"x-hub-signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
                 {"x-github-delivery", "72d3162e"}},
                {},
                "Hello, World!"};
  const auto create = wish_of<CreateRequest>(record, call);
  EXPECT_EQ(create.kind, "push");
  EXPECT_EQ(create.payload, "Hello, World!");
  EXPECT_EQ(create.idempotency_key, "hook:orders:72d3162e");
  EXPECT_EQ(create.creator, "hook:orders");
  call.body += "!";
  EXPECT_EQ(receive(record, call, noon).error().code, Errc::unauthenticated);
}

TEST(Hooks, SlacksOwnExampleIsAcceptedForFiveMinutes) {
  HookRequest request = hook_of(HookScheme::slack);
  request.action = HookAction::create;
  request.kind = "command";
  const HooksRecord record = record_of(request, {{"8f742231b10e8888abcd99yyyzzz85a5", 0}});
  const HookCall call{
      "orders",
      {{"x-slack-signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
       {"x-slack-request-timestamp", "1531420618"}},
      {},
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name="
      "foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks."
      "slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."
      "803a0bc887a14d10d2c447fce8b6703c"};
  EXPECT_EQ(wish_of<CreateRequest>(record, call).kind, "command");
  EXPECT_TRUE(receive(record, call, noon + limits::hook_tolerance_ms));
  EXPECT_FALSE(receive(record, call, noon + limits::hook_tolerance_ms + 1));
  EXPECT_FALSE(receive(record, call, noon - limits::hook_tolerance_ms - 1));
}

TEST(Hooks, SlackGetsItsChallengeBack) {
  const HooksRecord record = record_of(hook_of(HookScheme::slack), {{"0123456789abcdef", 0}});
  const std::string body = R"({"type":"url_verification","challenge":"3eZbrw1a"})";
  const HookCall call{"orders",
                      {{"x-slack-signature", "v0=" + hex_of("0123456789abcdef", "v0:1531420618:" + body)},
                       {"x-slack-request-timestamp", "1531420618"}},
                      {},
                      body};
  EXPECT_EQ(wish_of<HookChallenge>(record, call).text, "3eZbrw1a");
}

TEST(Hooks, StripeMaySendSeveralSignatures) {
  const HooksRecord record = record_of(hook_of(HookScheme::stripe), {{"whsec_0123456789abcdef", 0}});
  const std::string body = R"({"id":"evt_1","data":{"execution":")" + std::string(execution) + R"("}})";
  const std::string good = hex_of("whsec_0123456789abcdef", "1531420618." + body);
  const std::string bad(64, '0');
  HookCall call{"orders", {{"stripe-signature", "t=1531420618,v1=" + bad + ",v1=" + good + ",v0=" + bad}}, {}, body};
  const auto signal = wish_of<HookSignal>(record, call);
  ASSERT_TRUE(signal.execution_id);
  EXPECT_EQ(to_string(*signal.execution_id), execution);
  EXPECT_EQ(signal.request.waitpoint, "paid");
  EXPECT_EQ(signal.request.source, "hook:orders");
  EXPECT_EQ(signal.request.idempotency_key, "hook:orders:evt_1");
  EXPECT_EQ(signal.request.payload, body);
  call.headers[0].second = "t=1531420619,v1=" + good;
  EXPECT_FALSE(receive(record, call, noon)) << "the time is signed too";
}

TEST(Hooks, HeaderAndPrefixCanBeChosen) {
  HookRequest request = hook_of(HookScheme::hmac);
  request.signature_header = "X-Shop-Hmac";
  request.signature_prefix = "hex ";
  request.execution_at = "query:execution";
  request.idempotency_at = "header:X-Request-Id";
  const HooksRecord record = record_of(request, {{"0123456789abcdef", 0}});
  const HookCall call{"orders",
                      {{"x-shop-hmac", "hex " + hex_of("0123456789abcdef", "b")}, {"x-request-id", "r-1"}},
                      {{"execution", execution}},
                      "b"};
  const auto signal = wish_of<HookSignal>(record, call);
  ASSERT_TRUE(signal.execution_id);
  EXPECT_EQ(signal.request.idempotency_key, "hook:orders:r-1");
}

TEST(Hooks, OlderSecretIsAcceptedUntilItsGraceEnds) {
  const HooksRecord record =
      record_of(hook_of(HookScheme::hmac), {{"the newer secret", 0}, {"the older secret", noon + 1000}});
  EXPECT_TRUE(receive(record, hmac_call("the newer secret", "{}"), noon));
  EXPECT_TRUE(receive(record, hmac_call("the older secret", "{}"), noon));
  EXPECT_FALSE(receive(record, hmac_call("the older secret", "{}"), noon + 1000));
  EXPECT_EQ(info_of(record.hooks[0], noon).secrets, 2u);
  EXPECT_EQ(info_of(record.hooks[0], noon + 1000).secrets, 1u);
}

TEST(Hooks, WhateverIsWrongIsAnsweredAlike) {
  const HooksRecord record = record_of(hook_of(HookScheme::hmac), {{"0123456789abcdef", 0}});
  const HookCall good = hmac_call("0123456789abcdef", "{}");
  std::vector<HookCall> bad;
  bad.push_back(hmac_call("another secret!!", "{}"));
  bad.push_back(good);
  bad.back().name = "unknown";
  bad.push_back(good);
  bad.back().headers.clear();
  for (const std::size_t length : {0u, 1u, 63u}) {
    bad.push_back(good);
    bad.back().headers[0].second.resize(length);
  }
  bad.push_back(hmac_call("absent", "{}"));
  bad.push_back(hmac_call("", "{}"));
  bad.back().name = "unknown";
  const Error first = receive(record, bad.front(), noon).error();
  for (const HookCall& call : bad) {
    const auto refused = receive(record, call, noon);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), first);
  }
}

TEST(Hooks, WhatCannotBeReadIsDropped) {
  const HooksRecord record = record_of(hook_of(HookScheme::hmac), {{"0123456789abcdef", 0}});
  for (const char* body : {"", "no JSON", "{}", R"({"data":{"execution":7}})", R"({"data":{"execution":"x"}})"}) {
    const auto wish = receive(record, hmac_call("0123456789abcdef", body), noon);
    ASSERT_TRUE(wish) << body;
    EXPECT_TRUE(std::holds_alternative<HookDropped>(*wish)) << body;
  }
}

TEST(Hooks, RecordIsReadBack) {
  HookRequest request = hook_of(HookScheme::stripe);
  request.action = HookAction::create;
  request.kind = "k";
  const HooksRecord record = record_of(request, {{"a", 0}, {"b", 7}});
  const auto again = decode_hooks(encode(record));
  ASSERT_TRUE(again);
  ASSERT_EQ(again->hooks.size(), 1u);
  EXPECT_EQ(encode(*again), encode(record));
  const std::string bytes = encode(record);
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode_hooks(bytes.substr(0, n))) << n;
}

TEST(Hooks, BadSettingsAreRefusedByName) {
  const auto field_of = [](auto change) {
    HookRequest request = hook_of(HookScheme::hmac);
    change(request);
    const auto admitted = admit(request);
    return admitted ? std::string("accepted") : admitted.error().field;
  };
  EXPECT_EQ(field_of([](HookRequest&) {}), "accepted");
  EXPECT_EQ(field_of([](HookRequest& r) { r.name = "a/b"; }), "name");
  EXPECT_EQ(field_of([](HookRequest& r) { r.secret = "short"; }), "secret");
  EXPECT_EQ(field_of([](HookRequest& r) { r.execution_at = "somewhere"; }), "execution_at");
  EXPECT_EQ(field_of([](HookRequest& r) { r.execution_at.clear(); }), "execution_at");
  EXPECT_EQ(field_of([](HookRequest& r) { r.token_at = "/token"; }), "execution_at");
  EXPECT_EQ(field_of([](HookRequest& r) { r.waitpoint.clear(); }), "waitpoint");
  EXPECT_EQ(field_of([](HookRequest& r) { r.kind = "k"; }), "kind");
  EXPECT_EQ(field_of([](HookRequest& r) { r.action = HookAction::create; }), "kind");
  EXPECT_EQ(field_of([](HookRequest& r) {
              r.action = HookAction::create;
              r.kind = "k";
            }),
            "action");
  EXPECT_EQ(field_of([](HookRequest& r) {
              r.scheme = HookScheme::github;
              r.signature_prefix = "x";
            }),
            "signature_prefix");
}

}  // namespace
}  // namespace flowfabric
