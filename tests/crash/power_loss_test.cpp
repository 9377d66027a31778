// SQLite and power failures: what was answered is on the disk, and what was refused does not come back.
#include "crash/power_loss.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <vector>

#include <flowfabric/engine.hpp>

#include "store/sqlite/sqlite_store.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::crash {
namespace {

constexpr const char* file_name = "jobs.db";

std::string url_in(const test::TempDir& folder) { return "sqlite:" + folder.file(file_name); }

std::unique_ptr<Store> open_store(const test::TempDir& folder) {
  auto store = open_sqlite_store(url_in(folder), {});
  if (!store) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

Key key_of(int number) { return make_key(RecordKind::execution, std::to_string(number), 1); }

ChangeSet creation(int number) {
  ChangeSet set;
  set.roots.push_back(
      RootChange{key_of(number), 0, RootChange::Action::put, "fixed", std::string(20000, 'b'), std::nullopt});
  set.log.push_back(LogEntry{key_of(number), 1, 1000, "default", "lane", "body"});
  return set;
}

Result<void> commit(Session& session, int number) {
  auto verdicts = session.commit({creation(number)});
  if (!verdicts) return Unexpected(verdicts.error());
  return session.settle();
}

const std::vector<Surviving> all_losses = {
    {Surviving::What::none, 0}, {Surviving::What::some, 1}, {Surviving::What::some, 2}, {Surviving::What::all, 0}};

class PowerLossTest : public testing::Test {
 protected:
  // Calls `look` with a store opened on what each kind of loss leaves.
  template <class Look>
  void after_each_loss(Look look) {
    for (const Surviving& surviving : all_losses) {
      SCOPED_TRACE(testing::Message() << "loss " << static_cast<int>(surviving.what) << ", seed " << surviving.seed);
      const test::TempDir copy;
      power_.copy_to(copy.path(), surviving);
      const auto store = open_store(copy);
      EXPECT_EQ(store->check_integrity().value(), std::vector<std::string>{});
      look(*store);
    }
  }
  static bool has(Store& store, int number) { return !store.load({key_of(number)}).value().empty(); }

  const test::TempDir folder_;
  PowerLoss power_{folder_.path()};
};

// Also across checkpoints, which move what is in the log to the database.
TEST_F(PowerLossTest, CommitsOfAStoreWithDefaultOptionsAreFlushed) {
  const auto store = open_store(folder_);
  const auto session = store->open_session().value();
  constexpr int commits = 300;
  for (int i = 0; i < commits; ++i) {
    ASSERT_TRUE(commit(*session, i));
    if (i % 60 != 0 && i != commits - 1) continue;
    after_each_loss([&](Store& left) {
      EXPECT_EQ(left.scan(RecordKind::execution, {}, commits).value().size(), static_cast<std::size_t>(i + 1));
    });
  }
  EXPECT_GE(power_.flushes(), commits);
}

TEST_F(PowerLossTest, WhatABatchSawOfAnotherHandleIsFlushed) {
  const auto one = open_store(folder_), other = open_store(folder_);
  const auto session = one->open_session().value();
  ASSERT_TRUE(commit(*session, 1));
  const auto hasty = other->open_session().value();
  ASSERT_TRUE(hasty->commit({creation(2)})) << "and dies before it flushes";
  ReadRequest request;
  request.keys = {key_of(2)};
  ASSERT_EQ(session->read(request)->records.size(), 1u);
  session->release();
  ASSERT_TRUE(session->settle());
  after_each_loss([&](Store& left) { EXPECT_TRUE(has(left, 2)); });
}

// The write that fails may be any of the commit, the last one too: then the log has all of it, and its mark.
TEST_F(PowerLossTest, ACommitThatFailedDoesNotComeBack) {
  const auto store = open_store(folder_);
  const auto session = store->open_session().value();
  ASSERT_TRUE(commit(*session, 0));
  int failures = 0;
  for (int number = 1;; ++number) {
    power_.fail_write(std::string(file_name) + "-wal", number);
    const auto committed = commit(*session, number);
    if (!power_.write_has_failed()) {
      EXPECT_TRUE(committed);
      break;
    }
    ++failures;
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, Errc::unavailable) << "it is certain that nothing was written";
    EXPECT_FALSE(has(*store, number));
    after_each_loss([&](Store& left) { EXPECT_FALSE(has(left, number)) << number; });
  }
  EXPECT_GT(failures, 3);
  power_.fail_write({}, 0);
  EXPECT_TRUE(commit(*session, 1)) << "the store goes on";
}

TEST_F(PowerLossTest, TheEngineAnswersWhatIsDurable) {
  constexpr int executions = 400;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<ExecutionId> answered;
  const auto engine = Engine::open(url_in(folder_)).value();
  for (int i = 0; i < executions; ++i) {
    CreateRequest request;
    request.kind = "job";
    engine->create_async(request, [&](const Result<Created>& created) {
      const std::lock_guard lock(mutex);
      answered.push_back(created.value().execution_id);
      changed.notify_all();
    });
    if (i % 40 != 0) continue;
    std::vector<ExecutionId> expected;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !answered.empty(); });
      expected = answered;
    }
    const test::TempDir copy;
    power_.copy_to(copy.path());
    const auto left = Engine::open(url_in(copy)).value();
    for (const ExecutionId& id : expected) ASSERT_TRUE(left->describe_execution(id)) << i;
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return answered.size() == executions; });
}

}  // namespace
}  // namespace flowfabric::crash
