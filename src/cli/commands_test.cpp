#include "cli/commands.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "cli/command.hpp"
#include "cli/man_page.hpp"

#include "support/temp_dir.hpp"

namespace flowfabric::cli {
namespace {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

// Without the profiles of the user that runs the tests.
Outcome call(const std::vector<std::string>& arguments) {
  setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run(arguments);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Commands, HelpAndVersion) {
  const std::string version = call({"version"}).out;
  EXPECT_TRUE(version.starts_with("flowfabric " FLOWFABRIC_VERSION " (build ")) << version;
  EXPECT_EQ(call({"--version"}).out, version);
  EXPECT_TRUE(contains(call({"version", "--json"}).out, "{\"version\":\"" FLOWFABRIC_VERSION "\",\"build\":\""));
  const Outcome overview = call({"--help"});
  for (const char* name :
       {"demo", "migrate", "integrity", "top", "executions", "lanes", "workers", "leases", "keys", "retention"}) {
    EXPECT_TRUE(contains(overview.out, name)) << name;
    const Outcome help = call({"help", name});
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.out, call({name, "--help"}).out);
    EXPECT_TRUE(contains(help.out, std::string("usage: flowfabric ") + name));
  }
}

TEST(Commands, EveryVerbHasHelpThatItsGroupMentions) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> groups = {
      {"executions",
       {"create", "list", "show", "explain", "cancel", "replay", "revoke-lease", "priority", "signal", "resume", "tags",
        "history"}},
      {"signals", {"send"}},
      {"waits", {"list", "show"}},
      {"waitpoints", {"list", "close", "reissue"}},
      {"approvals", {"list", "decide"}},
      {"flows", {"submit", "wait", "cancel", "list", "show", "nodes", "edges", "graph", "result", "events"}},
      {"lanes", {"list", "pause", "resume", "drain", "disable"}},
      {"namespaces", {"list", "show", "set"}},
      {"workers", {"list", "mark-dead", "drain"}},
      {"leases", {"expired"}},
      {"keys", {"list", "rotate"}},
      {"retention", {"run"}}};
  for (const auto& [group, verbs] : groups) {
    const Outcome overview = call({group, "--help"});
    for (const std::string& verb : verbs) {
      EXPECT_TRUE(contains(overview.out, group + " " + verb)) << overview.out;
      const Outcome help = call({"help", group, verb});
      EXPECT_EQ(help.code, 0);
      EXPECT_EQ(help.out, call({group, verb, "--help"}).out);
      EXPECT_TRUE(contains(help.out, "usage: flowfabric " + group + " " + verb)) << help.out;
      EXPECT_TRUE(contains(help.out, "--store URL")) << help.out;
      EXPECT_TRUE(contains(help.out, "--json")) << help.out;
    }
    const Outcome bare = call({group});
    EXPECT_EQ(bare.code, 2);
    EXPECT_EQ(bare.err, overview.out);
  }
}

TEST(Commands, HelpFitsATerminal) {
  std::string all = call({"help"}).out;
  for (const char* group : {"executions", "flows", "lanes", "workers", "leases", "keys", "retention"}) {
    all += call({"help", group}).out;
  }
  for (const char* verb : {"list", "show", "cancel", "replay", "priority"})
    all += call({"help", "executions", verb}).out;
  for (std::size_t begin = 0, end; (end = all.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 120u) << all.substr(begin, end - begin);
  }
}

// Runs a completion script in bash with this command line, the cursor at its end.
std::string completed(const std::string& script, const std::vector<std::string>& words) {
  const test::TempDir folder;
  std::string line = "COMP_WORDS=(";
  for (const std::string& word : words) line += "'" + word + "' ";
  std::ofstream(folder.file("complete.sh"))
      << script << line << ")\nCOMP_CWORD=" << words.size() - 1 << "\n_flowfabric\nprintf '%s ' \"${COMPREPLY[@]}\"\n";
  FILE* pipe = popen(("bash " + folder.file("complete.sh")).c_str(), "r");
  std::string out;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << script;
  return out;
}

TEST(Commands, BashCompletesCommandsAndOptions) {
  const std::string script = call({"completion", "bash"}).out;
  EXPECT_EQ(completed(script, {"flowfabric", "exec"}), "executions ");
  EXPECT_EQ(completed(script, {"flowfabric", "lanes", "d"}), "drain disable ");
  EXPECT_EQ(completed(script, {"flowfabric", "executions", "list", "--sta"}), "--state ");
  EXPECT_EQ(completed(script, {"flowfabric", "events", "--fol"}), "--follow ");
  EXPECT_EQ(completed(script, {"flowfabric", "completion", "z"}), "zsh ");
  EXPECT_TRUE(contains(completed(script, {"flowfabric", "executions", "show", "--ca-file", "/et"}), "/etc"));
}

TEST(Commands, EveryShellKnowsEveryCommandAndOption) {
  EXPECT_EQ(call({"completion", "tcsh"}).code, 2);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = call({"completion", shell}).out;
    for (const Command& command : all_commands()) {
      const std::size_t space = command.spec.name.find(' ');
      EXPECT_TRUE(contains(script, command.spec.name.substr(space == std::string::npos ? 0 : space + 1))) << shell;
      for (const OptionSpec& option : command.spec.options) {
        EXPECT_TRUE(contains(script, shell == std::string("fish") ? "-l " + option.name.substr(2) : option.name))
            << shell << " " << command.spec.name << " " << option.name;
      }
    }
    const std::string known = "command -v " + std::string(shell) + " >/dev/null 2>&1";
    if (std::system(known.c_str()) != 0) continue;
    const test::TempDir folder;
    std::ofstream(folder.file("script")) << script;
    EXPECT_EQ(std::system((std::string(shell) + " -n " + folder.file("script")).c_str()), 0) << shell;
  }
}

TEST(Commands, TheManPageHasEveryCommandAndIsGoodRoff) {
  const std::string page = call({"man"}).out;
  for (const Command& command : all_commands()) {
    std::string name;
    for (const char c : command.spec.name) name += c == '-' ? "\\-" : std::string(1, c);
    EXPECT_TRUE(contains(page, ".SS flowfabric " + name)) << name;
  }
  if (std::system("command -v groff >/dev/null 2>&1") != 0) return;
  const test::TempDir folder;
  std::ofstream(folder.file("page")) << page;
  FILE* pipe = popen(("groff -man -Tascii -ww -z " + folder.file("page") + " 2>&1").c_str(), "r");
  std::string complaints;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) complaints += static_cast<char>(c);
  pclose(pipe);
  EXPECT_EQ(complaints, "");
}

TEST(Commands, EveryExitCodeIsDocumented) {
  std::set<int> documented;
  for (const ExitCode& exit : exit_codes()) documented.insert(exit.code);
  for (int code = static_cast<int>(Errc::invalid_argument); code <= static_cast<int>(Errc::internal); ++code) {
    EXPECT_TRUE(documented.contains(describe(static_cast<Errc>(code)).exit_code)) << code;
  }
  EXPECT_TRUE(documented.contains(0) && documented.contains(130));
}

TEST(Commands, UnknownVerbsNameTheGroup) {
  EXPECT_EQ(call({"executions", "canel"}).err,
            "flowfabric: unknown command \"executions canel\"; see flowfabric help executions\n");
  EXPECT_EQ(call({"executions", "canel", "--json"}).err,
            R"({"error":{"code":"invalid_argument","message":"unknown command \"executions canel\"; )"
            R"(see flowfabric help executions","retryable":false}})"
            "\n");
  EXPECT_EQ(call({"help", "lanes", "list", "all"}).code, 2);
}

TEST(Commands, AnEmptyStoreIsToldInASentence) {
  EXPECT_EQ(call({"executions", "list", "--store", "memory:"}).out, "this store has no executions yet\n");
  EXPECT_EQ(call({"executions", "list", "--store", "memory:", "--lane", "x"}).out, "no matching executions\n");
  EXPECT_TRUE(contains(call({"lanes", "list", "--store", "memory:"}).out, "no lanes yet"));
  EXPECT_EQ(call({"executions", "cancel", "--store", "memory:", "--lane", "x"}).out, "no matching executions\n");
  EXPECT_EQ(call({"executions", "list", "--store", "memory:", "--json"}).out, R"({"executions":[],"next_cursor":""})"
                                                                              "\n");
}

TEST(Commands, TheStoreComesFromOptionOperandOrEnvironment) {
  unsetenv("FLOWFABRIC_STORE");
  const Outcome none = call({"executions", "list"});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(contains(none.err, "FLOWFABRIC_STORE")) << none.err;
  EXPECT_EQ(call({"integrity", "memory:"}).code, 0);
  EXPECT_EQ(call({"integrity", "--store", "memory:"}).code, 0);
  EXPECT_EQ(call({"integrity", "--store", "memory:", "--json"}).out, "{\"findings\":[]}\n");
  EXPECT_EQ(call({"integrity", "memory:", "--store", "memory:"}).code, 2);
  setenv("FLOWFABRIC_STORE", "memory:", 1);
  EXPECT_EQ(call({"executions", "list"}).code, 0);
  EXPECT_EQ(call({"integrity"}).code, 0);
  EXPECT_EQ(call({"migrate"}).code, 0);
  unsetenv("FLOWFABRIC_STORE");
}

TEST(Commands, BulkCommandsWantIdsOrAFilterThatMakesSense) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"executions", "cancel"}, "no executions given"},
      {{"executions", "cancel", "fp7-01890000-0000-7000-8000-000000000001", "--lane", "x"}, "not both"},
      {{"executions", "cancel", "fp7-01890000-0000-7000-8000-000000000001", "--dry-run"}, "--dry-run"},
      {{"executions", "cancel", "--state", "completed"}, "cannot be applied to executions that are completed"},
      {{"executions", "replay", "--state", "waiting"}, "cannot be applied to executions that are waiting"},
      {{"executions", "cancel", "--state", "sleeping"}, "--state"},
      {{"executions", "cancel", "--tag", "oops"}, "--tag must be KEY=VALUE"},
      {{"executions", "priority", "--lane", "x"}, "--to"},
      {{"executions", "priority", "--lane", "x", "--to", "99999"}, "--to"},
      {{"executions", "signal", "--lane", "x"}, "--waitpoint NAME is missing"},
      {{"executions", "signal", "--waitpoint", "w"}, "no executions given"},
      {{"executions", "signal", "--waitpoint", "w", "--state", "failed"},
       "cannot be applied to executions that are failed"},
      {{"executions", "list", "--all", "--limit", "5"}, "cannot be combined"},
      {{"executions", "list", "--limit", "0"}, "--limit"},
      {{"executions", "show", "7"}, "an execution id has the form"},
      {{"keys", "rotate", "--grace", "soon"}, "--grace must be a duration"},
      {{"leases", "expired", "--as-of", "soon"}, "--as-of must be a time"},
      {{"retention", "run", "--older-than", "7"}, "--older-than must be a duration"},
      {{"retention", "run"}, "--yes"},
  };
  for (auto [words, sentence] : mistakes) {
    words.insert(words.end(), {"--store", "memory:"});
    const Outcome outcome = call(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, sentence)) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Commands, NothingMakesAFile) {
  const test::TempDir folder;
  const std::string url = "sqlite:" + folder.file("store.db");
  const std::vector<std::vector<std::string>> all = {
      {"executions", "list"},
      {"executions", "cancel", "--lane", "x", "--yes"},
      {"executions", "cancel", "fp7-01890000-0000-7000-8000-000000000001"},
      {"executions", "resume", "fp7-01890000-0000-7000-8000-000000000001"},
      {"signals", "send", "fp7-01890000-0000-7000-8000-000000000001", "w"},
      {"signals", "send", "--token", "t"},
      {"waits", "list"},
      {"waitpoints", "list", "fp7-01890000-0000-7000-8000-000000000001"},
      {"lanes", "list"},
      {"lanes", "pause", "x"},
      {"workers", "list"},
      {"keys", "rotate", "--yes"},
      {"retention", "run", "--yes"}};
  for (auto words : all) {
    words.insert(words.end(), {"--store", url});
    EXPECT_EQ(call(words).code, 3) << words[0] << words[1];
    EXPECT_FALSE(std::filesystem::exists(folder.file("store.db"))) << words[0] << words[1];
  }
}

TEST(Commands, MistakesAreOneSentenceAndCodeTwo) {
  const std::vector<std::vector<std::string>> mistakes = {{"dmeo"},
                                                          {"help", "dmeo"},
                                                          {"demo", "--exectuions", "5"},
                                                          {"demo", "--executions", "many"},
                                                          {"demo", "extra"},
                                                          {"integrity"},
                                                          {"integrity", "nonsense"},
                                                          {"migrate", "mysql:x"},
                                                          {"--nonsense"},
                                                          {"demo", "--seed"},
                                                          {"demo", "--store", "http://x"},
                                                          {"migrate", "https://x"},
                                                          {"integrity", "http://x"},
                                                          {"serve", "--store", "http://127.0.0.1:1", "--listen", "0"}};
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
    EXPECT_TRUE(contains(outcome.out, "all executions have the expected result")) << outcome.out;
    EXPECT_FALSE(contains(outcome.out, "\x1b")) << "a file is no terminal";
  }
}

}  // namespace
}  // namespace flowfabric::cli
