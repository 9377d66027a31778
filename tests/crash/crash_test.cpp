// Processes and servers are killed in the middle of their work; afterwards every acknowledgement must hold.
//
// FF_CRASH_KILLS is the number of kills (50): slow builds set less. FF_CRASH_SEED repeats the moments of a run.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "crash/process.hpp"
#include "support/postgres_server.hpp"
#include "support/stores.hpp"

namespace flowfabric::crash {
namespace {

using test::StoreKindId;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

int kills() { return static_cast<int>(std::max<std::uint64_t>(number_from("FF_CRASH_KILLS", 50), 1)); }

std::uint64_t base_seed() {
  static const std::uint64_t seed = number_from("FF_CRASH_SEED", std::random_device{}());
  return seed;
}

std::unique_ptr<Engine> open_engine(const std::string& url) {
  EngineOptions options;
  options.migrate = true;
  auto engine = Engine::open(url, options);
  if (!engine) throw std::runtime_error("cannot open " + url + ": " + engine.error().message);
  return std::move(*engine);
}

class CrashTest : public ::testing::Test {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(base_seed())); }
  void TearDown() override {
    if (HasFailure()) std::printf("FF_CRASH_SEED=%llu\n", static_cast<unsigned long long>(base_seed()));
  }

  LoadOptions options(const std::string& name) {
    LoadOptions made;
    made.name = name;
    made.seed = random_();
    return made;
  }

  // The moment of a kill is random within fixed bounds.
  void sleep_between(int from_ms, int to_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution(from_ms, to_ms)(random_)));
  }

  std::mt19937_64 random_{base_seed()};
  Ledger ledger_;
};

class ProcessCrash : public CrashTest, public ::testing::WithParamInterface<test::StoreKind> {
 protected:
  const std::unique_ptr<test::TestDatabase> database_ = test::make_database(GetParam().id);
};

TEST_P(ProcessCrash, AcknowledgementsSurviveKills) {
  for (int life = 0; life < kills(); ++life) {
    const std::size_t before = ledger_.acknowledgements();
    LoadProcess process(database_->url(), Role::load, options("life" + std::to_string(life)), ledger_);
    ASSERT_TRUE(ledger_.wait_for_acknowledgements(before + 1)) << "life " << life << " gets nothing done";
    sleep_between(30, 150);
    process.kill_now();
  }
  ledger_.settle_and_verify(*open_engine(database_->url()));
}

TEST_P(ProcessCrash, NeighbourGoesOn) {
  Ledger of_neighbour;
  LoadProcess neighbour(database_->url(), Role::load, options("neighbour"), of_neighbour);
  for (int life = 0; life < std::max(kills() / 5, 1); ++life) {
    const std::size_t before = ledger_.acknowledgements();
    LoadProcess process(database_->url(), Role::load, options("life" + std::to_string(life)), ledger_);
    ASSERT_TRUE(ledger_.wait_for_acknowledgements(before + 1)) << "life " << life << " gets nothing done";
    sleep_between(30, 150);
    process.kill_now();
    const std::size_t at_kill = of_neighbour.acknowledgements();
    ASSERT_TRUE(of_neighbour.wait_for_acknowledgements(at_kill + 50)) << "the neighbour stands still";
  }
  neighbour.kill_now();
  of_neighbour.hand_over_to(ledger_);
  ledger_.settle_and_verify(*open_engine(database_->url()));
}

TEST_P(ProcessCrash, LeasesOfTheDeadAreTakenOver) {
  LoadOptions holding = options("holder");
  holding.lease_ttl_ms = 2000;
  LoadProcess holder(database_->url(), Role::hold, holding, ledger_);
  ASSERT_TRUE(ledger_.wait_for_held(held_count));
  const std::set<std::string> held = ledger_.held();
  const std::size_t before = ledger_.acknowledgements();
  LoadProcess neighbour(database_->url(), Role::load, options("neighbour"), ledger_);
  ASSERT_TRUE(ledger_.wait_for_acknowledgements(before + 100));
  for (const std::string& id : held) EXPECT_FALSE(ledger_.is_completed(id)) << id << " was taken from the living";

  holder.kill_now();
  EXPECT_TRUE(ledger_.wait_until_completed(held)) << "nobody took over";
  neighbour.kill_now();
  const auto engine = open_engine(database_->url());
  for (const std::string& id : held) {
    const auto description = engine->describe_execution(*parse_execution_id(id));
    ASSERT_TRUE(description) << description.error().message;
    EXPECT_GE(description->reclaim_count, 1u) << id;
  }
  ledger_.settle_and_verify(*engine);
}

INSTANTIATE_TEST_SUITE_P(Stores, ProcessCrash, ::testing::ValuesIn([] {
                           std::vector<test::StoreKind> kinds = test::store_kinds();
                           std::erase_if(kinds, [](const auto& kind) { return kind.id == StoreKindId::memory; });
                           return kinds;
                         }()),
                         [](const auto& test) { return test.param.name; });

// The engine survives the crashes of its server: the same object, the same callers.
TEST_F(CrashTest, EngineOutlivesItsServer) {
  // A restarting server first flushes its whole directory, file by file by default; on a busy disk that takes longer
  // than everything else here.
  auto server = test::PostgresServer::start({true, {"recovery_init_sync_method=syncfs"}});
  const auto engine = open_engine(server.url());
  const LoadOptions load = options("alive");
  const Witness witness = [this](const std::string& line) { ledger_.note(line); };
  std::atomic<bool> stop{false};
  std::thread loading([&] { run_load(*engine, load, witness, stop); });
  const auto works = [&] { return ledger_.wait_for_acknowledgements(ledger_.acknowledgements() + 200); };
  bool working = works();
  for (int crash = 0; working && crash < std::max(kills() / 5, 1); ++crash) {
    sleep_between(0, 100);
    server.crash();
    sleep_between(0, 100);
    server.start_again();
    working = works();
    EXPECT_TRUE(working) << "nothing is acknowledged after crash " << crash;
  }
  stop = true;
  loading.join();
  ledger_.settle_and_verify(*engine);
}

}  // namespace
}  // namespace flowfabric::crash
