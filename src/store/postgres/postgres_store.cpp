#include "store/postgres/postgres_store.hpp"

#include <random>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "store/postgres/event_log.hpp"
#include "store/postgres/incarnation.hpp"
#include "store/postgres/inspection.hpp"
#include "store/postgres/queries.hpp"
#include "store/postgres/reader.hpp"
#include "store/postgres/schema.hpp"
#include "store/postgres/session.hpp"
#include "store/postgres/wakeup.hpp"

namespace flowfabric {
namespace {

using namespace postgres;

constexpr std::uint32_t sessions = 2;
constexpr int max_readers = 4;
constexpr int max_listers = 4;  // fewer than the threads that an HTTP server has for reads, so that some are left

std::string random_name() {
  std::random_device device;
  return std::to_string((std::uint64_t{device()} << 32) | device());
}

// An empty position is the place before everything.
Result<Cursor> cursor_of(const std::string& position) {
  if (position.empty()) return Cursor{};
  return decode_cursor(position);
}

class PostgresInspection final : public Inspection {
 public:
  explicit PostgresInspection(ReaderPool& readers) : readers_(readers) {}

  Result<std::vector<InspectedRecord>> records(const std::string& after, std::uint32_t limit) override {
    return readers_.run([&](Connection& c) { return inspect_records(c, after, limit); });
  }
  Result<std::vector<InspectedReady>> ready(const std::optional<ReadyEntry>& after, std::uint32_t limit) override {
    return readers_.run([&](Connection& c) { return inspect_ready(c, after, limit); });
  }
  Result<std::vector<InspectedDue>> due(const std::optional<DueEntry>& after, std::uint32_t limit) override {
    return readers_.run([&](Connection& c) { return inspect_due(c, after, limit); });
  }
  Result<std::vector<SatelliteName>> orphaned_satellites(const std::optional<SatelliteName>& after,
                                                         std::uint32_t limit) override {
    return readers_.run([&](Connection& c) { return postgres::orphaned_satellites(c, after, limit); });
  }
  Result<std::vector<SequenceName>> orphaned_sequences(const std::optional<SequenceName>& after,
                                                       std::uint32_t limit) override {
    return readers_.run([&](Connection& c) { return postgres::orphaned_sequences(c, after, limit); });
  }
  Result<InspectedCounts> counts() override { return readers_.run(inspect_counts); }
  Result<std::vector<Route>> routes() override { return readers_.run(all_routes); }
  Result<std::vector<PresentEntries>> present(const std::vector<WantedEntries>& wanted) override {
    return readers_.run([&](Connection& c) { return postgres::present(c, wanted); });
  }

 private:
  ReaderPool& readers_;
};

class PostgresStore final : public Store {
 public:
  PostgresStore(Address address, StoreOptions options)
      : address_(std::move(address)),
        options_(std::move(options)),
        name_(random_name()),
        clock_reader_(address_, {.connections = 1}),
        lookups_(address_, {.connections = max_readers, .timeout_ms = options_.read_timeout_ms}),
        readers_(address_, {.connections = max_readers, .timeout_ms = options_.read_timeout_ms}),
        listers_(address_, {.connections = max_listers, .refuses = true, .timeout_ms = options_.read_timeout_ms}),
        inspector_(address_, {.connections = 1}),
        notifier_(address_, name_) {}

  Result<std::unique_ptr<Session>> open_session() override {
    if (options_.access == StoreAccess::read) return opened_for_reading();
    return WriterSession::open(address_, options_.now_us);
  }
  std::uint32_t preferred_sessions() const override { return sessions; }

  Result<std::vector<RouteNo>> forget_routes(const std::vector<RouteNo>& numbers) override {
    if (options_.access == StoreAccess::read) return opened_for_reading();
    return clock_reader_.run([&](Connection& c) { return postgres::forget_routes(c, numbers); });
  }
  Result<std::optional<TimestampMs>> next_due() override { return clock_reader_.run(query_next_due); }
  Result<std::vector<DueEntry>> due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                            std::uint32_t limit) override {
    return clock_reader_.run([&](Connection& c) { return query_due_entries(c, after, until, limit); });
  }
  Result<std::vector<DueEntry>> group_entries(std::uint64_t group, const std::optional<GroupPosition>& after,
                                              std::uint32_t limit) override {
    return readers_.run([&](Connection& c) { return query_group_entries(c, group, after, limit); });
  }

  Result<std::vector<Record>> load(const std::vector<Key>& keys) override {
    return lookups_.run([&](Connection& c) { return query_records(c, keys); });
  }
  Result<std::vector<Satellite>> load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                 std::uint32_t limit) override {
    return readers_.run([&](Connection& c) { return query_satellites(c, root, kind, from, limit); });
  }
  Result<std::vector<SequenceEntry>> load_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override {
    return readers_.run([&](Connection& c) { return query_sequence(c, name, from, limit); });
  }
  Result<std::vector<Record>> scan(RecordKind kind, const std::string& after, std::uint32_t limit) override {
    return listers_.run([&](Connection& c) { return query_scan(c, kind, after, limit); });
  }
  Result<std::vector<ListedRecord>> list(const ListQuery& query) override {
    return listers_.run([&](Connection& c) { return query_list(c, query); });
  }
  Result<std::vector<Counter>> counters(const std::string& prefix) override {
    return readers_.run([&](Connection& c) { return query_counters(c, prefix); });
  }
  Result<std::int64_t> now_us() override {
    if (options_.now_us) return options_.now_us();
    return lookups_.run(query_now_us);
  }
  Result<std::uint64_t> count_ready_before(const ReadyEntry& entry, std::uint64_t limit) override {
    return listers_.run([&](Connection& c) { return query_ready_before(c, entry, limit); });
  }
  Result<std::optional<std::uint64_t>> first_ready(RouteNo route, std::int32_t priority) override {
    return lookups_.run([&](Connection& c) { return query_first_ready(c, route, priority); });
  }

  Result<std::string> log_start() override { return readers_.run(query_log_start); }
  Result<std::string> log_end() override { return readers_.run(query_log_end); }
  Result<LogPage> read_log(const LogQuery& query) override {
    FF_TRY(after, cursor_of(query.after));
    FF_TRY(page, readers_.run([&](Connection& c) { return query_log(c, query, after); }));
    return page;
  }
  Result<std::vector<LoggedEntry>> history(const Key& root, const std::string& after, std::uint32_t limit) override {
    FF_TRY(cursor, cursor_of(after));
    FF_TRY(entries, readers_.run([&](Connection& c) { return query_history(c, root, cursor, limit); }));
    return entries;
  }

  Result<LogHealth> log_health() override { return readers_.run(query_log_health); }

  void announce(const Wakeup& wakeup) override { notifier_.announce(wakeup); }
  void listen(std::function<void(const Wakeup&)> listener) override {
    listener_.reset();
    if (listener) listener_ = std::make_unique<Listener>(address_, name_, std::move(listener));
  }

  Result<std::vector<std::string>> check_integrity() override { return inspector_.run(query_findings); }
  std::unique_ptr<Inspection> inspect() override { return std::make_unique<PostgresInspection>(inspector_); }

 private:
  const Address address_;
  const StoreOptions options_;
  const std::string name_;   // distinguishes our own notifications from those of others
  ReaderPool clock_reader_;  // next_due, due_entries and forget_routes, which only the clock calls
  ReaderPool lookups_;       // records by their keys
  ReaderPool readers_;       // satellites, groups and the log
  ReaderPool listers_;       // what may have to look at many
  ReaderPool inspector_;     // what looks at everything
  Notifier notifier_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

namespace {

// Whether the connection still leads to the same server process while another one is in a transaction. A pooler that pools
// by transaction has given that process to the other one meanwhile.
Result<void> check_pooling(Connection& connection, const Address& address) {
  const auto process_of = [](Connection& asked) -> Result<std::string> {
    FF_TRY(row, to_result(asked.exec("SELECT pg_backend_pid()")));
    return row.string(0, 0);
  };
  FF_TRY(other, Connection::open(address, ""));
  FF_TRY(before, process_of(connection));
  FF_TRY_VOID(to_result(other->exec("BEGIN; SELECT 1")));
  FF_TRY(after, process_of(connection));
  if (before == after) return {};
  return Unexpected(pooled_by_transaction());
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(const std::string& url, StoreOptions options) {
  FF_TRY(address, parse_address(url));
  {
    FF_TRY(connection, Connection::open(address, "SET client_min_messages = warning"));
    const bool writes = options.access == StoreAccess::write;
    FF_TRY_VOID(check_pooling(*connection, address));
    FF_TRY_VOID(prepare_schema(*connection, address, options.migrate && writes));
    // Before anybody reads a log that was restored here. A standby can be read all the same; a store that is opened for
    // reading leaves this to those who write.
    if (writes) {
      const auto found = current_incarnation(*connection, address);
      if (!found && found.error().code != Errc::unavailable) return Unexpected(found.error());
    }
  }
  return std::unique_ptr<Store>(std::make_unique<PostgresStore>(std::move(address), std::move(options)));
}

}  // namespace flowfabric
