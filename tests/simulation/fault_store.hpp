// A store that simulates the effects of networks, crashes and other engines.
//
// It wraps the store of one simulated process. At every call it may behave normally, fail before the call, lose
// the reply after the call, kill the process, return candidates of an earlier search, report a guard as stale, or let
// other processes run first. All of this is allowed by the interface in store/store.hpp.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "simulation/random.hpp"
#include "simulation/trace.hpp"
#include "store/store.hpp"

namespace flowfabric::simulation {

// How often each fault happens, in a thousand store calls.
struct FaultRates {
  int unavailable = 0;
  int lost_reply = 0;
  int crash = 0;
  int stale_verdict = 0;  // per change set
  int stale_candidate = 0;
  int interleave = 0;
  int clock_step = 0;
  int drop_news = 0;
  int hold_news = 0;
  int failed_flush = 0;
};

// Thrown through the engine to end it immediately, as SIGKILL would.
struct Crash {};

// The data of a fault store about its process.
struct ProcessState {
  int number = 0;
  bool dead = false;
  std::uint64_t reply_commit = 0;  // the number of the commit whose replies are being sent
};

// The world as fault stores see it.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual Random& random() = 0;
  virtual Trace& trace() = 0;
  virtual const FaultRates& rates() const = 0;
  virtual void interleave() = 0;
  virtual void step_clock() = 0;
  // Called right after a commit; returns its number.
  virtual std::uint64_t committed(const std::vector<ChangeSet>& sets, const std::vector<Verdict>& verdicts) = 0;
  // Passes a notification on to the stores of the other processes.
  virtual void announce(int from, const Wakeup& wakeup) = 0;
  // A batch began or ended. Where batches take turns, nobody else may write in between.
  virtual void batch_is_open(bool open) = 0;
  // A notification was lost: only the periodic checks will find the change.
  virtual void news_lost() = 0;
  // Commits become durable later, when another thread has waited for the disk.
  virtual bool settles_later() const = 0;
};

class FaultStore final : public Store {
 public:
  FaultStore(std::unique_ptr<Store> inner, Environment& environment, std::shared_ptr<ProcessState> process);

  Result<std::unique_ptr<Session>> open_session() override;
  std::uint32_t preferred_sessions() const override { return inner_->preferred_sessions(); }
  bool settles_later() const override { return environment_.settles_later(); }
  Result<std::vector<RouteNo>> forget_routes(const std::vector<RouteNo>& numbers) override;
  Result<std::optional<TimestampMs>> next_due() override;
  Result<std::vector<DueEntry>> due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                            std::uint32_t limit) override;
  Result<std::vector<DueEntry>> group_entries(std::uint64_t group, const std::optional<GroupPosition>& after,
                                              std::uint32_t limit) override;
  Result<std::vector<Record>> load(const std::vector<Key>& keys) override;
  Result<std::vector<Satellite>> load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                 std::uint32_t limit) override;
  Result<std::vector<SequenceEntry>> load_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override;
  Result<std::vector<Record>> scan(RecordKind kind, const std::string& after, std::uint32_t limit) override;
  Result<std::vector<ListedRecord>> list(const ListQuery& query) override;
  Result<std::vector<Counter>> counters(const std::string& prefix) override;
  Result<std::int64_t> now_us() override;
  Result<std::uint64_t> count_ready_before(const ReadyEntry& entry, std::uint64_t limit) override;
  Result<std::optional<std::uint64_t>> first_ready(RouteNo route, std::int32_t priority) override;
  Result<std::string> log_start() override;
  Result<std::string> log_end() override;
  Result<LogPage> read_log(const LogQuery& query) override;
  Result<std::vector<LoggedEntry>> history(const Key& root, const std::string& after, std::uint32_t limit) override;
  void announce(const Wakeup& wakeup) override;
  void listen(std::function<void(const Wakeup&)> listener) override;
  Result<std::vector<std::string>> check_integrity() override { return inner_->check_integrity(); }
  std::unique_ptr<Inspection> inspect() override { return inner_->inspect(); }
  std::optional<Error> failure() override { return inner_->failure(); }

  // A notification of another process.
  void receive(const Wakeup& wakeup);
  // Delivers delayed notifications.
  void deliver_held();
  bool holds_news() const { return !held_.empty(); }

  // ---- For its sessions.
  // The moment before a call: others may run, time may pass, the process may die.
  void enter(const char* call);
  // Whether the call fails without being executed.
  bool fails(const char* call);
  [[noreturn]] void die(const char* where);
  std::set<Session*>& sessions() { return sessions_; }
  Environment& environment() { return environment_; }
  ProcessState& process() { return *process_; }

 private:
  // The database notices at once that a process has died, and ends its batches.
  [[noreturn]] void crash();

  std::unique_ptr<Store> inner_;
  Environment& environment_;
  std::shared_ptr<ProcessState> process_;
  std::set<Session*> sessions_;
  std::function<void(const Wakeup&)> listener_;
  std::vector<Wakeup> held_;
};

}  // namespace flowfabric::simulation
