#include "engine/runtime.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "core/flow_graph.hpp"
#include "core/submitting.hpp"
#include "engine/batch.hpp"

namespace flowfabric {
namespace {

constexpr int keyring_tries = 10;
constexpr std::int64_t keyring_pause_ms = 1000;

std::int64_t system_steady_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

Error queue_is_full() { return Error{Errc::overloaded, "the command queue is full; try again later", {}, {}}; }

Error shutting_down() { return Error{Errc::shutting_down, "the engine is stopping", {}, {}}; }

const QueuedCommand* command_of(const Work& work) {
  const auto* queued = std::get_if<std::unique_ptr<QueuedCommand>>(&work);
  return queued == nullptr ? nullptr : queued->get();
}

std::optional<Key> contended_record(const Work& work) {
  const QueuedCommand* queued = command_of(work);
  return queued == nullptr ? std::nullopt : queued->contended;
}

bool ends_batch(const Work& work) {
  const QueuedCommand* queued = command_of(work);
  return queued != nullptr && others_decide_by(queued->command);
}

Work make_work(Command command, CommandDone done) {
  auto queued = std::make_unique<QueuedCommand>();
  queued->command = std::move(command);
  queued->done = std::move(done);
  return queued;
}

}  // namespace

Runtime::Runtime(std::unique_ptr<Store> store, RuntimeOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      parking_(routes_),
      waiting_(
          *store_, [this] { return steady_ms(); }, [this](std::int64_t at_ms) { ring_before(at_ms); }),
      ahead_(*store_, options_.read_ahead, [this] { return options_.entropy(); }) {
  if (!options_.steady_ms) options_.steady_ms = system_steady_ms;
  add_gauges();
}

Runtime::~Runtime() {
  store_->listen({});
  refuse_everything();
}

Result<std::unique_ptr<Runtime>> Runtime::open(std::unique_ptr<Store> store, RuntimeOptions options) {
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(store), std::move(options)));
  FF_TRY_VOID(runtime->start());
  return runtime;
}

Result<void> Runtime::start() {
  store_->listen([this](const Wakeup& wakeup) { on_foreign_wakeup(wakeup); });
  const std::uint32_t count = options_.writers != 0 ? options_.writers : store_->preferred_sessions();
  for (std::uint32_t i = 0; i < count; ++i) {
    FF_TRY(session, store_->open_session());
    writers_.push_back(std::move(session));
  }
  FF_TRY_VOID(load_keyring());
  ReadRequest request;
  request.want_routes = true;
  const std::int64_t asked_ms = steady_ms();
  FF_TRY(reply, writers_.front()->read(request));
  writers_.front()->release();
  routes_.add(reply.routes, steady_ms());
  for (const auto& writer : writers_) routes_seen_[writer.get()];
  routes_seen_[writers_.front().get()] = reply.routes_seen;
  note_store_time(reply.now_ms(), asked_ms);
  return ahead_.start();
}

// Several engines may open an empty store at once; the guard lets one of them write the key and the others read it.
Result<void> Runtime::load_keyring() {
  Session& session = *writers_.front();
  for (int i = 0; i < keyring_tries; ++i) {
    ReadRequest request;
    request.keys = {keyring_key()};
    FF_TRY(reply, session.read(request));
    if (!reply.records.empty()) {
      session.release();
      FF_TRY(keyring, decode_keyring(reply.records.front().body));
      set_signer(keyring);
      return {};
    }
    FF_TRY_VOID(create_keyring(session, reply.now_ms()));
  }
  return fail(Errc::contended, "the signing key could not be stored");
}

Result<void> Runtime::create_keyring(Session& session, TimestampMs now) {
  KeyringRecord keyring;
  keyring.keys.push_back(make_signing_key(1, now, options_.entropy));
  ChangeSet set;
  RootChange change;
  change.key = keyring_key();
  change.body = encode(keyring);
  set.roots.push_back(std::move(change));
  FF_TRY(verdicts, session.commit({set}));
  return {};
}

// For keys that another engine has created.
Result<void> Runtime::reload_keyring() {
  FF_TRY(records, store_->load({keyring_key()}));
  if (records.empty()) return fail(Errc::corruption, "the signing keys are missing from the store");
  FF_TRY(keyring, decode_keyring(records.front().body));
  set_signer(keyring);
  return {};
}

// The news of a rotation may get lost, so keys that were read long ago are read again before they are used. Asks the store.
std::shared_ptr<const TokenSigner> Runtime::fresh_signer() {
  std::int64_t read = keyring_read_ms_;
  const std::int64_t now = steady_ms();
  if (now - read >= options_.keep_alive_ms && keyring_read_ms_.compare_exchange_strong(read, now)) {
    if (const auto reloaded = reload_keyring(); !reloaded) {
      log(LogLevel::warn, "the signing keys cannot be reloaded", {{"error", reloaded.error().message}});
    }
  }
  return signer();
}

std::shared_ptr<const TokenSigner> Runtime::signer() {
  const std::lock_guard lock(signer_mutex_);
  return signer_;
}

// Several threads may have read the keys; the newest are used.
void Runtime::set_signer(const KeyringRecord& keyring) {
  auto signer = std::make_shared<const TokenSigner>(keyring);
  const std::lock_guard lock(signer_mutex_);
  keyring_read_ms_ = steady_ms();
  if (signer_ == nullptr || signer->newest_key_id() >= signer_->newest_key_id()) signer_ = std::move(signer);
}

// A token with an unknown key may come from an engine that has rotated the keys. Forged tokens must not cause reads of
// the store all the time.
bool Runtime::may_reload_for(const TokenSigner& signer, std::string_view token) {
  if (signer.knows_key_of(token)) return false;
  std::int64_t asked = keyring_asked_ms_;
  const std::int64_t now = steady_ms();
  return now - keyring_pause_ms >= asked && keyring_asked_ms_.compare_exchange_strong(asked, now);
}

Result<HandleClaims> Runtime::claims_of(std::string_view handle) {
  const auto ours = fresh_signer();
  auto claims = ours->verify_handle(handle, store_now());
  if (claims || !may_reload_for(*ours, handle)) return claims;
  FF_TRY_VOID(reload_keyring());
  return signer()->verify_handle(handle, store_now());
}

std::string Runtime::sign_session(const std::string& api_key_id, std::int64_t lifetime_ms) {
  return fresh_signer()->sign_session({api_key_id, store_now() + lifetime_ms});
}

Result<SessionClaims> Runtime::session_claims(std::string_view session) {
  const auto ours = fresh_signer();
  auto claims = ours->verify_session(session, store_now());
  if (claims || !may_reload_for(*ours, session)) return claims;
  FF_TRY_VOID(reload_keyring());
  return signer()->verify_session(session, store_now());
}

Result<Fence> Runtime::fence_of(std::string_view handle) {
  FF_TRY(claims, claims_of(handle));
  return claims.fence;
}

Result<RedeemCommand> Runtime::redeem_command(GrantKind kind, RedeemRequest request) {
  FF_TRY_VOID(admit(request));
  const auto ours = fresh_signer();
  auto claims = ours->verify_grant(request.grant_key, store_now());
  if (!claims && may_reload_for(*ours, request.grant_key)) {
    FF_TRY_VOID(reload_keyring());
    claims = signer()->verify_grant(request.grant_key, store_now());
  }
  if (!claims) return Unexpected(claims.error());
  FF_TRY_VOID(admit_grant(*claims, kind, request));
  return RedeemCommand{kind, grant_id_of(request.grant_key), claims->expires_at, std::move(request)};
}

Result<WaitpointClaims> Runtime::waitpoint_claims(std::string_view token) {
  const auto ours = fresh_signer();
  auto claims = ours->verify_waitpoint(token, store_now());
  if (!claims && may_reload_for(*ours, token)) {
    FF_TRY_VOID(reload_keyring());
    claims = signer()->verify_waitpoint(token, store_now());
  }
  return claims;
}

LaneCommand Runtime::lane_command(std::string lane, LaneState state, Operator by) const {
  const bool has_routes = routes_.has_lane(lane);
  return {std::move(lane), state, std::move(by), has_routes};
}

void Runtime::submit(Command command, CommandDone done) {
  if (refusing_) return done(Unexpected(shutting_down()));
  enqueue(make_work(std::move(command), std::move(done)), false);
}

void Runtime::submit_patiently(Command command, CommandDone done) {
  if (refusing_) return done(Unexpected(shutting_down()));
  {
    std::unique_lock lock(queue_mutex_);
    if (queue_.size() + patient_.size() < options_.max_queued_commands) {
      if (patient_.empty()) patience_ends_ms_ = steady_ms() + limits::heartbeat_patience_ms;
      patient_.push_back(make_work(std::move(command), std::move(done)));
      const bool enough = patient_.size() >= limits::max_batch_commands;
      lock.unlock();
      return enough ? end_patience() : ring_before(patience_ends_ms_);
    }
  }
  done(Unexpected(queue_is_full()));
}

void Runtime::end_patience() {
  {
    const std::lock_guard lock(queue_mutex_);
    if (patient_.empty()) return;
    for (Work& work : patient_) queue_.push_back(std::move(work));
    patient_.clear();
    patience_ends_ms_ = std::numeric_limits<std::int64_t>::max();
  }
  queue_wake_.notify_one();
}

Uuid Runtime::new_uuid() { return time_ordered_uuid(store_now(), id_order_++, options_.entropy); }

void Runtime::submit_create(CreateRequest request, CommandDone done) {
  if (refusing_) return done(Unexpected(shutting_down()));
  if (auto admitted = admit(request, options_.ingress); !admitted) return done(Unexpected(admitted.error()));
  CreateCommand command;
  command.id_is_supplied = request.id.has_value();
  command.id.uuid = request.id ? *request.id : new_uuid();
  command.id.partition = placement(request, command.id.uuid);
  // Only a repeatable request is ever compared; hashing a large payload needlessly would be expensive.
  if (command.id_is_supplied || !request.idempotency_key.empty()) command.request_digest = request_digest(request);
  command.request = std::move(request);
  enqueue(make_work(std::move(command), std::move(done)), false);
}

void Runtime::submit_flow(FlowRequest request, CommandDone done) {
  if (refusing_) return done(Unexpected(shutting_down()));
  if (auto admitted = admit(request, options_.ingress); !admitted) return done(Unexpected(admitted.error()));
  auto members = plan_flow(request);
  if (!members) return done(Unexpected(members.error()));
  SubmitFlowCommand command;
  command.id_is_supplied = request.id.has_value();
  command.id.uuid = request.id ? *request.id : new_uuid();
  command.id.partition = request.idempotency_key.empty()
                             ? partition_of(command.id.uuid)
                             : flow_idempotency_key(request.name_space, request.idempotency_key).partition();
  if (command.id_is_supplied || !request.idempotency_key.empty()) command.request_digest = request_digest(request);
  command.request = std::move(request);
  command.members = std::move(*members);
  enqueue(make_work(std::move(command), std::move(done)), false);
}

ClaimPtr Runtime::submit_claim(ClaimRequest request, ClaimDone done) {
  if (refusing_) {
    done(Unexpected(shutting_down()));
    return nullptr;
  }
  if (auto admitted = admit(request); !admitted) {
    done(Unexpected(admitted.error()));
    return nullptr;
  }
  auto claim = std::make_shared<QueuedClaim>();
  claim->wait_until_ms = steady_ms() + request.wait_ms;
  claim->request = std::move(request);
  claim->done = std::move(done);
  enqueue(claim, false);
  return claim;
}

void Runtime::withdraw(const ClaimPtr& claim) {
  claim->withdrawn = true;
  if (parking_.withdraw(claim)) claim->done(std::vector<ClaimedExecution>{});
}

void Runtime::submit_claim_for_worker(ClaimForWorkerRequest request, GrantDone done) {
  if (refusing_) return done(Unexpected(shutting_down()));
  if (auto admitted = admit(request); !admitted) return done(Unexpected(admitted.error()));
  auto claim = std::make_shared<QueuedClaim>();
  claim->wait_until_ms = steady_ms();
  claim->request.worker_id = std::move(request.worker_id);
  claim->request.worker_instance_id = std::move(request.worker_instance_id);
  claim->request.name_space = std::move(request.name_space);
  claim->request.lanes = {std::move(request.lane)};
  claim->request.capabilities = std::move(request.capabilities);
  claim->grant_ttl_ms = request.grant_ttl_ms;
  claim->capability_hash = std::move(request.capability_hash);
  claim->route_snapshot = std::move(request.route_snapshot);
  claim->admission_summary = std::move(request.admission_summary);
  claim->granted = done;
  claim->done = [done = std::move(done)](const Result<std::vector<ClaimedExecution>>& nothing) {
    if (!nothing) return done(Unexpected(nothing.error()));
    done(std::optional<Grant>{});
  };
  enqueue(std::move(claim), false);
}

void Runtime::wait_for_end(const ExecutionId& id, std::uint32_t wait_ms, EndDone done) {
  if (auto admitted = admit_execution_id(id); !admitted) return done(Unexpected(admitted.error()));
  if (auto admitted = admit_wait(wait_ms); !admitted) return done(Unexpected(admitted.error()));
  waiting_.for_end(id, steady_ms() + wait_ms, std::move(done));
}

void Runtime::wait_for_flow(const FlowId& id, std::uint32_t wait_ms, FlowEndDone done) {
  if (auto admitted = admit_flow_id(id); !admitted) return done(Unexpected(admitted.error()));
  if (auto admitted = admit_wait(wait_ms); !admitted) return done(Unexpected(admitted.error()));
  waiting_.for_flow(id, steady_ms() + wait_ms, std::move(done));
}

void Runtime::wait_for_events(EventFilter filter, std::string cursor, std::uint32_t limit, std::uint32_t wait_ms,
                              EventsDone done) {
  if (auto admitted = admit(filter); !admitted) return done(Unexpected(admitted.error()));
  if (auto admitted = admit_wait(wait_ms); !admitted) return done(Unexpected(admitted.error()));
  waiting_.for_events(std::move(filter), std::move(cursor), limit, steady_ms() + wait_ms, std::move(done));
}

// A batch costs a dozen statements with five commands or with fifty. So while one writer is working, another starts
// only when enough commands wait for a separate batch; otherwise they go into the next batch of the first writer. A
// writer that sweeps is not counted: no caller waits for its batch. Called with queue_mutex_ held.
bool Runtime::batch_may_start() const {
  const std::size_t waiting = queue_.size() + queued_sweeps_;
  if (waiting == 0) return false;
  if (busy_writers_ == 0 || waiting >= limits::worthwhile_batch_commands) return true;
  return steady_ms() - batch_moved_ms_ >= limits::slow_batch_ms;  // it may be held up, and others must not be
}

// Nobody else comes to see that a batch takes long: the clock does. Returns when it has to, or 0.
std::int64_t Runtime::start_beside_slow_batch() {
  const std::lock_guard lock(queue_mutex_);
  if ((queue_.empty() && queued_sweeps_ == 0) || busy_writers_ == 0) return 0;
  if (batch_may_start()) queue_wake_.notify_one();
  return std::max(batch_moved_ms_, steady_ms()) + limits::slow_batch_ms;
}

void Runtime::enqueue(Work work, bool internal) {
  {
    std::unique_lock lock(queue_mutex_);
    if (internal || queue_.size() < options_.max_queued_commands) {
      queue_.push_back(std::move(work));
      const bool start = batch_may_start();
      const bool first = queue_.size() == 1;
      lock.unlock();
      if (start) {
        queue_wake_.notify_one();
      } else if (first) {
        ring_before(steady_ms() + limits::slow_batch_ms);
      }
      return;
    }
  }
  const Error full = queue_is_full();
  if (auto* command = std::get_if<std::unique_ptr<QueuedCommand>>(&work)) (*command)->done(Unexpected(full));
  if (auto* claim = std::get_if<ClaimPtr>(&work)) (*claim)->done(Unexpected(full));
}

// What has to be decided again has waited already: it goes before the others, in its order.
void Runtime::enqueue_again(std::vector<Work> work) {
  if (work.empty()) return;
  std::unique_lock lock(queue_mutex_);
  queue_.insert(queue_.begin(), std::make_move_iterator(work.begin()), std::make_move_iterator(work.end()));
  const bool start = batch_may_start();
  lock.unlock();
  if (start) queue_wake_.notify_one();
}

void Runtime::enqueue_sweep() {
  std::unique_lock lock(queue_mutex_);
  ++queued_sweeps_;
  const bool start = batch_may_start();
  lock.unlock();
  if (start) queue_wake_.notify_one();
}

void Runtime::enqueue_claims(std::vector<ClaimPtr> claims) {
  for (ClaimPtr& claim : claims) enqueue(std::move(claim), true);
}

// While one batch becomes durable another is written; so if none is in progress, half of a long queue goes first.
// Called with queue_mutex_ held.
std::size_t Runtime::commands_to_take() const {
  const bool halve = settles_apart() && busy_writers_ == 0 && queue_.size() >= 2 * limits::worthwhile_batch_commands;
  return std::min(halve ? (queue_.size() + 1) / 2 : queue_.size(), limits::max_batch_commands);
}

// Those that could not be decided because of one contended record: they share the batch that holds it. Called with
// queue_mutex_ held.
std::vector<Work> Runtime::take_contended(const Key& key) {
  std::vector<Work> batch;
  std::deque<Work> others;
  for (Work& work : queue_) {
    const bool goes_along = batch.size() < limits::max_batch_commands && contended_record(work) == key;
    goes_along ? batch.push_back(std::move(work)) : others.push_back(std::move(work));
  }
  queue_.swap(others);
  return batch;
}

// Everything queued, up to the limits of a batch. Called with queue_mutex_ held.
std::vector<Work> Runtime::take_commands() {
  if (queue_.empty()) return {};
  if (const auto contended = contended_record(queue_.front())) return take_contended(*contended);
  std::vector<Work> batch;
  std::size_t bytes = 0;
  const std::size_t most = commands_to_take();
  batch.reserve(most + patient_.size());
  while (!queue_.empty() && batch.size() < most && bytes < limits::max_batch_bytes) {
    if (contended_record(queue_.front())) break;
    bytes += work_bytes(queue_.front());
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
    if (ends_batch(batch.back())) break;
  }
  // Patient commands are added to a batch of others.
  for (Work& work : patient_) batch.push_back(std::move(work));
  patient_.clear();
  patience_ends_ms_ = std::numeric_limits<std::int64_t>::max();
  return batch;
}

// A parked claim joins the batch whose create it waits for: the execution is created and leased in one commit.
void Runtime::join_parked_claims(std::vector<Work>& batch) {
  const bool alone = std::any_of(batch.begin(), batch.end(),
                                 [](const Work& work) { return ends_batch(work) || contended_record(work); });
  if (alone) return;
  std::vector<ClaimPtr> joining;
  for (const Work& work : batch) {
    const QueuedCommand* queued = command_of(work);
    const auto* create = queued == nullptr ? nullptr : std::get_if<CreateCommand>(&queued->command);
    if (create == nullptr || create->request.delay_until != 0 || create->request.delay_ms || create->request.debounce) {
      continue;
    }
    const CreateRequest& request = create->request;
    const ReadyLine line{route_of(request.lane, request.required_capabilities), request.name_space};
    for (ClaimPtr& claim : parking_.wake(line, 1)) joining.push_back(std::move(claim));
  }
  for (ClaimPtr& claim : joining) batch.emplace_back(std::move(claim));
}

// Sweeps and commands take turns when there are both. So however long the queue is, what is due has its share of the
// writer (see sweep_limit), and however much is due, so have the commands. Called with queue_mutex_ held.
bool Runtime::sweep_is_next() const { return queued_sweeps_ > 0 && (queue_.empty() || commands_since_sweep_); }

std::vector<Work> Runtime::take_batch() {
  std::vector<Work> batch;
  {
    const std::lock_guard lock(queue_mutex_);
    if (sweep_is_next()) {
      --queued_sweeps_;
      batch.emplace_back(QueuedSweep{});
    } else {
      batch = take_commands();
      if (!batch.empty()) ++busy_writers_;
      if (!batch.empty()) batch_moved_ms_ = steady_ms();
      if (!batch.empty()) commands_since_sweep_ = true;
    }
    if (batch_may_start()) queue_wake_.notify_one();
  }
  join_parked_claims(batch);
  return batch;
}

bool Runtime::pump(std::size_t i) {
  if (const auto settled = take_settled()) {
    answer(*settled);
    return true;
  }
  std::vector<Work> work = take_batch();
  if (work.empty()) return false;
  auto batch = std::make_unique<Batch>(*this, *writers_[i], std::move(work));
  batch->write();
  if (settles_apart()) {
    {
      const std::lock_guard lock(queue_mutex_);
      unsettled_.push_back(std::move(batch));
      ++unanswered_;
    }
    settle_wake_.notify_one();
    return true;
  }
  batch->settle();
  answer(*batch);
  return true;
}

std::unique_ptr<Batch> Runtime::take_settled() {
  const std::lock_guard lock(queue_mutex_);
  if (settled_.empty()) return nullptr;
  auto batch = std::move(settled_.front());
  settled_.pop_front();
  note_answered();
  return batch;
}

// At the end the writers wait for each other's batches. Called with queue_mutex_ held.
void Runtime::note_answered() {
  if (--unanswered_ == 0 && interrupted_) queue_wake_.notify_all();
}

void Runtime::answer(Batch& batch) {
  batch.answer();
  // This writer sees new work itself.
  const std::lock_guard lock(queue_mutex_);
  if (!batch.sweeping()) --busy_writers_;
  batch_moved_ms_ = steady_ms();
}

bool Runtime::settle() {
  {
    std::unique_lock lock(queue_mutex_);
    settle_wake_.wait(lock, [&] { return !unsettled_.empty() || all_is_settled_; });
  }
  return settle_written();
}

bool Runtime::settle_written() {
  std::deque<std::unique_ptr<Batch>> batches;
  {
    const std::lock_guard lock(queue_mutex_);
    batches.swap(unsettled_);
  }
  if (batches.empty()) return false;
  for (const auto& batch : batches) batch->settle();
  // A writer answers waiting callers. A sweep has none, and the writer may be working on the next one.
  std::vector<std::unique_ptr<Batch>> sweeps;
  {
    const std::lock_guard lock(queue_mutex_);
    for (auto& batch : batches) {
      batch->sweeping() ? sweeps.push_back(std::move(batch)) : settled_.push_back(std::move(batch));
    }
  }
  queue_wake_.notify_one();
  for (auto& sweep : sweeps) {
    answer(*sweep);
    sweep.reset();
    const std::lock_guard lock(queue_mutex_);
    note_answered();
  }
  return true;
}

void Runtime::end_settling() {
  {
    const std::lock_guard lock(queue_mutex_);
    all_is_settled_ = true;
  }
  settle_wake_.notify_all();
}

// A lone writer does not let commands wait for long while it sweeps. But the later it is with what is due, the more of it
// goes at once: a sweep is followed by one batch of commands, which cannot make as much due as the largest sweep takes.
std::uint32_t Runtime::sweep_limit() {
  const std::lock_guard lock(queue_mutex_);
  const bool share = std::exchange(commands_since_sweep_, false);
  if (writers_.size() > 1) return limits::max_due_batch;
  if (!share) return limits::lone_due_batch;
  const std::int64_t steps = 1 + due_lag_ms_ / limits::due_lag_step_ms;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(limits::shared_due_batch * steps, limits::max_due_batch));
}

void Runtime::wait_for_work(std::size_t) {
  std::unique_lock lock(queue_mutex_);
  queue_wake_.wait(lock, [&] { return batch_may_start() || !settled_.empty() || (interrupted_ && unanswered_ == 0); });
}

void Runtime::answer_unserved(const ClaimPtr& claim) {
  // Due entries may be work: a claim does not return empty because the clock is a moment late.
  if (!claim->waited_for_clock && sweep_if_due()) {
    claim->waited_for_clock = true;
    {
      const std::lock_guard lock(queue_mutex_);
      commands_since_sweep_ = true;  // so that the sweep comes before the claim
    }
    return enqueue_claims({claim});
  }
  if (claim->wait_until_ms > steady_ms() && !refusing_) {
    claim->stale = 0;
    switch (parking_.park(claim)) {
      case Parking::Parked::yes: return ring_before(claim->wait_until_ms);
      case Parking::Parked::search_again: return enqueue_claims({claim});
      case Parking::Parked::withdrawn: break;
      case Parking::Parked::full:
        return claim->done(fail(Errc::overloaded, "too many claims are waiting; try again later"));
    }
  }
  claim->done(std::vector<ClaimedExecution>{});
}

void Runtime::after_commit(const PlannedCommit& plan, const std::vector<Verdict>& verdicts, Wakeup wakeup) {
  std::int64_t more_due = 0;
  for (std::size_t i = 0; i < plan.sets.size(); ++i) {
    if (verdicts[i] != Verdict::committed) continue;
    routes_.add(plan.sets[i].routes, steady_ms());  // before anybody is woken for what is on them
    more_due += static_cast<std::int64_t>(plan.sets[i].due_put.size());
    more_due -= static_cast<std::int64_t>(plan.sets[i].due_drop.size());
    for (const Append& append : plan.sets[i].appends) wakeup.appended.insert(append.sequence.root);
    for (const ReadyEntry& entry : plan.sets[i].ready_put) ++wakeup.ready[{entry.route, entry.name_space}];
    for (const LogEntry& entry : plan.sets[i].log) {
      wakeup.log_advanced = true;
      const auto type = static_cast<EventType>(entry.type);
      if (type == EventType::lane_changed) wakeup.lanes_changed.push_back(entry.lane);
      if (type == EventType::keys_rotated) wakeup.everything = true;  // the other engines reload the keys
    }
  }
  if (wakeup.appended.size() > limits::max_announced_roots) {
    wakeup.appended.clear();
    wakeup.everything = true;
  }
  if (ahead_.note_entries(more_due)) ring();
  for (const auto& [line, count] : wakeup.ready) {
    enqueue_claims(parking_.wake(line, count));
  }
  for (const auto& lane : wakeup.lanes_changed) enqueue_claims(parking_.wake_lane(lane));
  if (plan.earliest_due != 0) {
    wakeup.earliest_due = plan.earliest_due;
    note_due(plan.earliest_due);
  }
  if (wakeup.log_advanced) waiting_.note_commit(plan, verdicts);
  const bool news = wakeup.log_advanced || wakeup.everything || !wakeup.ready.empty() || !wakeup.appended.empty();
  if (news || plan.earliest_due != 0) store_->announce(wakeup);
}

LineHead Runtime::head_of(RouteNo route, std::int32_t priority) {
  const auto first = store_->first_ready(route, priority);
  const std::lock_guard lock(heads_mutex_);
  if (heads_.size() >= limits::max_known_heads && !heads_.contains({route, priority})) heads_.clear();
  std::uint64_t& highest = heads_[{route, priority}];
  LineHead head;
  head.is_known = first.has_value();
  if (first) head.first = *first;
  highest = std::max(highest, head.first.value_or(0));
  head.highest = highest;
  return head;
}

// Enqueue numbers follow the store's clock, so that work of several engines is served in order of arrival, and never
// repeat within this engine.
std::uint64_t Runtime::next_sequence(std::int64_t now_us) {
  const std::uint64_t by_clock = static_cast<std::uint64_t>(now_us) << 10;
  std::uint64_t last = last_sequence_.load();
  for (;;) {
    const std::uint64_t next = std::max(last + 1, by_clock);
    if (last_sequence_.compare_exchange_weak(last, next)) return next;
  }
}

void Runtime::refuse_new_work() {
  refusing_ = true;
  end_patience();
  refuse_awaiting_keys();
  for (const ClaimPtr& claim : parking_.wake_all()) claim->done(std::vector<ClaimedExecution>{});
  waiting_.send_everybody_away();
}

void Runtime::interrupt_waits() {
  interrupted_ = true;
  {
    const std::lock_guard lock(queue_mutex_);
  }
  queue_wake_.notify_all();
  waiting_.interrupt();
}

bool Runtime::queues_empty() const {
  const std::lock_guard lock(queue_mutex_);
  return queue_.empty() && queued_sweeps_ == 0 && unanswered_ == 0;
}

void Runtime::refuse_everything() {
  refuse_new_work();
  std::deque<Work> queue;
  {
    const std::lock_guard lock(queue_mutex_);
    queue.swap(queue_);
    for (Work& work : patient_) queue.push_back(std::move(work));
    patient_.clear();
    queued_sweeps_ = 0;
  }
  for (Work& work : queue) {
    if (auto* command = std::get_if<std::unique_ptr<QueuedCommand>>(&work)) {
      (*command)->done(Unexpected(shutting_down()));
    }
    if (auto* claim = std::get_if<ClaimPtr>(&work)) (*claim)->done(Unexpected(shutting_down()));
  }
}

}  // namespace flowfabric
