#include <flowfabric/ids.hpp>

#include <unordered_set>

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

const std::string canonical = "01234567-89ab-cdef-0123-456789abcdef";

TEST(Uuids, TextRoundTrips) {
  const auto uuid = parse_uuid(canonical);
  ASSERT_TRUE(uuid);
  EXPECT_EQ(uuid->bytes[0], 0x01);
  EXPECT_EQ(uuid->bytes[15], 0xef);
  EXPECT_EQ(to_string(*uuid), canonical);
  EXPECT_TRUE(Uuid{}.is_nil());
  EXPECT_FALSE(uuid->is_nil());
}

TEST(Uuids, OnlyTheCanonicalSpellingIsTaken) {
  const std::string bad[] = {"",
                             "01234567-89AB-cdef-0123-456789abcdef",
                             "0123456789abcdef0123456789abcdef",
                             canonical + "0",
                             canonical.substr(1),
                             "{1234567-89ab-cdef-0123-456789abcde}",
                             "01234567_89ab_cdef_0123_456789abcdef",
                             "0123456789ab-cdef--0123-456789abcdef",
                             "g1234567-89ab-cdef-0123-456789abcdef",
                             " 1234567-89ab-cdef-0123-456789abcdef"};
  for (const auto& text : bad) {
    const auto parsed = parse_uuid(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::invalid_argument);
    EXPECT_EQ(parsed.error().field, "id");
  }
}

TEST(ExecutionIds, TextRoundTripsForEveryPartition) {
  for (std::uint16_t partition = 0; partition < partition_count; ++partition) {
    const ExecutionId id{partition, *parse_uuid(canonical)};
    EXPECT_EQ(to_string(id), "fp" + std::to_string(partition) + "-" + canonical);
    EXPECT_EQ(parse_execution_id(to_string(id)), id);
  }
}

TEST(ExecutionIds, TextNeedsNoQuotingInUrlsAndShells) {
  const std::string text = to_string(ExecutionId{17, *parse_uuid(canonical)});
  EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << text;
}

TEST(ExecutionIds, TheOldFormIsStillRead) {
  for (std::uint16_t partition = 0; partition < partition_count; ++partition) {
    const ExecutionId id{partition, *parse_uuid(canonical)};
    EXPECT_EQ(parse_execution_id("{fp:" + std::to_string(partition) + "}:" + canonical), id);
  }
}

TEST(ExecutionIds, OtherSpellingsAreRefused) {
  for (const std::string prefix :
       {"",         "fp-",      "fp",       "fp1",      "fp01-",     "fp00-",     "fp256-",     "fp999-",   "fp1000-",
        "fp-1-",    "fp+1-",    "fp 1-",    "fp1 -",    "FP1-",      "fp0x1-",    "fp1--",      "fp:1-",    "fp1}:",
        "{fp:1}",   "{fp:}:",   "{fp:01}:", "{fp:00}:", "{fp:256}:", "{fp:999}:", "{fp:1000}:", "{fp:-1}:", "{fp:+1}:",
        "{fp: 1}:", "{fp:1 }:", "{FP:1}:",  "fp:1:",    "{fp:0x1}:", "{fp:1}::",  "{fp:1-",     "{fp1}:"}) {
    const auto parsed = parse_execution_id(prefix + canonical);
    ASSERT_FALSE(parsed) << prefix;
    EXPECT_EQ(parsed.error().field, "execution_id");
  }
  for (const std::string prefix : {"fp1-", "{fp:1}:"}) {
    EXPECT_FALSE(parse_execution_id(prefix + canonical + " "));
    EXPECT_FALSE(parse_execution_id(prefix));
  }
}

TEST(ExecutionIds, OrderAndHashFollowAllOfIt) {
  const Uuid uuid = *parse_uuid(canonical);
  EXPECT_LT((ExecutionId{1, uuid}), (ExecutionId{2, uuid}));
  std::unordered_set<ExecutionId> ids = {{1, uuid}, {2, uuid}, {1, Uuid{}}, {1, uuid}};
  EXPECT_EQ(ids.size(), 3u);
}

}  // namespace
}  // namespace flowfabric
