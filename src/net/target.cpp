#include "net/target.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace flowfabric::net {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Unexpected<Fault> bad_target(std::string message) {
  return Unexpected(Fault{400, Error{Errc::invalid_argument, std::move(message), "target", {}}});
}

// The part after the authority of an absolute-form target.
std::string_view after_authority(std::string_view target, std::size_t scheme_bytes) {
  const std::size_t path = target.find_first_of("/?", scheme_bytes);
  return path == std::string_view::npos ? std::string_view{} : target.substr(path);
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equal_ignoring_case(text.substr(0, prefix.size()), prefix);
}

bool split_path(std::string_view path, std::vector<std::string>& segments) {
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t slash = path.find('/');
    std::string segment;
    if (!percent_decode(path.substr(0, slash), false, segment)) return false;
    if (segment == "." || segment == "..") return false;
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash);
    segments.push_back(std::move(segment));
  }
  return true;
}

bool split_query(std::string_view query, std::vector<std::pair<std::string, std::string>>& pairs) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
    std::pair<std::string, std::string> pair;
    if (!percent_decode(part.substr(0, equals), true, pair.first)) return false;
    if (!percent_decode(value, true, pair.second)) return false;
    pairs.push_back(std::move(pair));
  }
  return true;
}

}  // namespace

bool percent_decode(std::string_view text, bool plus_is_space, std::string& out) {
  out.clear();
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return false;
    out += c;
  }
  return is_valid_utf8(out);
}

std::string percent_encode(std::string_view text) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

Result<void, Fault> decode_target(Request& request) {
  std::string_view rest = request.target;
  const bool ascii = std::all_of(rest.begin(), rest.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!ascii) return bad_target("the request target has a byte that must be percent-encoded");
  if (rest.find('#') != std::string_view::npos) return bad_target("the request target has a fragment");
  if (rest == "*") {
    if (request.method != "OPTIONS") return bad_target("* is allowed only with OPTIONS");
    request.path = "*";
    return {};
  }
  if (starts_with_ignoring_case(rest, "http://")) rest = after_authority(rest, 7);
  if (starts_with_ignoring_case(rest, "https://")) rest = after_authority(rest, 8);
  const std::size_t mark = rest.find('?');
  const std::string_view path = rest.substr(0, mark);
  const std::string_view query = mark == std::string_view::npos ? std::string_view{} : rest.substr(mark + 1);
  const bool absolute_without_path = path.empty() && request.target.front() != '/' && request.target.front() != '?';
  if (!absolute_without_path && (path.empty() || path.front() != '/')) {
    return bad_target("the request target does not start with /");
  }
  request.path = path.empty() ? "/" : std::string(path);
  if (request.path != "/" && !split_path(path, request.segments)) {
    return bad_target("the path has a bad escape, a dot segment or bytes that are not UTF-8");
  }
  if (!split_query(query, request.query)) return bad_target("the query has a bad escape or bytes that are not UTF-8");
  return {};
}

}  // namespace flowfabric::net
