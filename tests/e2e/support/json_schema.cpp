#include "e2e/support/json_schema.hpp"

#include <algorithm>
#include <set>

#include <boost/json/serialize.hpp>

#include <flowfabric/ids.hpp>

#include "base/hashing.hpp"

namespace flowfabric::e2e {
namespace {

namespace json = boost::json;

std::string text_of(const json::string& text) { return {text.data(), text.size()}; }

class Checker {
 public:
  explicit Checker(const json::value& document) : document_(document) {}

  void check(const json::value& schema, const json::value& value, const std::string& at) {
    for (const auto& [key, rule] : schema.as_object()) {
      const std::string keyword(key.data(), key.size());
      if (!check_keyword(keyword, rule, schema, value, at)) complain(at, "the schema has an unknown " + keyword);
    }
  }

  std::vector<std::string> found;

 private:
  void complain(const std::string& at, const std::string& what) {
    found.push_back((at.empty() ? "/" : at) + ": " + what);
  }

  // False if the keyword is unknown.
  bool check_keyword(const std::string& keyword, const json::value& rule, const json::value& schema,
                     const json::value& value, const std::string& at) {
    if (keyword == "$ref") {
      check_reference(text_of(rule.as_string()), value, at);
    } else if (keyword == "type") {
      if (!has_type(value, text_of(rule.as_string()))) complain(at, "is no " + text_of(rule.as_string()));
    } else if (keyword == "enum") {
      const auto& allowed = rule.as_array();
      if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
        complain(at, json::serialize(value) + " is not in the enum");
      }
    } else if (keyword == "required") {
      for (const auto& name : rule.as_array()) {
        if (value.is_object() && !value.as_object().contains(name.as_string())) {
          complain(at, text_of(name.as_string()) + " is missing");
        }
      }
    } else if (keyword == "minimum") {
      if (value.is_int64() && value.as_int64() < rule.as_int64()) complain(at, "is too small");
    } else if (keyword == "maximum") {
      if (value.is_int64() && value.as_int64() > rule.as_int64()) complain(at, "is too large");
    } else if (keyword == "minLength") {
      if (value.is_string() && value.as_string().size() < rule.to_number<std::size_t>()) complain(at, "is too short");
    } else if (keyword == "maxLength") {
      if (value.is_string() && value.as_string().size() > rule.to_number<std::size_t>()) complain(at, "is too long");
    } else if (keyword == "minItems") {
      if (value.is_array() && value.as_array().size() < rule.to_number<std::size_t>()) complain(at, "has too little");
    } else if (keyword == "maxItems") {
      if (value.is_array() && value.as_array().size() > rule.to_number<std::size_t>()) complain(at, "has too much");
    } else if (keyword == "minProperties") {
      if (value.is_object() && value.as_object().size() < rule.to_number<std::size_t>()) complain(at, "has too little");
    } else if (keyword == "maxProperties") {
      if (value.is_object() && value.as_object().size() > rule.to_number<std::size_t>()) complain(at, "has too much");
    } else if (keyword == "items") {
      check_items(rule, value, at);
    } else if (keyword == "properties" || keyword == "additionalProperties") {
      if (keyword == "additionalProperties" || !schema.as_object().contains("additionalProperties")) {
        check_members(schema, value, at);
      }
    } else if (keyword == "format") {
      if (rule == "uuid" && value.is_string() && !parse_uuid(text_of(value.as_string()))) complain(at, "is no UUID");
    } else if (keyword == "contentEncoding") {
      if (value.is_string() && !from_base64(text_of(value.as_string()))) complain(at, "is no base64");
    } else {
      return keyword == "description" || keyword == "examples";
    }
    return true;
  }

  void check_reference(const std::string& reference, const json::value& value, const std::string& at) {
    const json::value* schema = resolve(document_, reference);
    if (schema == nullptr) return complain(at, reference + " leads nowhere");
    check(*schema, value, at);
  }

  static bool has_type(const json::value& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "number") return value.is_number();
    return type == "integer" && (value.is_int64() || value.is_uint64());
  }

  void check_items(const json::value& schema, const json::value& value, const std::string& at) {
    if (!value.is_array()) return;
    std::size_t index = 0;
    for (const auto& element : value.as_array()) check(schema, element, at + "/" + std::to_string(index++));
  }

  void check_members(const json::value& schema, const json::value& value, const std::string& at) {
    if (!value.is_object()) return;
    const json::value* properties = schema.as_object().if_contains("properties");
    const json::value* others = schema.as_object().if_contains("additionalProperties");
    for (const auto& [key, member] : value.as_object()) {
      const std::string here = at + "/" + std::string(key.data(), key.size());
      const json::value* known = properties == nullptr ? nullptr : properties->as_object().if_contains(key);
      if (known != nullptr) {
        check(*known, member, here);
      } else if (others != nullptr && others->is_object()) {
        check(*others, member, here);
      } else if (others != nullptr && !others->as_bool()) {
        complain(here, "is not in the schema");
      }
    }
  }

  const json::value& document_;
};

}  // namespace

std::vector<std::string> violations(const json::value& document, const json::value& schema, const json::value& value) {
  Checker checker(document);
  checker.check(schema, value, "");
  return checker.found;
}

const json::value* resolve(const json::value& document, const std::string& reference) {
  if (!reference.starts_with("#/")) return nullptr;
  const json::value* at = &document;
  for (std::size_t begin = 2; at != nullptr && begin <= reference.size();) {
    const std::size_t end = std::min(reference.find('/', begin), reference.size());
    at = at->is_object() ? at->as_object().if_contains(reference.substr(begin, end - begin)) : nullptr;
    begin = end + 1;
  }
  return at;
}

}  // namespace flowfabric::e2e
