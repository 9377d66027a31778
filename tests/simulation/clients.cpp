// Calls to the engines, the clients that create executions, and the checks of their replies.
#include <algorithm>

#include "core/submitting.hpp"
#include "simulation/world.hpp"

namespace flowfabric::simulation {
namespace {

constexpr std::size_t large_payload = 3000;  // stored in a satellite

bool is_unknown(const Error& error) { return error.code == Errc::outcome_unknown; }

// Refused, and nothing more comes of it.
bool was_decided(const Error& error) {
  return error.code == Errc::conflict || error.code == Errc::lane_closed || error.code == Errc::contended ||
         error.code == Errc::throttled;
}

// The partition of an execution with a supplied id.
ExecutionId id_of(const CreateRequest& request) { return {placement(request, *request.id), *request.id}; }

std::string name_of_debounce(const CreateRequest& request) { return request.name_space + "/" + request.debounce->key; }

// Creates under one debounce key must be alike in what cannot change.
void make_debounced(CreateRequest& request, std::uint64_t number) {
  request.lane = lane_names.front();
  request.kind = "kind-0";
  request.required_capabilities.clear();
  request.policy = Policy{};
  request.delay_until = 0;
  request.debounce = Debounce{fmt::format("debounce-{}", number), 700, {}};
}

}  // namespace

// ---------------------------------------------------------------- calls

std::uint64_t World::open_call(Process& process, Call call) {
  call.process = &process;
  trace_.line("call {} to {}: {}", ++last_call_, process.state->number, call.what);
  calls_.emplace(last_call_, std::move(call));
  return last_call_;
}

bool World::close_call(std::uint64_t number) {
  if (calls_.erase(number) == 0) violated("a call is answered once", "call {} was answered again", number);
  return true;
}

void World::send(Process& process, Command command, const std::string& what, Answer answer) {
  if (!process.is_up()) return;
  auto done = ask<Reply>(process, what, std::move(answer));
  run_in(process, [&] { process.runtime->submit(std::move(command), std::move(done)); });
}

void World::send_claim(Process& process, ClaimRequest request, ClaimAnswer answer) {
  if (process.state->dead) return;
  Call call;
  call.what =
      fmt::format("claim of {} for {}, waits {}", request.max_executions, request.worker_instance_id, request.wait_ms);
  call.parks = true;
  call.claim = request;
  call.until = now_ms() + request.wait_ms;
  call.crashed = [&process, answer](const Error& error) { answer(process, Unexpected(error)); };
  const std::uint64_t number = open_call(process, std::move(call));
  run_in(process, [&] {
    process.runtime->submit_claim(std::move(request), [this, &process, state = process.state, number,
                                                       answer](const Result<std::vector<ClaimedExecution>>& reply) {
      if (state->dead) return;
      close_call(number);
      trace_.line("call {}: {}", number,
                  reply ? fmt::format("{} claimed", reply->size()) : std::string(to_string(reply.error().code)));
      answer(process, reply);
    });
  });
}

// ---------------------------------------------------------------- creating

Policy World::random_policy() {
  Policy policy;
  if (random_.chance(600)) {
    policy.retry = RetryPolicy{};
    policy.retry->max_retries = static_cast<std::uint32_t>(random_.between(0, 3));
    policy.retry->initial_delay_ms = random_.between(0, 3000);
    policy.retry->max_delay_ms = policy.retry->initial_delay_ms + random_.between(0, 10000);
    if (random_.chance(300)) policy.retry->jitter = RetryPolicy::Jitter::full;
    if (random_.chance(200)) policy.retry->retryable_categories = {"error"};
  }
  if (random_.chance(200)) policy.attempt_timeout_ms = random_.between(100, 8000);
  if (random_.chance(150)) policy.on_lease_lost = OnLeaseLost::manual;
  if (random_.chance(300)) policy.reclaim_grace_ms = random_.between(1, 4000);
  if (random_.chance(300)) policy.max_reclaims = static_cast<std::uint32_t>(random_.between(0, 2));
  if (random_.chance(300)) policy.max_replays = static_cast<std::uint32_t>(random_.between(0, 2));
  if (random_.chance(400)) policy.dedup_window_ms = random_.between(1, 20000);
  if (random_.chance(200)) policy.retention.completed_ms = random_.between(0, 20000);
  if (random_.chance(100)) policy.retention.cancelled_ms = random_.between(0, 5000);
  return policy;
}

CreateRequest World::random_create() {
  CreateRequest request;
  request.name_space = random_.pick(namespace_names);
  request.lane = random_.pick(lane_names);
  request.kind = fmt::format("kind-{}", random_.below(3));
  const std::size_t size = random_.chance(80) ? large_payload : random_.below(20);
  request.payload.assign(size, static_cast<char>(random_.below(256)));
  request.priority = static_cast<std::int32_t>(random_.between(-2, 2));
  for (const auto& capability : capability_names) {
    if (random_.chance(120)) request.required_capabilities.push_back(capability);
  }
  request.policy = random_policy();
  reserve_something(request);
  if (random_.chance(200)) request.delay_until = now_ms() + random_.between(-1000, 10000);
  if (random_.chance(20)) request.delay_until = now_ms() + hour_ms;
  if (random_.chance(150)) request.deadline_at = now_ms() + random_.between(-100, 30000);
  if (random_.chance(300)) request.tags["app.tag"] = "value";
  request.creator = "creator";
  if (random_.chance(300)) request.idempotency_key = fmt::format("key-{}", random_.below(4));
  if (random_.chance(250)) give_key(request);
  if (random_.chance(500)) {
    const Entropy entropy = [this] { return random_.next(); };
    request.id = random_uuid(entropy);
  }
  return request;
}

void World::give_key(CreateRequest& request) {
  switch (random_.below(3)) {
    case 0:
      request.unique = UniqueKey{fmt::format("unique-{}", random_.below(3)), static_cast<OnConflict>(random_.below(3))};
      return;
    case 1:
      make_debounced(request, random_.below(2));
      if (random_.chance(500)) request.debounce->max_wait_ms = random_.between(700, 3000);
      return;
    default:
      request.throttle = throttle_of(static_cast<std::uint32_t>(random_.below(throttle_keys)),
                                     static_cast<OnThrottle>(random_.below(2)));
  }
}

void World::create_something() {
  if (random_.chance(120)) return submit_some_flow();
  if (random_.chance(120)) return build_some_flow();
  std::size_t index = creates_.size();
  if (!creates_.empty() && random_.chance(250)) {
    index = random_.below(creates_.size());  // again, whether it was answered or not
  } else {
    creates_.push_back({random_create(), 0, false});
  }
  send_create(live_process(), index);
}

void World::send_create(Process& process, std::size_t index) {
  if (process.state->dead) return;
  const CreateRequest& request = creates_[index].request;
  const LaneBook lane = lanes_[request.lane];
  const bool lane_is_certain = lane.certain && lane.in_flight == 0;
  const bool closed = lane.acknowledged == LaneState::draining || lane.acknowledged == LaneState::disabled;
  ++creates_[index].outstanding;
  const std::uint64_t debounces = note_debounce(request);
  const auto answer = [this, index, lane, lane_is_certain, closed, debounces](Process&, const Result<Reply>& reply) {
    SentCreate& sent = creates_[index];
    --sent.outstanding;
    const bool is_certain = reply || was_decided(reply.error());
    const bool debounced_alone = was_debounced_alone(sent.request, debounces, is_certain);
    const bool lane_known = lane_is_certain && lanes_[sent.request.lane].changes_sent == lane.changes_sent;
    if (!reply) {
      if (is_unknown(reply.error())) sent.may_exist = true;
      if (lane_known && !closed && reply.error().code == Errc::lane_closed) {
        violated("an open lane takes work", "{}", sent.request.lane);
      }
      return check_not_created(sent, reply.error());
    }
    sent.may_exist = true;
    const auto& created = std::get<Created>(*reply);
    if (lane_known && closed && !created.duplicate) violated("a closed lane takes no work", "{}", sent.request.lane);
    check_created(sent, created);
    if (debounced_alone) check_debounced(sent.request, created);
  };
  Call call;
  call.what = fmt::format("create {} on {}", index, request.lane);
  call.crashed = [&process, answer](const Error& error) { answer(process, Unexpected(error)); };
  const std::uint64_t number = open_call(process, std::move(call));
  run_in(process, [&] {
    process.runtime->submit_create(
        request, [this, &process, state = process.state, number, answer](const Result<Reply>& reply) {
          if (state->dead) return;
          close_call(number);
          trace_.line(
              "call {}: {}", number,
              reply ? to_string(std::get<Created>(*reply).execution_id) : std::string(to_string(reply.error().code)));
          answer(process, reply);
        });
  });
}

// How many creates under its debounce key have been sent; 0 while the outcome of another one is open.
std::uint64_t World::note_debounce(const CreateRequest& request) {
  if (!request.debounce) return 0;
  DebounceBook& book = debounces_[name_of_debounce(request)];
  ++book.sent;
  return book.open++ == 0 ? book.sent : 0;
}

// An outcome that is unknown stays open: the store may still commit it, or has.
bool World::was_debounced_alone(const CreateRequest& request, std::uint64_t sent, bool is_certain) {
  if (!request.debounce) return false;
  DebounceBook& book = debounces_[name_of_debounce(request)];
  if (is_certain) --book.open;
  return sent != 0 && sent == book.sent;
}

// No other create with the key was under way: the execution has the input of this one.
void World::check_debounced(const CreateRequest& request, const Created& created) {
  if (created.outcome != CreateOutcome::created && created.outcome != CreateOutcome::debounced) return;
  Shadow* shadow = watcher_->find(created.execution_id);
  if (shadow->removed) return;
  if (watcher_->payload_of(created.execution_id) != request.payload) {
    violated("a debounced execution has the newest input", "{}", to_string(created.execution_id));
  }
}

void World::check_created(const SentCreate& sent, const Created& created) {
  const CreateRequest& request = sent.request;
  Shadow* shadow = watcher_->find(created.execution_id);
  if (shadow == nullptr) violated("an acknowledged create exists", "{}", to_string(created.execution_id));
  const bool has_key = requested_key(request).kind != SubmitKeyKind::none;
  // Another request may have made what a key led to.
  if (has_key && created.duplicate) return;
  const Spec& spec = shadow->execution.spec;
  // Requests that cannot be repeated have no digest; the rest of the spec is compared field by field.
  const bool comparable = request.id || !request.idempotency_key.empty();
  const bool same = spec.name_space == request.name_space && spec.lane == request.lane && spec.kind == request.kind &&
                    spec.policy == request.policy && spec.payload_bytes == request.payload.size() &&
                    (spec.payload.empty() || spec.payload == request.payload);
  if (!same || (comparable && spec.request_digest != request_digest(request))) {
    violated("an acknowledged create is what was asked for", "{}", to_string(created.execution_id));
  }
  // An answer that waited for the disk may be about an earlier use of the id.
  const bool certain = !settles_later_ || shadow->incarnation == 1;
  if (certain && !created.duplicate && !created_.insert({created.execution_id, shadow->incarnation}).second) {
    violated("an execution is created once", "{}", to_string(created.execution_id));
  }
  if (created.duplicate && request.id && request.idempotency_key.empty() && created.execution_id != id_of(request)) {
    violated("an acknowledged create is what was asked for", "{}", to_string(created.execution_id));
  }
  if (created.duplicate || request.idempotency_key.empty()) return;
  const RequestedKey beside = requested_key(request);
  auto& made = keys_[fmt::format("{}/{}/{}/{}", request.name_space, request.idempotency_key, to_string(beside.kind),
                                 beside.key)];
  for (const auto& [created_at, earlier] : made) {
    const Spec& before = watcher_->find(earlier.execution_id)->execution.spec;
    if (earlier.execution_id == created.execution_id) continue;
    // A key whose time is over may be removed. It does not come back when the clock goes back.
    const TimestampMs window_end = before.created_at + before.policy.dedup_window_ms;
    if (window_end > shadow->latest_at_creation && before.created_at <= spec.created_at) {
      violated("an idempotency key makes one execution", "{} at {} for {} ms and {} at {}",
               to_string(earlier.execution_id), before.created_at, before.policy.dedup_window_ms,
               to_string(created.execution_id), spec.created_at);
    }
  }
  made.emplace(watcher_->commits(), created);
}

// An error, or a store that could not be reached, means that nothing was written.
void World::check_not_created(const SentCreate& sent, const Error& error) {
  if (sent.may_exist || sent.outstanding > 0 || !sent.request.id) return;
  const Shadow* shadow = watcher_->find(id_of(sent.request));
  if (shadow != nullptr && !shadow->removed) {
    violated("a refused create made nothing", "{} exists after {}", to_string(id_of(sent.request)),
             to_string(error.code));
  }
}

}  // namespace flowfabric::simulation
