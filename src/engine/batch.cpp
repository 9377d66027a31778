#include "engine/batch.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/log.hpp"
#include "core/limiting.hpp"
#include "core/sharing.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

constexpr int max_route_rounds = 4;
constexpr int max_sweep_rounds = 4;

// Order of service: priority descending, then sequence, then key.
bool served_before(const ReadyEntry& a, const ReadyEntry& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.sequence != b.sequence) return a.sequence < b.sequence;
  return a.key < b.key;
}

void remove_duplicates(std::vector<Key>& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

// The command of a claim for an execution that was found.
Command hand_out(const QueuedClaim& claim, const ExecutionId& id) {
  const ClaimRequest& request = claim.request;
  if (claim.grant_ttl_ms == 0) {
    return LeaseCommand{id,
                        request.worker_namespace,
                        request.worker_id,
                        request.worker_instance_id,
                        request.lease_ttl_ms,
                        request.name_space};
  }
  GrantRequest grant{id, request.worker_id, request.worker_instance_id, request.capabilities, claim.grant_ttl_ms};
  grant.capability_hash = claim.capability_hash;
  grant.route_snapshot = claim.route_snapshot;
  grant.admission_summary = claim.admission_summary;
  return GrantCommand{GrantKind::claim, std::move(grant), request.name_space};
}

// Steps and checkpoint of one claim.
Result<void> put_steps(ClaimedExecution& claim, const Slot& slot, const std::map<SatelliteName, std::string>& bodies) {
  const Facts& facts = slot.execution()->facts;
  std::size_t bytes = 0;
  for (const std::uint32_t position : facts.steps.positions(0, limits::max_steps)) {
    const auto found = bodies.find({slot.key, static_cast<std::uint8_t>(SatelliteKind::step), position});
    if (found == bodies.end() || (bytes > 0 && bytes + found->second.size() > limits::max_claimed_step_bytes)) {
      claim.next_step_position = position;
      break;
    }
    bytes += found->second.size();
    FF_TRY(step, decode_step(found->second));
    claim.steps.push_back(std::move(step));
  }
  const auto outcome = bodies.find({slot.key, static_cast<std::uint8_t>(SatelliteKind::wait_outcome), 0});
  if (facts.waits && facts.waits->has_outcome && outcome != bodies.end()) {
    FF_TRY(decoded, decode_wait_outcome(outcome->second));
    claim.last_wait = std::move(decoded);
  }
  const auto checkpoint = bodies.find({slot.key, static_cast<std::uint8_t>(SatelliteKind::checkpoint), 0});
  if (!facts.has_checkpoint || checkpoint == bodies.end()) return {};
  FF_TRY(decoded, decode_checkpoint(checkpoint->second));
  claim.checkpoint = std::move(decoded);
  return {};
}

// The index proposes, the record decides: an entry under a route that is not the record's would hand the work to a worker
// that cannot do it. Only a damaged store has such an entry; `integrity` finds and repairs it.
bool suits(const Execution& execution, const ReadyEntry& entry) {
  if (execution.spec.route == entry.route) return true;
  log(LogLevel::error, "an execution stands in the ready index under the lane or capabilities of another",
      {{"execution_id", to_string(execution.id)}});
  return false;
}

// The number of executions that claims want of one route: by the namespace to which they are restricted, or of any.
using Wanted = std::map<std::optional<std::string>, std::uint64_t>;

// Unrestricted and restricted claims may take each other's results. Therefore each search returns as many as all claims
// want that may take from it; otherwise a claim could stay empty although there is more.
void add_demands(RouteNo route, const Wanted& wanted, std::vector<RouteDemand>& demands) {
  std::uint64_t by_all = 0;
  for (const auto& [name_space, count] : wanted) by_all += count;
  const auto any = wanted.find(std::nullopt);
  const std::uint64_t by_any = any == wanted.end() ? 0 : any->second;
  for (const auto& [name_space, count] : wanted) {
    const auto limit = std::min<std::uint64_t>(name_space ? count + by_any : by_all, limits::max_route_candidates);
    demands.push_back({route, static_cast<std::uint32_t>(limit), name_space});
  }
}

// Counts itself, so it has to be written: shows whether writing succeeds. No record kind has the name's first byte.
ChangeSet probe_set() {
  ChangeSet set;
  set.counters.push_back({"!probe", 1});
  return set;
}

}  // namespace

bool may_take(const ClaimRequest& request, const ReadyEntry& entry) {
  return !request.name_space || *request.name_space == entry.name_space;
}

Batch::Batch(Runtime& runtime, Session& session, std::vector<Work> work)
    : runtime_(runtime), session_(session), work_(std::move(work)) {
  commands_.reserve(work_.size());
  claims_.reserve(work_.size());
  order_.reserve(work_.size());
  for (Work& piece : work_) {
    if (auto* command = std::get_if<std::unique_ptr<QueuedCommand>>(&piece)) {
      order_.emplace_back(commands_.size());
      auto touched = keys_touched((*command)->command);
      commands_.push_back({std::move(*command), std::move(touched), std::nullopt, false, std::nullopt});
    } else if (auto* claim = std::get_if<ClaimPtr>(&piece)) {
      claims_.push_back({*claim, {}, {}, {}, {}, 0, false, false, {}});
      order_.emplace_back(&claims_.back());
    } else {
      sweeping_ = true;
    }
  }
  FF_CHECK(!sweeping_ || work_.size() == 1);
  // Not a copy: a seeded source would start again with every batch.
  context_.entropy = [this] { return runtime_.options_.entropy(); };
  context_.default_retention_ms = runtime_.options_.default_retention_ms;
  context_.release_on_worker_death = runtime_.options_.release_on_worker_death;
  signer_ = runtime_.fresh_signer();
  context_.signer = signer_.get();
  context_.note_stretches = runtime_.options_.tracer != nullptr;
  context_.zones = runtime_.zones();
  context_.head_of = [this](RouteNo route, std::int32_t priority) { return head_of(route, priority); };
  context_.admit_route = [this](RouteNo route, const std::string& name_space) {
    return admit_route(route, name_space);
  };
}

void Batch::write() {
  if (auto failed = runtime_.health_.lasting_failure()) {
    outcome_ = Unexpected(std::move(*failed));
    return;
  }
  outcome_ = read_decide_commit();
  if (!outcome_) session_.release();
}

void Batch::settle() {
  if (outcome_) outcome_ = session_.settle();
}

Result<void> Batch::read_decide_commit() {
  FF_TRY_VOID(sweeping_ ? read_due() : read_for_commands());
  if (sweeping_ && (from_ahead_ || due_found_ >= sweep_limit_)) more_is_due_ = !runtime_.sweep_on();
  FF_TRY_VOID(find_leases_of_the_dead());
  FF_TRY_VOID(find_letters());
  FF_TRY_VOID(read_more());
  FF_TRY_VOID(find_held_back());
  decide_all();
  FF_TRY_VOID(let_parked_claims_join());
  FF_TRY_VOID(load_payloads());
  FF_TRY_VOID(load_steps());
  FF_TRY_VOID(load_inputs());
  return commit();
}

std::vector<Key> Batch::keys_of_clock(const ClockCommand& command) {
  if (const auto* due = std::get_if<DueCommand>(&command)) return keys_needed(workspace_, *due);
  const Slot* slot = workspace_.find(execution_key(std::get<ReleaseCommand>(command).id));
  std::vector<Key> keys;
  if (slot != nullptr && slot->execution() != nullptr) add_share_key(workspace_, *slot->execution(), keys);
  std::erase_if(keys, [&](const Key& key) { return workspace_.knows(key); });
  return keys;
}

std::vector<Key> Batch::missing_keys() {
  std::vector<Key> keys;
  for (const CommandState& state : commands_) {
    for (Key& key : keys_needed(workspace_, state.queued->command)) keys.push_back(std::move(key));
  }
  for (std::size_t i = 0; i < clock_commands_.size(); ++i) {
    std::vector<Key> needed = keys_of_clock(clock_commands_[i]);
    if (needed.empty()) continue;
    // Edges of flows may lead to many records. What is not loaded now is left to the next sweep.
    if (swept_keys_ + keys.size() > limits::max_sweep_keys) {
      postponed_.insert(i);
      more_is_due_ = true;
      continue;
    }
    std::move(needed.begin(), needed.end(), std::back_inserter(keys));
  }
  swept_keys_ += keys.size();
  add_keys_of_offers(keys);
  remove_duplicates(keys);
  return keys;
}

// Adds what these claims need: a search, and the records that decide about them.
void Batch::request_for_claims(std::span<ClaimState> claims, ReadRequest& request) {
  std::map<RouteNo, Wanted> demand;
  for (ClaimState& state : claims) {
    const ClaimRequest& claim = state.queued->request;
    state.queued->seen = runtime_.parking_.signature(claim);
    state.covered = runtime_.routes_.covered(claim.lanes, claim.capabilities);
    // A repeated claim searches a little further, past the entries that it could not take.
    const std::uint64_t wanted =
        claim.max_executions + static_cast<std::uint64_t>(state.queued->stale) + state.queued->look_past;
    for (const RouteNo route : state.covered) demand[route][claim.name_space] += wanted;
    for (const auto& lane : claim.lanes) request.keys.push_back(lane_key(lane));
    request.keys.push_back(worker_key(claim.worker_namespace, claim.worker_instance_id));
  }
  if (!claims.empty()) request.keys.push_back(limits_key());
  remove_duplicates(request.keys);
  for (const auto& [route, wanted] : demand) add_demands(route, wanted, request.ready);
}

ReadRequest Batch::first_request() {
  ReadRequest request;
  request.keys = missing_keys();
  request_for_claims(claims_, request);
  if (!commands_.empty()) request.hold = commands_.front().queued->contended;
  // The pool of a share is not asked for before the shares are known.
  if (request.hold && std::find(request.keys.begin(), request.keys.end(), *request.hold) == request.keys.end()) {
    request.keys.push_back(*request.hold);
  }
  request.want_routes = !claims_.empty();
  request.routes_seen = runtime_.routes_seen_.at(&session_);
  return request;
}

bool Batch::new_routes_matter(const std::vector<Route>& routes) const {
  for (const Route& route : routes) {
    for (const ClaimState& state : claims_) {
      const auto& lanes = state.queued->request.lanes;
      if (std::binary_search(lanes.begin(), lanes.end(), route.lane) &&
          covers(state.queued->request.capabilities, route.capabilities)) {
        return true;
      }
    }
  }
  return false;
}

// Counts what this engine knows to be stored and what this batch adds. Other batches may add routes at the same moment, so
// the limit can be exceeded by a few.
Result<void> Batch::admit_route(RouteNo route, const std::string& name_space) {
  const RouteTable& known = runtime_.routes_;
  if (known.knows(route)) return {};
  auto& added = new_routes_[name_space];
  const std::size_t limit = runtime_.options_.max_namespace_routes;
  if (!added.contains(route) && known.size_of(name_space) + added.size() >= limit) {
    return fail(Errc::overloaded,
                "namespace \"" + name_space + "\" uses " + std::to_string(limit) +
                    " combinations of a lane and required capabilities, which is the limit; a combination that nothing "
                    "waits for is forgotten after an hour",
                "required_capabilities");
  }
  if (known.size() >= limits::max_routes) {
    return fail(Errc::overloaded,
                "the store has " + std::to_string(limits::max_routes) +
                    " combinations of a lane and required capabilities, which is the limit",
                "required_capabilities");
  }
  added.insert(route);
  return {};
}

Result<ReadReply> Batch::first_read(const ReadRequest& request) {
  const std::int64_t asked_ms = runtime_.steady_ms();
  FF_TRY(reply, session_.read(request));
  runtime_.note_store_time(reply.now_ms(), asked_ms);
  context_.now = reply.now_ms();
  context_.next_sequence = [this, now_us = reply.now_us] { return runtime_.next_sequence(now_us); };
  return reply;
}

Result<void> Batch::read_for_commands() {
  for (int round = 0;; ++round) {
    const ReadRequest request = first_request();
    FF_TRY(reply, first_read(request));
    const bool grew = runtime_.routes_.add(reply.routes, runtime_.steady_ms());
    if (request.want_routes) runtime_.routes_seen_.at(&session_) = reply.routes_seen;
    if (!grew || !new_routes_matter(reply.routes) || round == max_route_rounds) return take_in(reply, request);
    // Another engine has created routes that these claims cover: search again with them, so that work that existed
    // before the claim is found.
    session_.release();
  }
}

// Takes entries that were read ahead, or else searches. The decision is final when the store has returned the time.
Result<void> Batch::read_due() {
  sweep_limit_ = runtime_.sweep_limit();
  from_ahead_ = runtime_.ahead_.has_due(runtime_.store_now());
  for (int round = 0;; ++round) {
    ReadRequest request;
    request.keys.push_back(limits_key());  // which may say who has to wait for whom
    if (!from_ahead_) {
      request.due_limit = sweep_limit_;
      request.due_after = runtime_.sweep_place();
    }
    FF_TRY(reply, first_read(request));
    if (from_ahead_ == runtime_.ahead_.has_due(context_.now) || round == max_sweep_rounds) {
      for (const Record& record : reply.records) take(record);
      workspace_.note_looked_up(limits_key());
      from_ahead_ ? take_ahead() : take_due(reply);
      return {};
    }
    session_.release();
    from_ahead_ = !from_ahead_;
  }
}

void Batch::take_ahead() {
  auto slots = runtime_.ahead_.take(context_.now, sweep_limit_);
  due_found_ = slots.size();
  if (slots.empty()) return;  // another writer was faster
  runtime_.note_sweep_ahead(*slots.front()->indexed_due, *slots.back()->indexed_due, context_.now);
  clock_commands_.reserve(due_found_);
  for (auto& slot : slots) clock_commands_.emplace_back(DueCommand{workspace_.admit(std::move(slot)).key});
}

Slot* Batch::take(const Record& record) {
  auto slot = workspace_.admit(record);
  if (slot) return (*slot)->damage ? nullptr : *slot;
  workspace_.note_damaged(record, slot.error());
  runtime_.note_damaged(record, slot.error());
  return nullptr;
}

Result<void> Batch::take_in(const ReadReply& reply, const ReadRequest& request) {
  for (const Record& record : reply.records) take(record);
  for (const Key& key : request.keys) workspace_.note_looked_up(key);
  std::vector<std::uint32_t> found(request.ready.size());
  for (const Candidate& candidate : reply.ready) ++found[candidate.demand];
  for (std::size_t i = 0; i < found.size(); ++i) {
    const RouteDemand& demand = request.ready[i];
    if (found[i] >= demand.limit) cut_off_.emplace(demand.route, demand.name_space);
  }
  for (const Candidate& candidate : reply.ready) {
    const Slot* slot = take(candidate.record);
    if (slot == nullptr || slot->version != candidate.record.version) continue;
    offer(candidate.entry);
  }
  return {};
}

void Batch::take_due(const ReadReply& reply) {
  due_found_ = reply.due.size();
  runtime_.note_sweep(due_found_ >= sweep_limit_, reply);
  clock_commands_.reserve(due_found_);
  for (const DueCandidate& candidate : reply.due) {
    Slot* slot = take(candidate.record);
    if (slot == nullptr) continue;
    // The clock saw this index entry; it must be replaced, whatever the record contains.
    slot->indexed_due = candidate.entry;
    clock_commands_.emplace_back(DueCommand{candidate.entry.key});
  }
}

// The due workers whose leases must be released.
Batch::DeadWorkers Batch::dead_workers() {
  DeadWorkers dead;
  for (std::size_t i = 0; i < clock_commands_.size(); ++i) {
    const WorkerRecord* worker = workspace_.at(std::get<DueCommand>(clock_commands_[i]).key).worker();
    if (worker == nullptr) continue;
    const TimestampMs until = worker->release_until;
    if (until == 0) continue;
    auto& group = dead[holder_group(worker->info.name_space, worker->info.worker_instance_id)];
    group.push_back({i, worker, until});
  }
  return dead;
}

void Batch::release_lease_of(const std::vector<DeadWorker>& workers, const DueCandidate& found) {
  const Slot* slot = take(found.record);
  if (slot == nullptr) return;
  // The batch already has the record, and it has changed since: the next sweep gets the current version.
  if (slot->version != found.record.version) {
    for (const DeadWorker& one : workers) still_holds_leases(one);
    return;
  }
  const Execution* execution = slot->execution();
  if (execution == nullptr || !execution->facts.lease) return;
  const Lease& lease = *execution->facts.lease;
  for (const DeadWorker& one : workers) {
    const WorkerInfo& info = one.worker->info;
    if (lease.worker_namespace != info.name_space || lease.worker_instance_id != info.worker_instance_id) continue;
    if (lease.acquired_at > one.until) continue;
    still_holds_leases(one);
    clock_commands_.emplace_back(ReleaseCommand{execution->id, info.name_space, info.worker_instance_id, one.until});
  }
}

void Batch::still_holds_leases(const DeadWorker& worker) {
  std::get<DueCommand>(clock_commands_[worker.command]).holds_leases = true;
}

// Dead workers lose their leases, a batch at a time. A worker is finished when none were found.
Result<void> Batch::find_leases_of_the_dead() {
  DeadWorkers dead = dead_workers();
  while (!dead.empty()) {
    ReadRequest request;
    for (const auto& [group, workers] : dead) request.groups.push_back({group, limits::max_due_batch});
    request.group_limit = limits::max_due_batch;
    FF_TRY(reply, session_.read(request));
    for (const DueCandidate& found : reply.grouped) release_lease_of(dead[found.entry.group], found);
    if (reply.grouped.size() < request.group_limit) return {};
    // The groups before the last one were read completely, and so was the last if its oldest leases, which come first,
    // were followed by some that are kept: a worker may hold many leases that it got since it registered again.
    const DueEntry& last = reply.grouped.back().entry;
    dead.erase(dead.begin(), dead.find(last.group));
    const auto& workers = dead.begin()->second;
    const bool stays =
        std::all_of(workers.begin(), workers.end(), [&](const DeadWorker& one) { return one.until < last.rank; });
    if (stays) dead.erase(dead.begin());
    if (stays && clock_commands_.size() < 2 * limits::max_due_batch) continue;
    // Another sweep continues with the rest.
    for (const auto& [group, rest] : dead) {
      for (const DeadWorker& one : rest) still_holds_leases(one);
    }
    return {};
  }
  return {};
}

Result<void> Batch::read_more() {
  for (;;) {
    ReadRequest request;
    request.keys = missing_keys();
    if (request.keys.empty()) return {};
    FF_TRY(reply, session_.read(request));
    for (const Record& record : reply.records) take(record);
    for (const Key& key : request.keys) workspace_.note_looked_up(key);
  }
}

void Batch::decide_all() {
  for (std::size_t i = 0; i < clock_commands_.size(); ++i) {
    if (postponed_.contains(i)) continue;
    const ClockCommand& command = clock_commands_[i];
    const auto* due = std::get_if<DueCommand>(&command);
    if (due != nullptr && rests_on_damage(workspace_, *due)) continue;
    std::visit([&](const auto& one) { (void)decide_one(workspace_, one, context_); }, command);
    take_places(workspace_, context_);
  }
  for (const auto& step : order_) {
    if (const auto* index = std::get_if<std::size_t>(&step)) {
      decide_command(commands_[*index]);
    } else {
      decide_claim(*std::get<ClaimState*>(step));
    }
  }
}

void Batch::decide_command(CommandState& state) {
  const Command& command = state.queued->command;
  const bool may_need_more = flowfabric::may_need_more(command);
  if (may_need_more && !keys_needed(workspace_, command).empty()) {
    state.postponed = true;
    return;
  }
  if (may_need_more) add_keys_touched(workspace_, command, state.touched);
  state.reply = decide(workspace_, command, context_);
  // After a conflict the clock does it: what many give back to at the same time is the pool, not the execution.
  if (state.queued->stale == 0) {
    return_slots(workspace_, state.touched, context_);
    release_keys(workspace_, state.touched, context_);
  }
  state.place_in = take_places(workspace_, context_);
  for (const Key& key : state.touched) offer_newly_ready(key);
}

// In order of service; an entry that two demands have found is kept once.
void Batch::offer(ReadyEntry entry) {
  auto& line = offers_[entry.route];
  const auto where = std::lower_bound(line.begin(), line.end(), entry,
                                      [](const Offer& a, const ReadyEntry& b) { return served_before(a.entry, b); });
  if (where == line.end() || where->entry != entry) line.insert(where, Offer{std::move(entry)});
}

// Executions that this batch makes claimable can be claimed by a later claim of the same batch, in the same commit.
void Batch::offer_newly_ready(const Key& key) {
  if (claims_.empty() || key.kind() != RecordKind::execution) return;
  Slot* slot = workspace_.find(key);
  if (slot == nullptr || slot->execution() == nullptr || slot->erased || !slot->changed) return;
  // A node starts after the commit that ends the nodes before it.
  if (slot->execution()->spec.member) return;
  // Nor does one start under limits that were not read.
  for (const Key& needed : start_keys(workspace_, *slot->execution())) {
    if (!workspace_.knows(needed)) return;
  }
  auto entry = ready_entry(*slot->execution());
  if (entry && entry != slot->indexed_ready) offer(std::move(*entry));
}

// Of the lanes that have work one is next, by the weights of the claim.
Batch::Offer* Batch::best_offer(const ClaimState& state) {
  const bool weighs = !state.queued->request.lane_weights.empty();
  Offer* best = nullptr;
  std::map<std::string, Offer*> best_of;  // by lane, if there are weights
  for (const RouteNo route : state.covered) {
    const auto line = offers_.find(route);
    if (line == offers_.end()) continue;
    const auto first = std::find_if(line->second.begin(), line->second.end(), [&](const Offer& offer) {
      return !offer.used && may_take(state.queued->request, offer.entry);
    });
    if (first == line->second.end()) continue;
    const std::string lane = runtime_.routes_.lane_of(route);
    if (!lane_serves(workspace_, lane)) {
      paused_routes_.insert(route);
      continue;
    }
    Offer*& among = weighs ? best_of[lane] : best;
    if (among == nullptr || served_before(first->entry, among->entry)) among = &*first;
  }
  if (best_of.empty()) return best;
  std::vector<std::string> with_work;
  for (const auto& [lane, offer] : best_of) with_work.push_back(lane);
  return best_of.at(runtime_.lane_turns_.next(state.queued->request, with_work));
}

// A claim takes fewer executions than it asked for rather than more bytes than one reply should have, but always one.
bool Batch::fits_into_reply(const ClaimState& state, const Key& key) {
  const Execution* execution = workspace_.at(key).execution();
  const std::uint64_t bytes = execution == nullptr ? 0 : execution->payload_bytes();
  return state.taken_keys.empty() || state.payload_bytes + bytes <= limits::max_claim_bytes;
}

void Batch::decide_claim(ClaimState& state) {
  const ClaimRequest& request = state.queued->request;
  if (state.queued->withdrawn) return;
  // What a batch reads for all its claims together is bounded too. The others come with the next one.
  if (claimed_bytes_ >= limits::max_batch_bytes) {
    state.postponed = true;
    return;
  }
  // A reservation is checked when it is redeemed: only then is the namespace of the worker known.
  if (state.queued->grant_ttl_ms == 0) {
    state.may_claim = check_may_claim(workspace_, request.worker_namespace, request.worker_instance_id);
    if (!state.may_claim) return;
  }
  while (state.taken_keys.size() < request.max_executions) {
    Offer* offer = best_offer(state);
    if (offer == nullptr || !fits_into_reply(state, offer->entry.key)) return;
    offer->used = true;
    const Key key = offer->entry.key;
    const Slot& slot = workspace_.at(key);
    if (slot.erased || !suits(*slot.execution(), offer->entry)) continue;
    // An error means that the execution has changed within this batch or by time; the next one is tried.
    auto reply = decide(workspace_, hand_out(*state.queued, execution_id_of(key)), context_);
    take_places(workspace_, context_);
    if (!reply) {
      if (slot.execution()->facts.limits.held) state.met_limits = true;
      offer_newly_ready(key);
      continue;
    }
    if (auto* grant = std::get_if<Grant>(&*reply)) {
      state.grants.push_back(std::move(*grant));
    } else {
      state.taken.push_back(std::move(std::get<ClaimedExecution>(*reply)));
    }
    state.taken_keys.push_back(key);
    const std::uint64_t bytes = slot.execution()->payload_bytes();
    state.payload_bytes += bytes;
    claimed_bytes_ += bytes;
  }
}

// What the commands have made claimable. Nodes of flows start after the commit that ends the nodes before them.
std::vector<ReadyEntry> Batch::newly_ready() const {
  std::vector<ReadyEntry> entries;
  for (const CommandState& state : commands_) {
    for (const Key& key : state.touched) {
      const Slot* slot = key.kind() == RecordKind::execution ? workspace_.find(key) : nullptr;
      if (slot == nullptr || !slot->changed || slot->erased || slot->indexed_ready || slot->execution() == nullptr)
        continue;
      if (slot->execution()->spec.member) continue;
      if (auto entry = ready_entry(*slot->execution())) entries.push_back(std::move(*entry));
    }
  }
  return entries;
}

// Claims that wait for what this batch has just made claimable (by a signal, or a lease that was given back) lease it in the
// same commit. Those that wait for a create have joined before (Runtime::join_parked_claims).
Result<void> Batch::let_parked_claims_join() {
  if (sweeping_ || !claims_.empty() || runtime_.parking_.parked_claims() == 0) return {};
  for (const CommandState& state : commands_) {
    if (state.queued->contended || others_decide_by(state.queued->command)) return {};
  }
  for (ReadyEntry& entry : newly_ready()) {
    for (ClaimPtr& claim : runtime_.parking_.wake({entry.route, entry.name_space}, 1)) {
      claims_.push_back({std::move(claim), {}, {}, {}, {}, 0, false, false, {}});
    }
    offer(std::move(entry));
  }
  if (claims_.empty()) return {};
  ReadRequest request;
  request_for_claims(claims_, request);
  std::erase_if(request.keys, [&](const Key& key) { return workspace_.knows(key); });
  FF_TRY(reply, session_.read(request));
  FF_TRY_VOID(take_in(reply, request));
  FF_TRY_VOID(read_more());
  for (ClaimState& state : claims_) decide_claim(state);
  return {};
}

// All leases of this batch, through claims or grants.
std::vector<ClaimedExecution*> Batch::given_out() {
  std::vector<ClaimedExecution*> all;
  for (ClaimState& state : claims_) {
    for (ClaimedExecution& claim : state.taken) all.push_back(&claim);
  }
  for (CommandState& state : commands_) {
    if (!std::holds_alternative<RedeemCommand>(state.queued->command) || !*state.reply) continue;
    if (auto* claim = std::get_if<ClaimedExecution>(&**state.reply)) all.push_back(claim);
    if (auto* outcome = std::get_if<ReclaimExecutionOutcome>(&**state.reply)) {
      if (auto* reclaimed = std::get_if<Claimed>(outcome)) all.push_back(&reclaimed->execution);
    }
  }
  return all;
}

// Large payloads are stored separately; a claim loads them. Those created in this batch are still in the workspace.
Result<void> Batch::load_payloads() {
  constexpr auto kind = static_cast<std::uint8_t>(SatelliteKind::payload);
  std::vector<SatelliteName> names;
  std::map<Key, std::vector<ClaimedExecution*>> wanted;
  for (ClaimedExecution* claim : given_out()) {
    Slot& slot = workspace_.at(execution_key(claim->execution_id));
    if (slot.execution()->payload_is_inline()) continue;
    const auto here = std::find_if(slot.satellites.begin(), slot.satellites.end(),
                                   [&](const Satellite& satellite) { return satellite.name.kind == kind; });
    if (here != slot.satellites.end()) {
      claim->payload = here->body;
    } else {
      auto& waiting = wanted[slot.key];
      if (waiting.empty()) names.push_back({slot.key, kind, 0});
      waiting.push_back(claim);
    }
  }
  if (names.empty()) return {};
  FF_TRY(satellites, session_.read_satellites(names));
  for (const Satellite& satellite : satellites) {
    for (ClaimedExecution* claim : wanted.at(satellite.name.root)) claim->payload = satellite.body;
  }
  return {};
}

// What this batch itself writes is newer than what is stored.
bool Batch::writes(const SatelliteName& name) const {
  const Slot* slot = workspace_.find(name.root);
  return slot != nullptr && std::any_of(slot->satellites.begin(), slot->satellites.end(),
                                        [&](const Satellite& satellite) { return satellite.name == name; });
}

// Brings along what earlier runs of the handlers have recorded: steps in their order until the limit in bytes is reached,
// and the checkpoint.
Result<void> Batch::load_steps() {
  constexpr auto step_kind = static_cast<std::uint8_t>(SatelliteKind::step);
  constexpr auto checkpoint_kind = static_cast<std::uint8_t>(SatelliteKind::checkpoint);
  constexpr auto outcome_kind = static_cast<std::uint8_t>(SatelliteKind::wait_outcome);
  std::vector<SatelliteName> names;
  std::map<SatelliteName, std::string> bodies;
  for (const ClaimedExecution* claim : given_out()) {
    const Slot& slot = workspace_.at(execution_key(claim->execution_id));
    const Facts& facts = slot.execution()->facts;
    for (const std::uint32_t position : facts.steps.positions(0, limits::max_claimed_steps)) {
      names.push_back({slot.key, step_kind, position});
    }
    if (facts.has_checkpoint) names.push_back({slot.key, checkpoint_kind, 0});
    if (facts.waits && facts.waits->has_outcome) names.push_back({slot.key, outcome_kind, 0});
  }
  if (names.empty()) return {};
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase_if(names, [&](const SatelliteName& name) { return writes(name); });
  if (!names.empty()) {
    FF_TRY(satellites, session_.read_satellites(names));
    for (Satellite& satellite : satellites) bodies[satellite.name] = std::move(satellite.body);
  }
  for (ClaimedExecution* claim : given_out()) {
    const Slot& slot = workspace_.at(execution_key(claim->execution_id));
    for (const Satellite& satellite : slot.satellites) bodies[satellite.name] = satellite.body;
    FF_TRY_VOID(put_steps(*claim, slot, bodies));
  }
  return {};
}

Result<void> Batch::commit() {
  plan_ = workspace_.plan((context_.entropy() >> 2) + 1);
  if (sweeping_ && runtime_.health_.take_probe()) plan_.sets.push_back(probe_set());
  if (plan_.sets.empty()) {
    session_.release();
    return {};
  }
  const observe::Stopwatch commit_watch;
  FF_TRY(verdicts, session_.commit(plan_.sets));
  verdicts_ = std::move(verdicts);
  runtime_.metrics_.commit_duration.observe(commit_watch.nanoseconds());
  return {};
}

}  // namespace flowfabric
