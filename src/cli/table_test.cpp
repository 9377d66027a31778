#include "cli/table.hpp"

#include <gtest/gtest.h>

namespace flowfabric::cli {
namespace {

Table people() {
  Table table({{"NAME", false, true}, {"AGE", true}, {"TOWN"}});
  table.add({{"Ada"}, {"36"}, {"London"}});
  table.add({{"Grace Brewster Hopper"}, {"85", Tone::good}, {"Arlington"}});
  return table;
}

TEST(Tables, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(people().render({}),
            "NAME                   AGE  TOWN\n"
            "Ada                     36  London\n"
            "Grace Brewster Hopper   85  Arlington\n");
}

TEST(Tables, ANarrowTerminalCutsOnlyWhatMayShrink) {
  EXPECT_EQ(people().render({28, false, true}),
            "NAME          AGE  TOWN\n"
            "Ada            36  London\n"
            "Grace Brews…   85  Arlington\n");
  // No column shrinks below a readable width, and without UTF-8 the mark is a plain character.
  EXPECT_EQ(people().render({5, false, false}),
            "NAME      AGE  TOWN\n"
            "Ada        36  London\n"
            "Grace B~   85  Arlington\n");
}

TEST(Tables, ColourDoesNotDisturbTheColumns) {
  const std::string coloured = people().render({0, true, true});
  EXPECT_NE(coloured.find("  \x1b[32m85\x1b[0m  Arlington"), std::string::npos) << coloured;
  EXPECT_EQ(people().render({}).find('\x1b'), std::string::npos);
}

TEST(Tables, CharactersCountNotBytes) {
  Table table({{"A"}, {"B"}});
  table.add({{"äöü"}, {"x"}});
  table.add({{"abc"}, {"y"}});
  EXPECT_EQ(table.render({}), "A    B\näöü  x\nabc  y\n");
}

TEST(Tables, WithoutTitlesThereIsNoTitleLine) {
  Table table({{}, {}});
  table.add({{"state"}, {"waiting"}});
  EXPECT_EQ(table.render({}), "state  waiting\n");
}

TEST(Tables, TextsCannotActOnTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\x7f"), "a [31mb c ");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a 31m");
  EXPECT_EQ(printable("käse"), "käse");
  Table table({Column{}});
  table.add({{"\x1b[2J"}});
  EXPECT_EQ(table.render({}), " [2J\n");
}

TEST(Tables, Counting) {
  EXPECT_EQ(counted(0, "execution"), "0 executions");
  EXPECT_EQ(counted(1, "execution"), "one execution");
  EXPECT_EQ(counted(2, "execution"), "2 executions");
}

}  // namespace
}  // namespace flowfabric::cli
