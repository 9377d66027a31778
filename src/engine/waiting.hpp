// Callers that wait for the results of commits: the end of an execution, or events. They need no thread.
//
// A *look* reads the store and checks whether the awaited result is there. The first look happens at once, the next one
// only when something has been committed that may concern the caller. Writers do not look: Engine has a thread for it,
// tests call it directly.
//
// No notification is lost: a caller is registered before its first look, and a notification during a look leads to
// another one.
//
// A store may hold back events that are committed (on PostgreSQL, while a transaction that began earlier is open, in any
// database of the cluster). Callers that have read everything up to there are *held back*: no news concern them until the
// end of what may be shown moves. One look for all of them asks for that end, less and less often while it stays.
//
// Thread-safe. Callers are answered without holding the lock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <flowfabric/operations.hpp>

#include "core/workspace.hpp"
#include "engine/log_health.hpp"
#include "engine/reads.hpp"
#include "store/store.hpp"

namespace flowfabric {

using EndDone = std::function<void(Result<ExecutionResult>)>;
using FlowEndDone = std::function<void(Result<FlowResult>)>;
using EventsDone = std::function<void(Result<EventPage>)>;

class Waiting {
 public:
  // `ring_before` is told when `on_time` is needed.
  Waiting(Store& store, std::function<std::int64_t()> steady_ms, std::function<void(std::int64_t)> ring_before);

  // Both look at least once, even with a very short time.
  void for_end(const ExecutionId& id, std::int64_t until_ms, EndDone done);
  void for_flow(const FlowId& id, std::int64_t until_ms, FlowEndDone done);
  void for_events(EventFilter filter, std::string cursor, std::uint32_t limit, std::int64_t until_ms, EventsDone done);

  // This engine has committed.
  void note_commit(const PlannedCommit& plan, const std::vector<Verdict>& verdicts);
  // Other engines may have committed something.
  void note_anything();

  // Looks for some of the waiters whose turn it is; false if there are none.
  bool look();
  // The next look asks the store whether its log is delayed, and logs it if it is. Somebody calls this now and then.
  void want_health();
  // Blocks until a waiter's turn comes or `interrupt` is called.
  void wait_for_turn();
  void interrupt();

  void on_time(std::int64_t now_ms);
  // When `on_time` is needed next; 0: never.
  std::int64_t next_time_ms() const;

  // The number of waiters.
  std::size_t size() const { return count_; }

  // Answers all waiters, and all later ones. Events are answered with an empty page and the cursor reached.
  void send_everybody_away();

 private:
  using Ticket = std::uint64_t;
  using Answer = std::function<void()>;

  // The end of an execution or of a flow. `found` gets its record, null if there is none, and returns what to answer if
  // it has ended; `done` answers with an error.
  struct End {
    std::function<Answer(const Record*)> found;
    std::function<void(const Error&)> done;
    const char* late;  // what is said when the time is over
  };
  struct Events {
    EventFilter filter;
    std::string cursor;
    std::uint32_t limit;
    EventsDone done;
  };
  enum class State : std::uint8_t { queued, looking, parked };
  struct Waiter {
    std::variant<End, Events> wanted;
    std::string root;  // the key of the only record that concerns it; empty: any record may
    std::int64_t until_ms = 0;
    std::int64_t timer_ms = 0;  // its entry in timers_; 0: none
    State state = State::queued;
    bool held_back = false;  // it is in held_back_
    bool looked_at = false;  // its time can end only after the first look
    bool news = false;       // arrived during the look
    std::uint64_t seen = 0;  // the value of news_for when the look began
  };
  struct EndLook {
    Ticket ticket;
    std::function<Answer(const Record*)> found;
    std::string root;
  };

  void add(Waiter waiter);
  bool look_at_ends();
  bool look_at_events();
  bool look_at_end_of_log();
  bool look_at_health();
  std::vector<EndLook> begin_end_looks();
  std::optional<std::pair<Ticket, Events>> begin_events_look();
  Answer end_of(const Record* record, const ExecutionId& id, const EndDone& done);
  Answer flow_end_of(const Record* record, const FlowId& id, const FlowEndDone& done);
  // `answer` is empty while it has not ended.
  void finish_end_look(Ticket ticket, const Answer& answer);
  void finish_failed_end_look(Ticket ticket, const Error& error);
  void finish_events_look(Ticket ticket, Result<reads::EventsRead> read);

  // With mutex_ held.
  void begin_look(Waiter& waiter);
  bool news_since(const Waiter& waiter) const;
  std::uint64_t news_for(const Waiter& waiter) const { return waiter.root.empty() ? commits_ : foreign_; }
  void enqueue(Ticket ticket, Waiter& waiter);
  void park_until(Ticket ticket, Waiter& waiter, std::int64_t timer_ms);
  void wake(Ticket ticket);
  void wake_root(const std::string& root, bool ended);
  void wake_all();
  void hold_back(Ticket ticket, Waiter& waiter, std::int64_t now_ms);
  void end_moved(const std::string& end);
  Waiter take(std::unordered_map<Ticket, Waiter>::iterator found);
  bool somebodys_turn() const {
    return !end_queue_.empty() || !events_queue_.empty() || end_of_log_wanted_ || health_wanted_;
  }

  static void refuse(Waiter& waiter, const Error& error);
  static Answer time_is_up(Waiter waiter);
  static Answer engine_stops(Waiter waiter);

  Store& store_;
  const std::function<std::int64_t()> steady_ms_;
  const std::function<void(std::int64_t)> ring_before_;

  mutable std::mutex mutex_;
  std::condition_variable turn_;
  bool interrupted_ = false;
  bool closed_ = false;
  Ticket last_ticket_ = 0;
  std::unordered_map<Ticket, Waiter> waiters_;
  std::atomic<std::size_t> count_{0};                             // of waiters_, to read without the lock
  std::unordered_map<std::string, std::vector<Ticket>> by_root_;  // the waiters that one record concerns
  std::vector<Ticket> parked_on_any_;                             // may contain waiters that are gone
  std::deque<Ticket> end_queue_;                                  // may contain waiters that are gone
  std::deque<Ticket> events_queue_;                               // the same
  std::set<std::pair<std::int64_t, Ticket>> timers_;
  std::set<Ticket> held_back_;
  std::string end_of_log_;           // when it was last asked for
  std::int64_t ask_for_end_ms_ = 0;  // when to ask next; 0: nobody is held back, or it is being asked for
  std::int64_t end_pause_ms_ = 0;    // before that
  bool end_of_log_wanted_ = false;
  bool health_wanted_ = false;
  LogHealthReport health_report_;
  std::uint64_t commits_ = 0;  // notifications of any kind
  std::uint64_t foreign_ = 0;  // notifications without a known record
  bool foreign_pending_ = false;
  std::int64_t foreign_not_before_ms_ = 0;
};

}  // namespace flowfabric
