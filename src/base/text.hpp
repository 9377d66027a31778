// Small text helpers. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/ids.hpp>

namespace flowfabric {

bool is_valid_utf8(std::string_view text);
// True when the text has a C0 control character, DEL or, in UTF-8, a C1 control character (U+0080 to U+009F).
bool has_control_characters(std::string_view text);
// Shortens a text that may be too long to repeat: its first characters, in at most `max_bytes`, and then an ellipsis.
std::string clipped(std::string_view text, std::size_t max_bytes);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// A W3C trace context of version 0: 00-<trace id>-<parent id>-<flags>, in lower-case hex digits, neither id all zeros.
bool is_traceparent(std::string_view text);
// 2026-01-02T03:04:05.678Z
std::string format_utc(TimestampMs at);

}  // namespace flowfabric
