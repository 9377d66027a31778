#include "cli/arguments.hpp"

#include <gtest/gtest.h>

namespace flowfabric::cli {
namespace {

const CommandSpec with_options{
    "demo",
    {},
    "",
    "Says what it does.",
    {{"--store", "URL", "where"}, {"--keep", "", "stay"}, {"--tag", "KEY=VALUE", "marked so", true}}};
const CommandSpec with_operand{"migrate", {"URL", 1, 1}, "", "", {}};
const CommandSpec with_many{"executions cancel", {"ID", 0, any_number}, "", "", {}};

std::string refusal(const CommandSpec& spec, const std::vector<std::string>& words) {
  const auto parsed = parse_arguments(spec, words);
  if (parsed) return "accepted";
  EXPECT_EQ(describe(parsed.error().code).exit_code, 2);
  return parsed.error().message;
}

TEST(Arguments, OptionsWithAndWithoutEqualsSign) {
  const auto spaced = parse_arguments(with_options, {"--store", "memory:", "--keep"});
  ASSERT_TRUE(spaced);
  EXPECT_EQ(spaced->text("--store", ""), "memory:");
  EXPECT_TRUE(spaced->has("--keep"));
  const auto attached = parse_arguments(with_options, {"--store=sqlite:a=b"});
  ASSERT_TRUE(attached);
  EXPECT_EQ(attached->text("--store", ""), "sqlite:a=b");
  EXPECT_FALSE(attached->has("--keep"));
}

TEST(Arguments, UnknownIsRefusedByName) {
  EXPECT_EQ(refusal(with_options, {"--shop=x"}), "unknown option --shop; see flowfabric help demo");
  EXPECT_NE(refusal(with_options, {"-x"}).find("unknown option -x"), std::string::npos);
  EXPECT_NE(refusal(with_options, {"word"}).find("unexpected argument \"word\""), std::string::npos);
  EXPECT_NE(refusal(with_options, {"--keep=1"}).find("--keep takes no value"), std::string::npos);
  EXPECT_NE(refusal(with_options, {"--store"}).find("--store needs a value"), std::string::npos);
  EXPECT_NE(refusal(with_options, {"--keep", "--keep"}).find("--keep may be given only once"), std::string::npos);
}

TEST(Arguments, OperandsAreCounted) {
  EXPECT_NE(refusal(with_operand, {}).find("URL is missing"), std::string::npos);
  EXPECT_NE(refusal(with_operand, {"a", "b"}).find("unexpected argument \"b\""), std::string::npos);
  const auto dashed = parse_arguments(with_operand, {"--", "--odd"});
  ASSERT_TRUE(dashed);
  EXPECT_EQ(dashed->operands, std::vector<std::string>{"--odd"});
}

TEST(Arguments, OperandsMayBeManyOrMissing) {
  EXPECT_EQ(parse_arguments(with_many, {"a", "b", "c"})->operands.size(), 3u);
  EXPECT_TRUE(parse_arguments(with_many, {}));
  const CommandSpec at_most_one{"migrate", {"URL", 0, 1}, "", "", {}};
  EXPECT_TRUE(parse_arguments(at_most_one, {}));
  EXPECT_NE(refusal(at_most_one, {"a", "b"}).find("unexpected argument \"b\""), std::string::npos);
}

TEST(Arguments, OperandsMayHaveANameEach) {
  const CommandSpec with_two{"flows add", {"ID FILE", 2, 2}, "", "", {}};
  EXPECT_TRUE(parse_arguments(with_two, {"a", "-"}));
  EXPECT_EQ(refusal(with_two, {}), "ID is missing; see flowfabric help flows add");
  EXPECT_EQ(refusal(with_two, {"a"}), "FILE is missing; see flowfabric help flows add");
  EXPECT_NE(refusal(with_two, {"a", "b", "c"}).find("unexpected argument \"c\""), std::string::npos);
  EXPECT_EQ(synopsis(with_two), "flows add ID FILE");
}

TEST(Arguments, SynopsisShowsWhatIsOptional) {
  EXPECT_EQ(synopsis(with_options), "demo");
  EXPECT_EQ(synopsis(with_operand), "migrate URL");
  EXPECT_EQ(synopsis(with_many), "executions cancel [ID...]");
  EXPECT_EQ(synopsis({"a b", {"ID", 1, any_number}, "", "", {}}), "a b ID...");
  EXPECT_EQ(synopsis({"a b", {"URL", 0, 1}, "", "", {}}), "a b [URL]");
}

TEST(Arguments, SomeOptionsRepeat) {
  const auto parsed = parse_arguments(with_options, {"--tag", "a.b=1", "--tag=c.d=2"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->all("--tag"), (std::vector<std::string>{"a.b=1", "c.d=2"}));
  EXPECT_TRUE(parsed->all("--store").empty());
  EXPECT_EQ(parsed->maybe("--store"), std::nullopt);
}

TEST(Arguments, HelpWinsOverEverythingElse) {
  const auto parsed = parse_arguments(with_operand, {"--nonsense", "--help"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->help);
  EXPECT_NE(usage(with_options).find("--store URL"), std::string::npos);
}

TEST(Arguments, NumbersAreWholeAndInRange) {
  const auto number = [](const std::string& text) {
    Arguments arguments;
    arguments.options["--n"] = {text};
    return arguments.number("--n", 7, 1, 100);
  };
  EXPECT_EQ(number("42").value_or(0), 42u);
  EXPECT_EQ(Arguments{}.number("--n", 7, 1, 100).value_or(0), 7u);
  for (const char* wrong : {"", "x", "4x", " 4", "-4", "0", "101", "99999999999999999999"}) {
    EXPECT_FALSE(number(wrong)) << wrong;
  }
}

TEST(Arguments, SignedNumbers) {
  const auto number = [](const std::string& text) {
    return parse_arguments({"x", {}, "", "", {{"--to", "N", ""}}}, {"--to", text})->signed_number("--to", 0, -5, 5);
  };
  EXPECT_EQ(number("-5").value_or(9), -5);
  EXPECT_EQ(number("3").value_or(9), 3);
  for (const char* wrong : {"", "-", "--3", "-6", "6", "1.5"}) EXPECT_FALSE(number(wrong)) << wrong;
}

}  // namespace
}  // namespace flowfabric::cli
