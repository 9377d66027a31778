// A store that counts its calls and can die at a chosen call, like a process that is killed between two calls to its
// database.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "store/store.hpp"

namespace flowfabric::test {

// Shared by a WatchedStore, its sessions and the test.
struct Watch {
  enum class Death : std::uint8_t {
    before,  // the fatal call never reaches the database
    after,   // it is executed, but its reply is lost
  };
  std::atomic<int> calls{0};
  std::atomic<int> commits{0};
  std::atomic<bool> dead{false};
  int fatal_call = 0;  // the call that kills, counted from now; 0: none
  Death death = Death::before;
  std::function<Result<void>()> before_settling;  // set before the store is used
  std::atomic<int> log_reads{0};
  std::atomic<int> log_ends{0};
  std::string events_held_at;  // events behind this position are not shown; empty: all are
  // Called by sessions between a read and whatever follows; set by the thread that uses them.
  std::function<void(const ReadRequest&)> after_read;
  // Sees the reply before the engine does, and may put records into it that were true once.
  std::function<void(const ReadRequest&, ReadReply&)> change_reply;
  std::optional<Error> refuse_commits;  // what every commit answers

  template <class Call>
  auto through(Call call) -> decltype(call()) {
    if (dead) return fail(Errc::unavailable, "dead");
    const int number = ++calls;
    const bool fatal = number == fatal_call;
    if (fatal) dead = true;
    if (fatal && death == Death::before) return fail(Errc::unavailable, "dead");
    auto reply = call();
    if (fatal) return fail(Errc::outcome_unknown, "dead");
    return reply;
  }
};

class WatchedSession final : public Session {
 public:
  WatchedSession(std::unique_ptr<Session> inner, std::shared_ptr<Watch> watch)
      : inner_(std::move(inner)), watch_(std::move(watch)) {}

  Result<ReadReply> read(const ReadRequest& request) override {
    auto reply = watch_->through([&] { return inner_->read(request); });
    if (reply && watch_->change_reply) watch_->change_reply(request, *reply);
    if (watch_->after_read) watch_->after_read(request);
    return reply;
  }
  Result<std::vector<Satellite>> read_satellites(const std::vector<SatelliteName>& names) override {
    return watch_->through([&] { return inner_->read_satellites(names); });
  }
  Result<std::vector<SequenceEntry>> read_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override {
    return watch_->through([&] { return inner_->read_sequence(name, from, limit); });
  }
  const std::vector<std::uint64_t>& appended() const override { return inner_->appended(); }
  Result<std::vector<Verdict>> commit(const std::vector<ChangeSet>& sets) override {
    if (!watch_->dead) ++watch_->commits;
    if (watch_->refuse_commits) return Unexpected(*watch_->refuse_commits);
    return watch_->through([&] { return inner_->commit(sets); });
  }
  // A dead process releases nothing itself; the database notices the lost connection.
  void release() override {
    if (!watch_->dead) inner_->release();
  }
  // Not counted: this happens after the commit.
  Result<void> settle() override {
    if (watch_->dead) return fail(Errc::outcome_unknown, "dead");
    if (watch_->before_settling) {
      if (auto outcome = watch_->before_settling(); !outcome) return outcome;
    }
    return inner_->settle();
  }

 private:
  const std::unique_ptr<Session> inner_;
  const std::shared_ptr<Watch> watch_;
};

class WatchedStore final : public Store {
 public:
  WatchedStore(std::unique_ptr<Store> inner, std::shared_ptr<Watch> watch)
      : inner_(std::move(inner)), watch_(std::move(watch)) {}

  Result<std::unique_ptr<Session>> open_session() override {
    auto session = inner_->open_session();
    if (!session) return session;
    return std::make_unique<WatchedSession>(std::move(*session), watch_);
  }
  std::uint32_t preferred_sessions() const override { return inner_->preferred_sessions(); }
  bool settles_later() const override { return watch_->before_settling || inner_->settles_later(); }
  Result<std::vector<RouteNo>> forget_routes(const std::vector<RouteNo>& numbers) override {
    return watch_->through([&] { return inner_->forget_routes(numbers); });
  }
  Result<std::optional<TimestampMs>> next_due() override {
    return watch_->through([&] { return inner_->next_due(); });
  }
  Result<std::vector<DueEntry>> due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                            std::uint32_t limit) override {
    return watch_->through([&] { return inner_->due_entries(after, until, limit); });
  }
  Result<std::vector<DueEntry>> group_entries(std::uint64_t group, const std::optional<GroupPosition>& after,
                                              std::uint32_t limit) override {
    return watch_->through([&] { return inner_->group_entries(group, after, limit); });
  }
  Result<std::vector<Record>> load(const std::vector<Key>& keys) override {
    return watch_->through([&] { return inner_->load(keys); });
  }
  Result<std::vector<Satellite>> load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                 std::uint32_t limit) override {
    return watch_->through([&] { return inner_->load_satellites(root, kind, from, limit); });
  }
  Result<std::vector<SequenceEntry>> load_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override {
    return watch_->through([&] { return inner_->load_sequence(name, from, limit); });
  }
  Result<std::vector<Record>> scan(RecordKind kind, const std::string& after, std::uint32_t limit) override {
    return watch_->through([&] { return inner_->scan(kind, after, limit); });
  }
  Result<std::vector<ListedRecord>> list(const ListQuery& query) override {
    return watch_->through([&] { return inner_->list(query); });
  }
  Result<std::vector<Counter>> counters(const std::string& prefix) override {
    return watch_->through([&] { return inner_->counters(prefix); });
  }
  Result<std::int64_t> now_us() override {
    return watch_->through([&] { return inner_->now_us(); });
  }
  Result<std::uint64_t> count_ready_before(const ReadyEntry& entry, std::uint64_t limit) override {
    return watch_->through([&] { return inner_->count_ready_before(entry, limit); });
  }
  Result<std::optional<std::uint64_t>> first_ready(RouteNo route, std::int32_t priority) override {
    return watch_->through([&] { return inner_->first_ready(route, priority); });
  }
  Result<std::string> log_start() override {
    return watch_->through([&] { return inner_->log_start(); });
  }
  Result<std::string> log_end() override {
    ++watch_->log_ends;
    if (!watch_->events_held_at.empty()) return watch_->events_held_at;
    return watch_->through([&] { return inner_->log_end(); });
  }
  Result<LogPage> read_log(const LogQuery& query) override {
    ++watch_->log_reads;
    if (!watch_->events_held_at.empty()) return LogPage{{}, watch_->events_held_at, true};
    return watch_->through([&] { return inner_->read_log(query); });
  }
  Result<std::vector<LoggedEntry>> history(const Key& root, const std::string& after, std::uint32_t limit) override {
    return watch_->through([&] { return inner_->history(root, after, limit); });
  }
  void announce(const Wakeup& wakeup) override {
    if (!watch_->dead) inner_->announce(wakeup);
  }
  void listen(std::function<void(const Wakeup&)> listener) override { inner_->listen(std::move(listener)); }
  Result<std::vector<std::string>> check_integrity() override { return inner_->check_integrity(); }
  std::unique_ptr<Inspection> inspect() override { return inner_->inspect(); }
  std::optional<Error> failure() override { return inner_->failure(); }

 private:
  const std::unique_ptr<Store> inner_;
  const std::shared_ptr<Watch> watch_;
};

}  // namespace flowfabric::test
