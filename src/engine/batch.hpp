// One batch of one writer: load, decide each, commit; then, once that is durable, reply.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "core/decide.hpp"
#include "core/limiting.hpp"
#include "engine/flow_inputs.hpp"
#include "engine/runtime.hpp"

namespace flowfabric {

// Whether a claim that may be restricted to one namespace can take what was found.
bool may_take(const ClaimRequest& request, const ReadyEntry& entry);

class Batch {
 public:
  Batch(Runtime& runtime, Session& session, std::vector<Work> work);

  // Reads, decides and commits. The session is free for the next batch when this returns.
  void write();
  // Waits until the commit is durable. Another thread may do this part.
  void settle();
  // Sends the replies.
  void answer();
  bool sweeping() const { return sweeping_; }

 private:
  // The result of a command until the commit confirms it.
  struct CommandState {
    std::unique_ptr<QueuedCommand> queued;
    std::vector<Key> touched;
    std::optional<Result<Reply>> reply;
    bool postponed = false;         // it needs records that the batch has not loaded: another batch decides it
    std::optional<Key> place_in{};  // the pool of a share that has given places to what it made claimable
  };
  struct ClaimState {
    ClaimPtr queued;
    std::vector<RouteNo> covered;
    std::vector<ClaimedExecution> taken;  // or, if reservations are wanted:
    std::vector<Grant> grants;
    std::vector<Key> taken_keys;
    std::uint64_t payload_bytes = 0;  // of what it has taken
    bool postponed = false;           // its turn comes with the next batch
    bool met_limits = false;          // limits have held back what it would have taken
    Result<void> may_claim{};
  };
  struct Offer {
    ReadyEntry entry;
    bool used = false;
  };

  // Commands of the clock. No caller waits for them, and the next sweep repeats those that do not commit.
  using ClockCommand = std::variant<DueCommand, ReleaseCommand>;

  struct DeadWorker {
    std::size_t command;  // the DueCommand of the clock for it
    const WorkerRecord* worker;
    TimestampMs until;  // leases that it got until then must be released
  };
  using DeadWorkers = std::map<std::uint64_t, std::vector<DeadWorker>>;  // by the group of their leases

  Result<void> read_decide_commit();
  Result<ReadReply> first_read(const ReadRequest& request);
  Result<void> read_for_commands();
  Result<void> read_due();
  Result<void> read_more();
  // batch_limits.cpp
  Result<void> find_held_back();
  Result<void> find_letters();
  LineHead head_of(RouteNo route, std::int32_t priority);
  void note_found(const GroupWanted& wanted, const std::vector<DueCandidate>& grouped, FoundGroup& found);
  // Takes a record in. One that cannot be decoded fails those who need it and nobody else: null.
  Slot* take(const Record& record);
  DeadWorkers dead_workers();
  void release_lease_of(const std::vector<DeadWorker>& workers, const DueCandidate& found);
  void still_holds_leases(const DeadWorker& worker);
  Result<void> find_leases_of_the_dead();
  std::vector<Key> missing_keys();
  std::vector<Key> keys_of_clock(const ClockCommand& command);
  void request_for_claims(std::span<ClaimState> claims, ReadRequest& request);
  ReadRequest first_request();
  Result<void> take_in(const ReadReply& reply, const ReadRequest& request);
  void take_due(const ReadReply& reply);
  void take_ahead();
  bool new_routes_matter(const std::vector<Route>& routes) const;
  Result<void> admit_route(RouteNo route, const std::string& name_space);
  void decide_all();
  void decide_command(CommandState& state);
  bool fits_into_reply(const ClaimState& state, const Key& key);
  void decide_claim(ClaimState& state);
  Offer* best_offer(const ClaimState& state);
  void offer(ReadyEntry entry);
  void offer_newly_ready(const Key& key);
  std::vector<ReadyEntry> newly_ready() const;
  Result<void> let_parked_claims_join();
  bool writes(const SatelliteName& name) const;
  Result<void> load_payloads();
  Result<void> load_steps();
  // batch_flows.cpp
  void add_keys_of_offers(std::vector<Key>& keys);
  Result<void> load_inputs();
  InputPage input_page_of(const Execution& execution);
  Result<void> commit();
  std::size_t size() const { return commands_.size() + clock_commands_.size() + claims_.size(); }
  std::optional<Verdict> verdict_on(const Slot& slot) const;
  std::optional<Verdict> verdict_on(const Key& key) const;
  bool create_stands(const CommandState& state) const;
  void count_batch(std::string_view outcome);
  void count_commits();
  void count_held_back(const Slot& slot);
  void note_what_became_of_ahead(std::size_t committed);
  void use_new_keys();
  void answer_command(CommandState& state, std::vector<Work>& again);
  std::vector<ClaimedExecution*> given_out();
  void answer_claim(ClaimState& state);
  bool may_have_missed_work(const ClaimState& state) const;
  void pass_on_wakeup(const ClaimState& state, const std::vector<ClaimedExecution>& won);
  void fail_all(const Error& error);
  Wakeup unused_offers() const;
  void add_passed_by(Wakeup& wakeup) const;

  observe::Stopwatch watch_{};
  Runtime& runtime_;
  Session& session_;
  std::vector<Work> work_;
  std::vector<CommandState> commands_;
  std::vector<ClockCommand> clock_commands_;
  std::vector<ClaimState> claims_;
  std::vector<std::variant<std::size_t, ClaimState*>> order_;
  bool sweeping_ = false;
  std::uint32_t sweep_limit_ = 0;
  bool from_ahead_ = false;  // it uses entries that were read ahead, and has not searched
  std::size_t due_found_ = 0;
  bool more_is_due_ = false;           // and no other sweep handles it
  std::size_t swept_keys_ = 0;         // records that this sweep has asked for beside the due ones
  std::set<std::size_t> postponed_{};  // commands of the clock that the next sweep decides

  PlannedCommit plan_;
  std::vector<Verdict> verdicts_;  // one for each set of the plan
  Result<void> outcome_;           // of the whole batch

  Workspace workspace_;
  std::shared_ptr<const TokenSigner> signer_;
  Context context_;
  std::map<RouteNo, std::vector<Offer>> offers_;  // each in order of service
  // The search returned as many as were requested: there may be more. By route, and by namespace if one was requested.
  std::set<std::pair<RouteNo, std::optional<std::string>>> cut_off_;
  std::uint64_t claimed_bytes_ = 0;  // payloads that all its claims have taken
  std::set<RouteNo> paused_routes_;
  std::map<std::pair<RouteNo, std::int32_t>, LineHead> heads_;  // as they were when first asked for
  std::map<std::string, std::set<RouteNo>> new_routes_;         // that creates of this batch ask for, by namespace
};

}  // namespace flowfabric
