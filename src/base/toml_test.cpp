#include "base/toml.hpp"

#include <gtest/gtest.h>

#include "base/limits.hpp"

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

TEST(Toml, OtherWaysToWriteTheSame) {
  EXPECT_EQ(shown("a = 0x10\nb = \"\"\"\nx\n y\"\"\"\nc = '''z'''\nd = {on = true, e = [\"1\"]}\n"),
            (Lines{"a=16", "b='x\n y'", "c='z'", "d.on=yes", "d.e=<1>"}));
  EXPECT_EQ(shown("\xef\xbb\xbfz = 1\ny = 2\n[x]\nb = 3\na = 4\n"), (Lines{"z=1", "y=2", "x.b=3", "x.a=4"}))
      << "in the order of the text; a byte order mark is no part of it";
}

TEST(Toml, StringsCanBeReadAgain) {
  for (const std::string text : {"", "plain", "\"\\", "\n\r\t\x01\x7f", "\u00e4\U0001F600", "a = 'b' # c"}) {
    const auto document = read_toml("a = " + toml_string(text));
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_EQ(to_text(document->at(0).value), text);
  }
}

TEST(Toml, MistakesNameTheirLine) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"a", "line 1: Error while parsing key-value pair"},
      {"\n= 1", "line 2: Error while parsing root table"},
      {"a. = 1", "line 1: Error while parsing key"},
      {"a =", "line 1: Error while parsing key-value pair"},
      {"a = word", "line 1: the value is none of these: a quoted string, a whole number, true or false"},
      {"a = 010", "line 1: Error while parsing decimal integer: leading zeroes"},
      {"a = 9223372036854775808", "line 1: Error while parsing decimal integer: '9223372036854775808' is not"},
      {"a = 1 b = 2", "line 1: Error while parsing key-value pair: expected a comment"},
      {"a = 'x", "line 1: Error while parsing string"},
      {"a = \"\\x\"", "line 1: Error while parsing string: escape sequence"},
      {"a = [\n\"x\",\n", "line 2: Error while parsing array"},
      {"[a", "line 1: Error while parsing table header"},
      {"a = 1\na = 2", "line 2: Error while parsing key-value pair: cannot redefine existing integer 'a'"},
      {"a = 1\n[a]", "line 2: Error while parsing table header: cannot redefine existing integer 'a' as table"},
      {"[a]\n[b]\n[a]", "line 3: Error while parsing table header: cannot redefine existing table 'a'"},
      {"a = \"\x01\"", "line 1: Error while parsing string: unescaped control characters"},
      {"a = 1\nb = \"\xff\"", "line 2: Encountered invalid utf-8 sequence"},
      {"a = 1\n[ = 2]\nb = 3", "line 2: is not TOML"},
      {"[ ==", "line 1: is not TOML"},
      {"\u00e4 = 1", "line 1: Error while parsing root table"},
      {"a = 1\nb\u3042 = 1", "line 2: Error while parsing"},
      {"a = [[[[]]]]", "line 1: values are nested too deeply"},
  };
  for (const auto& [text, message] : mistakes) {
    const auto read = read_toml(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Errc::invalid_argument);
    EXPECT_TRUE(read.error().message.starts_with(message)) << text << "\n" << read.error().message;
  }
}

TEST(Toml, ValuesThatSettingsDoNotHaveAreRefusedByName) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"x = 0\na.b = 1.5", "line 2: a.b: must be a quoted string, a whole number, true or false, or an array"},
      {"x = 0\n[a]\nb = 2026-01-02", "line 3: a.b: must be a quoted string"},
      {"a.b = [1]", "line 1: a.b: an array can contain only quoted strings"},
      {"a.b = [[\"x\"]]", "line 1: a.b: an array can contain only quoted strings"},
      {"[[a.b]]\nc = 1", "line 1: a.b: an array can contain only quoted strings"},
  };
  for (const auto& [text, message] : mistakes) {
    const auto read = read_toml(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().field, "a.b");
    EXPECT_TRUE(read.error().message.starts_with(message)) << text << "\n" << read.error().message;
  }
}

TEST(Toml, LinesAreLimited) {
  const auto line = [](std::size_t bytes) { return "a = 1\nb = '" + std::string(bytes - 6, 'x') + "'\n"; };
  EXPECT_TRUE(read_toml(line(limits::max_toml_line_bytes)));
  EXPECT_EQ(read_toml(line(limits::max_toml_line_bytes + 1)).error().message,
            "line 2: has 8193 bytes; at most 8192 are allowed");
  // The deepest text that is read before its names are looked at, and deeper ones.
  for (const std::size_t parts : {std::size_t{257}, std::size_t{258}, limits::max_toml_line_bytes / 2 - 10}) {
    std::string deep = "a";
    for (std::size_t i = 1; i < parts; ++i) deep += ".a";
    const auto read = read_toml("[" + deep + "]\n" + deep + " = [\n{" + deep + " = []}]\n");
    EXPECT_EQ(read.error().message, "line 1: a name has more than 16 parts");
    const auto inner = read_toml("x = 1\ny = {" + deep + " = []}\n");
    EXPECT_EQ(inner.error().message, "line 2: a name has more than 16 parts");
  }
  const std::string dots(1000, '.');
  EXPECT_TRUE(read_toml("a = '" + dots + "'\nb = \"\"\"\n" + dots + "\n\"\"\"\n"));
  EXPECT_TRUE(read_toml("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p = 1"));
  EXPECT_EQ(read_toml("x = 1\na.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q = 1").error().message,
            "line 2: a name has more than 16 parts");
}

}  // namespace
}  // namespace flowfabric
