// The selection of the server or store, the requests of the program, and its reaction to strange responses.
#include <filesystem>
#include <fstream>
#include <mutex>

#include <gtest/gtest.h>

#include "cli/fixture.hpp"
#include "net/http_server.hpp"
#include "support/certificates.hpp"
#include "support/http_server.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

// A server that has no executions and remembers the requests.
class Listener {
 public:
  explicit Listener(net::ServerOptions options = {}) : secure_(!options.certificate_file.empty()) {
    server_ =
        test::serve([this](const std::shared_ptr<net::Exchange>& exchange) { answer(*exchange); }, std::move(options));
  }
  std::string url() const { return (secure_ ? "https" : "http") + ("://127.0.0.1:" + std::to_string(server_->port())); }
  void will_answer(int status, std::string body) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    body_ = std::move(body);
  }
  // Of the last request; "-" if it had none.
  std::string authorization() {
    const std::lock_guard lock(mutex_);
    return authorization_;
  }

 private:
  void answer(net::Exchange& exchange) {
    const std::lock_guard lock(mutex_);
    authorization_ = exchange.request().headers.find("authorization").value_or("-");
    exchange.respond({.status = status_, .body = body_});
  }

  bool secure_;
  std::mutex mutex_;
  int status_ = 200;
  std::string body_ = R"({"executions":[],"next_cursor":""})";
  std::string authorization_;
  std::unique_ptr<net::HttpServer> server_;
};

const std::string empty_list = "this store has no executions yet\n";

class Places : public testing::Test {
 protected:
  void write_config(const std::string& text) const {
    std::filesystem::create_directories(folder.file("flowfabric"));
    std::ofstream(folder.file("flowfabric/config.toml")) << text;
  }
  Finished list(const Words& more = {}, const Words& environment = {}) const {
    return run_program(Words{"executions", "list"} + more, Words{"XDG_CONFIG_HOME=" + folder.file("")} + environment);
  }

  test::TempDir folder;
};

TEST_F(Places, TheKeyIsSentFromOptionEnvironmentOrProfile) {
  Listener server;
  EXPECT_EQ(list({"--store", server.url()}).out, empty_list);
  EXPECT_EQ(server.authorization(), "-");
  list({"--store", server.url(), "--api-key", "k1"}, {"FLOWFABRIC_API_KEY=k2"});
  EXPECT_EQ(server.authorization(), "Bearer k1");
  list({}, {"FLOWFABRIC_STORE=" + server.url(), "FLOWFABRIC_API_KEY=k2"});
  EXPECT_EQ(server.authorization(), "Bearer k2");
  write_config("[profiles.default]\nserver = \"" + server.url() + "\"\napi_key = \"k3\"\n");
  EXPECT_EQ(list().out, empty_list);
  EXPECT_EQ(server.authorization(), "Bearer k3");
  list({}, {"FLOWFABRIC_API_KEY=k2"});
  EXPECT_EQ(server.authorization(), "Bearer k2");
}

TEST_F(Places, TheKeyIsReadFromAFile) {
  Listener server;
  std::ofstream(folder.file("key")) << "from-a-file\n";
  EXPECT_EQ(list({"--store", server.url(), "--api-key-file", folder.file("key")}, {"FLOWFABRIC_API_KEY=k2"}).out,
            empty_list);
  EXPECT_EQ(server.authorization(), "Bearer from-a-file");
  list({"--store", server.url()}, {"FLOWFABRIC_API_KEY_FILE=" + folder.file("key")});
  EXPECT_EQ(server.authorization(), "Bearer from-a-file");
  const Finished both = list({"--store", server.url(), "--api-key-file", folder.file("key"), "--api-key", "k"});
  EXPECT_EQ(both.code, 2) << both.err;
  const Finished missing = list({"--store", server.url(), "--api-key-file", folder.file("none")});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(contains(missing.err, "--api-key-file: cannot read " + folder.file("none"))) << missing.err;
  EXPECT_EQ(list({"--store", "memory:", "--api-key-file", folder.file("key")}).code, 2) << "a store needs none";
}

TEST_F(Places, AKeyGoesToNoOtherServer) {
  Listener ours;
  Listener theirs;
  write_config("[profiles.default]\nserver = \"" + ours.url() + "\"\napi_key = \"k\"\n");
  list({"--store", theirs.url()});
  EXPECT_EQ(theirs.authorization(), "-");
  list({"--store", ours.url()});
  EXPECT_EQ(ours.authorization(), "Bearer k");
}

TEST_F(Places, ProfilesAreNamed) {
  Listener near;
  Listener far;
  write_config("[profiles.near]\nserver = \"" + near.url() + "\"\napi_key = \"n\"\n[profiles.far]\nserver = \"" +
               far.url() + "\"\napi_key = \"f\"\n");
  EXPECT_EQ(list({"--profile", "near"}, {"FLOWFABRIC_PROFILE=far"}).out, empty_list);
  EXPECT_EQ(near.authorization(), "Bearer n");
  EXPECT_EQ(far.authorization(), "");
  list({}, {"FLOWFABRIC_PROFILE=far"});
  EXPECT_EQ(far.authorization(), "Bearer f");
  EXPECT_EQ(list().code, 2) << "there is no default";
  const Finished unknown = list({"--profile", "moon"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "no profile \"moon\"") && contains(unknown.err, "the profiles are far, near"))
      << unknown.err;
}

TEST_F(Places, AStoreOfAProfileIsOpened) {
  write_config("[profiles.default]\nstore = \"memory:\"\n");
  EXPECT_EQ(list().out, empty_list);
  EXPECT_EQ(list({}, {"FLOWFABRIC_STORE=sqlite:" + folder.file("none.db")}).code, 3) << "the environment comes first";
}

TEST_F(Places, ABrokenFileIsNamed) {
  write_config("[profiles.default]\nstore = memory\n");
  const Finished broken = list();
  EXPECT_EQ(broken.code, 2);
  EXPECT_TRUE(contains(broken.err, "config.toml: line 2: ")) << broken.err;
  EXPECT_EQ(list({"--store", "memory:"}).code, 0) << "nobody asked for it";
}

TEST_F(Places, CertificatesAreChecked) {
  test::write_certificate(folder.file("cert.pem"), folder.file("key.pem"), "127.0.0.1");
  Listener server({.certificate_file = folder.file("cert.pem"), .private_key_file = folder.file("key.pem")});
  const Finished untrusted = list({"--store", server.url()});
  EXPECT_EQ(untrusted.code, 5) << untrusted.err;
  EXPECT_EQ(list({"--store", server.url(), "--ca-file", folder.file("cert.pem")}).out, empty_list);
  write_config("[profiles.default]\nserver = \"" + server.url() + "\"\nca_file = \"../cert.pem\"\n");
  EXPECT_EQ(list().out, empty_list);
}

TEST_F(Places, WhatDoesNotFitIsRefused) {
  Listener server;
  const std::vector<Words> mistakes = {{"lanes", "pause", "x", "--by", "ada", "--store", server.url()},
                                       {"lanes", "pause", "x", "--api-key", "k", "--store", "memory:"},
                                       {"lanes", "list", "--ca-file", "f", "--store", "memory:"},
                                       {"lanes", "list", "--store", "http://"},
                                       {"migrate", server.url()},
                                       {"integrity", "--store", server.url()},
                                       {"demo", "--store", server.url()},
                                       {"serve", "--store", server.url(), "--listen", "0"}};
  for (const Words& words : mistakes) {
    const Finished refused = run_program(words);
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_EQ(lines(refused.err), 1u) << refused.err;
  }
  EXPECT_EQ(server.authorization(), "") << "nothing was asked";
  EXPECT_TRUE(contains(run_program({"migrate", server.url()}).err, "is a server; this command needs a store"));
}

TEST_F(Places, AnswersAreNotBelieved) {
  Listener server;
  const std::vector<std::tuple<int, std::string, int>> answers = {
      {503, R"({"error":{"code":"shutting_down","message":"it stops","retryable":true}})", 5},
      {409, R"({"error":{"code":"already_terminal","message":"over","retryable":false,"mood":"new"}})", 4},
      {404, "<html>", 3},
      {429, R"({"error":{"code":"code_of_tomorrow","message":"?","retryable":true}})", 5},
      {502, "", 5},
      {500, "oops", 70},
      {301, "", 70},
      {200, "oops", 6},
      {200, R"({"executions":7})", 6},
      {200, R"({"executions":[],"next_cursor":"","more":1})", 0}};
  for (const auto& [status, body, code] : answers) {
    server.will_answer(status, body);
    const Finished finished = list({"--store", server.url()});
    EXPECT_EQ(finished.code, code) << status << body << finished.err;
    EXPECT_EQ(lines(finished.err), code == 0 ? 0u : 1u) << finished.err;
  }
}

TEST_F(Places, NobodyThereIsTryAgain) {
  std::string url;
  {
    const Listener gone;
    url = gone.url();
  }
  const Finished finished = list({"--store", url});
  EXPECT_EQ(finished.code, 5);
  EXPECT_EQ(lines(finished.err), 1u) << finished.err;
}

}  // namespace
}  // namespace flowfabric::cli_test
