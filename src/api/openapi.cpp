#include <algorithm>

#include "api/route.hpp"
#include "wire/shapes.hpp"

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

// "POST /v1/executions/{execution_id}/cancel" is post_executions_cancel, "GET /v1/executions/{execution_id}" is
// get_executions_by_execution_id.
std::string operation_id(const Route& route) {
  std::string id;
  for (const char c : route.method) id += static_cast<char>(c | 0x20);
  std::size_t at = 0;
  while (at < route.pattern.size()) {
    const std::size_t end = std::min(route.pattern.find('/', at + 1), route.pattern.size());
    const std::string part = route.pattern.substr(at + 1, end - at - 1);
    at = end;
    const bool varies = part.starts_with('{');
    if (part != "v1" && !varies) id += "_" + part;
    if (varies && end == route.pattern.size()) id += "_by_" + part.substr(1, part.size() - 2);
  }
  for (char& c : id) {
    if (c == '-' || c == '.') c = '_';
  }
  return id;
}

// Operations are grouped by what they are about, which the first segment of their path tells.
struct Tag {
  std::string_view name;
  std::string_view about;
  std::vector<std::string_view> segments;
};

const std::vector<Tag>& tags() {
  static const std::vector<Tag> all = {
      {"executions", "Submitting, reading and operating executions.", {"executions"}},
      {"flows", "Graphs of executions.", {"flows"}},
      {"signals", "What executions wait for, and signals by token.", {"signals", "waits"}},
      {"schedules", "Executions at times.", {"schedules"}},
      {"limits", "How many executions run at the same time, and how many start in a period.", {"limits"}},
      {"dead-letters", "Failed executions by cause, and replaying many of them.", {"dead-letters", "redrives"}},
      {"hooks", "Webhooks of other systems.", {"hooks"}},
      {"work", "Claiming work, keeping the lease, and ending it.", {"claims", "completions", "leases"}},
      {"events", "The event log.", {"events"}},
      {"workers", "The worker registry.", {"workers"}},
      {"grants", "Reserving executions for workers.", {"claim-grants", "reclaim-grants"}},
      {"lanes", "Lanes and what is on them.", {"lanes", "counts"}},
      {"namespaces", "Settings of namespaces, and retention.", {"namespaces", "retention"}},
      {"keys", "API keys, sessions of browsers, and signing keys.", {"api-keys", "session", "signing-keys", "whoami"}},
      {"overview", "Figures of the store, for people.", {"overview"}},
  };
  return all;
}

std::string_view tag_of(const Route& route) {
  constexpr std::string_view root = "/v1/";
  const std::string_view rest = std::string_view(route.pattern).substr(root.size());
  const std::string_view segment = rest.substr(0, rest.find('/'));
  for (const Tag& tag : tags()) {
    if (std::find(tag.segments.begin(), tag.segments.end(), segment) != tag.segments.end()) return tag.name;
  }
  return segment;
}

void write_tags(wire::Writer& writer) {
  writer.key("tags");
  writer.begin_array();
  for (const Tag& tag : tags()) {
    writer.begin_object();
    writer.key("name");
    writer.text(tag.name);
    writer.key("description");
    writer.text(tag.about);
    writer.end_object();
  }
  writer.end_array();
}

constexpr std::string_view security = R"([{"api_key":[]},{"session":[]}])";
constexpr std::string_view no_security = "[]";
constexpr std::string_view security_schemes =
    R"({"api_key":{"type":"http","scheme":"bearer","description":"The secret of an API key. A server that runs )"
    R"(without authentication needs none."},)"
    R"("session":{"type":"apiKey","in":"cookie","name":"flowfabric_session","description":"For pages of the server )"
    R"(itself: the cookie that `POST /v1/session` sets."}})";

// Descriptions of path parameters.
std::string_view about_path_parameter(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"execution_id", "The id of an execution."},
      {"flow_id", "The id of a flow."},
      {"attempt_index", "The index of the attempt; the first is 0."},
      {"worker_instance_id", "The id of the worker instance."},
      {"lane", "The name of a lane."},
      {"fingerprint", "The fingerprint of a group of dead letters: 16 hexadecimal digits, or `older`."},
      {"redrive_id", "The id of a redrive."},
      {"waitpoint", "The name of a waitpoint."},
      {"name", "The name of the schedule, limit or webhook."},
      {"namespace", "The name of a namespace."},
      {"key", "The id or the name of an API key."},
  };
  for (const auto& [key, about] : known) {
    if (key == name) return about;
  }
  return {};
}

QueryParameter path_parameter(const std::string& name) {
  QueryParameter parameter{name, about_path_parameter(name)};
  wire::Schemas none;
  if (name == "execution_id" || name == "flow_id") parameter.schema = wire::Codec<ExecutionId>::schema(none);
  if (name == "attempt_index") parameter.schema = wire::Codec<std::uint32_t>::schema(none);
  return parameter;
}

void write_parameter(wire::Writer& writer, std::string_view where, const QueryParameter& parameter) {
  writer.begin_object();
  writer.key("name");
  writer.text(parameter.name);
  writer.key("in");
  writer.text(where);
  if (where == "path") {
    writer.key("required");
    writer.boolean(true);
  }
  if (!parameter.about.empty()) {
    writer.key("description");
    writer.text(parameter.about);
  }
  if (parameter.is_list) {  // a,b
    writer.key("style");
    writer.text("form");
    writer.key("explode");
    writer.boolean(false);
  }
  writer.key("schema");
  writer.raw(parameter.is_list ? R"({"type":"array","items":)" + parameter.schema + "}" : parameter.schema);
  writer.end_object();
}

// As JSON, and in other types: bytes, or a stream of texts.
void write_content(wire::Writer& writer, const std::string& schema, const std::vector<std::string_view>& more) {
  writer.key("content");
  writer.begin_object();
  writer.key("application/json");
  writer.raw(R"({"schema":)" + schema + "}");
  for (const std::string_view type : more) {
    writer.key(type);
    writer.raw(type == bytes_type ? R"({"schema":{"type":"string","format":"binary"}})"
                                  : R"({"schema":{"type":"string"}})");
  }
  writer.end_object();
}

void write_answer(wire::Writer& writer, int status, std::string_view about, const std::string& schema,
                  const std::vector<std::string_view>& more) {
  writer.key(std::to_string(status));
  writer.begin_object();
  writer.key("description");
  writer.text(about);
  write_content(writer, schema, more);
  writer.end_object();
}

void write_responses(wire::Writer& writer, const Route& route, wire::Schemas& schemas) {
  constexpr const char* nothing = R"({"type":"object","additionalProperties":false})";
  schemas.of_replies = true;
  const std::string schema = route.response_schema ? route.response_schema(schemas) : nothing;
  std::vector<std::string_view> more;
  if (route.gives_bytes) more.push_back(bytes_type);
  if (route.streams) more.push_back(stream_type);
  writer.key("responses");
  writer.begin_object();
  write_answer(writer, route.status, "Done.", schema, more);
  for (const OtherAnswer& other : route.also) write_answer(writer, other.status, other.about, schema, {});
  writer.key("default");
  writer.raw(R"({"$ref":"#/components/responses/Error"})");
  writer.end_object();
}

void write_request_body(wire::Writer& writer, const Route& route, wire::Schemas& schemas) {
  writer.key("requestBody");
  writer.begin_object();
  writer.key("required");
  writer.boolean(route.body_required);
  schemas.of_replies = false;
  std::vector<std::string_view> more;
  if (route.takes_bytes) more.push_back(bytes_type);
  write_content(writer, route.request_schema(schemas), more);
  writer.end_object();
}

void write_operation(wire::Writer& writer, const Route& route, wire::Schemas& schemas) {
  std::string method;
  for (const char c : route.method) method += static_cast<char>(c | 0x20);
  writer.key(method);
  writer.begin_object();
  writer.key("tags");
  writer.begin_array();
  writer.text(tag_of(route));
  writer.end_array();
  writer.key("operationId");
  writer.text(operation_id(route));
  writer.key("summary");
  writer.text(route.summary);
  writer.key("description");
  writer.text((route.description.empty() ? "" : route.description + " ") +
              (route.anybody ? "Needs no key." : "Requires the role " + std::string(to_string(route.needs)) + "."));
  writer.key("security");
  writer.raw(route.anybody ? no_security : security);
  writer.key("parameters");
  writer.begin_array();
  for (const std::string& name : path_parameters(route.pattern)) {
    write_parameter(writer, "path", path_parameter(name));
  }
  for (const QueryParameter& parameter : route.query) write_parameter(writer, "query", parameter);
  for (const QueryParameter& parameter : route.headers) write_parameter(writer, "header", parameter);
  if (route.streams)
    write_parameter(writer, "header",
                    {"Last-Event-ID", "The id after which a stream continues: the last one received."});
  writer.end_array();
  if (route.request_schema) write_request_body(writer, route, schemas);
  write_responses(writer, route, schemas);
  writer.end_object();
}

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
  writer.key("security");
  writer.raw(security);
  write_tags(writer);
  writer.key("paths");
  writer.begin_object();
  for (const auto& [pattern, of_pattern] : by_pattern) {
    writer.key(pattern);
    writer.begin_object();
    for (const Route* route : of_pattern) write_operation(writer, *route, schemas);
    writer.end_object();
  }
  writer.end_object();
  schemas.of_replies = true;
  const std::string error = wire::Codec<wire::ErrorBody>::schema(schemas);
  writer.key("components");
  writer.begin_object();
  writer.key("schemas");
  writer.begin_object();
  for (const auto& [name, schema] : schemas.named) {
    writer.key(name);
    writer.raw(schema);
  }
  writer.end_object();
  writer.key("securitySchemes");
  writer.raw(security_schemes);
  writer.key("responses");
  writer.raw(R"({"Error":{"description":"Refused.","content":{"application/json":{"schema":)" + error + "}}}}");
  writer.end_object();
  writer.end_object();
  return writer.take();
}

}  // namespace flowfabric::api
