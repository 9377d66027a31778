#include "api/readiness.hpp"

#include <atomic>

#include <gtest/gtest.h>

#include "base/gate.hpp"

namespace flowfabric::api {
namespace {

struct Stage {
  std::atomic<std::int64_t> now{5000};
  std::atomic<int> probes{0};
  std::atomic<bool> broken{false};
  std::shared_ptr<Pool> pool = std::make_shared<Pool>(4, 100);
  Gate gate;  // holds probes while it is shut
  Readiness readiness{pool,
                      [this]() -> Result<void> {
                        ++probes;
                        gate.wait();
                        if (broken) return fail(Errc::unavailable, "connection to server at 10.1.2.3 failed");
                        return {};
                      },
                      [this] { return now.load(); }};
  std::atomic<int> yes{0};
  std::atomic<int> no{0};

  void ask() {
    readiness.ask([this](bool ready) { ++(ready ? yes : no); });
  }
  // Asks and waits for the answer.
  bool ready() {
    const int before = yes;
    const int all = yes + no;
    ask();
    while (yes + no == all) std::this_thread::yield();
    return yes > before;
  }
};

TEST(Readiness, OneProbeServesAllWhoAskWithinASecond) {
  Stage stage;
  stage.gate.open();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(stage.ready());
  EXPECT_EQ(stage.probes, 1);
  stage.now += 1000;
  stage.broken = true;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(stage.ready());
  EXPECT_EQ(stage.probes, 2);
  stage.now += 999;
  stage.broken = false;
  EXPECT_FALSE(stage.ready());
  stage.now += 1;
  EXPECT_TRUE(stage.ready());
  EXPECT_EQ(stage.probes, 3);
}

TEST(Readiness, ThoseWhoComeWhileOneLooksWaitForIt) {
  Stage stage;
  for (int i = 0; i < 50; ++i) stage.ask();
  EXPECT_EQ(stage.yes + stage.no, 0);
  stage.gate.open();
  while (stage.yes < 50) std::this_thread::yield();
  EXPECT_EQ(stage.probes, 1);
  EXPECT_EQ(stage.no, 0);
  stage.pool->stop();
}

TEST(Readiness, AServerThatCannotEvenLookIsNotReady) {
  Stage stage;
  stage.gate.open();
  stage.pool->stop();
  EXPECT_FALSE(stage.ready());
  EXPECT_EQ(stage.probes, 0);
}

}  // namespace
}  // namespace flowfabric::api
