// Compression of responses. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.hpp"

namespace flowfabric::net {

// Whether the client accepts gzip, or everything, with a weight above zero.
bool accepts_gzip(const Headers& headers);
// JSON, text and similar; images and archives are already compressed.
bool is_compressible(std::string_view content_type);
// Empty if zlib fails, which means that memory is short.
std::optional<std::string> gzip(std::string_view plain);
// The other way; empty when the bytes are not what gzip makes, or make more than `max_bytes`.
std::optional<std::string> gunzip(std::string_view compressed, std::size_t max_bytes);

}  // namespace flowfabric::net
