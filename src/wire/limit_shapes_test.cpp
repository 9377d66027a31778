#include "wire/limit_shapes.hpp"

#include <gtest/gtest.h>

namespace flowfabric::wire {
namespace {

std::string limit_body_again(const std::string& text) {
  const auto read = from_json<bodies::LimitBody>(text);
  EXPECT_TRUE(read) << read.error().message;
  return read ? to_json(*read) : "";
}

Error limit_body_refusal(const std::string& text) {
  const auto read = from_json<bodies::LimitBody>(text);
  EXPECT_FALSE(read) << text;
  return read ? Error{} : read.error();
}

TEST(LimitShapes, BodiesAreReadAndWrittenAlike) {
  const std::string all = R"({"namespace":"shop","expected_revision":0,"reason":"why","lane":"l","kind":"k",)"
                          R"("per":["tags.a.b"],"concurrency":3,"rate":{"count":5,"period_ms":1000,"burst":9}})";
  EXPECT_EQ(limit_body_again(all), all);
  EXPECT_EQ(limit_body_again(R"({"rate":{"count":5,"period_ms":1000}})"),
            R"({"reason":"","per":[],"rate":{"count":5,"period_ms":1000}})");
}

TEST(LimitShapes, SharesAreReadAndWrittenAlike) {
  const std::string all = R"({"reason":"","lane":"l","per":["tags.a.b"],"share":{"weights":{"":2,"acme":5}}})";
  EXPECT_EQ(limit_body_again(all), all);
  EXPECT_EQ(limit_body_again(R"({"share":{}})"), R"({"reason":"","per":[],"share":{"weights":{}}})");
  EXPECT_EQ(limit_body_refusal(R"({"share":{"weight":{}}})").field, "share.weight");
  EXPECT_EQ(limit_body_refusal(R"({"share":{"weights":{"a":-1}}})").field, "share.weights.a");
  EXPECT_EQ(limit_body_refusal(R"({"share":{"weights":{"a":1,"a":2}}})").field, "share.weights.a");
  EXPECT_EQ(limit_body_refusal(R"({"share":true})").field, "share");
}

TEST(LimitShapes, AreRefusedByName) {
  EXPECT_EQ(limit_body_refusal(R"({"scope":"lane"})").field, "scope");
  EXPECT_EQ(limit_body_refusal(R"({"rate":{"count":5}})").field, "rate.period_ms");
  EXPECT_EQ(limit_body_refusal(R"({"rate":{"count":5,"period_ms":1,"limit":2}})").field, "rate.limit");
  EXPECT_EQ(limit_body_refusal(R"({"concurrency":"3"})").field, "concurrency");
  EXPECT_EQ(limit_body_refusal(R"({"concurrency":null})").field, "concurrency");
  EXPECT_EQ(limit_body_refusal(R"({"per":"lane"})").field, "per");
  EXPECT_EQ(limit_body_refusal(R"({"per":[1]})").field, "per[0]");
  EXPECT_EQ(limit_body_refusal(R"({"name":"l"})").field, "name") << "the path names it";
}

TEST(LimitShapes, NumbersThatTheTypeCannotHoldNameTheBounds) {
  EXPECT_EQ(limit_body_refusal(R"({"concurrency":-1})").message, "concurrency: is -1; allowed: 1 to 10000");
  EXPECT_EQ(limit_body_refusal(R"({"rate":{"count":-1,"period_ms":1}})").message,
            "rate.count: is -1; allowed: 1 to 1000000");
}

TEST(LimitShapes, RepliesLeaveOutWhatIsNotSet) {
  LimitInfo info;
  info.name = "l";
  info.concurrency = 3;
  info.revision = 1;
  EXPECT_EQ(to_json(info), R"({"name":"l","per":[],"concurrency":3,"revision":1})");
  LimitUse use;
  EXPECT_EQ(to_json(use), R"({"key":[],"in_use":0,"held_back":0,"holders":[]})");
  use.free = 0;
  use.next_start_at = 7;
  EXPECT_EQ(to_json(use), R"({"key":[],"in_use":0,"free":0,"next_start_at":7,"held_back":0,"holders":[]})");
}

}  // namespace
}  // namespace flowfabric::wire
