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

}  // namespace
}  // namespace flowfabric::api
