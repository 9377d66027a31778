// Runs the commands of docs/start.md and docs/operating.md, draws the pictures of docs/flows.md, and checks the documented
// results.
#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <regex>
#include <thread>

#include <gtest/gtest.h>

#include "cli/fixture.hpp"
#include "cli/settings.hpp"
#include "net/http_client.hpp"
#include "net/target.hpp"
#include "support/free_port.hpp"
#include "support/postgres_server.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

namespace json = boost::json;

std::string document(const std::string& name) {
  std::ifstream in(FF_SOURCE_DIR "/docs/" + name);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  if (content.empty()) throw std::runtime_error("there is no " + name);
  return content;
}

// The part of a document below a heading.
std::string section(const std::string& content, const std::string& heading) {
  const std::size_t begin = content.find("\n" + heading + "\n");
  if (begin == std::string::npos) throw std::runtime_error("there is no section " + heading);
  const std::string level = heading.substr(0, heading.find(' ') + 1);
  return content.substr(begin, content.find("\n" + level, begin + 1) - begin);
}

// The blocks of commands in it.
std::vector<std::string> commands_of(const std::string& content) {
  constexpr std::string_view opening = "\n```sh\n";
  std::vector<std::string> blocks;
  for (std::size_t at = content.find(opening); at != std::string::npos; at = content.find(opening, at)) {
    at += opening.size();
    blocks.push_back(content.substr(at, content.find("```", at) - at));
  }
  return blocks;
}

std::string replaced(std::string content, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = content.find(from, at)) != std::string::npos; at += to.size()) {
    content.replace(at, from.size(), to);
  }
  return content;
}

// ---- docs/start.md

TEST(Start, ItsCommandsDoWhatItPromises) {
  const test::TempDir folder;
  const std::string port = std::to_string(test::free_port());
  std::string script;
  for (const std::string& block : commands_of(document("start.md"))) script += "echo; echo '== next'\n" + block;
  script = replaced(replaced(script, "./dev setup && ./dev build\n", ""), "7070", port);
  const Finished finished = run_script(
      script, folder.file(""),
      {"HOME=" + folder.file("home"), "XDG_DATA_HOME=" + folder.file("data"), "FLOWFABRIC_LISTEN=127.0.0.1:" + port});
  SCOPED_TRACE(finished.out + finished.err);
  ASSERT_EQ(finished.code, 0);

  std::vector<std::string> said;
  for (std::size_t at = finished.out.find("== next\n"); at != std::string::npos;) {
    const std::size_t end = finished.out.find("== next\n", at + 1);
    said.push_back(finished.out.substr(at + 8, end == std::string::npos ? end : end - at - 8));
    at = end;
  }
  ASSERT_EQ(said.size(), 11u);
  EXPECT_TRUE(contains(said[0], "FlowFabric serves sqlite at http://127.0.0.1:" + port));
  EXPECT_TRUE(contains(said[1], R"("duplicate":false)"));
  EXPECT_TRUE(contains(said[2], R"("duplicate":true)"));
  EXPECT_TRUE(contains(said[6], R"("attempt_index":1)"));
  EXPECT_TRUE(contains(said[6], R"("worker_instance_id":"mailer-2")"));
  EXPECT_TRUE(contains(said[7], R"("code":"lease_expired")"));
  EXPECT_TRUE(contains(said[8], "{}"));
  EXPECT_TRUE(std::regex_search(
      said[9], std::regex("created[^]*claimed[^]*mailer-1[^]*lease_expired[^]*claimed[^]*mailer-2[^]*completed")));
  EXPECT_TRUE(contains(said[10], "stopping"));

  const auto list = run_program(
      {"executions", "list", "--store", "sqlite:" + folder.file("data/flowfabric/flowfabric.db"), "--json"});
  const auto executions = json::parse(list.out).at("executions").as_array();
  ASSERT_EQ(executions.size(), 1u) << list.out << list.err;
  EXPECT_EQ(text(executions[0].at("public_state")), "completed");
  EXPECT_EQ(executions[0].at("attempt_count").as_int64(), 2);
}

// ---- docs/flows.md

// The text between the first line `opening` after `at` and the next fence. Moves `at` behind it.
std::string block_after(const std::string& content, const std::string& opening, std::size_t& at) {
  const std::size_t begin = content.find(opening, at);
  if (begin == std::string::npos) {
    at = begin;
    return {};
  }
  at = content.find("```\n", begin + opening.size());
  return content.substr(begin + opening.size(), at - begin - opening.size());
}

// With FF_UPDATE_DOCS=1 the pictures are written anew.
TEST(FlowsDocument, ItsPicturesAreThoseOfTheExport) {
  const test::TempDir folder;
  const std::string store = "sqlite:" + folder.file("jobs.db");
  ASSERT_EQ(run_program({"migrate", store}).code, 0);
  const std::string content = document("flows.md");
  std::string written;
  std::size_t pictures = 0;
  for (std::size_t at = 0;;) {
    const std::size_t before = at;
    const std::string graph = block_after(content, "\n```json\n", at);
    if (at == std::string::npos) {
      written += content.substr(before);
      break;
    }
    const std::string picture = block_after(content, "\n```mermaid\n", at);
    ASSERT_NE(at, std::string::npos) << "a graph has no picture";
    std::ofstream(folder.file("flow.json")) << graph;
    const Finished submitted = run_program({"flows", "submit", folder.file("flow.json"), "--store", store});
    ASSERT_EQ(submitted.code, 0) << submitted.err;
    const std::string id = submitted.out.substr(0, submitted.out.size() - 1);
    const Finished drawn = run_program({"flows", "graph", id, "--format", "mermaid", "--store", store});
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    if (getenv("FF_UPDATE_DOCS") == nullptr) {
      EXPECT_EQ(picture, drawn.out) << "docs/flows.md";
    }
    written += content.substr(before, at - picture.size() - before) + drawn.out;
    ++pictures;
  }
  EXPECT_GE(pictures, 2u);
  if (getenv("FF_UPDATE_DOCS") != nullptr) std::ofstream(FF_SOURCE_DIR "/docs/flows.md") << written;
}

// ---- docs/operating.md

TEST(Operating, ItsTableHasEverySettingAsItIs) {
  std::string table = "| setting | default | what it is |\n|---|---|---|\n";
  for (const cli::SettingSpec& spec : cli::setting_specs()) {
    const std::string otherwise = spec.otherwise.empty() ? "" : "`" + std::string(spec.otherwise) + "`";
    table += "| `" + std::string(spec.name) + "` | " + otherwise + " | " + std::string(spec.about) + " |\n";
  }
  EXPECT_TRUE(contains(document("operating.md"), table)) << "docs/operating.md should have this table:\n" << table;
}

// Uses a server like a program in any language.
class Caller {
 public:
  explicit Caller(const std::string& url) : http_(net::HttpClient::create({.url = url}).value()) {}

  json::value call(const std::string& method, const std::string& target, const std::string& body = {}) {
    net::ClientRequest request;
    request.method = method;
    request.target = target;
    request.body = body;
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    const auto response = http_.request(request);
    if (!response) throw std::runtime_error(response.error().message);
    if (response->status >= 300) throw std::runtime_error(response->body);
    return json::parse(response->body);
  }
  std::string create() { return text(call("POST", "/v1/executions", R"({"kind":"k"})").at("execution_id")); }
  // Empty if there is no work.
  std::string claim() {
    const auto claimed =
        call("POST", "/v1/claims", R"({"worker_id":"w","worker_instance_id":"w-1","lease_ttl_ms":1000,"wait_ms":200})");
    const auto& executions = claimed.at("executions").as_array();
    return executions.empty() ? "" : text(executions[0].at("handle"));
  }
  void complete(const std::string& handle) { call("POST", "/v1/leases/complete", R"({"handle":")" + handle + R"("})"); }
  std::string state_of(const std::string& id) {
    return text(call("GET", "/v1/executions/" + net::percent_encode(id) + "/state").at("public_state"));
  }
  // Those that have not ended.
  std::int64_t open_ones() {
    std::int64_t count = 0;
    const json::value counts = call("GET", "/v1/counts");
    for (const json::value& lane : counts.at("lanes").as_array()) {
      for (const auto& [state, number] : lane.at("counts").as_object()) {
        if (state != "completed") count += number.as_int64();
      }
    }
    return count;
  }

 private:
  net::HttpClient http_;
};

// A server under continuous load: every second lease is abandoned.
class BusyServer {
 public:
  explicit BusyServer(const std::string& store_url) : server_(store_url), load_([this] { work(); }) {}
  ~BusyServer() { stop(); }

  // Waits until this many more were created; returns all that were acknowledged by then.
  std::vector<std::string> after_more(std::size_t count) {
    const std::size_t wanted = acknowledged().size() + count;
    while (acknowledged().size() < wanted && !failed_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return acknowledged();
  }
  // Ends the load, and then kills the server.
  void stop() {
    if (!load_.joinable()) return;
    enough_ = true;
    load_.join();
    server_.kill_hard();
  }

 private:
  std::vector<std::string> acknowledged() {
    const std::lock_guard lock(mutex_);
    return ids_;
  }
  void work() {
    try {
      Caller caller(server_.url());
      for (int turn = 0; !enough_; ++turn) {
        const std::string id = caller.create();
        const std::string handle = caller.claim();
        if (turn % 2 == 0 && !handle.empty()) caller.complete(handle);
        const std::lock_guard lock(mutex_);
        ids_.push_back(id);
      }
    } catch (const std::exception& problem) {
      failed_ = true;
      ADD_FAILURE() << "the load came to an end: " << problem.what();
    }
  }

  RunningServer server_;
  std::mutex mutex_;
  std::vector<std::string> ids_;
  std::atomic<bool> enough_{false};
  std::atomic<bool> failed_{false};
  std::thread load_;
};

// A server on the restored copy must end everything that had been acknowledged when the backup began.
void finish_the_work(const std::string& store_url, const std::vector<std::string>& ids) {
  const RunningServer server(store_url);
  Caller caller(server.url());
  while (caller.open_ones() > 0) {
    if (const std::string handle = caller.claim(); !handle.empty()) caller.complete(handle);
  }
  for (const std::string& id : ids) EXPECT_EQ(caller.state_of(id), "completed") << id;
}

// The commands of the section for one kind of store.
std::string backup_commands(const std::string& about) {
  std::string all;
  for (const std::string& block : commands_of(section(document("operating.md"), "## Backup and restore"))) {
    if (contains(block, about)) all += block;
  }
  EXPECT_FALSE(all.empty()) << about;
  return all;
}

TEST(Operating, ASqliteFileIsSavedWhileAServerRuns) {
  const test::TempDir folder;
  BusyServer busy("sqlite:" + folder.file("jobs.db"));
  const auto ids = busy.after_more(60);
  const Finished saved = run_script(backup_commands("sqlite3"), folder.file(""));
  ASSERT_EQ(saved.code, 0) << saved.out << saved.err;
  EXPECT_EQ(saved.out, "no problems found\n");
  EXPECT_GT(busy.after_more(1).size(), ids.size()) << "the server went on";
  busy.stop();
  finish_the_work("sqlite:" + folder.file("copy.db"), ids);
}

// A separate database on the cluster of the tests.
class OwnDatabase {
 public:
  explicit OwnDatabase(const std::string& name) : name_(name) { execute("CREATE DATABASE " + name_); }
  ~OwnDatabase() {
    execute("DROP DATABASE IF EXISTS " + copy_name() + " WITH (FORCE)");
    execute("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  }
  // Everything before the name.
  static std::string cluster() {
    const std::string url = test::postgres_test_url();
    return url.substr(0, url.rfind('/') + 1);
  }
  std::string url() const { return cluster() + name_; }
  std::string copy_name() const { return name_ + "_copy"; }
  std::string copy_url() const { return cluster() + copy_name(); }

  static void execute(const std::string& statement) {
    PGconn* connection = PQconnectdb(test::postgres_test_url().c_str());
    PGresult* result = PQexec(connection, statement.c_str());
    const std::string problem = PQresultErrorMessage(result);
    PQclear(result);
    PQfinish(connection);
    EXPECT_EQ(problem, "") << statement;
  }

 private:
  std::string name_;
};

std::string with_urls(const std::string& commands, const std::string& source, const std::string& copies) {
  std::string script =
      replaced(commands, "postgres://flow@db/flow_copy", copies + source.substr(source.rfind('/') + 1) + "_copy");
  script = replaced(script, "postgres://flow@db/postgres", copies + "postgres");
  script = replaced(script, "postgres://flow@db/flow", source);
  return replaced(script, "flow_copy", source.substr(source.rfind('/') + 1) + "_copy");
}

TEST(Operating, APostgresDatabaseIsSavedWhileAServerRuns) {
  const test::TempDir folder;
  const OwnDatabase database("ff_backup_" + std::to_string(getpid()));
  ASSERT_EQ(run_program({"migrate", database.url()}).code, 0);
  BusyServer busy(database.url());
  const auto ids = busy.after_more(60);
  const std::string commands = backup_commands("pg_dump");
  const Finished saved = run_script(with_urls(commands, database.url(), OwnDatabase::cluster()), folder.file(""));
  ASSERT_EQ(saved.code, 0) << saved.out << saved.err;
  EXPECT_EQ(saved.out, "no problems found\n");
  EXPECT_GT(busy.after_more(1).size(), ids.size()) << "the server went on";
  busy.stop();
  finish_the_work(database.copy_url(), ids);

  // A dump of a database with high transaction ids goes into a new cluster, whose ids are lower.
  for (int i = 0; i < 200; ++i) OwnDatabase::execute("SELECT pg_current_xact_id()");
  ASSERT_EQ(run_program({"integrity", database.url()}).code, 0);
  const test::TempDir elsewhere;
  auto other = test::PostgresServer::start();
  const std::string other_cluster = other.url().substr(0, other.url().rfind('/') + 1);
  const Finished moved = run_script(with_urls(commands, database.url(), other_cluster), elsewhere.file(""));
  EXPECT_EQ(moved.code, 0) << moved.out << moved.err;
  EXPECT_EQ(moved.out, "no problems found\n");
  finish_the_work(other_cluster + database.copy_name(), ids);
}

}  // namespace
}  // namespace flowfabric::cli_test
