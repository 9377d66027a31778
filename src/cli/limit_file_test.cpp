#include "cli/limit_file.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "cli/limit_text.hpp"

namespace flowfabric::cli {
namespace {

LimitInfo present_limit(const LimitRequest& request, std::uint64_t revision = 1) {
  LimitInfo info;
  static_cast<LimitName&>(info) = request;
  static_cast<LimitSpec&>(info) = request;
  info.revision = revision;
  return info;
}

std::string refusal(const std::string& text, std::optional<std::string> name_space = {}) {
  const auto read = read_limit_file(text, name_space);
  return read ? "accepted" : read.error().message;
}

std::vector<std::string> outcomes(const std::vector<PlannedLimit>& planned) {
  std::vector<std::string> all;
  for (const PlannedLimit& one : planned) {
    all.push_back(std::string(to_string(one.outcome)) + " " + limit_label(one.request));
  }
  return all;
}

constexpr const char* two_limits = R"(# a comment
[limits.customers]
per = ["tags.app.customer", "kind"]
concurrency = 3

[limits.mails]
namespace = "shop"
lane = "mail"
rate = "100/1m"
burst = 20
)";

TEST(Rates, AreACountAndAPeriod) {
  EXPECT_EQ(parse_rate("100/1m", "--rate").value(), (RateLimit{100, 60000, {}}));
  EXPECT_EQ(rate_text({100, 60000, {}}), "100/1m");
  EXPECT_EQ(rate_text({5, 1500, 7}), "5/1500ms, burst 7");
  for (const char* wrong :
       {"", "100", "/1m", "100/", "100/m", "-1/1s", "1.5/1s", " 1/1s", "1/1s/2s", "99999999999/1s"}) {
    const auto parsed = parse_rate(wrong, "--rate");
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().field, "--rate");
  }
}

TEST(LimitFile, EveryTableIsALimit) {
  const auto limits = read_limit_file(two_limits, {}).value();
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[0].request.name, "customers");
  EXPECT_EQ(limits[0].request.per, (std::vector<std::string>{"tags.app.customer", "kind"}));
  EXPECT_EQ(limits[0].request.concurrency, 3U);
  EXPECT_EQ(limits[0].line, 3U);
  EXPECT_EQ(limits[1].request.name_space, "shop");
  EXPECT_EQ(limits[1].request.rate, (RateLimit{100, 60000, 20}));
  EXPECT_FALSE(limits[1].request.concurrency);
  EXPECT_TRUE(read_limit_file("", {}).value().empty());
}

TEST(LimitFile, ALimitMayHaveAnotherNameThanItsTable) {
  const auto limits =
      read_limit_file("[limits.a]\nconcurrency=1\n[limits.b]\nname=\"a\"\nnamespace=\"n\"\nconcurrency=1\n", {});
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limit_label((*limits)[1].request), "n/a");
  EXPECT_EQ(refusal("[limits.a]\nconcurrency=1\n[limits.b]\nname=\"a\"\nconcurrency=1\n"),
            "line 4: limits.a: is the same limit as the one of line 2");
}

TEST(LimitFile, ErrorsNameLineAndSetting) {
  const std::string head = "[limits.a]\n";
  EXPECT_EQ(refusal(head + "concurrency = 0\n").find("line 2: limits.a.concurrency: is 0, which would hold back"), 0U);
  EXPECT_EQ(refusal(head + "concurrency = -3\n"), "line 2: limits.a.concurrency: is -3; allowed: 1 to 10000");
  EXPECT_EQ(refusal(head + "\nconcurrency = \"3\"\n").find("line 3: limits.a.concurrency: "), 0U);
  EXPECT_EQ(refusal(head + "rate = \"0/1m\"\n"), "line 2: limits.a.rate: is 0; allowed: 1 to 1000000");
  EXPECT_EQ(refusal(head + "rate = \"5/0s\"\n").find("line 2: limits.a.rate: is 0; allowed: 1 to "), 0U);
  EXPECT_EQ(refusal(head + "rate = \"fast\"\n").find("line 2: limits.a.rate: must be a number of starts"), 0U);
  EXPECT_EQ(refusal(head + "rate = \"5/1m\"\nburst = 0\n"), "line 3: limits.a.burst: is 0; allowed: 1 to 1000000");
  EXPECT_EQ(refusal(head + "concurrency = 1\nburst = 5\n"), "line 3: limits.a.burst: is for a limit with a rate");
  EXPECT_EQ(
      refusal(head + "per = [\"customer\"]\nconcurrency = 1\n"),
      "line 2: limits.a.per: is \"customer\"; allowed: tags.NAME, namespace, lane, kind, creator, flow, execution");
  EXPECT_EQ(refusal(head + "scope = \"x\"\n").find("line 2: limits.a.scope: unknown setting; a limit has name, "), 0U);
  EXPECT_EQ(refusal(head + "lane = \"x\"\n").find("line 2: limits.a: concurrency: is missing"), 0U);
  EXPECT_EQ(
      refusal("[limit.a]\nconcurrency = 1\n").find("line 2: limit.a.concurrency: unknown setting; limits are tables"),
      0U);
  EXPECT_EQ(refusal("[limits.\"a b\"]\nconcurrency = 1\n").find("line 2: limits.a b: name: has white space"), 0U);
}

TEST(LimitFile, AShareIsTrueOrHasWeights) {
  const std::string head = "[limits.a]\nlane = \"l\"\nper = [\"tags.app.customer\"]\n";
  EXPECT_EQ(read_limit_file(head + "share = true\n", {}).value()[0].request.share, ShareSpec{});
  const ShareSpec weights{{{"acme", 5}, {"a.b", 2}}};
  EXPECT_EQ(read_limit_file(head + "share = { acme = 5, \"a.b\" = 2 }\n", {}).value()[0].request.share, weights);
  EXPECT_EQ(read_limit_file(head + "[limits.a.share]\nacme = 5\n\"a.b\" = 2\n", {}).value()[0].request.share, weights);
  EXPECT_EQ(refusal(head + "share = false\n").find("line 4: limits.a.share: is false; allowed: true"), 0U);
  EXPECT_EQ(refusal(head + "share = { acme = 0 }\n"), "line 4: limits.a.share.acme: is 0; allowed: 1 to 1000");
  EXPECT_EQ(refusal(head + "share = { acme = 2000 }\n"), "line 4: limits.a.share.acme: is 2000; allowed: 1 to 1000");
  EXPECT_EQ(refusal(head + "share = true\nconcurrency = 1\n"),
            "line 4: limits.a.share: cannot be in one limit with a concurrency; make two limits");
  EXPECT_EQ(refusal(head + "rate.x = 5\n").find("line 4: limits.a.rate.x: unknown setting"), 0U);
}

TEST(Weights, AreAKeyAndANumber) {
  EXPECT_EQ(parse_weight("acme=5", "--weight").value(), (std::pair<std::string, std::uint32_t>{"acme", 5}));
  EXPECT_EQ(parse_weight("a=b=7", "--weight").value(), (std::pair<std::string, std::uint32_t>{"a=b", 7}));
  EXPECT_EQ(parse_weight("=3", "--weight").value(), (std::pair<std::string, std::uint32_t>{"", 3}));
  for (const char* wrong : {"", "acme", "acme=", "acme=x", "acme=1.5", "acme=-1"}) {
    EXPECT_FALSE(parse_weight(wrong, "--weight")) << wrong;
  }
  EXPECT_EQ(share_text({}), "equal");
  EXPECT_EQ(share_text({{{"acme", 5}, {"", 2}}}), "\"\"=2, acme=5");
}

TEST(LimitFile, ANamespaceIsForAllOfTheFile) {
  const std::string own = "[limits.a]\nconcurrency = 1\n";
  EXPECT_EQ(read_limit_file(own, "shop").value()[0].request.name_space, "shop");
  EXPECT_EQ(refusal(two_limits, "other"),
            "line 7: limits.mails.namespace: is not \"other\", for which the file is applied");
}

TEST(LimitPlans, SayWhatIsToBeDone) {
  const auto wanted = read_limit_file(two_limits, {}).value();
  EXPECT_EQ(outcomes(plan_limits(wanted, {}, {}).value()),
            (std::vector<std::string>{"created customers", "created shop/mails"}));
  EXPECT_EQ(plan_limits(wanted, {}, {}).value()[0].request.expected_revision, 0U);
  LimitRequest before = wanted[0].request;
  before.concurrency = 7;
  const std::vector<LimitInfo> present = {present_limit(before, 4), present_limit(wanted[1].request, 2)};
  const auto planned = plan_limits(wanted, present, {}).value();
  EXPECT_EQ(outcomes(planned), (std::vector<std::string>{"changed customers", "unchanged shop/mails"}));
  EXPECT_EQ(planned[0].request.expected_revision, 4U);
}

TEST(LimitPlans, PruningRemovesWhatIsNotInTheFile) {
  const auto wanted = read_limit_file("[limits.a]\nconcurrency = 1\n", {}).value();
  LimitRequest other = wanted[0].request;
  other.name = "other";
  LimitRequest of_shop = other;
  of_shop.name_space = "shop";
  const std::vector<LimitInfo> present = {present_limit(wanted[0].request), present_limit(other),
                                          present_limit(of_shop)};
  EXPECT_EQ(outcomes(plan_limits(wanted, present, {}).value()), std::vector<std::string>{"unchanged a"});
  EXPECT_EQ(outcomes(plan_limits(wanted, present, {true, {}}).value()),
            (std::vector<std::string>{"removed other", "removed shop/other", "unchanged a"}));
  const auto in_shop = read_limit_file("[limits.a]\nconcurrency = 1\n", "shop").value();
  EXPECT_EQ(outcomes(plan_limits(in_shop, present, {true, "shop"}).value()),
            (std::vector<std::string>{"removed shop/other", "created shop/a"}));
}

TEST(LimitPlans, RefuseWhatCannotBeChanged) {
  const auto wanted = read_limit_file(two_limits, {}).value();
  LimitRequest before = wanted[0].request;
  before.lane = "api";
  const auto planned = plan_limits(wanted, {present_limit(before)}, {});
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, Errc::conflict);
  EXPECT_EQ(planned.error().message.find("line 3: limits.customers: lane: cannot be changed"), 0U)
      << planned.error().message;
}

TEST(LimitPlans, RefuseMoreThanAStoreMayHave) {
  const auto wanted = read_limit_file("[limits.more]\nconcurrency = 1\n", {}).value();
  std::vector<LimitInfo> present;
  for (std::size_t i = 0; i < limits::max_limits; ++i) {
    LimitRequest one = wanted[0].request;
    one.name = "l" + std::to_string(i);
    present.push_back(present_limit(one));
  }
  const auto planned = plan_limits(wanted, present, {});
  ASSERT_FALSE(planned);
  EXPECT_NE(planned.error().message.find("at most 200 limits"), std::string::npos) << planned.error().message;
  EXPECT_TRUE(plan_limits(wanted, present, {true, {}}));
}

}  // namespace
}  // namespace flowfabric::cli
