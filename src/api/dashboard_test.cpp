#include "api/dashboard.hpp"

#include <gtest/gtest.h>

#include "net/gzip.hpp"

namespace flowfabric::api {
namespace {

class Pages : public testing::Test {
 protected:
  net::Response get(const std::string& path, net::Headers headers = {{"Accept-Encoding", "gzip"}}) {
    net::Request request;
    request.method = "GET";
    request.path = path;
    request.headers = std::move(headers);
    return pages.answer(request);
  }

  const std::string index = "<!doctype html><p>index</p>", script = "console.log(1)";
  const std::string packed_index = net::gzip(index).value(), packed_script = net::gzip(script).value();
  const std::array<DashboardFile, 3> files = {
      DashboardFile{"index.html", "text/html; charset=utf-8", "aaaa", index.size(), packed_index},
      DashboardFile{"assets/main-1.js", "text/javascript; charset=utf-8", "bbbb", script.size(), packed_script},
      DashboardFile{"favicon.svg", "image/svg+xml", "cccc", script.size(), packed_script}};
  const DashboardPages pages{files};
};

TEST_F(Pages, TheIndexIsEveryPage) {
  for (const char* path : {"/", "/ui", "/ui/", "/ui/executions", "/ui/assets/main-1.js", "/ui/../../etc/passwd"}) {
    ASSERT_TRUE(pages.route_of(path)) << path;
    const net::Response response = get(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(response.body, packed_index);
    EXPECT_EQ(response.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(response.headers.find("content-encoding"), "gzip");
    EXPECT_EQ(response.headers.find("cache-control"), "no-cache");
  }
}

TEST_F(Pages, AssetsStayForEver) {
  const net::Response response = get("/assets/main-1.js");
  EXPECT_EQ(response.body, packed_script);
  EXPECT_EQ(response.headers.find("cache-control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(get("/favicon.svg").headers.find("cache-control"), "no-cache");
  EXPECT_EQ(get("/favicon.svg").content_type, "image/svg+xml");
}

TEST_F(Pages, WhoDoesNotAcceptGzipGetsItPlain) {
  const net::Response response = get("/", {});
  EXPECT_EQ(response.body, index);
  EXPECT_FALSE(response.headers.find("content-encoding"));
  EXPECT_EQ(response.headers.find("vary"), "Accept-Encoding");
  EXPECT_NE(response.headers.find("etag"), get("/").headers.find("etag"));
}

TEST_F(Pages, WhoHasItIsToldSo) {
  const std::string tag(get("/").headers.find("etag").value());
  for (const std::string& sent : {tag, "W/" + tag, "\"x\", " + tag, std::string("*")}) {
    const net::Response response = get("/", {{"Accept-Encoding", "gzip"}, {"If-None-Match", sent}});
    EXPECT_EQ(response.status, 304) << sent;
    EXPECT_TRUE(response.body.empty());
    EXPECT_EQ(response.headers.find("etag"), tag);
  }
  EXPECT_EQ(get("/", {{"Accept-Encoding", "gzip"}, {"If-None-Match", "\"other\""}}).status, 200);
  EXPECT_EQ(get("/", {{"If-None-Match", tag}}).status, 200) << "that was the compressed one";
}

TEST_F(Pages, OtherPathsAreNotItsBusiness) {
  for (const char* path : {"/v1/lanes", "/uix", "/index", "/nowhere", "/metrics", ""})
    EXPECT_FALSE(pages.route_of(path)) << path;
  ASSERT_TRUE(pages.route_of("/assets/none.js"));
  EXPECT_EQ(get("/assets/none.js").status, 404);
  EXPECT_EQ(get("/assets/").status, 404);
  EXPECT_EQ(get("/assets/../index.html").status, 404);
}

TEST_F(Pages, EveryAnswerHasItsPolicy) {
  for (const char* path : {"/", "/ui/x", "/assets/main-1.js", "/assets/none.js"}) {
    const net::Response response = get(path);
    const auto policy = response.headers.find("content-security-policy").value_or("");
    EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'self';")) << path << policy;
    EXPECT_EQ(policy.find("unsafe"), std::string_view::npos);
    EXPECT_EQ(response.headers.find("referrer-policy"), "same-origin");
  }
}

TEST(PagesWithoutNode, SayHowToGetThem) {
  const DashboardPages pages{std::span<const DashboardFile>{}};
  net::Request request;
  request.method = "GET";
  request.path = "/";
  const net::Response response = pages.answer(request);
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("./dev setup"), std::string::npos);
  EXPECT_TRUE(response.headers.find("content-security-policy"));
  request.path = "/assets/main.js";
  EXPECT_EQ(pages.answer(request).status, 404);
}

}  // namespace
}  // namespace flowfabric::api
