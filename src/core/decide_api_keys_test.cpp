#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "core/api_keys.hpp"
#include "support/rehearsal.hpp"

namespace flowfabric {
namespace {

NewApiKey make(Rehearsal& stage, const std::string& name, ApiRole role = ApiRole::viewer) {
  ApiKeyRequest request;
  request.name = name;
  request.role = role;
  return stage.expect<NewApiKey>(CreateApiKeyCommand{std::move(request), {"ops", ""}});
}

TEST(ApiKeys, ASecretIsItsKeysAndNobodyElses) {
  Rehearsal stage;
  const NewApiKey first = make(stage, "ci", ApiRole::worker);
  const NewApiKey second = make(stage, "grafana");
  EXPECT_TRUE(first.secret.starts_with("ffk_" + first.info.key_id + "_"));
  EXPECT_EQ(first.info.created_by, "ops");
  const ApiKeysRecord record = stage.api_keys();
  EXPECT_EQ(whose_secret(record, first.secret, stage.now).value(), first.info);
  EXPECT_EQ(whose_secret(record, second.secret, stage.now).value(), second.info);
  for (std::size_t i = 0; i < first.secret.size(); ++i) {
    std::string wrong = first.secret;
    wrong[i] = wrong[i] == 'x' ? 'y' : 'x';
    EXPECT_EQ(whose_secret(record, wrong, stage.now).error().code, Errc::unauthenticated);
    EXPECT_EQ(whose_secret(record, first.secret.substr(0, i), stage.now).error().code, Errc::unauthenticated);
  }
}

TEST(ApiKeys, TheStoreDoesNotHoldTheSecret) {
  Rehearsal stage;
  const NewApiKey made = make(stage, "ci");
  const std::string stored = encode(stage.api_keys());
  EXPECT_EQ(stored.find(made.secret), std::string::npos);
  EXPECT_EQ(stored.find(made.secret.substr(made.secret.size() - 43)), std::string::npos);
  ASSERT_EQ(stage.last_events.size(), 1u);
  EXPECT_EQ(stage.last_events[0].type, EventType::api_key_created);
  EXPECT_EQ(stage.last_events[0].actor, "ops");
  EXPECT_EQ(stage.last_events[0].reason, "ci: viewer");
}

TEST(ApiKeys, ANameIsTakenUntilItsKeyIsRevokedOrHasExpired) {
  Rehearsal stage;
  make(stage, "ci");
  EXPECT_EQ(stage.refusal(CreateApiKeyCommand{{"ci", ApiRole::admin, {}, 0}, {}}), Errc::conflict);
  stage.expect<ApiKeyInfo>(RevokeApiKeyCommand{"ci", {}});
  EXPECT_EQ(stage.last_events.at(0).type, EventType::api_key_revoked);
  EXPECT_EQ(stage.refusal(RevokeApiKeyCommand{"ci", {}}), Errc::not_found);
  stage.expect<NewApiKey>(CreateApiKeyCommand{{"ci", ApiRole::viewer, {}, stage.now + 10}, {}});
  EXPECT_EQ(stage.refusal(CreateApiKeyCommand{{"ci", ApiRole::viewer, {}, 0}, {}}), Errc::conflict);
  stage.now += 10;
  make(stage, "ci");
  EXPECT_EQ(stage.api_keys().keys.size(), 1u) << "what has expired is gone";
}

TEST(ApiKeys, AreRevokedByTheirIdToo) {
  Rehearsal stage;
  const NewApiKey made = make(stage, "ci");
  EXPECT_EQ(stage.expect<ApiKeyInfo>(RevokeApiKeyCommand{made.info.key_id, {}}), made.info);
  EXPECT_EQ(whose_secret(stage.api_keys(), made.secret, stage.now).error().code, Errc::unauthenticated);
}

TEST(ApiKeys, AnExpiredOneIsNobodys) {
  Rehearsal stage;
  const auto made = stage.expect<NewApiKey>(CreateApiKeyCommand{{"ci", ApiRole::viewer, {}, stage.now + 10}, {}});
  EXPECT_TRUE(whose_secret(stage.api_keys(), made.secret, stage.now + 9));
  EXPECT_EQ(whose_secret(stage.api_keys(), made.secret, stage.now + 10).error().code, Errc::unauthenticated);
  EXPECT_EQ(stage.refusal(CreateApiKeyCommand{{"late", ApiRole::viewer, {}, stage.now}, {}}), Errc::invalid_argument);
}

TEST(ApiKeys, AreNotWithoutNumber) {
  Rehearsal stage;
  for (std::size_t i = 0; i < limits::max_api_keys; ++i) make(stage, "key-" + std::to_string(i));
  EXPECT_EQ(stage.refusal(CreateApiKeyCommand{{"one-more", ApiRole::viewer, {}, 0}, {}}), Errc::conflict);
}

TEST(ApiKeys, SurviveTheirBytes) {
  ApiKeysRecord record;
  record.keys.push_back({{"0123456789ab", "ci", ApiRole::admin, "team", 1, "ops", 2}, std::string(32, '\x07')});
  record.keys.push_back({{"ba9876543210", "x", ApiRole::viewer, {}, 3, "", 0}, std::string(32, '\0')});
  const std::string bytes = encode(record);
  const auto again = decode_api_keys(bytes);
  ASSERT_TRUE(again);
  ASSERT_EQ(again->keys.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again->keys[i].info, record.keys[i].info);
    EXPECT_EQ(again->keys[i].secret_hash, record.keys[i].secret_hash);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(decode_api_keys(bytes.substr(0, i)).error().code, Errc::corruption) << i;
  }
}

}  // namespace
}  // namespace flowfabric
