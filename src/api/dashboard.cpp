#include "api/dashboard.hpp"

#include <algorithm>

#include "net/gzip.hpp"

namespace flowfabric::api {
namespace {

constexpr std::string_view index_file = "index.html";
constexpr std::string_view assets = "/assets/";

constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

// For programs that were built without Node.
constexpr std::string_view page_without_dashboard = R"(<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>FlowFabric</title></head>
<body>
<h1>FlowFabric</h1>
<p>This server is running. Its program was built without the dashboard, because Node.js and npm were not installed.</p>
<p>To get the dashboard, install Node.js 18 or newer and npm (<code>./dev setup</code> does it on Debian), run
<code>./dev build</code> and start the server again.</p>
<p>The API is at <code>/v1</code>, its description at <a href="/openapi.json">/openapi.json</a>. The command line
<code>flowfabric top</code> shows lanes, counts and rates in a terminal.</p>
</body>
</html>
)";

void add_security_headers(net::Response& response) {
  response.headers.add("Content-Security-Policy", std::string(content_security_policy));
  response.headers.add("Referrer-Policy", "same-origin");
}

// Whether the client has it already. Proxies that compress by themselves make tags weak.
bool has_tag(const net::Request& request, const std::string& tag) {
  return request.headers.has_token("if-none-match", tag) || request.headers.has_token("if-none-match", "W/" + tag) ||
         request.headers.has_token("if-none-match", "*");
}

bool is_page(std::string_view path) { return path == "/" || path == "/ui" || path.starts_with("/ui/"); }

}  // namespace

const DashboardFile* DashboardPages::find(std::string_view path) const {
  const auto found =
      std::find_if(files_.begin(), files_.end(), [&](const DashboardFile& file) { return file.path == path; });
  return found == files_.end() ? nullptr : &*found;
}

std::optional<std::string_view> DashboardPages::route_of(std::string_view path) const {
  if (path == "/") return "/";
  if (is_page(path)) return "/ui/*";
  if (path.starts_with(assets)) return "/assets/*";
  if (path.starts_with('/') && find(path.substr(1)) != nullptr) return "/*";
  return std::nullopt;
}

net::Response DashboardPages::answer(const net::Request& request) const {
  const std::string_view path = request.path;
  const bool page = is_page(path);
  if (const DashboardFile* file = find(page ? index_file : path.substr(1))) return send(*file, request);
  net::Response response;
  add_security_headers(response);
  response.headers.add("Cache-Control", "no-cache");
  response.status = page ? 200 : 404;
  if (!page) return response;
  response.content_type = "text/html; charset=utf-8";
  response.body = page_without_dashboard;
  return response;
}

net::Response DashboardPages::send(const DashboardFile& file, const net::Request& request) const {
  net::Response response;
  response.content_type = file.content_type;
  add_security_headers(response);
  const bool compressed = net::accepts_gzip(request.headers);
  const std::string tag = "\"" + std::string(file.hash) + (compressed ? "-gzip\"" : "\"");
  response.headers.add("ETag", tag);
  response.headers.add("Vary", "Accept-Encoding");
  response.headers.add("Cache-Control",
                       request.path.starts_with(assets) ? "public, max-age=31536000, immutable" : "no-cache");
  if (has_tag(request, tag)) {
    response.status = 304;
    return response;
  }
  if (compressed) {
    response.headers.add("Content-Encoding", "gzip");
    response.body = file.gzipped;
  } else {
    response.body = net::gunzip(file.gzipped, file.plain_bytes).value_or("");
  }
  return response;
}

}  // namespace flowfabric::api
