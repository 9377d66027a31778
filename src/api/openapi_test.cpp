// The route table and the document generated from it.
#include <set>

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include "api/route.hpp"

namespace flowfabric::api {
namespace {

namespace json = boost::json;

std::string text(const json::value& value) { return {value.as_string().data(), value.as_string().size()}; }

const json::value& document() {
  static const json::value parsed = json::parse(openapi_json(all_routes()));
  return parsed;
}

// Calls visit(value, place) for every value in the document.
template <class Visit>
void walk(const json::value& value, const std::string& at, const Visit& visit) {
  visit(value, at);
  if (value.is_object()) {
    for (const auto& [key, member] : value.as_object()) walk(member, at + "/" + std::string(key), visit);
  } else if (value.is_array()) {
    std::size_t index = 0;
    for (const auto& element : value.as_array()) walk(element, at + "/" + std::to_string(index++), visit);
  }
}

const json::value* find(const std::string& reference) {
  const json::value* at = &document();
  for (std::size_t begin = 2; at != nullptr && begin <= reference.size();) {
    const std::size_t end = std::min(reference.find('/', begin), reference.size());
    at = at->is_object() ? at->as_object().if_contains(reference.substr(begin, end - begin)) : nullptr;
    begin = end + 1;
  }
  return at;
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  std::size_t references = 0;
  walk(document(), "", [&](const json::value& value, const std::string& at) {
    const json::value* reference = value.is_object() ? value.as_object().if_contains("$ref") : nullptr;
    if (reference == nullptr) return;
    ++references;
    const json::value* target = find(text(*reference));
    ASSERT_NE(target, nullptr) << at << " " << text(*reference);
    EXPECT_TRUE(target->is_object() && !target->as_object().empty()) << text(*reference);
  });
  EXPECT_GT(references, 50u);
}

TEST(OpenApi, EveryFieldAndParameterIsDescribed) {
  for (const auto& [name, schema] : document().at("components").at("schemas").as_object()) {
    for (const auto& [field, rule] : schema.at("properties").as_object()) {
      const json::value* description = rule.as_object().if_contains("description");
      EXPECT_TRUE(description != nullptr && !description->as_string().empty()) << name << "." << field;
    }
  }
  for (const auto& [pattern, operations] : document().at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      for (const auto& parameter : operation.at("parameters").as_array()) {
        EXPECT_TRUE(parameter.as_object().contains("description")) << method << " " << pattern << " " << parameter;
      }
    }
  }
}

TEST(OpenApi, OperationsHaveTheirOwnIds) {
  std::set<std::string> ids;
  for (const auto& [pattern, operations] : document().at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      EXPECT_TRUE(ids.insert(text(operation.at("operationId"))).second) << operation.at("operationId");
    }
  }
  EXPECT_EQ(ids.size(), all_routes().size());
}

// What a generated client needs to log in, and to group what it offers.
TEST(OpenApi, EveryOperationHasSecurityAndATag) {
  const auto& scheme = document().at("components").at("securitySchemes").at("api_key");
  EXPECT_EQ(text(scheme.at("type")), "http");
  EXPECT_EQ(text(scheme.at("scheme")), "bearer");
  std::set<std::string> tags;
  for (const auto& tag : document().at("tags").as_array()) tags.insert(text(tag.at("name")));
  for (const auto& [pattern, operations] : document().at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      const auto& security = operation.at("security").as_array();
      const std::string open = text(pattern);
      const bool by_other_means =
          open == "/v1/session" || open == "/v1/signals" || (open == "/v1/hooks/{name}" && method == "post");
      if (by_other_means) {
        EXPECT_TRUE(security.empty()) << method;
      } else {
        EXPECT_TRUE(security.at(0).as_object().contains("api_key")) << method << " " << pattern;
        EXPECT_TRUE(security.at(1).as_object().contains("session")) << method << " " << pattern;
      }
      ASSERT_EQ(operation.at("tags").as_array().size(), 1u) << method << " " << pattern;
      EXPECT_TRUE(tags.contains(text(operation.at("tags").at(0)))) << method << " " << pattern;
    }
  }
}

TEST(OpenApi, ParametersHaveTheirTypes) {
  const std::map<std::string, std::string> wanted = {{"limit", "integer"},
                                                     {"wait_ms", "integer"},
                                                     {"created_from", "integer"},
                                                     {"attempt_index", "integer"},
                                                     {"include_expired", "boolean"},
                                                     {"state", "array"},
                                                     {"type", "array"},
                                                     {"cursor", "string"},
                                                     {"as_of", "integer"}};
  std::set<std::string> seen;
  for (const auto& [pattern, operations] : document().at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      for (const auto& parameter : operation.at("parameters").as_array()) {
        const std::string name = text(parameter.at("name"));
        const auto known = wanted.find(name);
        if (known == wanted.end()) continue;
        seen.insert(name);
        EXPECT_EQ(text(parameter.at("schema").at("type")), known->second) << pattern << " " << name;
        if (known->second == "array") {
          EXPECT_FALSE(parameter.at("explode").as_bool()) << "lists are written a,b";
          EXPECT_TRUE(parameter.at("schema").at("items").as_object().contains("enum"));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), wanted.size());
}

TEST(Routes, AreUniqueAndSayWhoMayCallThem) {
  std::set<std::string> seen;
  for (const Route& route : all_routes()) {
    EXPECT_TRUE(seen.insert(route.method + " " + route.pattern).second) << route.pattern;
    const bool bodiless = route.method == "GET" || route.method == "DELETE";
    if (!route.signed_by_sender) {
      EXPECT_EQ(bodiless, route.request_schema == nullptr) << route.pattern;
    }
    if (route.method == "GET") {
      EXPECT_TRUE(route.needs == ApiRole::viewer || route.needs == ApiRole::admin);
    }
    if (route.anybody) {
      EXPECT_TRUE(route.pattern == "/v1/session" || route.pattern == "/v1/signals" || route.signed_by_sender)
          << "everything else needs a key";
    } else if (route.method != "GET") {
      // These compute an answer and change nothing.
      const bool only_asks = route.pattern == "/v1/limits/check" || route.pattern == "/v1/schedules/preview";
      EXPECT_EQ(route.needs == ApiRole::viewer, only_asks) << route.pattern;
    }
  }
}

TEST(Routes, ABodyIsRequiredWhenAFieldOfItIs) {
  for (const Route& route : all_routes()) {
    if (route.pattern == "/v1/executions/{execution_id}/cancel") {
      EXPECT_FALSE(route.body_required);
    }
    if (route.pattern == "/v1/claims") {
      EXPECT_TRUE(route.body_required);
    }
  }
}

}  // namespace
}  // namespace flowfabric::api
