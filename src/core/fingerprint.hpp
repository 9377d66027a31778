// Fingerprints of failures: failures with the same cause have the same one, although their messages name other numbers, ids
// or files. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flowfabric {

// The message with placeholders: <uuid>, <hex>, <n> for numbers, <text> for quoted texts, <path>. White space is one blank.
// At most `limits::max_fingerprint_message_bytes` of the message count.
std::string normalized_message(std::string_view message);

// Never 0. Stored: it must stay the same for the same texts.
std::uint64_t fingerprint_of(std::string_view kind, std::string_view category, std::string_view message);

// 16 hexadecimal digits; "older" for 0.
std::string fingerprint_text(std::uint64_t fingerprint);

}  // namespace flowfabric
