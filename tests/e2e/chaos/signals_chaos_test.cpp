// Executions that wait for signals while workers, servers and PostgreSQL are killed: each resumes once, with exactly the
// signals that were acknowledged.
//
// FF_CHAOS_SIGNALS says with how many executions (200); the full form is 10000. FF_CHAOS_SEED repeats the choices.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "e2e/chaos/caller.hpp"
#include "e2e/chaos/cast.hpp"
#include "e2e/chaos/signal_worker.hpp"
#include "net/target.hpp"
#include "support/free_port.hpp"
#include "support/temp_dir.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr int signal_workers = 4;
constexpr int signal_clients = 8;
constexpr std::size_t signals_create_page = 200;
constexpr auto signals_standstill = 3min;

std::uint64_t signals_number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::max<std::uint64_t>(std::strtoull(text, nullptr, 10), 1);
}

std::string payload_of(std::size_t execution, std::uint32_t n) {
  return std::to_string(execution) + "-" + std::to_string(n);
}

class SignalsChaos : public ::testing::Test {
 protected:
  void TearDown() override {
    if (!HasFailure()) return;
    std::printf("FF_CHAOS_SEED=%lu, logs are in %s\n", seed_, folder_.path().c_str());
    folder_.keep();
  }

  void run(bool on_postgres);

 private:
  void open(bool on_postgres);
  void submit_all();
  void send_signals(std::uint64_t client);
  void signal_one(Caller& caller, std::mt19937_64& random, std::size_t execution);
  bool wait_for_all();
  void do_as_client(bool& everything_ended);
  void kill_at_random(const std::atomic<bool>& over);
  void verify();
  void verify_one(Caller& caller, std::size_t execution);
  void look_after_all() {
    for (Role& server : servers_) server.look_after();
    for (Role& worker : workers_) worker.look_after();
  }
  std::chrono::milliseconds between(int from_ms, int to_ms) {
    return std::chrono::milliseconds(std::uniform_int_distribution(from_ms, to_ms)(random_));
  }

  const std::uint64_t seed_ = signals_number("FF_CHAOS_SEED", std::random_device{}());
  const std::size_t executions_ = signals_number("FF_CHAOS_SIGNALS", 200);
  std::mt19937_64 random_{seed_};
  test::TempDir folder_{"flowfabric-signals-chaos"};
  std::optional<test::PostgresServer> postgres_;
  std::vector<std::string> urls_;
  std::vector<Role> servers_;
  std::vector<Role> workers_;
  std::vector<ExecutionId> ids_;
  std::atomic<std::uint64_t> duplicates_{0}, early_{0};
  std::uint64_t suspended_ = 0;
  Kills kills_;
};

void SignalsChaos::open(bool on_postgres) {
  std::string store_url = "sqlite:" + (folder_.path() / "store.db").string();
  if (on_postgres) {
    postgres_.emplace(test::PostgresServer::start({true, {"recovery_init_sync_method=syncfs"}}));
    store_url = postgres_->url();
  }
  for (int i = 0; i < (on_postgres ? 2 : 1); ++i) {
    const std::string address = "127.0.0.1:" + std::to_string(test::free_port());
    urls_.push_back("http://" + address);
    servers_.push_back(make_server(folder_.path(), i, store_url, address));
  }
  for (int i = 0; i < signal_workers; ++i) {
    const auto words_of = [this](const std::string& life) { return signal_worker_words({life, random_(), urls_}); };
    workers_.emplace_back(folder_.path(), "worker" + std::to_string(i), words_of, worker_may_end);
  }
}

void SignalsChaos::submit_all() {
  Caller caller(urls_, seed_ + 1);
  while (ids_.size() < executions_) {
    bodies::CreateManyBody body;
    while (body.executions.size() < signals_create_page && ids_.size() + body.executions.size() < executions_) {
      CreateRequest request;
      request.kind = waiting_kind;
      request.idempotency_key = "wait-" + std::to_string(ids_.size() + body.executions.size());
      request.policy.max_reclaims = 100000;
      body.executions.push_back(std::move(request));
    }
    const auto reply = persist([&] { return caller.post<bodies::CreatedMany>("/v1/executions/batch", body); });
    if (!reply) throw std::runtime_error(reply.error().message);
    for (const auto& one : reply->results) {
      if (one.value) ids_.push_back(one.value->execution_id);
      if (one.error) break;  // the rest is submitted again
    }
  }
}

// Every signal is repeated until it is acknowledged, and now and then once more.
void SignalsChaos::signal_one(Caller& caller, std::mt19937_64& random, std::size_t execution) {
  for (std::uint32_t n = 0; n < awaited_signals; ++n) {
    bodies::SignalBody body;
    body.waitpoint = awaited_waitpoint;
    body.payload = payload_of(execution, n);
    body.payload_encoding = "text/plain";
    body.source = "client";
    body.idempotency_key = "signal-" + std::to_string(n);
    for (bool again = true; again; again = random() % 10 == 0) {
      const auto path = "/v1/executions/" + net::percent_encode(to_string(ids_[execution])) + "/signals";
      const auto reply = persist([&] { return caller.post<SignalReply>(path, body); });
      if (!reply) throw std::runtime_error(reply.error().message);
      if (reply->effect == SignalEffect::ignored) throw std::runtime_error("a signal was ignored");
      if (reply->duplicate) ++duplicates_;
      if (reply->effect == SignalEffect::kept) ++early_;
    }
  }
}

void SignalsChaos::send_signals(std::uint64_t client) {
  Caller caller(urls_, seed_ + 10 + client);
  std::mt19937_64 random(seed_ + 20 + client);
  for (std::size_t execution = client; execution < executions_; execution += signal_clients) {
    signal_one(caller, random, execution);
  }
}

bool SignalsChaos::wait_for_all() {
  Caller caller(urls_, seed_ + 2);
  std::uint64_t most = 0;
  auto limit = steady_clock::now() + signals_standstill;
  while (steady_clock::now() < limit) {
    const auto counts = caller.get<bodies::CountsReply>("/v1/counts");
    std::uint64_t ended = 0;
    for (const LaneCounts& lane : counts ? counts->lanes : std::vector<LaneCounts>{}) {
      for (const auto& [state, count] : lane.counts) ended += state >= PublicState::completed ? count : 0;
    }
    if (ended >= executions_) return true;
    if (ended > most) limit = steady_clock::now() + signals_standstill;
    most = std::max(most, ended);
    std::this_thread::sleep_for(100ms);
  }
  return false;
}

void SignalsChaos::do_as_client(bool& everything_ended) {
  submit_all();
  std::vector<std::jthread> clients;
  std::atomic<bool> failed{false};
  for (std::uint64_t i = 0; i < signal_clients; ++i) {
    clients.emplace_back([this, i, &failed] {
      try {
        send_signals(i);
      } catch (const std::exception& problem) {
        std::fprintf(stderr, "a client: %s\n", problem.what());
        failed = true;
      }
    });
  }
  clients.clear();
  everything_ended = !failed && wait_for_all();
}

// On the thread that started the processes: they die with it.
void SignalsChaos::kill_at_random(const std::atomic<bool>& over) {
  auto next_worker = steady_clock::now() + between(300, 900);
  auto next_server = steady_clock::now() + between(1000, 3000);
  auto next_database = steady_clock::now() + between(2000, 5000);
  while (!over) {
    std::this_thread::sleep_for(10ms);
    look_after_all();
    if (steady_clock::now() >= next_worker) {
      workers_[random_() % workers_.size()].kill_now();
      ++kills_.workers;
      next_worker = steady_clock::now() + between(200, 1500);
    }
    Role& server = servers_[random_() % servers_.size()];
    if (steady_clock::now() >= next_server && server.is_alive() && is_serving(server.log())) {
      server.kill_now();
      server.start_at(steady_clock::now() + between(0, 800));
      ++kills_.servers;
      next_server = steady_clock::now() + between(1000, 4000);
    }
    if (postgres_ && steady_clock::now() >= next_database) {
      postgres_->kill();
      std::this_thread::sleep_for(between(0, 400));
      postgres_->start_again();
      ++kills_.databases;
      next_database = steady_clock::now() + between(3000, 8000);
    }
  }
  for (Role& worker : workers_) worker.kill_now();
}

void SignalsChaos::verify_one(Caller& caller, std::size_t execution) {
  const std::string path = "/v1/executions/" + net::percent_encode(to_string(ids_[execution]));
  const auto result = persist([&] { return caller.get<ExecutionResult>(path + "/result"); });
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->outcome, Outcome::success) << path;
  std::string expected;
  for (std::uint32_t n = 0; n < awaited_signals; ++n) expected += (n == 0 ? "" : " ") + payload_of(execution, n);
  EXPECT_EQ(result->result, expected) << path;  // one client sends them one after another
  const auto history = persist([&] { return caller.get<EventPage>(path + "/history?limit=1000"); });
  ASSERT_TRUE(history) << history.error().message;
  std::size_t ended = 0, suspended = 0, delivered = 0;
  for (const Event& event : history->events) {
    ended += event.type == EventType::wait_ended ? 1 : 0;
    suspended += event.type == EventType::suspended ? 1 : 0;
    delivered += event.type == EventType::signal_delivered ? 1 : 0;
  }
  EXPECT_EQ(ended, 1u) << path;
  EXPECT_LE(suspended, 1u) << path;
  EXPECT_EQ(delivered, awaited_signals) << path;
  suspended_ += suspended;
}

// Nobody kills from here on, after everything was killed once more.
void SignalsChaos::verify() {
  for (Role& server : servers_) server.kill_now();
  if (postgres_) {
    postgres_->kill();
    postgres_->start_again();
  }
  for (Role& server : servers_) {
    server.start_at(steady_clock::now());
    const auto limit = steady_clock::now() + signals_standstill;
    while (!server.is_alive() || !is_serving(server.log())) {
      server.look_after();
      std::this_thread::sleep_for(20ms);
      ASSERT_LT(steady_clock::now(), limit) << "a server does not come back";
    }
  }
  ASSERT_EQ(std::set<ExecutionId>(ids_.begin(), ids_.end()).size(), executions_);
  Caller caller(urls_, seed_ + 3);
  for (std::size_t i = 0; i < executions_ && !HasFatalFailure(); ++i) verify_one(caller, i);
}

void SignalsChaos::run(bool on_postgres) {
  const auto begin = steady_clock::now();
  open(on_postgres);
  std::atomic<bool> over{false};
  bool everything_ended = false;
  std::exception_ptr problem;
  {
    std::jthread client([&] {
      try {
        do_as_client(everything_ended);
      } catch (...) {
        problem = std::current_exception();
      }
      over = true;
    });
    look_after_all();
    kill_at_random(over);
  }
  if (problem) std::rethrow_exception(problem);
  ASSERT_TRUE(everything_ended) << "nothing ends any more";
  verify();
  std::printf(
      "%zu executions with %u signals each from %d clients: %lu suspended, %lu signals came early, %lu repeated; "
      "killed: "
      "%d workers, %d servers, %d databases; %.1f s\n",
      executions_, awaited_signals, signal_clients, suspended_, early_.load(), duplicates_.load(), kills_.workers,
      kills_.servers, kills_.databases, std::chrono::duration<double>(steady_clock::now() - begin).count());
}

TEST_F(SignalsChaos, TwoServersOnOnePostgres) { run(true); }

TEST_F(SignalsChaos, OneServerOnSqlite) { run(false); }

}  // namespace
}  // namespace flowfabric::chaos
