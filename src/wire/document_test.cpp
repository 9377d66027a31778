#include "wire/document.hpp"

#include <gtest/gtest.h>

namespace flowfabric::wire {
namespace {

std::string problem(std::string_view text) {
  const auto parsed = parse_document(text);
  EXPECT_FALSE(parsed) << text;
  if (parsed) return {};
  EXPECT_EQ(parsed.error().code, Errc::invalid_argument);
  EXPECT_EQ(parsed.error().field, "body");
  return parsed.error().message;
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + "1" + std::string(levels, ']'); }

TEST(Document, KindsAndTextAsItWasWritten) {
  const std::string text = R"( {"a" : [1, 2.50 ,-3e2], "b":{"c":"x"},"d":true,"e":false,"f":null} )";
  const auto document = parse_document(text);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->kind(), Value::Kind::object);
  EXPECT_EQ(document->raw(), std::string_view(text).substr(1, text.size() - 2));
  const auto members = document->members();
  ASSERT_EQ(members.size(), 5u);
  EXPECT_EQ(members[0].key, "a");
  EXPECT_EQ(members[0].value.raw(), "[1, 2.50 ,-3e2]");
  const auto elements = members[0].value.elements();
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(elements[1].raw(), "2.50");
  EXPECT_EQ(members[1].value.members().front().value.text(), "x");
  EXPECT_TRUE(members[2].value.boolean());
  EXPECT_FALSE(members[3].value.boolean());
  EXPECT_EQ(members[4].value.kind(), Value::Kind::null);
}

TEST(Document, EmptyObjectsAndArrays) {
  EXPECT_TRUE(parse_document("{ }")->members().empty());
  EXPECT_TRUE(parse_document("[ \n]")->elements().empty());
  EXPECT_EQ(parse_document(R"("")")->text(), "");
}

TEST(Document, StringsAreUnescaped) {
  EXPECT_EQ(parse_document(R"("\"\\\/\b\f\n\r\t")")->text(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(parse_document(R"("\u0041\u00e4\u20ac\ud83d\ude00")")->text(), "A\u00e4\u20ac\U0001F600");
  EXPECT_EQ(parse_document(R"("a\u0000b")")->text(), std::string("a\0b", 3));
  EXPECT_EQ(parse_document(R"({"k\u0065y":1})")->members().front().key, "key");
  EXPECT_EQ(parse_document(R"(["a]\"}", 2])")->elements().size(), 2u) << "brackets in strings are no brackets";
}

TEST(Document, KeysThatComeTwiceAreBothThere) { EXPECT_EQ(parse_document(R"({"a":1,"a":2})")->members().size(), 2u); }

TEST(Document, WholeNumbersAtTheEdges) {
  EXPECT_EQ(parse_document("9223372036854775807")->whole_number(), INT64_MAX);
  EXPECT_EQ(parse_document("-9223372036854775808")->whole_number(), INT64_MIN);
  EXPECT_EQ(parse_document("-0")->whole_number(), 0);
  for (const char* other : {"9223372036854775808", "-9223372036854775809", "1.0", "1e3", "18446744073709551616"}) {
    EXPECT_EQ(parse_document(other)->whole_number(), std::nullopt) << other;
  }
}

TEST(Document, RefusesWhatIsNotOneJsonText) {
  for (const char* text :
       {"",   " ",   "{",   "[1,]", "{\"a\"}", "{\"a\":1,}", "{a:1}",   "'a'",       "01",          "+1",          "1.",
        ".5", "nul", "NaN", "1 2",  "{} x",    "\"\x01\"",   "\"\\x\"", "/* c */ 1", "\"\\ud800\"", "\"\\udc00x\""}) {
    EXPECT_TRUE(problem(text).starts_with("the body is not JSON: ")) << text;
  }
  EXPECT_NE(problem(R"({"a":tru})").find("at byte "), std::string::npos);
}

TEST(Document, RefusesInvalidUtf8) {
  for (const char* text :
       {"\"\xff\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"", "{\"\xfe\":1}"}) {
    problem(text);
  }
}

TEST(Document, RefusesWhatIsNestedTooDeep) {
  EXPECT_TRUE(parse_document(nested(max_document_depth)));
  problem(nested(max_document_depth + 1));
  EXPECT_TRUE(parse_document(nested(7), 7));
  EXPECT_FALSE(parse_document(nested(8), 7));
  problem(nested(100000));
}

TEST(Document, DepthCountsWhatLiesWithinEachOther) {
  const auto depth = [](std::string_view text) { return parse_document(text)->depth(); };
  EXPECT_EQ(depth("17"), 0u);
  EXPECT_EQ(depth(R"("[[[")"), 0u);
  EXPECT_EQ(depth("[]"), 1u);
  EXPECT_EQ(depth(R"({"a\\\"[{":[1,[2]],"b":{}})"), 3u);
}

}  // namespace
}  // namespace flowfabric::wire
