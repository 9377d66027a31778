// One simulated run: a database, one to three engines on it, clients, time, and faults.
//
// One thread. The threads of the engine (its writers, its clock, other processes) run here between any two store calls,
// because the fault store calls `interleave`.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/runtime.hpp"
#include "simulation/fault_store.hpp"
#include "simulation/random.hpp"
#include "simulation/trace.hpp"
#include "simulation/watcher.hpp"

namespace flowfabric::simulation {

constexpr std::int64_t hour_ms = 3600 * 1000;
constexpr std::int64_t keep_alive_ms = 5000;  // of every engine

struct RunResult {
  bool passed = true;
  Violation violation;
  int step = 0;
  std::uint64_t trace_hash = 0;
  std::size_t executions = 0;
};

RunResult run_seed(std::uint64_t seed, bool verbose, const test::StoreKind& kind);

// One engine with its store, as a separate process.
struct Process {
  std::shared_ptr<ProcessState> state = std::make_shared<ProcessState>();
  FaultStore* store = nullptr;  // owned by the runtime
  std::unique_ptr<Runtime> runtime;
  std::vector<bool> writer_busy;
  bool tick_busy = false;
  bool look_busy = false;
  bool settle_busy = false;
  bool is_up() const { return runtime && !state->dead; }
  int frames = 0;  // how many of its threads are on the stack; it is destroyed when there are none
};

// A request that the clients remember, so that they can send it again.
struct SentCreate {
  CreateRequest request;
  int outstanding = 0;
  bool may_exist = false;  // acknowledged, or its outcome is unknown
};

// The current and earlier leases of a worker: it may use them at any time.
struct Held {
  ClaimedExecution claimed;
  Fence fence;
  int incarnation = 1;
  std::vector<Command> sent;
};

// A value that workers write over another: a checkpoint or a tag. No two calls send the same one, except repeats.
struct LastValue {
  int unanswered = 0;         // calls that may have written it, or may still do so
  bool acknowledged = false;  // and then it was there at some time between these commits
  std::uint64_t after = 0;
  std::uint64_t until = 0;
};
using LastValues = std::map<std::string, LastValue>;

struct Worker {
  std::string name_space = "default";
  std::string id;
  std::string instance;
  std::vector<std::string> capabilities;
  std::optional<std::string> keeps_to{};  // claims only executions of this namespace
  std::vector<Held> held;
  bool draining = false;         // it was told so
  TimestampMs frozen_until = 0;  // until then it does nothing
};

// A signal that a client has sent and may send again.
struct SentSignal {
  int incarnation = 1;  // of the execution
  SignalCommand command;
};

// A token of a waitpoint that a client has.
struct HeldToken {
  ExecutionId id;
  int incarnation = 1;
  WaitpointToken token;
};

// A grant whose key a client has.
struct SentGrant {
  Grant grant;
  int incarnation = 1;
};

// The certain knowledge of the operators about a lane.
struct LaneBook {
  LaneState acknowledged = LaneState::active;
  bool certain = true;
  int in_flight = 0;
  bool overlapping = false;  // since there was last none in flight
  std::uint64_t changes_sent = 0;
};

class World final : public Environment {
 public:
  World(std::uint64_t seed, bool verbose, const test::StoreKind& kind);
  ~World() override;
  RunResult run();

  // ---- Environment.
  Random& random() override { return random_; }
  Trace& trace() override { return trace_; }
  const FaultRates& rates() const override { return calm_ ? no_faults_ : rates_; }
  void interleave() override;
  void step_clock() override;
  std::uint64_t committed(const std::vector<ChangeSet>& sets, const std::vector<Verdict>& verdicts) override;
  void announce(int from, const Wakeup& wakeup) override;
  void batch_is_open(bool open) override { open_batches_ += open ? 1 : -1; }
  void news_lost() override { news_lost_ = true; }
  bool settles_later() const override { return settles_later_; }

 private:
  using Answer = std::function<void(Process&, const Result<Reply>&)>;
  using ClaimAnswer = std::function<void(Process&, const Result<std::vector<ClaimedExecution>>&)>;
  struct Call {
    Process* process = nullptr;
    std::string what;
    bool parks = false;  // a claim or a wait: it may take long
    ClaimRequest claim;
    TimestampMs until = 0;
    std::optional<ExecutionId> awaited;
    std::function<void(const Error&)> crashed;
  };

  // The state of a worker instance according to the commits.
  struct Standing {
    bool live = false;
    bool draining = false;
    std::string worker_id;
    int registrations = 0;
    std::size_t deaths = 0;
    int turns = 0;
  };

  // world.cpp: processes, time, steps.
  void choose_profile();
  void step();
  void open_process(Process& process);
  void bury_the_dead();
  void run_in(Process& process, const std::function<void()>& work);
  bool pump(Process& process, std::size_t writer);
  void tick(Process& process);
  bool look(Process& process);
  bool settle_written(Process& process);
  bool drive_something();
  void advance(std::int64_t ms);
  void advance_to_an_edge();
  void stop_gracefully(Process& process);
  Process& live_process();
  TimestampMs now_ms() const { return now_us_ / 1000; }

  // calm.cpp: conditions that must hold after everything was processed, and the end of a run.
  void settle();
  void check_calm();
  void check_nothing_sleeps();
  void check_call_may_wait(const Call& call);
  bool may_be_unknown(const Shadow& shadow) const;
  void let_time_pass(std::int64_t ms, bool with_traffic);
  void make_traffic(Process& process);
  void drain();
  bool drain_round(std::int64_t patience_ms);
  void finish_claimed(Process& process, const std::vector<ClaimedExecution>& claims);
  void check_the_end();
  void outlive_everything();

  // clients.cpp: calls and the checks of their replies.
  std::uint64_t open_call(Process& process, Call call);
  bool close_call(std::uint64_t number);
  template <class T>
  std::function<void(const Result<T>&)> ask(Process& process, const std::string& what,
                                            std::function<void(Process&, const Result<T>&)> answer);
  void send(Process& process, Command command, const std::string& what, Answer answer);
  void send_create(Process& process, std::size_t index);
  void send_claim(Process& process, ClaimRequest request, ClaimAnswer answer);
  void create_something();
  void submit_some_flow();
  FlowRequest random_flow();
  FlowNode random_node(std::string name, const std::string& name_space);
  FlowNode random_inner_flow(std::string name, const std::string& name_space);
  FlowAddition random_addition(const FlowRecord& flow, const std::string& adder);
  void build_some_flow();
  void seal_all_flows();
  Command random_growth(const Held& held);
  void operate_on_flow();
  ScheduleRequest random_schedule();
  FlowRequest scheduled_flow_request();
  void operate_on_schedule();
  void delete_all_schedules();
  void operate_on_redrive();
  void cancel_all_redrives();
  LimitRequest random_limit();
  LimitRequest random_share();
  void operate_on_limit();
  void remove_all_limits();
  // budgets.cpp
  void choose_budgets();
  void operate_on_budget();
  void reserve_something(CreateRequest& request);
  void spend_something(const Worker& worker);
  void send_report(std::size_t index);
  void check_spending();
  void remove_all_budgets();
  void check_created(const SentCreate& sent, const Created& created);
  void check_not_created(const SentCreate& sent, const Error& error);
  CreateRequest random_create();
  void give_key(CreateRequest& request);
  std::uint64_t note_debounce(const CreateRequest& request);
  bool was_debounced_alone(const CreateRequest& request, std::uint64_t sent, bool is_certain);
  void check_debounced(const CreateRequest& request, const Created& created);
  Policy random_policy();

  // workers.cpp
  void work_somehow();
  void claim_something(Worker& worker);
  void take_claims(Worker& worker, const ClaimRequest& request, const std::vector<ClaimedExecution>& claims);
  void check_claimed(const ClaimRequest& request, const ClaimedExecution& claimed, const std::string& grant_id);
  void check_lane_served(const std::map<std::string, LaneBook>& lanes, const std::string& lane, const ExecutionId& id);
  // Which use of its id the claim is about; 0: an earlier one, of which nothing is known any more.
  int incarnation_of(const ClaimedExecution& claimed);
  void hold(Worker& worker, const ClaimedExecution& claimed);
  void use_handle(Worker& worker, Held& held);
  Command random_fenced(const Held& held);
  std::uint32_t next_position(const Held& held) const;
  Command random_step(const Held& held);
  void note_step(const Held& held, const StepRequest& request, const StepReply& reply);
  void check_steps(const ClaimedExecution& claimed, int incarnation);
  void forget_steps_before_replay(const ClaimedExecution& claimed, int incarnation,
                                  const std::map<std::uint32_t, std::string>& brought);
  LastValues& values_of(const Held& held, const Command& command);
  bool note_sent_value(const Held& held, const Command& command);
  void note_answered_value(const Held& held, const Command& command, std::uint64_t sent, const Result<Reply>& reply);
  void check_last(const char* what, const LastValues& values, const std::string* brought, const std::string& id);
  void send_fenced(Held held, Command command);
  // `sent` is the last commit before the call was sent.
  void judge_fenced(Process& process, const Held& held, const Command& command, std::uint64_t sent,
                    const Result<Reply>& reply);
  void judge_success(Process& process, const Held& held, const Command& command, std::uint64_t sent,
                     const Reply& reply);
  void judge_refusal(const Held& held, const Command& command, const Error& error);
  void check_completion(const Held& held, const CompleteRequest& request);
  void judge_renewal(const Held& held, const Result<RenewVerdict>& verdict, std::uint64_t sent);

  // fleet.cpp
  void fleet_somehow();
  Standing standing_of(const Worker& worker) const;
  void register_worker(Worker& worker);
  void judge_registration(Worker& worker, const Standing& before, const Standing& after, const std::string& who,
                          const RegisterWorkerReply& reply);
  void heartbeat(Worker& worker);
  void judge_heartbeat(Worker& worker, const Standing& before, const std::vector<Held>& carried, std::uint64_t sent,
                       const HeartbeatReply& reply);
  void leave_alone(Worker& worker);
  void operate_on_worker(Worker& worker);
  GrantRequest random_grant(const Worker& worker, const ExecutionId& id);
  void grant_something(const Worker& worker);
  void keep_grant(const std::map<std::string, LaneBook>& lanes, const std::vector<std::string>& capabilities,
                  const Grant& grant);
  void redeem_something();
  void redeem(Worker& worker, SentGrant sent);
  void judge_redemption(Worker& worker, const SentGrant& sent, const RedeemRequest& request,
                        const std::map<std::string, LaneBook>& lanes, const Result<Reply>& reply);
  void reclaim_something();
  void request_reclaim(Worker& worker, const ExecutionId& id);
  void rotate_keys();
  void remove_something();
  void check_keys();

  // waits.cpp
  SignalMatch random_match(const std::vector<WaitpointRequest>& waitpoints);
  WaitCondition random_condition(const std::vector<WaitpointRequest>& waitpoints, int depth);
  WaitpointRequest random_waitpoint(const std::string& name);
  void choose_timeout(SuspendRequest& request);
  Command random_wait(const Held& held);
  void wait_at_once(Worker& worker);
  std::string some_waitpoint(const ExecutionId& id);
  void keep_token(const ExecutionId& id, int incarnation, const WaitpointToken& token);
  void judge_wait(const Held& held, const Reply& reply);
  void check_last_wait(const ClaimedExecution& claimed);
  void signal_something();
  std::optional<ExecutionId> waiting_or_any();
  SignalRequest random_signal();
  void remember_and_send(SentSignal sent);
  void signal_by_token();
  bool is_worthless(const SentSignal& sent) const;
  void send_signal(SentSignal sent);
  void judge_signal(const SentSignal& sent, const SignalReply& reply, bool worthless);
  void operate_on_wait();

  // operators.cpp
  void operate_somehow();
  std::optional<ExecutionId> any_execution();
  void operate_on_execution();
  void operate_on_lane();
  void set_lane(const std::string& lane, LaneState state);
  void set_retention();
  void wait_for_some_end();

  Random random_;
  Random budget_random_;
  Trace trace_;
  std::uint64_t seed_;
  std::int64_t now_us_ = 0;
  std::int64_t latest_us_ = 0;
  std::int64_t steady_lead_us_ = 0;  // steady clock - store clock
  const test::StoreKind kind_;
  const std::unique_ptr<test::TestDatabase> database_;
  std::unique_ptr<Watcher> watcher_;
  std::vector<std::unique_ptr<Process>> processes_;
  FaultRates rates_;
  const FaultRates no_faults_;
  bool calm_ = false;
  bool clock_goes_back_ = false;
  bool settles_later_ = false;
  bool release_on_worker_death_ = true;
  bool news_lost_ = false;
  int depth_ = 0;
  int open_batches_ = 0;
  std::uint64_t lives_ = 0;
  std::uint32_t writers_ = 1;
  ReadAheadOptions read_ahead_;
  std::uint64_t checked_commit_ = 0;

  std::map<std::uint64_t, Call> calls_;
  std::uint64_t last_call_ = 0;
  std::vector<SentCreate> creates_;
  // Creates under one debounce key: how many were sent, and of how many the outcome is open.
  struct DebounceBook {
    std::uint64_t sent = 0;
    std::uint64_t open = 0;
  };
  std::map<std::string, DebounceBook> debounces_;
  std::vector<Worker> workers_;
  std::vector<SentGrant> grants_;   // the youngest of them
  std::set<std::string> redeemed_;  // acknowledged, by grant id
  std::map<std::string, LaneBook> lanes_;
  // What a worker has reported, and may report again under the same key.
  struct Report {
    Fence fence;
    SpendRequest request;
    int outstanding = 0;
    bool unknown = false;                  // a call may have been carried out
    std::set<std::string> acknowledged{};  // accounts and dimensions
  };
  std::vector<Report> reports_;
  bool with_budgets_ = false;
  bool forces_ = false;
  std::size_t budgets_made_ = 0;
  std::map<std::string, std::map<std::uint64_t, Created>> keys_;
  std::set<std::pair<ExecutionId, int>> created_;  // acknowledged as new, with the incarnation
  struct Completion {
    ExecutionId id;
    int incarnation;
    std::uint32_t attempt_index;
    std::string result;
  };
  // Acknowledged steps: of an execution and its incarnation, by position.
  struct AcknowledgedStep {
    std::string result;
    std::uint64_t lease_epoch = 0;
  };
  std::map<std::tuple<ExecutionId, int, std::uint32_t>, AcknowledgedStep> steps_;
  std::uint64_t steps_sent_ = 0;
  // Of an execution and its incarnation.
  std::map<std::pair<ExecutionId, int>, LastValues> checkpoints_;
  std::map<std::pair<ExecutionId, int>, std::uint32_t> replays_seen_;  // by claims, for what replays may drop
  std::map<std::pair<ExecutionId, int>, LastValues> worker_tags_;
  std::uint64_t values_sent_ = 0;
  std::vector<HeldToken> tokens_;    // the youngest of them
  std::vector<SentSignal> signals_;  // the youngest of them
  std::uint64_t waits_sent_ = 0;
  std::uint64_t signals_sent_ = 0;
  std::vector<Completion> completions_;                                          // acknowledged
  std::set<std::tuple<ExecutionId, int, std::uint64_t, std::string>> released_;  // acknowledged, by lease epoch
  std::map<std::tuple<ExecutionId, int, std::uint64_t>, FailReply> fail_replies_;
};

// Opens a call and returns the function to call with its reply.
template <class T>
std::function<void(const Result<T>&)> World::ask(Process& process, const std::string& what,
                                                 std::function<void(Process&, const Result<T>&)> answer) {
  Call call;
  call.what = what;
  call.crashed = [&process, answer](const Error& error) { answer(process, Unexpected(error)); };
  const std::uint64_t number = open_call(process, std::move(call));
  return [this, &process, state = process.state, number, answer](const Result<T>& reply) {
    if (state->dead) return;
    close_call(number);
    trace_.line("call {}: {}", number, reply ? "done" : to_string(reply.error().code));
    answer(process, reply);
  };
}

extern const std::vector<std::string> lane_names;
extern const std::vector<std::string> namespace_names;
extern const std::vector<std::string> capability_names;

}  // namespace flowfabric::simulation
