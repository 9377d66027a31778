// Spans: timed parts of a trace that may go through many programs. The terms are those of OpenTelemetry. Plain values
// and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace flowfabric::observe {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

// The parent of a span: the trace and the parent span; all zeros if it is the first of its trace.
struct TraceContext {
  TraceId trace_id{};
  SpanId parent_id{};
  bool sampled = true;  // whether the spans of this trace are recorded
};

// Parses a W3C traceparent; nothing if it is invalid.
std::optional<TraceContext> read_traceparent(std::string_view text);

// The values are those of OTLP.
enum class SpanKind : std::uint8_t { internal = 1, server = 2 };

struct Attribute {
  std::string_view key{};  // a literal
  std::variant<std::string, std::int64_t> value{};
};

// Texts are cut to this size, so that a number of spans bounds their memory.
inline constexpr std::size_t max_span_text_bytes = 512;

struct Span {
  TraceId trace_id{};
  SpanId span_id{};
  SpanId parent_id{};
  std::string name{};
  SpanKind kind = SpanKind::internal;
  std::int64_t start_ns = 0;  // since 1970
  std::int64_t end_ns = 0;
  std::vector<Attribute> attributes{};
  bool failed = false;
  std::string problem{};  // a message for people, if it failed

  void hang_under(const TraceContext& context);
  void add(std::string_view key, std::string_view text);
  void add_number(std::string_view key, std::int64_t number);
  void fail(std::string_view message);
};

}  // namespace flowfabric::observe
