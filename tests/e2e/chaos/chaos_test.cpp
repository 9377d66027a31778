// Workers, servers and the database are killed at random while work goes through HTTP; afterwards every acknowledgement
// must hold, and nothing may exist that was not requested.
//
// FF_CHAOS_SECONDS is the duration (20), FF_CHAOS_EXECUTIONS the number of executions (5000); on SQLite half the time
// and two fifths of the work. FF_CHAOS_SEED repeats the choices of a run, though not the timing of the machine. After a
// failure the directory with the logs and journals of all processes is kept.
#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "e2e/chaos/cast.hpp"
#include "e2e/chaos/verdict.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::chaos {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::max<std::uint64_t>(std::strtoull(text, nullptr, 10), 1);
}

std::uint64_t seconds_since(std::chrono::steady_clock::time_point begin) {
  const auto passed = std::chrono::steady_clock::now() - begin;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(passed).count());
}

class Chaos : public ::testing::Test {
 protected:
  void run(StoreChoice store, std::uint64_t executions, std::uint64_t seconds) {
    std::printf("FF_CHAOS_SEED=%lu, %lu executions, %lu s, folder %s\n", seed_, executions, seconds,
                folder_.path().c_str());
    std::fflush(stdout);
    const auto begin = std::chrono::steady_clock::now();
    Cast cast(folder_.path(), store, executions, seconds, seed_);
    const Kills kills = cast.rage();
    const std::uint64_t raged = seconds_since(begin);
    if (cast.settle()) {
      cast.start_over_for_reading();
      const std::uint64_t settled = seconds_since(begin);
      const Figures figures = verify(read_journals(folder_.path()), cast.urls(), executions);
      std::printf("killed: %d workers, %d servers, %d databases; %d worker processes in all\n", kills.workers,
                  kills.servers, kills.databases, cast.worker_lives());
      std::printf("%lu executions: %lu completed, %lu failed, %lu of these ends acknowledged; %lu events\n",
                  figures.executions, figures.completed, figures.failed, figures.acknowledged_ends, figures.events);
      std::printf("chaos was over after %lu s, the last execution after %lu s, reading and comparing after %lu s\n",
                  raged, settled, seconds_since(begin));
      EXPECT_GT(figures.completed, 0u);
      EXPECT_GT(figures.acknowledged_ends, 0u);
    }
    cast.verify_logs();
    if (HasFailure()) cast.keep_database_log();
  }

  void TearDown() override {
    if (!HasFailure()) return;
    std::printf("FF_CHAOS_SEED=%lu, logs and journals are in %s\n", seed_, folder_.path().c_str());
    folder_.keep();
  }

  const std::uint64_t seed_ = number_from("FF_CHAOS_SEED", std::random_device{}());
  const std::uint64_t seconds_ = number_from("FF_CHAOS_SECONDS", 20);
  const std::uint64_t executions_ = number_from("FF_CHAOS_EXECUTIONS", 5000);
  test::TempDir folder_{"flowfabric-chaos"};
};

TEST_F(Chaos, TwoServersOnOnePostgres) { run(StoreChoice::postgres, executions_, seconds_); }

TEST_F(Chaos, OneServerOnSqlite) {
  run(StoreChoice::sqlite, std::max<std::uint64_t>(executions_ * 2 / 5, 1), std::max<std::uint64_t>(seconds_ / 2, 1));
}

}  // namespace
}  // namespace flowfabric::chaos
