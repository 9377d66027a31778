// Who may read the files of a database, and what happens when they are moved, removed, emptied or must not be changed.
#include "store/sqlite/files.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/log.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric {
namespace {

namespace fs = std::filesystem;

Result<std::unique_ptr<Store>> open_at(const std::string& path, StoreAccess access = StoreAccess::write) {
  StoreOptions options;
  options.access = access;
  return open_sqlite_store("sqlite:" + path, std::move(options));
}

Key file_test_key(char name) { return Key{std::string("e") + name + std::string("\0\1", 2)}; }

Result<void> write_one(Store& store, char name) {
  ChangeSet set;
  set.roots.push_back(RootChange{file_test_key(name), 0, RootChange::Action::put, "fixed", "body", std::nullopt});
  auto session = store.open_session();
  if (!session) return Unexpected(session.error());
  if (auto verdicts = (*session)->commit({set}); !verdicts) return Unexpected(verdicts.error());
  return (*session)->settle();
}

std::size_t count_records(Store& store) { return store.scan(RecordKind::execution, "", 100).value().size(); }

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777U;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The files of a folder with their contents.
std::map<std::string, std::string> folder_state(const test::TempDir& folder) {
  std::map<std::string, std::string> state;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    state[entry.path().filename().string()] = content_of(entry.path().string());
  }
  return state;
}

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { ::umask(before_); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;

 private:
  const mode_t before_;
};

TEST(SqliteFiles, OnlyTheOwnerCanReadThemWhateverTheUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{0022}, mode_t{0377}}) {
    const Umask umask(mask);
    const test::TempDir folder;
    const std::string path = folder.file("x.db");
    auto store = open_at(path);
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(write_one(**store, 'a'));
    for (const char* suffix : {"", "-wal", "-shm"}) EXPECT_EQ(mode_of(path + suffix), 0600U) << suffix << " " << mask;
    store->reset();
    EXPECT_EQ(folder_state(folder).size(), 1u) << "a database at rest is one file";
  }
}

TEST(SqliteFiles, FilesThatOthersCanReadAreNamed) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  open_at(path).value().reset();
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  configure_log(LogLevel::warn, LogFormat::text);
  testing::internal::CaptureStderr();
  auto store = open_at(path);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(store);
  EXPECT_NE(said.find("file=" + path + " mode=0644"), std::string::npos) << said;
}

TEST(SqliteFiles, AMovedDatabaseStopsTheStore) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_at(path).value();
  ASSERT_TRUE(write_one(*store, 'a'));
  EXPECT_FALSE(store->failure());
  fs::rename(path, folder.file("moved.db"));
  const auto refused = write_one(*store, 'b');
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_NE(refused.error().message.find(path + " was removed or moved"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(store->load({file_test_key('a')})) << "what is read could be of another file";
  ASSERT_TRUE(store->failure());
  fs::rename(folder.file("moved.db"), path);
  EXPECT_FALSE(write_one(*store, 'b')) << "it stays stopped";
  store.reset();
  EXPECT_EQ(count_records(*open_at(path).value()), 1u);
}

TEST(SqliteFiles, ARemovedOrReplacedFileStopsTheStoreToo) {
  for (const char* suffix : {"", "-wal"}) {
    for (const bool replaced : {false, true}) {
      const test::TempDir folder;
      const std::string path = folder.file("x.db");
      auto store = open_at(path).value();
      ASSERT_TRUE(write_one(*store, 'a'));
      fs::copy_file(path + suffix, folder.file("copy"));
      fs::remove(path + suffix);
      if (replaced) fs::rename(folder.file("copy"), path + suffix);
      const auto refused = write_one(*store, 'b');
      ASSERT_FALSE(refused) << suffix << replaced;
      EXPECT_EQ(refused.error().code, Errc::unavailable);
    }
  }
}

TEST(SqliteFiles, WhatWasCommittedWhileTheFileVanishedIsNotAcknowledged) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_at(path).value();
  auto session = store->open_session().value();
  ASSERT_TRUE(session->read({}));
  fs::remove(path);
  ChangeSet set;
  set.roots.push_back(RootChange{file_test_key('a'), 0, RootChange::Action::put, "fixed", "body", std::nullopt});
  if (session->commit({set})) {
    const auto settled = session->settle();
    ASSERT_FALSE(settled);
    EXPECT_EQ(settled.error().code, Errc::outcome_unknown);
  }
}

TEST(SqliteFiles, NoNewStoreBeginsBesideALeftoverLog) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  auto store = open_at(path).value();
  ASSERT_TRUE(write_one(*store, 'a'));
  fs::remove(path);
  EXPECT_FALSE(write_one(*store, 'b'));
  store.reset();
  const auto refused = open_at(path);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(path + "-wal is there"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(fs::exists(path));
  fs::remove(path + "-wal");
  EXPECT_TRUE(open_at(path));
}

TEST(SqliteFiles, AnEmptyFileIsRefused) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  std::ofstream(path).close();
  for (const StoreAccess access : {StoreAccess::write, StoreAccess::read}) {
    const auto refused = open_at(path, access);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(path + " is empty"), std::string::npos) << refused.error().message;
  }
  EXPECT_EQ(fs::file_size(path), 0u);
}

TEST(SqliteFiles, AfterAReportOfDamageNothingIsWritten) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  {
    auto store = open_at(path).value();
    for (char name = 'a'; name <= 'z'; ++name) ASSERT_TRUE(write_one(*store, name));
  }
  // The root page of the index by key, which a look at one record needs.
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  int page = 0;
  const auto take = [](void* to, int, char** values, char**) {
    return *static_cast<int*>(to) = std::stoi(values[0]), 0;
  };
  ASSERT_EQ(sqlite3_exec(connection, "SELECT rootpage FROM sqlite_schema WHERE name = 'satellite_name'", take, &page,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(connection);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((page - 1) * 4096L);
    file << std::string(4096, '\xee');
  }
  auto store = open_at(path).value();
  ASSERT_TRUE(write_one(*store, 'A')) << "what is not looked at does not hurt";
  const auto read = store->load_satellites(file_test_key('a'), 1, 0, 1);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::corruption);
  const auto refused = write_one(*store, 'B');
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::corruption);
  ASSERT_TRUE(store->failure());
  EXPECT_TRUE(store->load({file_test_key('a')})) << "what can be read is still read";
}

TEST(SqliteReading, ChangesNothing) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  {
    auto store = open_at(path).value();
    ASSERT_TRUE(write_one(*store, 'a'));
  }
  const auto before = folder_state(folder);
  {
    auto store = open_at(path, StoreAccess::read);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(count_records(**store), 1u);
    EXPECT_TRUE((*store)->check_integrity());
    EXPECT_EQ((*store)->open_session().error().code, Errc::unsupported);
    EXPECT_EQ((*store)->forget_routes({1}).error().code, Errc::unsupported);
  }
  EXPECT_EQ(folder_state(folder), before);
}

TEST(SqliteReading, LeavesTheLogOfACrashedServer) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  const pid_t child = fork();
  if (child == 0) {
    auto store = open_at(path).value();
    _exit(write_one(*store, 'a') ? 0 : 1);  // without closing
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const auto before = folder_state(folder);
  ASSERT_TRUE(before.contains("x.db-wal"));
  EXPECT_EQ(count_records(*open_at(path, StoreAccess::read).value()), 1u);
  const auto after = folder_state(folder);
  EXPECT_EQ(after.at("x.db"), before.at("x.db"));
  EXPECT_EQ(after.at("x.db-wal"), before.at("x.db-wal"));
}

TEST(SqliteReading, AnOlderFileIsNotMigratedButNamed) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  open_at(path).value().reset();
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(connection, "PRAGMA user_version = 3", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(connection);
  const auto before = folder_state(folder);
  const auto refused = open_at(path, StoreAccess::read);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::schema_mismatch);
  EXPECT_NE(refused.error().message.find("flowfabric migrate"), std::string::npos) << refused.error().message;
  EXPECT_EQ(folder_state(folder), before);
}

// As a user who may write neither the file nor its folder; a test that runs as root becomes such a user.
TEST(SqliteReading, WorksWhereNothingCanBeWritten) {
  const test::TempDir folder;
  const std::string path = folder.file("x.db");
  {
    auto store = open_at(path).value();
    ASSERT_TRUE(write_one(*store, 'a'));
  }
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (geteuid() == 0 && setresuid(nobody, nobody, nobody) != 0) _exit(2);
    auto store = open_at(path, StoreAccess::read);
    if (!store) _exit(3);
    const auto records = (*store)->scan(RecordKind::execution, "", 10);
    if (!records || records->size() != 1) _exit(4);
    _exit(open_at(path) ? 5 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "2: cannot become nobody, 3: open, 4: read, 5: it was opened for writing";
}

}  // namespace
}  // namespace flowfabric
