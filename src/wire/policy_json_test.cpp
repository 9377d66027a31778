#include <gtest/gtest.h>

#include <flowfabric/types.hpp>

#include "base/entropy.hpp"
#include "base/limits.hpp"

namespace flowfabric {
namespace {

void expect_refused(const std::string& json, const std::string& field,
                    const std::string& part_of_sentence = "allowed") {
  const auto policy = parse_policy_json(json);
  ASSERT_FALSE(policy) << json;
  EXPECT_EQ(policy.error().code, Errc::invalid_argument) << json;
  EXPECT_EQ(policy.error().field, field) << json;
  EXPECT_EQ(policy.error().message.substr(0, field.size()), field);
  EXPECT_NE(policy.error().message.find(part_of_sentence), std::string::npos) << policy.error().message;
}

Policy written_policy() {
  Policy policy;
  policy.retry = RetryPolicy{
      7, RetryPolicy::Backoff::fixed, 11, 12, 150, RetryPolicy::Jitter::full, {"io", "quote \" and \\ and \xc3\xbc"}};
  policy.attempt_timeout_ms = 13;
  policy.on_lease_lost = OnLeaseLost::manual;
  policy.reclaim_grace_ms = 14;
  policy.max_reclaims = 15;
  policy.max_replays = 16;
  policy.dedup_window_ms = 17;
  policy.retention = {0, 1, 2, 3, limits::max_duration_ms};
  return policy;
}

TEST(PolicyJson, AnEmptyObjectIsTheDefault) {
  EXPECT_EQ(parse_policy_json("{}"), Policy{});
  EXPECT_EQ(parse_policy_json(" \n{ }\t"), Policy{});
  Policy with_retry;
  with_retry.retry = RetryPolicy{};
  EXPECT_EQ(parse_policy_json(R"({"retry": {}, "retention": {}})"), with_retry);
}

TEST(PolicyJson, EveryFieldIsRead) {
  EXPECT_EQ(parse_policy_json(R"({
    "retry": {"max_retries": 7, "backoff": "fixed", "initial_delay_ms": 11, "max_delay_ms": 12,
              "multiplier_percent": 150, "jitter": "full",
              "retryable_categories": ["io", "quote \" and \\ and \u00fc"]},
    "attempt_timeout_ms": 13, "on_lease_lost": "manual", "reclaim_grace_ms": 14, "max_reclaims": 15,
    "max_replays": 16, "dedup_window_ms": 17,
    "retention": {"completed_ms": 0, "failed_ms": 1, "cancelled_ms": 2, "expired_ms": 3, "skipped_ms": 316224000000}
  })"),
            written_policy());
  EXPECT_EQ(
      parse_policy_json(R"({"on_lease_lost":"requeue","retry":{"backoff":"exponential","jitter":"none"}})")->retry,
      RetryPolicy{});
}

TEST(PolicyJson, RoundTrips) {
  Policy only_retry;
  only_retry.retry = RetryPolicy{};
  for (const Policy& policy : {Policy{}, written_policy(), only_retry}) {
    EXPECT_EQ(parse_policy_json(policy_to_json(policy)), policy) << policy_to_json(policy);
  }
  EXPECT_EQ(policy_to_json(Policy{}),
            R"({"on_lease_lost":"requeue","reclaim_grace_ms":0,"max_reclaims":1000,"max_replays":10,)"
            R"("dedup_window_ms":86400000,"retention":{}})");
}

TEST(PolicyJson, UnknownFieldsAreRefusedByTheirFullName) {
  expect_refused(R"({"foo": 1})", "policy.foo", "allowed: retry, attempt_timeout_ms");
  expect_refused(R"({"retry": {"foo": 1}})", "policy.retry.foo", "allowed: max_retries");
  expect_refused(R"({"retention": {"foo_ms": 1}})", "policy.retention.foo_ms", "allowed: completed_ms");
  expect_refused(R"({"Retry": {}})", "policy.Retry");
  expect_refused(R"({"": 1})", "policy.");
  expect_refused(R"({"max_retries": 1})", "policy.max_retries");
}

TEST(PolicyJson, WrongTypesAreRefused) {
  for (const std::string value : {"null", "true", "\"1\"", "[]", "{}", "[1]"}) {
    expect_refused(R"({"max_replays": )" + value + "}", "policy.max_replays", "whole number");
    expect_refused(R"({"attempt_timeout_ms": )" + value + "}", "policy.attempt_timeout_ms", "whole number");
    expect_refused(R"({"retention": {"failed_ms": )" + value + "}}", "policy.retention.failed_ms", "whole number");
  }
  for (const std::string value : {"null", "1", "[]"}) {
    expect_refused(R"({"retry": {"backoff": )" + value + "}}", "policy.retry.backoff", "must be a string");
    expect_refused(R"({"retry": {"jitter": )" + value + "}}", "policy.retry.jitter", "must be a string");
    expect_refused(R"({"on_lease_lost": )" + value + "}", "policy.on_lease_lost", "must be a string");
  }
  for (const std::string value : {"\"Fixed\"", "\"\""}) {
    expect_refused(R"({"retry": {"backoff": )" + value + "}}", "policy.retry.backoff", "allowed: exponential, fixed");
    expect_refused(R"({"retry": {"jitter": )" + value + "}}", "policy.retry.jitter", "allowed: none, full");
    expect_refused(R"({"on_lease_lost": )" + value + "}", "policy.on_lease_lost", "allowed: requeue, manual");
  }
  for (const std::string value : {"null", "1", "[]", "\"x\"", "false"}) {
    expect_refused(R"({"retry": )" + value + "}", "policy.retry", "object");
    expect_refused(R"({"retention": )" + value + "}", "policy.retention", "object");
    expect_refused(value, "policy", "object");
  }
  for (const std::string value : {"null", "\"io\"", "{}"}) {
    expect_refused(R"({"retry": {"retryable_categories": )" + value + "}}", "policy.retry.retryable_categories",
                   "must be an array");
  }
  for (const std::string value : {"[1]", "[null]", "[[\"io\"]]"}) {
    expect_refused(R"({"retry": {"retryable_categories": )" + value + "}}", "policy.retry.retryable_categories[0]",
                   "must be a string");
  }
}

TEST(PolicyJson, OnlyWholeNumbersAreNumbers) {
  for (const std::string value : {"1.5", "1.0", "1e3", "-0.0", "1E0", "99999999999999999999999"}) {
    expect_refused(R"({"max_replays": )" + value + "}", "policy.max_replays", "whole number");
    expect_refused(R"({"reclaim_grace_ms": )" + value + "}", "policy.reclaim_grace_ms", "whole number");
  }
}

TEST(PolicyJson, NumbersOutOfRangeAreRefusedAndNeverCut) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"max_replays": -1})", "policy.max_replays"},
      {R"({"max_replays": 1000001})", "policy.max_replays"},
      {R"({"max_replays": 4294967297})", "policy.max_replays"},
      {R"({"max_reclaims": 4294967296})", "policy.max_reclaims"},
      {R"({"retry": {"max_retries": 4294967299}})", "policy.retry.max_retries"},
      {R"({"retry": {"multiplier_percent": 99}})", "policy.retry.multiplier_percent"},
      {R"({"retry": {"multiplier_percent": 10001}})", "policy.retry.multiplier_percent"},
      {R"({"retry": {"initial_delay_ms": -1}})", "policy.retry.initial_delay_ms"},
      {R"({"retry": {"max_delay_ms": 316224000001}})", "policy.retry.max_delay_ms"},
      {R"({"attempt_timeout_ms": 0})", "policy.attempt_timeout_ms"},
      {R"({"dedup_window_ms": 0})", "policy.dedup_window_ms"},
  };
  for (const auto& [json, field] : rows) expect_refused(json, field, "allowed: ");
  expect_refused(R"({"reclaim_grace_ms": 18446744073709551615})", "policy.reclaim_grace_ms", "within 64 bits");
  expect_refused(R"({"retention": {"skipped_ms": 9223372036854775808}})", "policy.retention.skipped_ms", "64 bits");
  expect_refused(R"({"retry": {"retryable_categories": [""]}})", "policy.retry.retryable_categories");
}

TEST(PolicyJson, TheGreatestValuesAreTaken) {
  EXPECT_EQ(parse_policy_json(R"({"max_replays": 1000000})")->max_replays, limits::max_max_replays);
  EXPECT_EQ(parse_policy_json(R"({"max_reclaims": 1000000})")->max_reclaims, limits::max_max_reclaims);
  EXPECT_EQ(parse_policy_json(R"({"retry":{"max_retries": 1000000}})")->retry->max_retries, limits::max_max_retries);
  EXPECT_EQ(parse_policy_json(R"({"reclaim_grace_ms": 316224000000})")->reclaim_grace_ms, limits::max_duration_ms);
}

TEST(PolicyJson, AKeyStandsThereOnce) {
  expect_refused(R"({"max_replays": 1, "max_replays": 1})", "policy.max_replays", "twice");
  expect_refused(R"({"retry": {"jitter": "full", "jitter": "none"}})", "policy.retry.jitter", "twice");
  expect_refused(R"({"retention": {"failed_ms": 1, "expired_ms": 2, "failed_ms": 1}})", "policy.retention.failed_ms",
                 "twice");
  expect_refused(R"({"max_replays": 1, "max_\u0072eplays": 1})", "policy.max_replays", "twice");
}

TEST(PolicyJson, MalformedTextIsRefused) {
  for (const std::string json : {"", " ", "{", "}", "{\"a\"", "{\"max_replays\": }", "{\"max_replays\": 1,}", "{} {}",
                                 "{}x", "{'max_replays': 1}", "{max_replays: 1}", "{\"max_replays\": 01}", "// no\n{}",
                                 "{\"max_replays\": NaN}", "\xff", "{\"\xff\": 1}", "{\"a\": \"\x01\"}", "nul"}) {
    expect_refused(json, "policy", "JSON");
  }
  expect_refused(std::string("{}\0", 3), "policy", "JSON");
}

TEST(PolicyJson, DepthAndSizeAreBounded) {
  std::string deep = R"({"retry": {"retryable_categories": )";
  deep += std::string(1000, '[') + std::string(1000, ']') + "}}";
  expect_refused(deep, "policy", "nested too deeply");
  std::string large = "{}";
  large += std::string(limits::max_policy_json_bytes - large.size(), ' ');
  EXPECT_TRUE(parse_policy_json(large));
  expect_refused(large + " ", "policy", "at most 65536");
}

TEST(PolicyJson, MutatedTextIsRefusedOrRead) {
  const std::string json = policy_to_json(written_policy());
  const Entropy entropy = seeded_entropy(21);
  for (int round = 0; round < 5000; ++round) {
    std::string text = json;
    for (std::uint64_t i = 1 + entropy() % 3; i > 0; --i) text[entropy() % text.size()] = static_cast<char>(entropy());
    if (entropy() % 4 == 0) text.resize(entropy() % text.size());
    const auto policy = parse_policy_json(text);
    if (policy) {
      EXPECT_EQ(parse_policy_json(policy_to_json(*policy)), *policy);
    } else {
      EXPECT_EQ(policy.error().code, Errc::invalid_argument);
    }
  }
}

}  // namespace
}  // namespace flowfabric
