// How `flowfabric serve` handles the limits of the machine.
#include <gtest/gtest.h>

#include <flowfabric/engine.hpp>

#include "cli/program.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

// Serves with a limit of open files; prints the resulting limits of the server, and its messages about them.
std::string limits_of_server(const std::string& limit) {
  const test::TempDir folder;
  const Finished finished = run_script(limit + R"(
flowfabric serve --store sqlite:jobs.db --listen 127.0.0.1:0 --max-connections 1000 > said 2>&1 &
while ! grep -q 'FlowFabric serves' said; do kill -0 $!; sleep 0.02; done
grep 'Max open files' /proc/$!/limits
cat said
)",
                                       folder.file(""));
  EXPECT_EQ(finished.code, 0) << finished.err;
  return finished.out;
}

TEST(Serve, AsksForAsManyOpenFilesAsItsConnectionsNeed) {
  const std::string out = limits_of_server("ulimit -Sn 256");
  EXPECT_NE(out.find("Max open files            1200 "), std::string::npos) << out;
  EXPECT_EQ(out.find("max_connections"), std::string::npos) << out;
}

TEST(Serve, SaysWhenItMayNotOpenSoMany) {
  const std::string out = limits_of_server("ulimit -n 256");
  EXPECT_NE(out.find("Max open files            256 "), std::string::npos) << out;
  EXPECT_NE(out.find("max_connections needs more open files"), std::string::npos) << out;
}

TEST(Serve, SettingsThatWouldBeIgnoredStopIt) {
  const test::TempDir folder;
  const Finished misspelt =
      run_program({"serve", "--store", "memory:", "--listen", "127.0.0.1:0"}, {"FLOWFABRIC_AUHT=keys"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_NE(misspelt.err.find("FLOWFABRIC_AUHT: unknown environment variable"), std::string::npos) << misspelt.err;
  const Finished directory = run_program({"serve", "--store", "memory:", "--config", folder.file("")});
  EXPECT_EQ(directory.code, 2);
  EXPECT_NE(directory.err.find("is a directory"), std::string::npos) << directory.err;
}

TEST(Serve, ShowsNoSecrets) {
  const std::string store = "postgres://u:hush@localhost/db";
  const Finished printed =
      run_program({"serve", "--print-config", "--store", store}, {"FLOWFABRIC_OTLP_HEADERS=k=hush"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_NE(printed.out.find("postgres://u:***@localhost/db"), std::string::npos) << printed.out;
  EXPECT_EQ((printed.out + printed.err).find("hush"), std::string::npos) << printed.out;
}

// A key of one namespace is enough for what one can look at in that namespace.
TEST(Serve, AKeyOfOneNamespaceSeesItsLanes) {
  const test::TempDir folder;
  const std::string store = "sqlite:" + folder.file("jobs.db");
  std::string all, team;
  {
    const auto engine = Engine::open(store).value();
    team = engine->create_api_key({"team", ApiRole::viewer, "team", 0}, {}).value().secret;
    for (const char* name_space : {"team", "other"}) {
      CreateRequest request;
      request.kind = "k";
      request.name_space = name_space;
      request.lane = std::string("lane-of-") + name_space;
      ASSERT_TRUE(engine->create(request));
    }
  }
  const RunningServer server(store, {"--auth", "keys"});
  const Words there = {"--store", server.url(), "--api-key", team};
  for (const Words& words : {Words{"lanes", "list", "--namespace", "team"}, Words{"lanes", "list"},
                             Words{"top", "--once", "--interval", "100ms", "--namespace", "team"}}) {
    Words whole = words;
    whole.insert(whole.end(), there.begin(), there.end());
    const Finished finished = run_program(whole);
    EXPECT_EQ(finished.code, 0) << words.front() << finished.err;
    EXPECT_NE(finished.out.find("lane-of-team"), std::string::npos) << finished.out;
    EXPECT_EQ(finished.out.find("lane-of-other"), std::string::npos) << finished.out;
  }
}

constexpr const char* start_server = R"(
flowfabric serve --store sqlite:jobs.db --listen 127.0.0.1:0 > said 2>&1 &
server=$!
while ! grep -q 'FlowFabric serves' said; do kill -0 $server; sleep 0.02; done
url=$(grep -o 'http://[0-9.:]*' said | head -1)
)";

TEST(Serve, ExitsWhenItsDatabaseIsRemovedAndDoesNotBeginANewOne) {
  const test::TempDir folder;
  const Finished finished = run_script(std::string(start_server) + R"(
rm jobs.db
code=0; wait $server || code=$?
echo "exit code $code"
cat said
flowfabric serve --store sqlite:jobs.db --listen 127.0.0.1:0 2>&1 || echo "refused with $?"
)",
                                       folder.file(""));
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_NE(finished.out.find("exit code 5\n"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("jobs.db was removed or moved while it was in use"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("jobs.db-wal is there"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("refused with 5\n"), std::string::npos) << finished.out;
}

TEST(Serve, KeepsItsFolderAndItsFilesToItself) {
  const test::TempDir folder;
  const Finished finished = run_script(R"(
umask 000
flowfabric serve --listen 127.0.0.1:0 > said 2>&1 &
while ! grep -q 'FlowFabric serves' said; do kill -0 $!; sleep 0.02; done
stat -c '%a %n' data/flowfabric data/flowfabric/*
)",
                                       folder.file(""), {"XDG_DATA_HOME=" + folder.file("data")});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "700 data/flowfabric\n600 data/flowfabric/flowfabric.db\n600 data/flowfabric/flowfabric.db-shm\n"
            "600 data/flowfabric/flowfabric.db-wal\n");
}

// The limit of a file's size stands for a full disk.
TEST(Serve, IsNotReadyWhileNothingCanBeWritten) {
  const test::TempDir folder;
  const Finished finished = run_script("trap '' XFSZ\nulimit -Sf 2000\n" + std::string(start_server) + R"(
ready() { curl -s -o answer -w '%{http_code}' $url/readyz; }
[ $(ready) = 200 ]
payload=$(head -c 300000 /dev/zero | tr '\0' x)
printf '{"kind":"job","payload":"%s"}' "$payload" > body
until curl -s -H 'content-type: application/json' --data @body $url/v1/executions | grep -q '"error"'; do :; done
until [ $(ready) = 503 ]; do sleep 0.05; done
cat answer
prlimit --pid $server --fsize=unlimited
until [ $(ready) = 200 ]; do sleep 0.05; done
echo; grep -c 'the store cannot be written to' said
grep -c 'the store can be written to again' said
)",
                                       folder.file(""));
  EXPECT_EQ(finished.code, 0) << finished.err << finished.out;
  EXPECT_NE(finished.out.find("\n1\n1\n"), std::string::npos) << "each is said once: " << finished.out;
}

}  // namespace
}  // namespace flowfabric::cli_test
