#include "api/gatekeeper.hpp"

#include <gtest/gtest.h>

namespace flowfabric::api {
namespace {

net::Request request_with(const std::string& secret) {
  net::Request request;
  request.headers.add("Authorization", "Bearer " + secret);
  return request;
}

class Gatekeeping : public testing::Test {
 protected:
  std::string key(const std::string& name) {
    return engine->create_api_key({name, ApiRole::viewer, {}, 0}, {}).value().secret;
  }

  std::unique_ptr<Engine> engine = Engine::open("memory:").value();
  std::int64_t now = 0;
  Gatekeeper gatekeeper{*engine, true, [this] { return now; }};
};

TEST_F(Gatekeeping, StrangersDoNotMakeItForgetAnybody) {
  const net::Request good = request_with(key("good"));
  EXPECT_FALSE(gatekeeper.recall(good)) << "never seen";
  ASSERT_TRUE(gatekeeper.ask(good));
  for (int i = 0; i < 12000; ++i) {
    const net::Request stranger = request_with("stranger-" + std::to_string(i));
    ASSERT_EQ(gatekeeper.ask(stranger).error().code, Errc::unauthenticated);
    ASSERT_FALSE(gatekeeper.recall(stranger)) << "nothing is kept of a stranger";
  }
  const auto known = gatekeeper.recall(good);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ((*known)->name, "good");
}

TEST_F(Gatekeeping, AKeyIsBelievedForAWhile) {
  const net::Request good = request_with(key("good"));
  ASSERT_TRUE(gatekeeper.ask(good));
  now += 3999;
  EXPECT_TRUE(gatekeeper.recall(good));
  now += 1;
  EXPECT_FALSE(gatekeeper.recall(good)) << "the engine is to be asked again";
  ASSERT_TRUE(gatekeeper.ask(good));
  gatekeeper.forget();
  EXPECT_FALSE(gatekeeper.recall(good));
}

net::Request request_with_cookie(const std::string& cookie) {
  net::Request request;
  request.method = "GET";
  request.headers.add("Host", "flow.example");
  request.headers.add("Cookie", cookie);
  return request;
}

TEST_F(Gatekeeping, ASessionIsBelievedLikeItsKey) {
  const std::string secret = key("good");
  const std::string token = engine->begin_session(secret, 60'000).value().token;
  const net::Request request = request_with_cookie("a=b; flowfabric_session=" + token + "; c=d");
  EXPECT_FALSE(gatekeeper.recall(request)) << "never seen";
  ASSERT_TRUE(gatekeeper.ask(request));
  EXPECT_EQ((*gatekeeper.recall(request))->name, "good");
  EXPECT_FALSE(gatekeeper.recall(request_with(token))) << "a session is no key";
  EXPECT_EQ(gatekeeper.ask(request_with(token)).error().code, Errc::unauthenticated);
  EXPECT_EQ(gatekeeper.ask(request_with_cookie("flowfabric_session=" + secret)).error().code, Errc::unauthenticated)
      << "a key is no session";
  ASSERT_TRUE(engine->revoke_api_key("good"));
  now += 4000;
  EXPECT_FALSE(gatekeeper.recall(request));
  EXPECT_EQ(gatekeeper.ask(request).error().code, Errc::unauthenticated);
}

TEST_F(Gatekeeping, SessionsDoNotFillItUp) {
  const std::string secret = key("good");
  for (std::int64_t i = 0; i < 3000; ++i) {
    const std::string token = engine->begin_session(secret, 60'000 + i).value().token;
    ASSERT_TRUE(gatekeeper.ask(request_with_cookie("flowfabric_session=" + token)));
  }
  EXPECT_LE(gatekeeper.known(), 2000u);
}

TEST(SessionCookie, IsFoundAmongOthers) {
  const auto found = [](const std::string& cookie) {
    const net::Request request = request_with_cookie(cookie);
    return std::string(session_of(request).value_or("none"));
  };
  EXPECT_EQ(found("flowfabric_session=x"), "x");
  EXPECT_EQ(found("a=1;flowfabric_session=x=y"), "x=y");
  EXPECT_EQ(found("a=1;  flowfabric_session=x; b=2"), "x");
  EXPECT_EQ(found("flowfabric_session="), "");
  EXPECT_EQ(found("xflowfabric_session=x"), "none");
  EXPECT_EQ(found("flowfabric_session"), "none");
  EXPECT_EQ(found(";;; ;"), "none");
  EXPECT_EQ(found(""), "none");
}

}  // namespace
}  // namespace flowfabric::api
