// For commits that become durable after they are written: no reply is sent before, and the writer does not wait.
#include <flowfabric/engine.hpp>

#include <condition_variable>
#include <mutex>

#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"
#include "engine/engine_impl.hpp"

namespace flowfabric::test {
namespace {

// Settling waits here until the test continues.
class Gate {
 public:
  Result<void> pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    return outcome_;
  }
  void open(Result<void> outcome = {}) {
    const std::lock_guard lock(mutex_);
    open_ = true;
    outcome_ = std::move(outcome);
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  Result<void> outcome_;
};

// Answers to creates, counted.
class Answers {
 public:
  void create(Engine& engine) {
    engine.create_async(job(), [this](const Result<Created>& reply) {
      const std::lock_guard lock(mutex_);
      (reply ? created_ : refused_) += 1;
      if (!reply) last_refusal_ = reply.error().code;
      changed_.notify_all();
    });
  }
  void wait_for(int number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return created_ + refused_ >= number; });
  }
  int created() { return read(created_); }
  int refused() { return read(refused_); }
  Errc last_refusal() { return read(last_refusal_); }

 private:
  template <class T>
  T read(const T& value) {
    const std::lock_guard lock(mutex_);
    return value;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int created_ = 0, refused_ = 0;
  Errc last_refusal_{};
};

class EngineSettling : public EngineSuite {
 protected:
  EngineSettling() : watch_(std::make_shared<Watch>()) {
    watch_->before_settling = [this] { return gate_.pass(); };
  }
  std::unique_ptr<Engine> start(std::uint32_t writers = 1) {
    EngineOptions options;
    options.writers = writers;
    return value_of(start_engine(std::make_unique<WatchedStore>(open_store(), watch_), options));
  }
  void wait_for_commits(int number) {
    while (watch_->commits < number) std::this_thread::yield();
  }

  Gate gate_;
  const std::shared_ptr<Watch> watch_;
};

ON_EVERY_STORE(EngineSettling);

TEST_P(EngineSettling, answers_wait_for_it_and_the_next_batch_does_not) {
  const auto engine = start();
  Answers answers;
  answers.create(*engine);
  answers.wait_for(1);
  gate_.close();
  const int before = watch_->commits;
  answers.create(*engine);
  wait_for_commits(before + 1);
  for (std::size_t i = 0; i < limits::worthwhile_batch_commands; ++i) answers.create(*engine);
  wait_for_commits(before + 2);
  EXPECT_EQ(answers.created(), 1);
  gate_.open();
  answers.wait_for(2 + static_cast<int>(limits::worthwhile_batch_commands));
  EXPECT_EQ(answers.refused(), 0);
}

TEST_P(EngineSettling, what_the_disk_did_not_keep_has_an_unknown_outcome) {
  const auto engine = start();
  Answers answers;
  gate_.open(fail(Errc::outcome_unknown, "the disk failed"));
  answers.create(*engine);
  answers.wait_for(1);
  EXPECT_EQ(answers.refused(), 1);
  EXPECT_EQ(answers.last_refusal(), Errc::outcome_unknown);
}

// One writer answers the last batch; the others, which waited for that too, end as well.
TEST_P(EngineSettling, stopping_lets_all_writers_go) {
  const auto engine = start(4);
  Answers answers;
  gate_.close();
  const int before = watch_->commits;
  answers.create(*engine);
  wait_for_commits(before + 1);
  std::thread stopper([&] { engine->stop(); });
  // A refusal means that stopping has begun; then the writers wait for batches in progress.
  int created = 1;
  for (; answers.refused() == 0; ++created) answers.create(*engine);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate_.open();
  stopper.join();
  EXPECT_EQ(answers.created() + answers.refused(), created);
}

TEST_P(EngineSettling, stopping_answers_what_is_on_its_way) {
  const auto engine = start();
  Answers answers;
  gate_.close();
  const int before = watch_->commits;
  answers.create(*engine);
  wait_for_commits(before + 1);
  answers.create(*engine);  // waits for the end of the first one's batch
  std::thread stopper([&] { engine->stop(); });
  gate_.open();
  stopper.join();
  answers.wait_for(2);
  EXPECT_EQ(answers.created(), 2);
}

}  // namespace
}  // namespace flowfabric::test
