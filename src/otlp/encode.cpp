#include "otlp/encode.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/hashing.hpp"
#include "wire/document.hpp"
#include "wire/writer.hpp"

namespace flowfabric::otlp {
namespace {

using wire::Value;
using wire::Writer;

constexpr int status_error = 2;

// 64-bit numbers are strings in the JSON of protocol buffers.
void put_number_as_text(Writer& out, std::int64_t number) { out.text(std::to_string(number)); }

template <std::size_t size>
void put_id(Writer& out, std::string_view key, const std::array<std::uint8_t, size>& id) {
  out.key(key);
  out.text(to_hex({reinterpret_cast<const char*>(id.data()), id.size()}));
}

void put_attribute(Writer& out, std::string_view key, const std::variant<std::string, std::int64_t>& value) {
  out.begin_object();
  out.key("key");
  out.text(key);
  out.key("value");
  out.begin_object();
  if (const auto* text = std::get_if<std::string>(&value)) {
    out.key("stringValue");
    out.text(*text);
  } else {
    out.key("intValue");
    put_number_as_text(out, std::get<std::int64_t>(value));
  }
  out.end_object();
  out.end_object();
}

void put_status(Writer& out, const observe::Span& span) {
  out.key("status");
  out.begin_object();
  if (span.failed) {
    out.key("code");
    out.number(status_error);
    out.key("message");
    out.text(span.problem);
  }
  out.end_object();
}

void put_span(Writer& out, const observe::Span& span) {
  out.begin_object();
  put_id(out, "traceId", span.trace_id);
  put_id(out, "spanId", span.span_id);
  if (span.parent_id != observe::SpanId{}) put_id(out, "parentSpanId", span.parent_id);
  out.key("name");
  out.text(span.name);
  out.key("kind");
  out.number(static_cast<std::int64_t>(span.kind));
  out.key("startTimeUnixNano");
  put_number_as_text(out, span.start_ns);
  out.key("endTimeUnixNano");
  put_number_as_text(out, std::max(span.start_ns, span.end_ns));
  out.key("attributes");
  out.begin_array();
  for (const observe::Attribute& attribute : span.attributes) put_attribute(out, attribute.key, attribute.value);
  out.end_array();
  put_status(out, span);
  out.end_object();
}

void put_resource(Writer& out, const Resource& resource) {
  out.key("resource");
  out.begin_object();
  out.key("attributes");
  out.begin_array();
  put_attribute(out, "service.name", resource.service_name);
  put_attribute(out, "service.version", resource.service_version);
  put_attribute(out, "service.instance.id", resource.service_instance_id);
  out.end_array();
  out.end_object();
}

void put_scope(Writer& out, const Resource& resource) {
  out.key("scope");
  out.begin_object();
  out.key("name");
  out.text("flowfabric");
  out.key("version");
  out.text(resource.service_version);
  out.end_object();
}

std::optional<Value> member(const Value& object, std::string_view key) {
  if (object.kind() != Value::Kind::object) return std::nullopt;
  for (const Value::Member& one : object.members()) {
    if (one.key == key) return one.value;
  }
  return std::nullopt;
}

std::uint64_t count_in(const Value& value) {
  const std::string digits = value.kind() == Value::Kind::text ? value.text() : std::string(value.raw());
  std::uint64_t count = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return count;
}

}  // namespace

std::string encode(const Resource& resource, const std::vector<observe::Span>& spans) {
  Writer out;
  out.begin_object();
  out.key("resourceSpans");
  out.begin_array();
  out.begin_object();
  put_resource(out, resource);
  out.key("scopeSpans");
  out.begin_array();
  out.begin_object();
  put_scope(out, resource);
  out.key("spans");
  out.begin_array();
  for (const observe::Span& span : spans) put_span(out, span);
  out.end_array();
  out.end_object();
  out.end_array();
  out.end_object();
  out.end_array();
  out.end_object();
  return out.take();
}

Rejected read_answer(std::string_view json) {
  Rejected rejected;
  const auto document = wire::parse_document(json);
  if (!document) return rejected;
  const auto partial = member(*document, "partialSuccess");
  if (!partial) return rejected;
  if (const auto count = member(*partial, "rejectedSpans")) rejected.spans = count_in(*count);
  if (const auto why = member(*partial, "errorMessage"); why && why->kind() == Value::Kind::text) {
    rejected.message = why->text();
  }
  return rejected;
}

}  // namespace flowfabric::otlp
