#include "api/route.hpp"

namespace flowfabric::api {
namespace {

// The names between braces.
std::vector<std::string> path_parameters(const std::string& pattern) {
  std::vector<std::string> names;
  for (std::size_t at = pattern.find('{'); at != std::string::npos; at = pattern.find('{', at + 1)) {
    names.push_back(pattern.substr(at + 1, pattern.find('}', at) - at - 1));
  }
  return names;
}

// "POST /v1/executions/{execution_id}/cancel" is post_executions_cancel.
std::string operation_id(const Route& route) {
  std::string id;
  for (const char c : route.method) id += static_cast<char>(c | 0x20);
  std::size_t at = 0;
  while (at < route.pattern.size()) {
    const std::size_t end = std::min(route.pattern.find('/', at + 1), route.pattern.size());
    const std::string part = route.pattern.substr(at + 1, end - at - 1);
    at = end;
    if (part != "v1" && !part.starts_with('{')) id += "_" + part;
  }
  for (char& c : id) {
    if (c == '-' || c == '.') c = '_';
  }
  return id;
}

void write_parameter(wire::Writer& writer, std::string_view where, std::string_view name, std::string_view about) {
  writer.begin_object();
  writer.key("name");
  writer.text(name);
  writer.key("in");
  writer.text(where);
  if (where == "path") {
    writer.key("required");
    writer.boolean(true);
  }
  if (!about.empty()) {
    writer.key("description");
    writer.text(about);
  }
  writer.key("schema");
  writer.raw(R"({"type":"string"})");
  writer.end_object();
}

void write_content(wire::Writer& writer, const std::string& schema) {
  writer.key("content");
  writer.raw(R"({"application/json":{"schema":)" + schema + "}}");
}

void write_answer(wire::Writer& writer, int status, std::string_view about, const std::string& schema, bool streams) {
  writer.key(std::to_string(status));
  writer.begin_object();
  writer.key("description");
  writer.text(about);
  writer.key("content");
  const std::string_view stream = streams ? R"(,"text/event-stream":{"schema":{"type":"string"}})" : "";
  writer.raw(R"({"application/json":{"schema":)" + schema + "}" + std::string(stream) + "}");
  writer.end_object();
}

void write_responses(wire::Writer& writer, const Route& route, wire::Schemas& schemas) {
  const std::string schema = route.response_schema ? route.response_schema(schemas) : R"({"type":"object"})";
  writer.key("responses");
  writer.begin_object();
  write_answer(writer, route.status, "Done.", schema, route.streams);
  for (const OtherAnswer& other : route.also) write_answer(writer, other.status, other.about, schema, false);
  writer.key("default");
  writer.raw(R"({"$ref":"#/components/responses/Error"})");
  writer.end_object();
}

void write_operation(wire::Writer& writer, const Route& route, wire::Schemas& schemas) {
  std::string method;
  for (const char c : route.method) method += static_cast<char>(c | 0x20);
  writer.key(method);
  writer.begin_object();
  writer.key("operationId");
  writer.text(operation_id(route));
  writer.key("summary");
  writer.text(route.summary);
  writer.key("parameters");
  writer.begin_array();
  for (const std::string& name : path_parameters(route.pattern)) write_parameter(writer, "path", name, {});
  for (const QueryParameter& parameter : route.query) {
    write_parameter(writer, "query", parameter.name, parameter.about);
  }
  if (route.streams) write_parameter(writer, "header", "Last-Event-ID", "Where a stream goes on: the last id seen.");
  writer.end_array();
  if (route.request_schema) {
    writer.key("requestBody");
    writer.begin_object();
    writer.key("required");
    writer.boolean(true);
    write_content(writer, route.request_schema(schemas));
    writer.end_object();
  }
  write_responses(writer, route, schemas);
  writer.end_object();
}

constexpr std::string_view error_schema =
    R"({"type":"object","required":["error"],"properties":{"error":{"type":"object",)"
    R"("required":["code","message","retryable"],"properties":{"code":{"type":"string"},"message":{"type":"string"},)"
    R"("field":{"type":"string"},"retryable":{"type":"boolean"},)"
    R"("details":{"type":"object","additionalProperties":{"type":"string"}}}}}})";

}  // namespace

std::string openapi_json(const std::vector<Route>& routes) {
  wire::Schemas schemas;
  std::map<std::string, std::vector<const Route*>> by_pattern;
  for (const Route& route : routes) by_pattern[route.pattern].push_back(&route);

  wire::Writer writer;
  writer.begin_object();
  writer.key("openapi");
  writer.text("3.1.0");
  writer.key("info");
  writer.raw(R"({"title":"FlowFabric","version":")" FLOWFABRIC_VERSION R"("})");
  writer.key("paths");
  writer.begin_object();
  for (const auto& [pattern, of_pattern] : by_pattern) {
    writer.key(pattern);
    writer.begin_object();
    for (const Route* route : of_pattern) write_operation(writer, *route, schemas);
    writer.end_object();
  }
  writer.end_object();
  writer.key("components");
  writer.begin_object();
  writer.key("schemas");
  writer.begin_object();
  for (const auto& [name, schema] : schemas.named) {
    writer.key(name);
    writer.raw(schema);
  }
  writer.key("Error");
  writer.raw(error_schema);
  writer.end_object();
  writer.key("responses");
  writer.raw(R"({"Error":{"description":"Refused.","content":{"application/json":{"schema":)" +
             wire::schema_reference("Error") + "}}}}");
  writer.end_object();
  writer.end_object();
  return writer.take();
}

}  // namespace flowfabric::api
