#include "base/toml.hpp"

#include <gtest/gtest.h>

namespace flowfabric {
namespace {

// "name=value" for each entry, with the type of the value before it.
std::vector<std::string> shown(std::string_view text) {
  const auto document = read_toml(text);
  if (!document) return {document.error().message};
  std::vector<std::string> all;
  for (const TomlEntry& entry : *document) {
    std::string line = name_of(entry) + "=";
    if (const auto string = string_of(entry)) line += "'" + *string + "'";
    if (const auto number = number_of(entry)) line += std::to_string(*number);
    if (const auto flag = flag_of(entry)) line += *flag ? "yes" : "no";
    if (const auto strings = strings_of(entry)) {
      for (const std::string& string : *strings) line += "<" + string + ">";
    }
    all.push_back(line);
  }
  return all;
}

using Lines = std::vector<std::string>;

TEST(Toml, TablesKeysAndValues) {
  EXPECT_EQ(shown("# a file\n"
                  "name = \"x\"  # why\r\n"
                  "\n"
                  "[profiles.default]\n"
                  "  store='sqlite:C:\\jobs.db'\n"
                  "retry.count = 1_000\n"
                  "on = true\n"
                  "[profiles.\"a b\".'c.d']\n"
                  "off = false\n"
                  "low = -5\n"
                  "high = +9223372036854775807\n"
                  "zero = 0"),
            (Lines{"name='x'", "profiles.default.store='sqlite:C:\\jobs.db'", "profiles.default.retry.count=1000",
                   "profiles.default.on=yes", "profiles.\"a b\".\"c.d\".off=no", "profiles.\"a b\".\"c.d\".low=-5",
                   "profiles.\"a b\".\"c.d\".high=9223372036854775807", "profiles.\"a b\".\"c.d\".zero=0"}));
  EXPECT_EQ(shown(""), Lines{});
  EXPECT_EQ(shown("\n  # nothing\n[empty]\n"), Lines{});
}

TEST(Toml, Strings) {
  EXPECT_EQ(shown(R"(a = "\b\t\n\f\r\"\\ \u00e4\U0001F600 #")"), Lines{"a='\b\t\n\f\r\"\\ \u00e4\U0001F600 #'"});
  EXPECT_EQ(shown(R"(a = '\n"#')"), Lines{"a='\\n\"#'"});
  EXPECT_EQ(shown("a = \"\"\nb = ''"), (Lines{"a=''", "b=''"}));
}

TEST(Toml, ArraysOfStrings) {
  EXPECT_EQ(shown("a = []\nb = [ \"x\", 'y' ]\nc = [ # first\n  \"1\",\n\n  \"2\", # last\n]\nd = 1"),
            (Lines{"a=", "b=<x><y>", "c=<1><2>", "d=1"}));
}

TEST(Toml, EntriesKnowTheirLine) {
  const auto document = read_toml("a = [\n\"1\"\n]\n\nb = 2\n");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->at(0).line, 1u);
  EXPECT_EQ(document->at(1).line, 5u);
  EXPECT_EQ(string_of(document->at(1)).error().message, "line 5: b: must be a quoted string");
  EXPECT_EQ(string_of(document->at(1)).error().field, "b");
}

TEST(Toml, ValuesAsOneWritesThem) {
  EXPECT_EQ(to_text(std::string("x")), "x");
  EXPECT_EQ(to_text(std::int64_t{-5}), "-5");
  EXPECT_EQ(to_text(true), "true");
  EXPECT_EQ(to_text(std::vector<std::string>{"a", "b"}), "a,b");
}

TEST(Toml, NamesCanStandInAFile) {
  for (const std::string name :
       {"a", "a.b", R"("")", R"("a b"."c.d")", R"("say \"x\"".'\')", R"("\u0000\t\u007f"."é")"}) {
    const auto entry = read_toml(name + " = 1");
    ASSERT_TRUE(entry) << name << ": " << entry.error().message;
    const auto again = read_toml(name_of(entry->front()) + " = 1");
    ASSERT_TRUE(again) << name << ": " << again.error().message;
    EXPECT_EQ(again->front().path, entry->front().path) << name;
  }
}

TEST(Toml, MistakesNameTheirLine) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"a", "line 1: the = after a is missing"},
      {"\n= 1", "line 2: expected a name"},
      {"a. = 1", "line 1: expected a name"},
      {"a =", "line 1: the value is missing"},
      {"a = \nb = 1", "line 1: the value is missing"},
      {"a = word", "line 1: \"word\" is not a value"},
      {"a = 1.5", "line 1: \"1.5\" is not a value"},
      {"a = 0x10", "line 1: \"0x10\" is not a value"},
      {"a = 010", "line 1: \"010\" is not a value"},
      {"a = 1__0", "line 1: \"1__0\" is not a value"},
      {"a = +-1", "line 1: \"+-1\" is not a value"},
      {"a = 9223372036854775808", "line 1: \"9223372036854775808\" is not a value"},
      {"a = 1 b = 2", "line 1: unexpected text after the value"},
      {"a = \"x", "line 1: the string is not closed"},
      {"a = \"x\nb\"", "line 1: the string is not closed"},
      {"a = 'x", "line 1: the string is not closed"},
      {"a = \"\"\"x\"\"\"", "line 1: multi-line strings"},
      {"a = '''x'''", "line 1: multi-line strings"},
      {"a = \"\\x\"", "line 1: unknown escape"},
      {"a = \"\\u12g4\"", "line 1: \\u needs the 4 hexadecimal digits"},
      {"a = \"\\ud800\"", "line 1: \\u needs the 4 hexadecimal digits"},
      {"a = \"\\U00110000\"", "line 1: \\U needs the 8 hexadecimal digits"},
      {"a = \"\\u12", "line 1: \\u needs the 4 hexadecimal digits"},
      {"a = [1]", "line 1: an array can contain only"},
      {"a = [\"x\" \"y\"]", "line 1: a , or ] is missing"},
      {"a = [\n\"x\",\n", "line 1: the array is not closed"},
      {"a = {b = 1}", "line 1: \"{b\" is not a value"},
      {"[a", "line 1: the ] after the name"},
      {"[]", "line 1: expected a name"},
      {"[[a]]", "line 1: arrays of tables"},
      {"[a] b = 1", "line 1: unexpected text after"},
      {"a = 1\na = 2", "line 2: a is already set in line 1"},
      {"a.b = 1\na = 2", "line 2: a is already set in line 1"},
      {"a = 1\na.b = 2", "line 2: a.b is already set in line 1"},
      {"a = 1\n[a]", "line 2: a is a value, not a table"},
      {"[a]\n[b]\n[a]", "line 3: the table [a] is defined twice"},
      {"a = \"\x01\"", "line 1: a string has a control character"},
      {"a = '\x7f'", "line 1: a string has a control character"},
      {"\"a\r\" = 1", "line 1: a string has a control character"},
      {"a = 1\nb = \"\xff\"", "line 2: is not valid UTF-8"},
  };
  for (const auto& [text, message] : mistakes) {
    const auto read = read_toml(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Errc::invalid_argument);
    EXPECT_TRUE(read.error().message.starts_with(message)) << text << "\n" << read.error().message;
  }
}

}  // namespace
}  // namespace flowfabric
