// The checker of all replies must detect errors.
#include "e2e/support/json_schema.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;

const json::value document = json::parse(R"({"schemas":{
    "Thing":{"type":"object","additionalProperties":false,"required":["id"],"properties":{
      "id":{"type":"string","format":"uuid"},"n":{"type":"integer","minimum":0},"on":{"type":"boolean"},
      "bytes":{"type":"string","contentEncoding":"base64"},"kind":{"type":"string","enum":["a","b"]},
      "any":{"description":"whatever"},"tags":{"type":"object","additionalProperties":{"type":"string"}},
      "more":{"type":"array","items":{"$ref":"#/schemas/Thing"}}}}}})");

std::size_t found(const std::string& value) {
  return violations(document, json::parse(R"({"$ref":"#/schemas/Thing"})"), json::parse(value)).size();
}

TEST(JsonSchema, LetsPassWhatIsRight) {
  EXPECT_EQ(found(R"({"id":"01890000-0000-7000-8000-000000000001","n":0,"on":true,"bytes":"//4=","kind":"b",
                      "any":[null],"tags":{"a":"b"},"more":[{"id":"01890000-0000-7000-8000-000000000001"}]})"),
            0u);
}

TEST(JsonSchema, SeesWhatIsWrong) {
  const std::string id = R"("id":"01890000-0000-7000-8000-000000000001")";
  for (const std::string& wrong :
       {std::string(R"([])"), std::string(R"({})"), std::string(R"({"id":"x"})"), "{" + id + R"(,"n":-1})",
        "{" + id + R"(,"n":"1"})", "{" + id + R"(,"on":1})", "{" + id + R"(,"bytes":"*"})",
        "{" + id + R"(,"kind":"c"})", "{" + id + R"(,"tags":{"a":1}})", "{" + id + R"(,"more":[{}]})",
        "{" + id + R"(,"colour":"red"})"}) {
    EXPECT_EQ(found(wrong), 1u) << wrong;
  }
}

TEST(JsonSchema, SeesWhatItCannotCheck) {
  EXPECT_EQ(violations(document, json::parse(R"({"oneOf":[]})"), 1).size(), 1u);
  EXPECT_EQ(violations(document, json::parse(R"({"$ref":"#/schemas/Nothing"})"), 1).size(), 1u);
}

}  // namespace
}  // namespace flowfabric::e2e
