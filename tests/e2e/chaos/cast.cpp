#include "e2e/chaos/cast.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>

#include "e2e/chaos/caller.hpp"
#include "e2e/chaos/clients.hpp"
#include "support/free_port.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::chaos {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int worker_count = 8;
constexpr milliseconds look_pause{20};
// How long nothing may end while executions are left.
constexpr std::chrono::minutes standstill_limit{3};

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A server that does not reach its store at the start exits with a message; once it serves it must stay.
bool server_may_end(int status, const std::string& log) {
  const int code = describe(Errc::unavailable).exit_code;
  return WIFEXITED(status) && WEXITSTATUS(status) == code && !is_serving(log);
}

}  // namespace

bool is_serving(const std::string& log) { return log.find("FlowFabric serves") != std::string::npos; }

bool worker_may_end(int status, const std::string&) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

Role make_server(const std::filesystem::path& folder, int number, const std::string& store_url,
                 const std::string& address) {
  const Words words = {FF_BIN_DIR "/flowfabric",
                       "serve",
                       "--store",
                       store_url,
                       "--listen",
                       address,
                       "--migrate",
                       "true",
                       "--log-level",
                       "warn"};
  return {folder, "server" + std::to_string(number), [words](const std::string&) { return words; }, server_may_end};
}

// ---- One role

Role::Role(std::filesystem::path folder, std::string name, WordsOf words, Judge may_end)
    : folder_(std::move(folder)), name_(std::move(name)), words_(std::move(words)), may_end_(std::move(may_end)) {}

std::string Role::log_file() const { return folder_ / (name_ + "." + std::to_string(lives_) + ".log"); }
std::string Role::log() const { return content(log_file()); }

void Role::start_at(steady_clock::time_point when) { next_start_ = when; }

void Role::kill_now() { process_.reset(); }

bool Role::is_alive() { return process_ != nullptr && !process_->status(); }

void Role::look_after() {
  if (process_ != nullptr) {
    const auto status = process_->status();
    if (!status) return;
    EXPECT_TRUE(may_end_(*status, log())) << name_ << " ended by itself, status " << *status << ", " << log_file();
    process_.reset();
    next_start_ = steady_clock::now() + look_pause;
  }
  if (steady_clock::now() < next_start_) return;
  ++lives_;
  process_ = std::make_unique<Process>(words_(name_ + "." + std::to_string(lives_)), log_file());
}

// ---- All of them

Cast::Cast(std::filesystem::path folder, StoreChoice store, std::uint64_t executions, std::uint64_t seconds,
           std::uint64_t seed, const std::function<void(const std::string& store_url)>& prepare)
    : folder_(std::move(folder)), executions_(executions), seconds_(seconds), random_(seed) {
  if (store == StoreChoice::postgres) {
    // A restarting server first flushes its whole directory, file by file by default.
    postgres_.emplace(test::PostgresServer::start({true, {"recovery_init_sync_method=syncfs"}}));
    store_url_ = postgres_->url();
  } else {
    store_url_ = "sqlite:" + (folder_ / "store.db").string();
  }
  if (prepare) prepare(store_url_);
  add_servers();
  add_workers();
  look_after_all();
  const ClientOptions options{urls_, "submitter", folder_ / "submitter.journal", random_()};
  Words words = {"/proc/self/exe"};
  // In the last fifth of the time nothing new is submitted, so that the last executions are hit as well.
  for (std::string& word : submitter_words(options, executions_, seconds_ * 4 / 5)) words.push_back(std::move(word));
  submitter_ = std::make_unique<Process>(words, folder_ / "submitter.log");
}

void Cast::add_servers() {
  const int count = postgres_ ? 2 : 1;
  for (int i = 0; i < count; ++i) {
    const std::string address = "127.0.0.1:" + std::to_string(test::free_port());
    urls_.push_back("http://" + address);
    servers_.push_back(make_server(folder_, i, store_url_, address));
  }
}

void Cast::add_workers() {
  for (int i = 0; i < worker_count; ++i) {
    const auto words_of = [this](const std::string& life) {
      Words words = {"/proc/self/exe"};
      const ClientOptions options{urls_, life, folder_ / (life + ".journal"), random_()};
      for (std::string& word : worker_words(options)) words.push_back(std::move(word));
      return words;
    };
    workers_.emplace_back(folder_, "worker" + std::to_string(i), words_of, worker_may_end);
  }
}

void Cast::look_after_all() {
  for (Role& server : servers_) server.look_after();
  for (Role& worker : workers_) worker.look_after();
}

milliseconds Cast::between(int from_ms, int to_ms) {
  return milliseconds(std::uniform_int_distribution(from_ms, to_ms)(random_));
}

Kills Cast::rage() {
  Kills kills;
  const auto end = steady_clock::now() + std::chrono::seconds(seconds_);
  auto next_worker = steady_clock::now() + between(500, 1500);
  auto next_server = steady_clock::now() + between(1000, 3000);
  auto next_database = steady_clock::now() + between(2000, 5000);
  const auto enough = [&] {
    return steady_clock::now() >= end && kills.workers > 0 && kills.servers > 0 && (!postgres_ || kills.databases > 0);
  };
  while (!enough() && !testing::Test::HasFailure()) {
    std::this_thread::sleep_for(look_pause);
    look_after_all();
    if (steady_clock::now() >= next_worker) {
      workers_[random_() % workers_.size()].kill_now();
      ++kills.workers;
      next_worker = steady_clock::now() + between(200, 1500);
    }
    if (steady_clock::now() >= next_server && kill_a_server()) {
      ++kills.servers;
      next_server = steady_clock::now() + between(1000, 4000);
    }
    if (postgres_ && steady_clock::now() >= next_database) {
      postgres_->kill();
      std::this_thread::sleep_for(between(0, 600));
      postgres_->start_again();
      ++kills.databases;
      next_database = steady_clock::now() + between(3000, 8000);
    }
  }
  return kills;
}

// Mostly one that serves: on a slow machine the others would otherwise never get that far.
bool Cast::kill_a_server() {
  Role& server = servers_[random_() % servers_.size()];
  if (!server.is_alive() || (!is_serving(server.log()) && random_() % 100 != 0)) return false;
  server.kill_now();
  server.start_at(steady_clock::now() + between(0, 1000));
  return true;
}

std::uint64_t Cast::ended() {
  Caller caller(urls_, random_());
  const auto counts = caller.get<bodies::CountsReply>("/v1/counts");
  std::uint64_t ended = 0;
  if (!counts) return ended;
  for (const LaneCounts& lane : counts->lanes) {
    for (const auto& [state, count] : lane.counts) {
      if (state >= PublicState::completed) ended += count;
    }
  }
  return ended;
}

bool Cast::settle() {
  std::uint64_t most = 0;
  auto limit = steady_clock::now() + standstill_limit;
  while (!testing::Test::HasFailure()) {
    look_after_all();
    const auto submitted = submitter_->status();
    if (submitted && *submitted != 0) {
      ADD_FAILURE() << "the submitter ended with status " << *submitted << ": " << content(folder_ / "submitter.log");
      return false;
    }
    const std::uint64_t now = ended();
    if (submitted && now >= executions_) return true;
    if (now > most) limit = steady_clock::now() + standstill_limit;
    most = std::max(most, now);
    if (steady_clock::now() > limit) {
      ADD_FAILURE() << "nothing ends any more; " << now << " of " << executions_ << " have";
      return false;
    }
    std::this_thread::sleep_for(look_pause * 5);
  }
  return false;
}

void Cast::kill_clients_and_servers() {
  for (Role& worker : workers_) worker.kill_now();
  for (Role& server : servers_) server.kill_now();
}

void Cast::start_over_for_reading() {
  kill_clients_and_servers();
  if (postgres_) {
    postgres_->kill();
    postgres_->start_again();
  }
  const auto limit = steady_clock::now() + standstill_limit;
  for (Role& server : servers_) {
    server.start_at(steady_clock::now());
    while (!is_serving(server.log()) || !server.is_alive()) {
      server.look_after();
      std::this_thread::sleep_for(look_pause);
      ASSERT_LT(steady_clock::now(), limit) << "a server does not come back";
    }
  }
}

int Cast::worker_lives() const {
  int lives = 0;
  for (const Role& worker : workers_) lives += worker.lives();
  return lives;
}

void Cast::verify_logs() const {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path().extension() != ".log") continue;
    EXPECT_EQ(content(entry.path()).find("Sanitizer:"), std::string::npos) << entry.path();
  }
}

void Cast::keep_database_log() const {
  if (!postgres_) return;
  std::error_code ignored;
  std::filesystem::copy_file(postgres_->log_file(), folder_ / "postgres.log", ignored);
}

}  // namespace flowfabric::chaos
