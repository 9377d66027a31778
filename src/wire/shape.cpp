#include "wire/shape.hpp"

namespace flowfabric::wire {

std::string path_of(const At& at) {
  if (at.up == nullptr) return {};
  const std::string before = path_of(*at.up);
  if (at.name.data() == nullptr) return before + "[" + std::to_string(at.index) + "]";
  return before.empty() ? std::string(at.name) : before + "." + std::string(at.name);
}

bool may_be_newer(const At& at) { return at.up == nullptr ? at.newer : may_be_newer(*at.up); }

Unexpected<Error> refuse(const At& at, const std::string& message) {
  std::string path = path_of(at);
  if (path.empty()) path = "body";
  return fail(Errc::invalid_argument, path + ": " + message, path);
}

Unexpected<Error> wrong_type(const At& at, std::string_view wanted, const Value& found) {
  return refuse(at, "must be " + std::string(wanted) + ", not " + std::string(to_string(found.kind())));
}

std::string schema_reference(std::string_view name) {
  return R"({"$ref":"#/components/schemas/)" + std::string(name) + R"("})";
}

Unexpected<Error> out_of_bounds(const Value& number, const At& at, const Bounds& bounds) {
  return refuse(at, "is " + std::string(number.raw()) + "; allowed: " + std::to_string(bounds.min) + " to " +
                        std::to_string(bounds.max));
}

namespace detail {

std::string with_bounds(std::string schema, const Bounds& bounds, const char* min_name, const char* max_name) {
  if (!bounds.given()) return schema;
  schema.pop_back();
  const auto add = [&](const char* name, std::int64_t value) {
    schema += std::string(",\"") + name + "\":" + std::to_string(value);
  };
  const bool is_number = std::string_view(min_name) == "minimum";
  if (is_number || bounds.min > 0) add(min_name, bounds.min);
  add(max_name, bounds.max);
  return schema + "}";
}

std::string number_schema(const Bounds& bounds) {
  return with_bounds(R"({"type":"integer","format":"int64"})", bounds, "minimum", "maximum");
}

// OpenAPI counts characters and we count bytes: no text of more characters has fewer bytes.
std::string text_schema(const Bounds& bounds) {
  return with_bounds(R"({"type":"string"})", bounds, "minLength", "maxLength");
}

std::string described(const std::string& schema, std::string_view about) {
  if (about.empty()) return schema;
  Writer writer;
  writer.text(about);
  // OpenAPI 3.1 allows a description beside a $ref.
  const std::string_view comma = schema == "{}" ? "" : ",";
  return schema.substr(0, schema.size() - 1) + std::string(comma) + R"("description":)" + writer.take() + "}";
}

}  // namespace detail
}  // namespace flowfabric::wire
