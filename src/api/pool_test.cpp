#include "api/pool.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>

#include <gtest/gtest.h>

#include "base/gate.hpp"

namespace flowfabric::api {
namespace {

// All of them must run at the same time before any of them ends.
class Meeting {
 public:
  explicit Meeting(int expected) : missing_(expected) {}
  void attend() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) complete_.notify_all();
    complete_.wait(lock, [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable complete_;
  int missing_;
};

TEST(Pool, WorkThatThrowsEndsNothingButItself) {
  Pool pool(1, 10);
  std::atomic<int> done{0};
  ASSERT_TRUE(
      pool.submit([] { throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)); }));
  ASSERT_TRUE(pool.submit([&] { ++done; }));
  pool.stop();
  EXPECT_EQ(done, 1);
}

TEST(Pool, AllThreadsWorkWhenThereIsWorkForAll) {
  constexpr int threads = 8;
  Pool pool(threads, 1000);
  for (int round = 0; round < 200; ++round) {
    const auto meeting = std::make_shared<Meeting>(threads + 1);
    for (int i = 0; i < threads; ++i) ASSERT_TRUE(pool.submit([meeting] { meeting->attend(); }));
    meeting->attend();
  }
}

TEST(Pool, NothingIsForgottenByThreadsThatGoToSleep) {
  Pool pool(4, 1000);
  for (int i = 0; i < 20000; ++i) {
    Gate done;
    ASSERT_TRUE(pool.submit([&] { done.open(); }));
    done.wait();
  }
}

TEST(Pool, FinishesWhatWaitsWhenItStops) {
  std::atomic<int> done{0};
  Pool pool(2, 1000);
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(pool.submit([&] { ++done; }));
  pool.stop();
  EXPECT_EQ(done, 500);
  EXPECT_FALSE(pool.submit([&] { ++done; }));
}

TEST(Pool, RefusesMoreThanMayWait) {
  Gate held;
  Pool pool(1, 2);
  Gate busy;
  ASSERT_TRUE(pool.submit([&] {
    busy.open();
    held.wait();
  }));
  busy.wait();
  EXPECT_TRUE(pool.submit([] {}));
  EXPECT_TRUE(pool.submit([] {}));
  EXPECT_FALSE(pool.submit([] {}));
  held.open();
}

}  // namespace
}  // namespace flowfabric::api
