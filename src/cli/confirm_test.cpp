#include "cli/confirm.hpp"

#include <gtest/gtest.h>

namespace flowfabric::cli {
namespace {

struct Spoken {
  Result<bool> verdict;
  std::string question;
};

Spoken ask(const std::string& answer, bool yes, bool terminal) {
  std::FILE* in = std::tmpfile();
  std::FILE* out = std::tmpfile();
  std::fputs(answer.c_str(), in);
  std::rewind(in);
  auto verdict = confirm("cancel 3 executions?", yes, Asked{in, out, terminal});
  std::rewind(out);
  char buffer[200] = {};
  const std::size_t size = std::fread(buffer, 1, sizeof buffer - 1, out);
  std::fclose(in);
  std::fclose(out);
  return {std::move(verdict), std::string(buffer, size)};
}

TEST(Confirm, APersonIsAskedAndOnlyYesIsYes) {
  for (const char* yes : {"y\n", "Y\n", "yes\n", "YES\n", "y"})
    EXPECT_TRUE(ask(yes, false, true).verdict.value()) << yes;
  for (const char* no : {"\n", "", "n\n", "no\n", "yep\n", " y\n", "x\ny\n"}) {
    EXPECT_FALSE(ask(no, false, true).verdict.value()) << no;
  }
  EXPECT_EQ(ask("y\n", false, true).question, "cancel 3 executions? [y/N] ");
}

TEST(Confirm, YesInAdvanceAsksNobody) {
  for (const bool terminal : {false, true}) {
    const Spoken spoken = ask("n\n", true, terminal);
    EXPECT_TRUE(spoken.verdict.value());
    EXPECT_EQ(spoken.question, "");
  }
}

TEST(Confirm, WithNobodyToAskItIsRefused) {
  const Spoken spoken = ask("y\n", false, false);
  ASSERT_FALSE(spoken.verdict);
  EXPECT_EQ(spoken.verdict.error().code, Errc::invalid_argument);
  EXPECT_EQ(spoken.verdict.error().field, "--yes");
  EXPECT_NE(spoken.verdict.error().message.find("Nothing was changed"), std::string::npos);
  EXPECT_EQ(spoken.question, "");
}

}  // namespace
}  // namespace flowfabric::cli
