#include "store/sqlite/sqlite_store.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "store/sqlite/queries.hpp"
#include "store/sqlite/reader_pool.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/session.hpp"

namespace flowfabric {
namespace sqlite {
namespace {

struct Location {
  std::string path;
  Synchronous synchronous = Synchronous::full;
};

Result<void> parse_parameter(std::string_view parameter, Location& location) {
  const std::size_t equals = std::min(parameter.find('='), parameter.size());
  const std::string name(parameter.substr(0, equals));
  const std::string_view value = equals < parameter.size() ? parameter.substr(equals + 1) : "";
  if (name != "synchronous") {
    return fail(Errc::invalid_argument, "a sqlite: URL has no parameter \"" + name + "\"", "url");
  }
  if (value != "full" && value != "normal") {
    return fail(Errc::invalid_argument, "synchronous must be full or normal, not \"" + std::string(value) + "\"",
                "url");
  }
  location.synchronous = value == "full" ? Synchronous::full : Synchronous::normal;
  return {};
}

Result<Location> parse_url(std::string_view url) {
  constexpr std::string_view scheme = "sqlite:";
  if (!url.starts_with(scheme)) return fail(Errc::invalid_argument, "a SQLite store is sqlite:PATH", "url");
  std::string_view rest = url.substr(scheme.size());
  Location location;
  const std::size_t question = std::min(rest.find('?'), rest.size());
  location.path = rest.substr(0, question);
  rest.remove_prefix(std::min(question + 1, rest.size()));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    FF_TRY_VOID(parse_parameter(rest.substr(0, end), location));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (location.path.empty()) return fail(Errc::invalid_argument, "sqlite: needs the path of a file", "url");
  if (location.path.starts_with("//")) {
    return fail(Errc::invalid_argument, "the path follows sqlite: directly, without //", "url");
  }
  if (location.path.starts_with(":") || location.path.find('\0') != std::string::npos) {
    return fail(Errc::invalid_argument, "sqlite: needs the path of a file; use memory: for a store in memory", "url");
  }
  return location;
}

// Checks a path before SQLite does, which only reports that it cannot open it. The result is absolute: the process may
// change its directory before it opens its next connection, and a relative path could look like a URI.
Result<std::string> find_file(const std::string& path) {
  std::error_code error;
  // Links are followed here, because SQLite puts its other files beside the file that a link leads to.
  const std::filesystem::path file = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  if (error) return fail(Errc::unavailable, "the path " + path + " cannot be resolved: " + error.message(), "url");
  const std::filesystem::path folder = file.parent_path();
  if (!std::filesystem::is_directory(folder, error)) {
    return fail(Errc::invalid_argument, "the directory " + folder.string() + " of the database file does not exist",
                "url");
  }
  if (std::filesystem::is_directory(file, error)) {
    return fail(Errc::invalid_argument, "the path " + file.string() + " is a directory, not a database file", "url");
  }
  return file.string();
}

// Looks for commits of other processes, and whether the files are still there, as long as somebody listens.
class Watcher {
 public:
  Watcher(std::shared_ptr<Writer> writer, std::function<void(const Wakeup&)> listener)
      : writer_(std::move(writer)), listener_(std::move(listener)), thread_([this] { watch(); }) {}

  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_.notify_one();
    thread_.join();
  }

  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  static constexpr std::chrono::milliseconds interval{100};

  void watch() {
    Wakeup everything;
    everything.everything = true;
    std::unique_lock lock(mutex_);
    bool files_were_there = true;
    while (!stop_.wait_for(lock, interval, [this] { return stopping_; })) {
      lock.unlock();
      const bool files_are_there = writer_->check_files().has_value();
      if (writer_->foreign_commits() || files_are_there != files_were_there) listener_(everything);
      files_were_there = files_are_there;
      lock.lock();
    }
  }

  std::shared_ptr<Writer> writer_;
  std::function<void(const Wakeup&)> listener_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;  // last, because it uses the other members
};

constexpr std::size_t max_readers = 4;
constexpr std::size_t max_listers =
    4;  // fewer than the threads that an HTTP server has for reads, so that some are left

class SqliteStore final : public Store {
 public:
  // Without a writer it can only be read.
  SqliteStore(const std::string& path, std::shared_ptr<Writer> writer, StoreOptions options)
      : writer_(std::move(writer)),
        clock_(std::make_shared<Clock>(std::move(options.now_us))),
        clock_reader_(path, {.connections = 1, .unchanged = writer_ == nullptr}),
        lookups_(path, {.connections = max_readers,
                        .timeout = std::chrono::milliseconds(options.read_timeout_ms),
                        .unchanged = writer_ == nullptr}),
        readers_(path, {.connections = max_readers,
                        .timeout = std::chrono::milliseconds(options.read_timeout_ms),
                        .unchanged = writer_ == nullptr}),
        listers_(path, {.connections = max_listers,
                        .refuses = true,
                        .timeout = std::chrono::milliseconds(options.read_timeout_ms),
                        .unchanged = writer_ == nullptr}),
        inspector_(path, {.connections = 1, .unchanged = writer_ == nullptr}) {}

  Result<std::unique_ptr<Session>> open_session() override {
    if (!writer_) return opened_for_reading();
    return std::make_unique<SqliteSession>(writer_, clock_);
  }
  std::uint32_t preferred_sessions() const override { return 1; }
  bool settles_later() const override { return writer_->settles_later(); }

  Result<std::vector<RouteNo>> forget_routes(const std::vector<RouteNo>& numbers) override;

  Result<std::optional<TimestampMs>> next_due() override { return with(clock_reader_, sqlite::next_due); }
  Result<std::vector<DueEntry>> due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                            std::uint32_t limit) override {
    return with(clock_reader_, sqlite::due_entries, after, until, limit);
  }
  Result<std::vector<DueEntry>> group_entries(std::uint64_t group, const std::optional<GroupPosition>& after,
                                              std::uint32_t limit) override {
    return with(readers_, sqlite::group_entries, group, after, limit);
  }
  Result<std::vector<Record>> load(const std::vector<Key>& keys) override { return with(lookups_, sqlite::load, keys); }
  Result<std::vector<Satellite>> load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                 std::uint32_t limit) override {
    return with(readers_, sqlite::load_satellites, root, kind, from, limit);
  }
  Result<std::vector<SequenceEntry>> load_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override {
    return with(readers_, sqlite::load_sequence, name, from, limit);
  }
  Result<std::vector<Record>> scan(RecordKind kind, const std::string& after, std::uint32_t limit) override {
    return with(listers_, sqlite::scan, kind, after, limit);
  }
  Result<std::vector<ListedRecord>> list(const ListQuery& query) override {
    return with(listers_, sqlite::list, query);
  }
  Result<std::vector<Counter>> counters(const std::string& prefix) override {
    return with(readers_, sqlite::counters, prefix);
  }
  Result<std::int64_t> now_us() override {
    return with(lookups_, [this](Database& reader) { return clock_->look(reader); });
  }
  Result<std::uint64_t> count_ready_before(const ReadyEntry& entry, std::uint64_t limit) override {
    return with(listers_, sqlite::count_ready_before, entry, limit);
  }
  Result<std::optional<std::uint64_t>> first_ready(RouteNo route, std::int32_t priority) override {
    return with(lookups_, sqlite::first_ready, route, priority);
  }

  Result<std::string> log_start() override { return with(readers_, sqlite::log_start); }
  Result<std::string> log_end() override { return with(readers_, sqlite::log_end); }
  Result<LogPage> read_log(const LogQuery& query) override { return with(readers_, sqlite::read_log, query); }
  Result<std::vector<LoggedEntry>> history(const Key& root, const std::string& after, std::uint32_t limit) override {
    return with(readers_, sqlite::history, root, after, limit);
  }

  // Other processes see a commit in the file itself; nothing is sent.
  void announce(const Wakeup&) override {}
  void listen(std::function<void(const Wakeup&)> listener) override {
    watcher_.reset();
    if (listener && writer_) watcher_ = std::make_unique<Watcher>(writer_, std::move(listener));
  }
  std::optional<Error> failure() override { return writer_ ? writer_->failure() : std::nullopt; }
  std::vector<StoreFigure> figures() override;

  Result<std::vector<std::string>> check_integrity() override { return with(inspector_, sqlite::check_integrity); }
  std::unique_ptr<Inspection> inspect() override;

 private:
  friend class SqliteInspection;
  template <class Query, class... Arguments>
  auto with(ReaderPool& readers, Query query, const Arguments&... arguments)
      -> decltype(query(std::declval<Database&>(), arguments...)) {
    if (writer_) FF_TRY_VOID(writer_->check_files());
    FF_TRY(reader, readers.borrow());
    auto found = query(*reader, arguments...);
    if (!writer_) return found;
    if (!found && reports_damage(found.error())) writer_->note_damage(found.error());
    // A reader sees a commit shortly before it is durable, and reported data must not be lost.
    FF_TRY_VOID(writer_->settle());
    return found;
  }

  std::shared_ptr<Writer> writer_;
  std::shared_ptr<Clock> clock_;
  ReaderPool clock_reader_;  // next_due and due_entries, which only the clock calls
  ReaderPool lookups_;       // records by their keys
  ReaderPool readers_;       // satellites, groups and the log
  ReaderPool listers_;       // what may have to look at many
  ReaderPool inspector_;     // what looks at everything
  std::unique_ptr<Watcher> watcher_;
};

class SqliteInspection final : public Inspection {
 public:
  explicit SqliteInspection(SqliteStore& store) : store_(store) {}

  Result<std::vector<InspectedRecord>> records(const std::string& after, std::uint32_t limit) override {
    return store_.with(store_.inspector_, sqlite::inspect_records, after, limit);
  }
  Result<std::vector<InspectedReady>> ready(const std::optional<ReadyEntry>& after, std::uint32_t limit) override {
    return store_.with(store_.inspector_, sqlite::inspect_ready, after, limit);
  }
  Result<std::vector<InspectedDue>> due(const std::optional<DueEntry>& after, std::uint32_t limit) override {
    return store_.with(store_.inspector_, sqlite::inspect_due, after, limit);
  }
  Result<std::vector<SatelliteName>> orphaned_satellites(const std::optional<SatelliteName>& after,
                                                         std::uint32_t limit) override {
    return store_.with(store_.inspector_, sqlite::orphaned_satellites, after, limit);
  }
  Result<std::vector<SequenceName>> orphaned_sequences(const std::optional<SequenceName>& after,
                                                       std::uint32_t limit) override {
    return store_.with(store_.inspector_, sqlite::orphaned_sequences, after, limit);
  }
  Result<InspectedCounts> counts() override { return store_.with(store_.inspector_, sqlite::inspect_counts); }
  Result<std::vector<Route>> routes() override { return store_.with(store_.inspector_, sqlite::all_routes); }
  Result<std::vector<PresentEntries>> present(const std::vector<WantedEntries>& wanted) override {
    return store_.with(store_.inspector_, sqlite::present, wanted);
  }

 private:
  SqliteStore& store_;
};

std::vector<StoreFigure> SqliteStore::figures() {
  if (!writer_) return {};
  const Checkpointer& checkpointer = writer_->checkpointer();
  return {{"flowfabric_sqlite_wal_bytes", "Size of the write-ahead log as of the last commit.", false,
           static_cast<double>(checkpointer.log_bytes())},
          {"flowfabric_sqlite_unfinished_checkpoints_total",
           "Checkpoints that failed or could not copy all of the write-ahead log.", true,
           static_cast<double>(checkpointer.unfinished())}};
}

std::unique_ptr<Inspection> SqliteStore::inspect() { return std::make_unique<SqliteInspection>(*this); }

Result<std::vector<RouteNo>> SqliteStore::forget_routes(const std::vector<RouteNo>& numbers) {
  if (!writer_) return opened_for_reading();
  FF_TRY_VOID(writer_->begin());
  auto gone = sqlite::forget_routes(writer_->database(), numbers);
  if (!gone || gone->empty()) {
    writer_->rollback();
    return gone;
  }
  FF_TRY_VOID(writer_->commit());
  FF_TRY_VOID(writer_->settle());
  return gone;
}

}  // namespace
}  // namespace sqlite

namespace {

// Says which file an error is about.
Error with_path(Error error, const std::string& path) {
  if (error.message.find(path) == std::string::npos) error.message = "cannot open " + path + ": " + error.message;
  return error;
}

Result<void> check_for_reading(const std::string& path) {
  FF_TRY(found, sqlite::find_database(path));
  if (!found) return fail(Errc::not_found, "there is no file " + path, "url");
  FF_TRY(database, sqlite::open_unchanged(path));
  return sqlite::require_schema(database, path);
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& url, StoreOptions options) {
  FF_TRY(location, sqlite::parse_url(url));
  FF_TRY(path, sqlite::find_file(location.path));
  if (options.access == StoreAccess::read) {
    if (auto good = check_for_reading(path); !good) return Unexpected(with_path(std::move(good).error(), path));
    return std::make_unique<sqlite::SqliteStore>(path, nullptr, std::move(options));
  }
  auto writer = sqlite::Writer::open(path, location.synchronous);
  if (!writer) return Unexpected(with_path(std::move(writer).error(), path));
  return std::make_unique<sqlite::SqliteStore>(path, std::move(*writer), std::move(options));
}

}  // namespace flowfabric
