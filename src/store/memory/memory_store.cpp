#include "store/memory/memory_store.hpp"

#include <utility>

#include "base/wall_clock.hpp"
#include "store/memory/memory_database.hpp"

namespace flowfabric {
namespace {

class MemorySession final : public Session {
 public:
  MemorySession(std::shared_ptr<MemoryDatabase> database, std::function<std::int64_t()> now_us)
      : database_(std::move(database)), now_us_(std::move(now_us)) {}
  MemorySession(const MemorySession&) = delete;
  MemorySession& operator=(const MemorySession&) = delete;
  ~MemorySession() override { database_->release(this); }

  Result<ReadReply> read(const ReadRequest& request) override { return database_->read(this, request, now_us_()); }

  Result<std::vector<Satellite>> read_satellites(const std::vector<SatelliteName>& names) override {
    return database_->read_satellites(names);
  }

  Result<std::vector<SequenceEntry>> read_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override {
    return database_->load_sequence(name, from, limit);
  }

  Result<std::vector<Verdict>> commit(const std::vector<ChangeSet>& sets) override {
    return database_->commit(this, sets, appended_);
  }
  const std::vector<std::uint64_t>& appended() const override { return appended_; }

  void release() override { database_->release(this); }

 private:
  const std::shared_ptr<MemoryDatabase> database_;
  const std::function<std::int64_t()> now_us_;
  std::vector<std::uint64_t> appended_;
};

std::function<std::int64_t()> system_clock() {
  return [clock = std::make_shared<WallClock>()] { return clock->now_us(); };
}

class MemoryInspection final : public Inspection {
 public:
  explicit MemoryInspection(std::shared_ptr<MemoryDatabase> database) : database_(std::move(database)) {}

  Result<std::vector<InspectedRecord>> records(const std::string& after, std::uint32_t limit) override {
    return database_->inspect_records(after, limit);
  }
  Result<std::vector<InspectedReady>> ready(const std::optional<ReadyEntry>& after, std::uint32_t limit) override {
    return database_->inspect_ready(after, limit);
  }
  Result<std::vector<InspectedDue>> due(const std::optional<DueEntry>& after, std::uint32_t limit) override {
    return database_->inspect_due(after, limit);
  }
  Result<std::vector<SatelliteName>> orphaned_satellites(const std::optional<SatelliteName>& after,
                                                         std::uint32_t limit) override {
    return database_->orphaned_satellites(after, limit);
  }
  Result<std::vector<SequenceName>> orphaned_sequences(const std::optional<SequenceName>& after,
                                                       std::uint32_t limit) override {
    return database_->orphaned_sequences(after, limit);
  }
  Result<InspectedCounts> counts() override { return database_->counts(); }
  Result<std::vector<Route>> routes() override { return database_->routes(); }
  Result<std::vector<PresentEntries>> present(const std::vector<WantedEntries>& wanted) override {
    return database_->present(wanted);
  }

 private:
  const std::shared_ptr<MemoryDatabase> database_;
};

class MemoryStore final : public Store {
 public:
  MemoryStore(std::shared_ptr<MemoryDatabase> database, StoreOptions options)
      : database_(std::move(database)),
        access_(options.access),
        now_us_(options.now_us ? std::move(options.now_us) : system_clock()),
        listener_(std::make_shared<ListenerSlot>()) {
    database_->add_listener(listener_);
  }
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;
  ~MemoryStore() override {
    database_->remove_listener(listener_);
    listener_->set({});
  }

  Result<std::unique_ptr<Session>> open_session() override {
    if (access_ == StoreAccess::read) return opened_for_reading();
    return std::make_unique<MemorySession>(database_, now_us_);
  }

  // One mutex allows one writer at a time; more would only wait for each other.
  std::uint32_t preferred_sessions() const override { return 1; }

  Result<std::vector<RouteNo>> forget_routes(const std::vector<RouteNo>& numbers) override {
    if (access_ == StoreAccess::read) return opened_for_reading();
    return database_->forget_routes(numbers);
  }
  Result<std::optional<TimestampMs>> next_due() override { return database_->next_due(); }
  Result<std::vector<DueEntry>> due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                            std::uint32_t limit) override {
    return database_->due_entries(after, until, limit);
  }
  Result<std::vector<DueEntry>> group_entries(std::uint64_t group, const std::optional<GroupPosition>& after,
                                              std::uint32_t limit) override {
    return database_->group_entries(group, after, limit);
  }
  Result<std::vector<Record>> load(const std::vector<Key>& keys) override { return database_->load(keys); }
  Result<std::vector<Satellite>> load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                 std::uint32_t limit) override {
    return database_->load_satellites(root, kind, from, limit);
  }
  Result<std::vector<SequenceEntry>> load_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override {
    return database_->load_sequence(name, from, limit);
  }
  Result<std::vector<Record>> scan(RecordKind kind, const std::string& after, std::uint32_t limit) override {
    return database_->scan(kind, after, limit);
  }
  Result<std::vector<ListedRecord>> list(const ListQuery& query) override { return database_->list(query); }
  Result<std::vector<Counter>> counters(const std::string& prefix) override { return database_->counters(prefix); }
  Result<std::int64_t> now_us() override { return now_us_(); }
  Result<std::uint64_t> count_ready_before(const ReadyEntry& entry, std::uint64_t limit) override {
    return database_->count_ready_before(entry, limit);
  }
  Result<std::optional<std::uint64_t>> first_ready(RouteNo route, std::int32_t priority) override {
    return database_->first_ready(route, priority);
  }

  Result<std::string> log_start() override { return database_->log_start(); }
  Result<std::string> log_end() override { return database_->log_end(); }
  Result<LogPage> read_log(const LogQuery& query) override { return database_->read_log(query); }
  Result<std::vector<LoggedEntry>> history(const Key& root, const std::string& after, std::uint32_t limit) override {
    return database_->history(root, after, limit);
  }

  void announce(const Wakeup& wakeup) override { database_->announce(listener_.get(), wakeup); }
  void listen(std::function<void(const Wakeup&)> listener) override { listener_->set(std::move(listener)); }

  Result<std::vector<std::string>> check_integrity() override { return database_->check_integrity(); }
  std::unique_ptr<Inspection> inspect() override { return std::make_unique<MemoryInspection>(database_); }

 private:
  const std::shared_ptr<MemoryDatabase> database_;
  const StoreAccess access_;
  const std::function<std::int64_t()> now_us_;
  const std::shared_ptr<ListenerSlot> listener_;
};

}  // namespace

std::shared_ptr<MemoryDatabase> make_memory_database() { return std::make_shared<MemoryDatabase>(); }

std::unique_ptr<Store> open_memory_store(std::shared_ptr<MemoryDatabase> database, StoreOptions options) {
  return std::make_unique<MemoryStore>(std::move(database), std::move(options));
}

}  // namespace flowfabric
