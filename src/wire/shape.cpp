#include "wire/shape.hpp"

namespace flowfabric::wire {

std::string path_of(const At& at) {
  if (at.up == nullptr) return {};
  const std::string before = path_of(*at.up);
  if (at.name.empty()) return before + "[" + std::to_string(at.index) + "]";
  return before.empty() ? std::string(at.name) : before + "." + std::string(at.name);
}

bool may_be_newer(const At& at) { return at.up == nullptr ? at.newer : may_be_newer(*at.up); }

tl::unexpected<Error> refuse(const At& at, const std::string& message) {
  std::string path = path_of(at);
  if (path.empty()) path = "body";
  return fail(Errc::invalid_argument, path + ": " + message, path);
}

tl::unexpected<Error> wrong_type(const At& at, std::string_view wanted, const Value& found) {
  return refuse(at, "must be " + std::string(wanted) + ", not " + std::string(to_string(found.kind())));
}

std::string schema_reference(std::string_view name) {
  return R"({"$ref":"#/components/schemas/)" + std::string(name) + R"("})";
}

namespace detail {

std::string described(const std::string& schema, std::string_view about) {
  if (about.empty()) return schema;
  Writer writer;
  writer.text(about);
  // OpenAPI 3.1: a description may stand beside a $ref.
  const std::string_view comma = schema == "{}" ? "" : ",";
  return schema.substr(0, schema.size() - 1) + std::string(comma) + R"("description":)" + writer.take() + "}";
}

}  // namespace detail
}  // namespace flowfabric::wire
