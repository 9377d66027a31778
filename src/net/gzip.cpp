#include "net/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <climits>

namespace flowfabric::net {
namespace {

// The fastest level: on JSON it achieves most of the default's compression in a fraction of its time.
constexpr int level = 1;
constexpr int gzip_window_bits = 15 + 16;  // 16 selects a gzip header and trailer
constexpr int memory_level = 8;

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

bool weight_is_zero(std::string_view parameters) {
  const std::size_t start = parameters.find(";q=");
  if (start == std::string_view::npos) return false;
  const std::string_view weight = parameters.substr(start + 3);
  return weight.find_first_of("123456789") == std::string_view::npos;
}

}  // namespace

bool accepts_gzip(const Headers& headers) {
  const auto field = headers.find("Accept-Encoding");
  if (!field) return false;
  const std::string list = without_blanks(*field);
  bool any = false;
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const std::size_t end = item.find(';');
    const std::string_view coding = item.substr(0, end);
    const bool refused = end != std::string_view::npos && weight_is_zero(item.substr(end));
    if (coding == "gzip" || coding == "x-gzip") return !refused;
    if (coding == "*") any = !refused;
  }
  return any;
}

bool is_compressible(std::string_view content_type) {
  const std::string type = without_blanks(content_type.substr(0, content_type.find(';')));
  if (type == "text/event-stream") return false;
  const auto ends_with = [&](std::string_view end) {
    return type.size() >= end.size() && std::string_view(type).substr(type.size() - end.size()) == end;
  };
  return type.rfind("text/", 0) == 0 || ends_with("/json") || ends_with("+json") || ends_with("/xml") ||
         ends_with("+xml") || ends_with("/javascript");
}

std::optional<std::string> gzip(std::string_view plain) {
  if (plain.size() > UINT_MAX) return std::nullopt;
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window_bits, memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string out(deflateBound(&stream, plain.size()), '\0');
  // zlib only reads next_in; its type is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), UINT_MAX));
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) return std::nullopt;
  return out;
}

std::optional<std::string> gunzip(std::string_view compressed, std::size_t max_bytes) {
  if (compressed.size() > UINT_MAX || max_bytes >= UINT_MAX) return std::nullopt;
  z_stream stream{};
  if (inflateInit2(&stream, gzip_window_bits) != Z_OK) return std::nullopt;
  std::string out(max_bytes + 1, '\0');  // one more, so that zlib always has room to find the end
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  if (status != Z_STREAM_END || out.size() > max_bytes) return std::nullopt;
  return out;
}

}  // namespace flowfabric::net
