#include "cli/secrets.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/check.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::string_view mask = "***";

// Replaces what stands between the colon and the @ of postgres://user:password@host. A password may contain an @ itself,
// so the last one before the path counts.
void mask_user_info(std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return;
  const std::size_t begin = scheme + 3;
  const std::size_t at = url.rfind('@', url.find_first_of("/?", begin));
  const std::size_t colon = url.find(':', begin);
  if (at == std::string::npos || at < begin || colon >= at) return;
  url.replace(colon + 1, at - colon - 1, mask);
}

void mask_parameter(std::string& url, std::string_view name) {
  for (std::size_t at = url.find('?'); at != std::string::npos; at = url.find('&', at + 1)) {
    if (url.compare(at + 1, name.size(), name) != 0) continue;
    const std::size_t value = at + 1 + name.size();
    url.replace(value, std::min(url.find('&', value), url.size()) - value, mask);
  }
}

}  // namespace

std::string without_secrets(const std::string& url) {
  std::string masked = url;
  mask_user_info(masked);
  for (const std::string_view name : {"password=", "sslpassword="}) mask_parameter(masked, name);
  return masked;
}

bool has_secrets(const std::string& url) { return without_secrets(url) != url; }

Result<std::string> read_text_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(Errc::invalid_argument, path.string() + " is a directory, not a file");
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || !text) return fail(Errc::unavailable, "cannot read " + path.string());
  return text.str();
}

Result<std::string> read_secret_file(const std::filesystem::path& path) {
  FF_TRY(text, read_text_file(path));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (text.empty()) return fail(Errc::invalid_argument, path.string() + " is empty");
  return text;
}

}  // namespace flowfabric::cli
