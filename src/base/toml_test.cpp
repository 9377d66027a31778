#include "base/toml.hpp"

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

std::string problem(const std::string& text) {
  const auto read = read_toml(text);
  return read ? "none" : read.error().message;
}

TEST(Toml, ReadsWhatSettingsNeed) {
  const auto read = read_toml(
      "# a comment\r\n"
      "listen = \"127.0.0.1:7070\"  # where\n"
      "max_connections = 10_000\n"
      "less = -3\n"
      "migrate = true\n"
      "\n"
      "[profiles.work]\n"
      "server = 'https://a\\b'\n"
      "tags = [ \"one\",\n  'two', ] # both\n"
      "[profiles.\"at home\"]\n"
      "deep.key = \"q\\\"\\\\\\n\\t\"\n"
      "off = false");
  ASSERT_TRUE(read) << read.error().message;
  const Toml expected = {{"listen", "127.0.0.1:7070"},
                         {"max_connections", std::int64_t{10000}},
                         {"less", std::int64_t{-3}},
                         {"migrate", true},
                         {"profiles.work.server", "https://a\\b"},
                         {"profiles.work.tags", std::vector<std::string>{"one", "two"}},
                         {"profiles.at home.deep.key", "q\"\\\n\t"},
                         {"profiles.at home.off", false}};
  EXPECT_EQ(*read, expected);
  EXPECT_TRUE(read_toml("")->empty());
  EXPECT_TRUE(read_toml("\n# only this")->empty());
}

TEST(Toml, RefusesTheRestWithItsLine) {
  EXPECT_EQ(problem("a = 1\na = 2"), "line 2: \"a\" comes twice");
  EXPECT_EQ(problem("[t]\na = 1\n[t]\na = 2"), "line 4: \"t.a\" comes twice");
  EXPECT_EQ(problem("\n\na"), "line 3: there is no = after the key");
  EXPECT_EQ(problem("a ="), "line 1: there is no value");
  EXPECT_EQ(problem("= 1"), "line 1: a key must be letters, digits, _ and -, or stand in quotes");
  EXPECT_EQ(problem("a = 1 2"), "line 1: there is more on the line than one value");
  EXPECT_EQ(problem("a = 'x"), "line 1: the text has no closing quote");
  EXPECT_EQ(problem("a = \"x\ny\""), "line 1: the text has no closing quote");
  EXPECT_EQ(problem("a = \"\\u0041\""), "line 1: of the escapes only \\\", \\\\, \\n and \\t are read here");
  EXPECT_EQ(problem("a = \"\"\"x\"\"\""), "line 1: texts of several lines are not read here");
  EXPECT_EQ(problem("[[a]]"), "line 1: arrays of tables are not read here");
  EXPECT_EQ(problem("[a"), "line 1: there is no ] at the end of the table's name");
  EXPECT_EQ(problem("a = '\xff'"), "line 1: the text is not UTF-8");
  for (const std::string value : {"1.5", "1979-05-27", "yes", "{}", "99999999999999999999"}) {
    EXPECT_TRUE(problem("a = " + value).starts_with("line 1: a value must be")) << value;
  }
  for (const std::string value : {"[1]", "['a' 'b']", "['a'", "["}) {
    EXPECT_TRUE(problem("a = " + value).starts_with("line 1: an array holds")) << value;
  }
}

TEST(Toml, ValuesAsOneWritesThem) {
  EXPECT_EQ(to_text(std::string("x")), "x");
  EXPECT_EQ(to_text(std::int64_t{-5}), "-5");
  EXPECT_EQ(to_text(true), "true");
  EXPECT_EQ(to_text(std::vector<std::string>{"a", "b"}), "a,b");
}

}  // namespace
}  // namespace flowfabric
