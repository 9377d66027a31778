// Durable steps of SDK workers while workers and servers are killed at random: every execution ends, every step ran at least
// once, and every run of a handler saw the one value that is recorded.
//
// FF_CHAOS_STEPS says on how many executions in each home (250); the full form is 20000. FF_CHAOS_SEED repeats the choices.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <flowfabric/client.hpp>

#include "e2e/chaos/cast.hpp"
#include "e2e/chaos/step_worker.hpp"
#include "support/free_port.hpp"
#include "support/postgres_server.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr int workers_at_once = 3;
constexpr auto steps_standstill = 3min;
constexpr std::size_t created_at_once = 500;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::max<std::uint64_t>(std::strtoull(text, nullptr, 10), 1);
}

template <class T>
T must_have(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

struct StepsHome {
  std::string name{};
  bool on_postgres = false;
  int servers = 0;  // 0: the store is opened by the workers themselves

  friend std::ostream& operator<<(std::ostream& out, const StepsHome& home) { return out << home.name; }
};

class StepsChaos : public ::testing::TestWithParam<StepsHome> {
 protected:
  StepsChaos() {
    if (GetParam().on_postgres) {
      postgres_.emplace(test::PostgresServer::start());
      store_url_ = postgres_->url();
    } else {
      store_url_ = "sqlite:" + (folder_.path() / "store.db").string();
    }
    for (int i = 0; i < GetParam().servers; ++i) {
      const std::string address = "127.0.0.1:" + std::to_string(test::free_port());
      servers_.push_back(make_server(folder_.path(), i, store_url_, address));
      urls_.push_back("http://" + address);
    }
    if (urls_.empty()) urls_.push_back(store_url_);
    look_after_servers();
    client_.emplace(must_have(Client::open(urls_.front(), {.retry_for = 120s, .migrate = true})));
  }

  void TearDown() override {
    if (!HasFailure()) return;
    std::printf("FF_CHAOS_SEED=%lu, logs and ledgers are in %s\n", seed_, folder_.path().c_str());
    folder_.keep();
  }

  Role worker(int number, bool may_die) {
    const std::string url = urls_[static_cast<std::size_t>(number) % urls_.size()];
    const auto words_of = [this, url, may_die](const std::string& life) {
      return step_worker_words({life, folder_.path() / (life + ".ledger"), url, random_(), may_die});
    };
    return {folder_.path(), "worker" + std::to_string(number), words_of, worker_may_end};
  }
  void look_after_servers() {
    for (Role& server : servers_) server.look_after();
  }
  std::chrono::milliseconds between(int from_ms, int to_ms) {
    return std::chrono::milliseconds(std::uniform_int_distribution(from_ms, to_ms)(random_));
  }
  bool kill_a_server() {
    Role& server = servers_[random_() % servers_.size()];
    if (!server.is_alive() || !is_serving(server.log())) return false;
    server.kill_now();
    server.start_at(steady_clock::now() + between(0, 300));
    return true;
  }

  void submit_all(std::uint64_t executions);
  void kill_at_random(const std::atomic<bool>& ended);
  std::size_t wait_for_all();
  void verify(const ExecutionId& id, const std::map<std::string, LedgerOfStep>& ledger);

  const std::uint64_t seed_ = number_of("FF_CHAOS_SEED", std::random_device{}());
  std::mt19937_64 random_{seed_};
  test::TempDir folder_{"flowfabric-steps-chaos"};
  std::optional<test::PostgresServer> postgres_;
  std::string store_url_;
  std::vector<std::string> urls_;
  std::vector<Role> servers_;
  std::vector<Role> workers_;
  std::optional<Client> client_;
  std::vector<ExecutionId> ids_;
  std::uint64_t runs_ = 0;
  int killed_workers_ = 0, killed_servers_ = 0;
};

void StepsChaos::submit_all(std::uint64_t executions) {
  while (ids_.size() < executions) {
    std::vector<CreateRequest> requests;
    while (requests.size() < created_at_once && ids_.size() + requests.size() < executions) {
      CreateRequest request = Client::make_request(five_steps, {});
      request.idempotency_key = "order-" + std::to_string(ids_.size() + requests.size());
      requests.push_back(std::move(request));
    }
    for (auto& created : client_->submit_many(std::move(requests))) {
      ids_.push_back(must_have(std::move(created)).execution_id);
    }
  }
}

// On the thread that started the processes: they die with it.
void StepsChaos::kill_at_random(const std::atomic<bool>& ended) {
  for (int i = 0; i < workers_at_once; ++i) workers_.push_back(worker(i, true));
  auto next_worker = steady_clock::now() + between(200, 500);
  auto next_server = steady_clock::now() + between(400, 900);
  while (!ended) {
    std::this_thread::sleep_for(10ms);
    look_after_servers();
    for (Role& one : workers_) one.look_after();
    if (steady_clock::now() >= next_worker) {
      workers_[random_() % workers_.size()].kill_now();
      ++killed_workers_;
      next_worker = steady_clock::now() + between(100, 900);
    }
    if (!servers_.empty() && steady_clock::now() >= next_server && kill_a_server()) {
      ++killed_servers_;
      next_server = steady_clock::now() + between(500, 2500);
    }
  }
  // What is written from here on could be written when the ledgers have been read.
  for (Role& one : workers_) one.kill_now();
}

// The number of those that have not ended; 0 unless that stands still. One that was taken from a dead worker waits behind all
// others, so every end counts as progress, not only that of the oldest.
std::size_t StepsChaos::wait_for_all() {
  std::deque<ExecutionId> open(ids_.begin(), ids_.end());
  auto limit = steady_clock::now() + steps_standstill;
  while (!open.empty() && steady_clock::now() < limit) {
    const ExecutionId id = open.front();
    open.pop_front();
    const auto result = client_->wait(id, 50ms);
    if (!result) {  // not yet, or the server is just being killed
      open.push_back(id);
      continue;
    }
    EXPECT_EQ(result->outcome, Outcome::success) << to_string(id);
    limit = steady_clock::now() + steps_standstill;
  }
  return open.size();
}

void StepsChaos::verify(const ExecutionId& id, const std::map<std::string, LedgerOfStep>& ledger) {
  const auto steps = must_have(client_->steps(id)).steps;
  std::string values;
  int number = 0;
  for (const Step& step : steps) {
    if (step.state == StepState::sleep) continue;
    const std::string name = ++number == 1 ? "step" : "step#" + std::to_string(number);
    ASSERT_EQ(step.name, name) << to_string(id);
    ASSERT_EQ(step.state, StepState::succeeded) << to_string(id);
    const std::string value = Convert<std::string>::from_bytes(step.result);
    const auto told = ledger.find(name);
    ASSERT_NE(told, ledger.end()) << to_string(id) << " " << name << " never ran";
    ASSERT_TRUE(told->second.made.contains(value)) << to_string(id) << " " << name << ": nobody made " << value;
    // A process may have died before it could tell what it saw; nobody saw anything else.
    for (const std::string& seen : told->second.seen) ASSERT_EQ(seen, value) << to_string(id) << " " << name;
    runs_ += told->second.made.size();
    values += (values.empty() ? "" : " ") + value;
  }
  ASSERT_EQ(number, steps_of_an_execution) << to_string(id);
  ASSERT_EQ(must_have(client_->result<std::string>(id, 10s)), values) << to_string(id);
}

TEST_P(StepsChaos, EveryStepIsRecordedOnceAndEverythingEnds) {
  const std::uint64_t executions = number_of("FF_CHAOS_STEPS", 250);
  const auto begin = steady_clock::now();
  std::atomic<bool> ended{false};
  std::size_t left = 0;
  std::exception_ptr problem;
  std::jthread waiting([&] {
    try {
      submit_all(executions);
      left = wait_for_all();
    } catch (...) {
      problem = std::current_exception();
    }
    ended = true;
  });
  kill_at_random(ended);
  waiting.join();
  if (problem) std::rethrow_exception(problem);
  ASSERT_EQ(left, 0u) << "nothing ends any more";
  // Nobody kills from here on.
  for (Role& server : servers_) server.start_at(steady_clock::now());
  look_after_servers();
  const Ledger ledger = read_ledgers(folder_.path());
  for (const ExecutionId& id : ids_) {
    const auto of_execution = ledger.find(to_string(id));
    ASSERT_NE(of_execution, ledger.end()) << to_string(id) << " never ran";
    ASSERT_NO_FATAL_FAILURE(verify(id, of_execution->second));
  }
  int lives = 0;
  for (const Role& one : workers_) lives += one.lives();
  std::printf(
      "%s: %zu executions, %lu runs of %lu steps; %d worker processes, %d workers and %d servers killed; %.1f s\n",
      GetParam().name.c_str(), ids_.size(), runs_, ids_.size() * steps_of_an_execution, lives, killed_workers_,
      killed_servers_, std::chrono::duration<double>(steady_clock::now() - begin).count());
  EXPECT_GT(lives, workers_at_once);
}

// A process that is stopped in the middle of a commit would hold the locks of an embedded store, so only over HTTP.
class StoppedWorker : public StepsChaos {};

// A worker that stands still for longer than its lease lasts has lost it, learns so when it wakes, and can write nothing.
TEST_P(StoppedWorker, LosesItsLeaseAndItsLateWritesAreRefused) {
  const auto eventually = [&](const auto& condition) {
    const auto limit = steady_clock::now() + steps_standstill;
    while (!condition()) {
      if (steady_clock::now() > limit) return false;
      look_after_servers();
      for (Role& one : workers_) one.look_after();
      std::this_thread::sleep_for(10ms);
    }
    return true;
  };
  const auto told = [&](const std::string& id, const std::string& step) {
    const Ledger ledger = read_ledgers(folder_.path());
    const auto found = ledger.find(id);
    return found != ledger.end() && found->second.contains(step);
  };
  workers_.push_back(worker(0, false));
  const auto id = must_have(client_->submit(outlived, Json())).execution_id;
  ASSERT_TRUE(eventually([&] { return told(to_string(id), "begin"); }));
  ASSERT_EQ(kill(workers_.front().pid(), SIGSTOP), 0);
  workers_.push_back(worker(1, false));
  ASSERT_TRUE(eventually([&] { return client_->wait(id, 0ms).has_value(); }));
  EXPECT_EQ(must_have(client_->result<std::string>(id, 10s)), "later");
  ASSERT_EQ(kill(workers_.front().pid(), SIGCONT), 0);
  ASSERT_TRUE(eventually([&] { return told(to_string(id), "end"); }));
  auto ledger = read_ledgers(folder_.path())[to_string(id)];
  EXPECT_EQ(ledger["tripped"].seen, std::set<std::string>{"yes"});
  for (const char* write : {"progress", "step", "checkpoint"}) {
    EXPECT_EQ(ledger[write].seen, std::set<std::string>{"refused"}) << write;
  }
  const auto description = must_have(client_->get(id));
  EXPECT_GE(description.summary.attempt_count, 2u);  // the stopped worker may have been given the execution once more
  EXPECT_FALSE(description.progress);
  EXPECT_TRUE(must_have(client_->steps(id)).steps.empty());
}

const StepsHome served_homes[] = {{"server_on_sqlite", false, 1}, {"servers_on_postgres", true, 2}};
const StepsHome embedded_homes[] = {{"embedded_sqlite", false, 0}, {"embedded_postgres", true, 0}};
const auto home_name = [](const auto& info) { return info.param.name; };

INSTANTIATE_TEST_SUITE_P(Served, StepsChaos, ::testing::ValuesIn(served_homes), home_name);
INSTANTIATE_TEST_SUITE_P(Embedded, StepsChaos, ::testing::ValuesIn(embedded_homes), home_name);
INSTANTIATE_TEST_SUITE_P(Served, StoppedWorker, ::testing::ValuesIn(served_homes), home_name);

}  // namespace
}  // namespace flowfabric::chaos
