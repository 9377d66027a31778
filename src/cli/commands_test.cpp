#include "cli/commands.hpp"

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"

namespace flowfabric::cli {
namespace {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome call(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run(arguments);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Commands, HelpAndVersion) {
  EXPECT_EQ(call({"--version"}).out, "flowfabric " FLOWFABRIC_VERSION "\n");
  const Outcome overview = call({"--help"});
  for (const char* name : {"demo", "migrate", "integrity"}) {
    EXPECT_TRUE(contains(overview.out, name)) << name;
    const Outcome help = call({"help", name});
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.out, call({name, "--help"}).out);
    EXPECT_TRUE(contains(help.out, std::string("usage: flowfabric ") + name));
  }
}

TEST(Commands, MistakesAreOneSentenceAndCodeTwo) {
  const std::vector<std::vector<std::string>> mistakes = {
      {"dmeo"},          {"help", "dmeo"},  {"demo", "--exectuions", "5"}, {"demo", "--executions", "many"},
      {"demo", "extra"}, {"integrity"},     {"integrity", "nonsense"},     {"migrate", "mysql:x"},
      {"--nonsense"},    {"demo", "--seed"}};
  for (const auto& words : mistakes) {
    const Outcome outcome = call(words);
    EXPECT_EQ(outcome.code, 2) << words.back();
    EXPECT_TRUE(outcome.out.empty()) << outcome.out;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  EXPECT_TRUE(contains(call({"demo", "--exectuions", "5"}).err, "--exectuions"));
}

TEST(Commands, IntegrityLooksWithoutTouching) {
  const test::TempDir folder;
  const std::string url = "sqlite:" + folder.file("store.db");
  const Outcome missing = call({"integrity", url});
  EXPECT_EQ(missing.code, 3);
  EXPECT_FALSE(std::filesystem::exists(folder.file("store.db")));
  EXPECT_EQ(call({"migrate", url}).code, 0);
  const Outcome clean = call({"integrity", url});
  EXPECT_EQ(clean.code, 0);
  EXPECT_EQ(clean.out, "no problems found\n");
}

TEST(Commands, DemoAccountsForEverythingTwiceInOneStore) {
  const test::TempDir folder;
  const std::string url = "sqlite:" + folder.file("store.db");
  for (const char* seed : {"1", "2"}) {
    const Outcome outcome = call({"demo", "--store", url, "--executions", "300", "--workers", "4", "--seed", seed});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "every execution is accounted for")) << outcome.out;
    EXPECT_FALSE(contains(outcome.out, "\x1b")) << "a file is no terminal";
  }
}

}  // namespace
}  // namespace flowfabric::cli
