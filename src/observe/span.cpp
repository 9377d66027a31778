#include "observe/span.hpp"

#include <algorithm>

#include "base/hashing.hpp"
#include "base/text.hpp"

namespace flowfabric::observe {
namespace {

template <std::size_t size>
std::array<std::uint8_t, size> bytes_of(std::string_view hex) {
  std::array<std::uint8_t, size> bytes{};
  const std::string decoded = from_hex(hex).value();
  std::copy(decoded.begin(), decoded.end(), bytes.begin());
  return bytes;
}

}  // namespace

std::optional<TraceContext> read_traceparent(std::string_view text) {
  if (!is_traceparent(text)) return std::nullopt;
  const std::uint8_t flags = bytes_of<1>(text.substr(53))[0];
  return TraceContext{bytes_of<16>(text.substr(3, 32)), bytes_of<8>(text.substr(36, 16)), (flags & 1) != 0};
}

void Span::hang_under(const TraceContext& context) {
  trace_id = context.trace_id;
  parent_id = context.parent_id;
}

void Span::add(std::string_view key, std::string_view text) {
  attributes.push_back({key, clipped(text, max_span_text_bytes)});
}

void Span::add_number(std::string_view key, std::int64_t number) { attributes.push_back({key, number}); }

void Span::fail(std::string_view message) {
  failed = true;
  problem = clipped(message, max_span_text_bytes);
}

}  // namespace flowfabric::observe
