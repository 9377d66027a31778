// The route table and the document that is made of it.
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

TEST(Routes, AreUniqueAndSayWhoMayCallThem) {
  std::set<std::string> seen;
  for (const Route& route : all_routes()) {
    EXPECT_TRUE(seen.insert(route.method + " " + route.pattern).second) << route.pattern;
    const bool bodiless = route.method == "GET" || route.method == "DELETE";
    EXPECT_EQ(bodiless, route.request_schema == nullptr) << route.pattern;
    if (route.method == "GET") {
      EXPECT_TRUE(route.needs == ApiRole::viewer || route.needs == ApiRole::admin);
    }
    if (route.method != "GET") {
      EXPECT_NE(route.needs, ApiRole::viewer) << route.pattern;
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
