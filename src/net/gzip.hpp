// Compression of responses. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.hpp"

namespace flowfabric::net {

// Whether the client named gzip, or everything, and not with a weight of zero.
bool accepts_gzip(const Headers& headers);
// JSON, text and their kind; what is an image or an archive is small already.
bool is_compressible(std::string_view content_type);
// Empty when zlib fails, which means that memory is short.
std::optional<std::string> gzip(std::string_view plain);
// The other way; empty when the bytes are not what gzip makes, or make more than `max_bytes`.
std::optional<std::string> gunzip(std::string_view compressed, std::size_t max_bytes);

}  // namespace flowfabric::net
