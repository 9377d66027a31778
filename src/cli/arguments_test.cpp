#include "cli/arguments.hpp"

#include <gtest/gtest.h>

namespace flowfabric::cli {
namespace {

const CommandSpec with_options{
    "demo", "", "", "Says what it does.", {{"--store", "URL", "where"}, {"--keep", "", "stay"}}};
const CommandSpec with_operand{"migrate", "URL", "", "", {}};

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
  EXPECT_EQ(refusal(with_options, {"--shop=x"}), "there is no option --shop; flowfabric help demo says what there is");
  EXPECT_NE(refusal(with_options, {"-x"}).find("there is no option -x"), std::string::npos);
  EXPECT_NE(refusal(with_options, {"word"}).find("\"word\" is one word too many"), std::string::npos);
  EXPECT_NE(refusal(with_options, {"--keep=1"}).find("--keep takes no value"), std::string::npos);
  EXPECT_NE(refusal(with_options, {"--store"}).find("--store needs a value"), std::string::npos);
  EXPECT_NE(refusal(with_options, {"--keep", "--keep"}).find("--keep is given twice"), std::string::npos);
}

TEST(Arguments, OperandsAreCounted) {
  EXPECT_NE(refusal(with_operand, {}).find("URL is missing"), std::string::npos);
  EXPECT_NE(refusal(with_operand, {"a", "b"}).find("\"b\" is one word too many"), std::string::npos);
  const auto dashed = parse_arguments(with_operand, {"--", "--odd"});
  ASSERT_TRUE(dashed);
  EXPECT_EQ(dashed->operands, std::vector<std::string>{"--odd"});
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
    arguments.options["--n"] = text;
    return arguments.number("--n", 7, 1, 100);
  };
  EXPECT_EQ(number("42").value_or(0), 42u);
  EXPECT_EQ(Arguments{}.number("--n", 7, 1, 100).value_or(0), 7u);
  for (const char* wrong : {"", "x", "4x", " 4", "-4", "0", "101", "99999999999999999999"}) {
    EXPECT_FALSE(number(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace flowfabric::cli
