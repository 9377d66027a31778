// The engine without threads: queues, batches, parking, the clock. `Engine` runs it with threads; tests and the
// simulator drive it step by step on virtual time.
//
// The path of a command: submit -> writer queue -> pump (read, decide, commit: engine/batch.cpp) -> settle -> reply. A
// reply is sent only after its commit is durable.
//
// Threads: submit*, wait_for_*, the reads and the wake-up callback may be called from any thread; pump(i) by one thread
// per writer i; settle and tick by one thread each; look by any thread that may block on reads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "core/decide.hpp"
#include "core/ingress.hpp"
#include "core/tokens.hpp"
#include "engine/health.hpp"
#include "engine/lane_turns.hpp"
#include "engine/metrics.hpp"
#include "engine/parking.hpp"
#include "engine/read_ahead.hpp"
#include "engine/routes.hpp"
#include "engine/time_zones.hpp"
#include "engine/waiting.hpp"
#include "engine/work.hpp"
#include "observe/tracer.hpp"
#include "store/store.hpp"

namespace flowfabric {

struct RuntimeOptions {
  IngressLimits ingress;
  std::uint32_t writers = 0;  // 0: the store's default
  std::size_t max_queued_commands = limits::max_queued_commands;
  std::int64_t default_retention_ms = 7LL * 24 * 3600 * 1000;
  bool release_on_worker_death = true;
  std::int64_t keep_alive_ms = 60000;
  std::size_t max_namespace_routes = limits::max_namespace_routes;
  std::size_t quiet_namespace_routes = limits::quiet_namespace_routes;
  ReadAheadOptions read_ahead;
  Entropy entropy = system_entropy();
  // A monotonic clock in milliseconds; only differences matter.
  std::function<std::int64_t()> steady_ms;
  // `settle` is called on a separate thread.
  bool settle_apart = false;
  // Called from any thread when `tick` should be called earlier than it returned.
  std::function<void()> alarm;
  // Called once, from a thread of the engine, when nothing can be written until the store is opened again.
  std::function<void(const Error&)> on_failure;
  // Of schedules; null: only UTC.
  std::shared_ptr<const TimeZones> zones = system_time_zones();
  // Receives the spans of executions and attempts; null: tracing is off.
  std::shared_ptr<observe::Tracer> tracer;
};

struct RuntimeStatistics {
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> commands{0};
  std::atomic<std::uint64_t> stale{0};
  std::atomic<std::uint64_t> sweeps{0};
  std::atomic<std::uint64_t> swept_ahead{0};  // entries for which a sweep did not have to search
};

class Batch;

class Runtime {
 public:
  static Result<std::unique_ptr<Runtime>> open(std::unique_ptr<Store> store, RuntimeOptions options);
  ~Runtime();

  // ---- Commands. `done` is called exactly once, from pump, tick, stop, or from submit itself when it is refused.
  void submit(Command command, CommandDone done);
  // The same for commands that can wait a little to share a commit with others: heartbeats.
  void submit_patiently(Command command, CommandDone done);
  void submit_create(CreateRequest request, CommandDone done);
  void submit_flow(FlowRequest request, CommandDone done);
  // The claim, for `withdraw`; null when it is refused.
  ClaimPtr submit_claim(ClaimRequest request, ClaimDone done);
  // The caller has gone. A claim that waits is answered with nothing; one that is on its way is given nothing, unless
  // that has been decided already.
  void withdraw(const ClaimPtr& claim);
  void submit_claim_for_worker(ClaimForWorkerRequest request, GrantDone done);
  void submit_heartbeat(HeartbeatRequest request, HeartbeatDone done);
  // `done` is called once, from look, tick, stop, or from the call itself if it is refused.
  void wait_for_end(const ExecutionId& id, std::uint32_t wait_ms, EndDone done);
  void wait_for_flow(const FlowId& id, std::uint32_t wait_ms, FlowEndDone done);
  void wait_for_events(EventFilter filter, std::string cursor, std::uint32_t limit, std::uint32_t wait_ms,
                       EventsDone done);
  // A session of an API key, and what one says.
  std::string sign_session(const std::string& api_key_id, std::int64_t lifetime_ms);
  Result<SessionClaims> session_claims(std::string_view session);
  LaneCommand lane_command(std::string lane, LaneState state, Operator by) const;
  // These two may ask the store; callers that must not wait use `with_fence`.
  Result<HandleClaims> claims_of(std::string_view handle);
  Result<Fence> fence_of(std::string_view handle);
  using FenceDone = std::function<void(Result<Fence>)>;
  void with_fence(const Handle& handle, FenceDone then);
  Result<RedeemCommand> redeem_command(GrantKind kind, RedeemRequest request);
  Result<WaitpointClaims> waitpoint_claims(std::string_view token);

  // ---- Driving.
  std::size_t writers() const { return writers_.size(); }
  // Runs one batch of writer i if something is queued. Returns whether it did. If batches are settled on another
  // thread, it answers a settled one, or else writes one.
  bool pump(std::size_t i);
  // Whether commits become durable after they are written, and `settle` has a separate thread to wait for that.
  bool settles_apart() const { return options_.settle_apart && store_->settles_later(); }
  // Waits for written batches and settles them; waiting callers are answered by pump, sweeps end here. Returns false
  // after `end_settling`, when there are none.
  bool settle();
  // The same for batches that are written already; never waits for one. Returns whether there were any.
  bool settle_written();
  void end_settling();
  // Blocks until there is work for writer i or `interrupt_waits` is called.
  void wait_for_work(std::size_t i);
  // Reads for some of the waiting callers, if it is their turn. Returns whether it did.
  bool look() { return waiting_.look(); }
  // Blocks until a caller's turn comes or `interrupt_waits` is called.
  void wait_for_turn() { waiting_.wait_for_turn(); }
  // Does what is due; returns the milliseconds until the next call.
  std::int64_t tick();

  // From now on new work is refused; queued work is still processed.
  void refuse_new_work();
  void interrupt_waits();
  // Nothing is queued, and everything that was written is answered.
  bool queues_empty() const;
  // Answers everything that is still queued or parked with shutting_down.
  void refuse_everything();

  // ---- For reads.
  Store& store() { return *store_; }
  const RouteTable& routes() const { return routes_; }
  const IngressLimits& ingress() const { return options_.ingress; }
  Uuid new_uuid();
  const TimeZones* zones() const { return options_.zones.get(); }
  std::int64_t steady_ms() const { return options_.steady_ms(); }
  const RuntimeStatistics& statistics() const { return statistics_; }
  EngineMetrics& metrics() { return metrics_; }
  const Health& health() const { return health_; }

 private:
  friend class Batch;

  Runtime(std::unique_ptr<Store> store, RuntimeOptions options);
  Result<void> start();
  void add_gauges();
  Result<void> load_keyring();
  Result<void> create_keyring(Session& session, TimestampMs now);
  Result<void> reload_keyring();
  std::shared_ptr<const TokenSigner> signer();
  std::shared_ptr<const TokenSigner> fresh_signer();
  void set_signer(const KeyringRecord& keyring);
  bool may_reload_for(const TokenSigner& signer, std::string_view token);
  bool await_keys(const TokenSigner& signer, const Handle& handle, bool old, const FenceDone& then);
  void read_keys_again();
  void refuse_awaiting_keys();
  void enqueue(Work work, bool internal);
  void enqueue_claims(std::vector<ClaimPtr> claims);
  void enqueue_again(std::vector<Work> work);
  void enqueue_sweep();
  bool batch_may_start() const;
  bool sweep_is_next() const;
  std::int64_t start_beside_slow_batch();
  void end_patience();
  std::size_t commands_to_take() const;
  std::vector<Work> take_batch();
  std::vector<Work> take_commands();
  std::vector<Work> take_contended(const Key& key);
  void join_parked_claims(std::vector<Work>& batch);
  std::unique_ptr<Batch> take_settled();
  void note_answered();
  void answer(Batch& batch);
  void answer_unserved(const ClaimPtr& claim);
  void note_due(TimestampMs due_at);
  bool sweep_if_due();
  void ring();
  void ring_before(std::int64_t steady_ms);
  void note_store_time(TimestampMs now, std::int64_t asked_ms);
  TimestampMs store_now() const;
  // Wakes the callers that a commit concerns.
  void after_commit(const PlannedCommit& plan, const std::vector<Verdict>& verdicts, Wakeup wakeup);
  void on_foreign_wakeup(const Wakeup& wakeup);
  // `reserved`: what the batch kept other claims from, in this engine and in others.
  void batch_failed(const Error& error, Wakeup reserved);
  void note_store_error(const Error& error);
  void note_damaged(const Record& record, const Error& error);
  void probe_if_due();
  void handle_foreign_news();
  void look_at_everything();
  void forget_idle_routes(std::int64_t now);
  bool ask_store_for_next_due();
  std::int64_t time_to_next_tick(std::int64_t now);
  // `full`: it found as many entries as it asked for, so there may be more.
  std::optional<DuePosition> sweep_place();
  void note_sweep(bool full, const ReadReply& reply);
  void note_sweep_ahead(const DueEntry& first, const DueEntry& last, TimestampMs now);
  bool read_ahead();
  bool sweep_on();
  // `more`: something may be due still that no other sweep sees to. `barren`: it has found something and done nothing.
  void sweep_finished(bool more, bool barren);
  std::uint32_t sweep_limit();
  std::uint64_t next_sequence(std::int64_t now_us);
  LineHead head_of(RouteNo route, std::int32_t priority);

  std::unique_ptr<Store> store_;
  RuntimeOptions options_;
  std::mutex signer_mutex_;
  std::shared_ptr<const TokenSigner> signer_;
  std::atomic<std::int64_t> keyring_read_ms_{0};
  std::atomic<std::int64_t> keyring_asked_ms_{std::numeric_limits<std::int64_t>::min()};  // for a token with a new key
  std::mutex awaiting_keys_mutex_;
  std::vector<std::pair<Handle, FenceDone>> awaiting_keys_;  // who waits until the clock has read the keys again
  RouteTable routes_;
  Parking parking_;
  Waiting waiting_;
  ReadAhead ahead_;
  std::vector<std::unique_ptr<Session>> writers_;
  std::map<Session*, std::string>
      routes_seen_;  // an entry for each writer, which only its thread touches after the start

  // All writers share one queue: a free writer takes everything that waits.
  mutable std::mutex queue_mutex_;
  std::condition_variable queue_wake_;
  std::deque<Work> queue_;
  std::vector<Work> patient_;  // goes with the next batch, or separately when its patience ends
  std::size_t queued_sweeps_ = 0;
  std::size_t busy_writers_ = 0;     // with commands
  std::int64_t batch_moved_ms_ = 0;  // when one of them last began or ended a batch
  bool commands_since_sweep_ = false;

  // Batches that are written and wait to become durable, and durable ones that wait to be answered; under queue_mutex_.
  std::condition_variable settle_wake_;
  std::deque<std::unique_ptr<Batch>> unsettled_, settled_;
  std::size_t unanswered_ = 0;  // in either, or between them
  bool all_is_settled_ = false;

  std::atomic<std::int64_t> patience_ends_ms_{std::numeric_limits<std::int64_t>::max()};

  std::atomic<bool> refusing_{false};
  std::atomic<bool> interrupted_{false};

  std::atomic<std::int64_t> store_offset_ms_{0};  // store time - steady time
  std::atomic<std::uint64_t> last_sequence_{0};
  std::atomic<std::uint16_t> id_order_{0};

  LaneTurns lane_turns_;
  // Of routes and priorities under shares: the highest number that was the first one there. By it virtual time does not go
  // back when something old becomes ready, or when all has been served.
  std::mutex heads_mutex_;
  std::map<std::pair<RouteNo, std::int32_t>, std::uint64_t> heads_;

  // The clock. next_due_ is the earliest known due time, noted_due_ the earliest one committed since the store was last
  // asked.
  std::mutex clock_mutex_;
  TimestampMs next_due_ = std::numeric_limits<TimestampMs>::max();
  TimestampMs noted_due_ = std::numeric_limits<TimestampMs>::max();
  bool ask_next_due_ = true;
  std::atomic<bool> look_again_{false};  // a batch failed: all waiting callers check again
  int sweeps_ = 0;                       // queued or in progress
  std::int64_t sweep_not_before_ms_ = 0;
  std::int64_t sweep_pause_ms_ = 0;          // after the last sweep, if it could do nothing
  std::atomic<std::int64_t> due_lag_ms_{0};  // how late the last sweep was
  std::optional<DuePosition> sweep_place_;   // where the next sweep continues; none: at the beginning
  TimestampMs round_began_ = 0;              // when a sweep last started there
  std::int64_t ask_not_before_ms_ = 0;
  std::int64_t last_look_ms_ = 0;  // when everything was last checked
  std::optional<Wakeup> foreign_;
  std::atomic<std::int64_t> next_tick_ms_{
      std::numeric_limits<std::int64_t>::max()};  // when tick wants to be called, by the steady clock

  Health health_;
  std::atomic<bool> failure_told_{false};
  std::mutex damaged_mutex_;
  std::set<Key> damaged_;  // records that the log has named as such; no more than a few

  RuntimeStatistics statistics_;
  EngineMetrics metrics_;
};

}  // namespace flowfabric
