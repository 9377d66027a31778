#include <flowfabric/worker.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/entropy.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "sdk/batch_call.hpp"
#include "sdk/handler_call.hpp"
#include "sdk/stop_signals.hpp"
#include "sdk/worker_impl.hpp"

namespace flowfabric {
namespace {

using sdk::TaskPtr;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint32_t max_concurrency = 1000;
constexpr std::uint32_t claim_wait_ms = 30'000;
constexpr milliseconds first_claim_pause{100};
constexpr milliseconds longest_claim_pause{5'000};
constexpr milliseconds longest_batch_wait{60'000};

// "mailer-7f3a-host-4711": unique, and readable in a list.
std::string make_instance_id(const std::string& worker_id) {
  char host[65] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const std::string chance = to_string(random_uuid(system_entropy())).substr(0, 8);
  return worker_id + "-" + (host[0] != '\0' ? host : "host") + "-" + std::to_string(getpid()) + "-" + chance;
}

Unexpected<Error> out_of_range(const char* field, const std::string& value, const std::string& allowed) {
  return fail(Errc::invalid_argument, std::string(field) + ": is " + value + "; allowed: " + allowed, field);
}

std::string names_of(const auto& kinds) {
  std::string names;
  for (const auto& [name, kind] : kinds) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

// ---------------------------------------------------------------- the public face

Worker::Worker(Client client, WorkerOptions options)
    : impl_(std::make_unique<Impl>(std::move(client.gateway_), std::move(options))) {}

Worker::~Worker() {
  stop();
  const auto ended = join();
  if (!ended) log(LogLevel::error, "the worker ended with an error", {{"cause", ended.error().message}});
}

Worker& Worker::add(std::string kind, Handler handler, KindOptions options) {
  impl_->add(std::move(kind), std::move(handler), std::move(options));
  return *this;
}

Worker& Worker::add_batch(std::string kind, BatchHandler handler, const BatchOptions& options) {
  impl_->add_batch(std::move(kind), std::move(handler), options);
  return *this;
}

Worker& Worker::use(Middleware middleware) {
  impl_->use(std::move(middleware));
  return *this;
}

std::string Worker::declared_steps() const { return impl_->declared_steps(); }
Result<void> Worker::start() { return impl_->start(); }
void Worker::stop() { impl_->stop(); }
Result<void> Worker::join() { return impl_->join(); }
Worker::Statistics Worker::statistics() const { return impl_->statistics(); }
const std::string& Worker::worker_instance_id() const { return impl_->options().worker_instance_id; }

Result<void> Worker::run() {
  const sdk::StopSignals signals([this] { stop(); });
  FF_TRY_VOID(start());
  return join();
}

// ---------------------------------------------------------------- starting and stopping

Worker::Impl::Impl(std::shared_ptr<sdk::Gateway> gateway, WorkerOptions options)
    : gateway_(std::move(gateway)), options_(std::move(options)) {
  if (options_.worker_instance_id.empty()) options_.worker_instance_id = make_instance_id(options_.worker_id);
}

Worker::Impl::~Impl() = default;

void Worker::Impl::add(std::string kind, Handler handler, KindOptions options) {
  FF_CHECK(!started_);
  kinds_.insert_or_assign(std::move(kind), Kind{std::move(handler), std::move(options)});
}

void Worker::Impl::add_batch(std::string kind, BatchHandler handler, const BatchOptions& options) {
  FF_CHECK(!started_);
  Kind added;
  added.options.concurrency = options.concurrency;
  added.batch = std::move(handler);
  added.batching = options;
  kinds_.insert_or_assign(std::move(kind), std::move(added));
}

void Worker::Impl::use(Middleware middleware) {
  FF_CHECK(!started_);
  middleware_.push_back(std::move(middleware));
}

std::string Worker::Impl::declared_steps() const {
  std::map<std::string, std::vector<std::string>> declared;
  for (const auto& [name, kind] : kinds_) {
    if (kind.options.steps) declared.emplace(name, *kind.options.steps);
  }
  return sdk::to_document(declared);
}

Result<void> Worker::Impl::make_plans() {
  for (auto& [name, kind] : kinds_) {
    if (!kind.options.steps) continue;
    FF_TRY(plan, sdk::StepPlan::create(*kind.options.steps));
    kind.plan = std::make_shared<const sdk::StepPlan>(std::move(plan));
  }
  return {};
}

Result<void> Worker::Impl::check_options() const {
  if (kinds_.empty()) return fail(Errc::invalid_argument, "the worker has no handler; add one with on()");
  if (options_.concurrency == 0 || options_.concurrency > max_concurrency) {
    return out_of_range("concurrency", std::to_string(options_.concurrency), "1 to " + std::to_string(max_concurrency));
  }
  const auto ttl = options_.lease_ttl.count();
  if (ttl < limits::min_lease_ttl_ms || ttl > limits::max_lease_ttl_ms) {
    return out_of_range(
        "lease_ttl", std::to_string(ttl) + " ms",
        std::to_string(limits::min_lease_ttl_ms) + " ms to " + std::to_string(limits::max_lease_ttl_ms) + " ms");
  }
  for (const auto& [name, kind] : kinds_) {
    if (!kind.batch) continue;
    const BatchOptions& batching = kind.batching;
    if (batching.max_size == 0 || batching.max_size > options_.concurrency) {
      return out_of_range("max_size", std::to_string(batching.max_size) + " for kind " + name,
                          "1 to " + std::to_string(options_.concurrency) + ", the concurrency of the worker");
    }
    if (batching.max_wait < milliseconds{0} || batching.max_wait > longest_batch_wait) {
      return out_of_range("max_wait", std::to_string(batching.max_wait.count()) + " ms for kind " + name,
                          "0 ms to " + std::to_string(longest_batch_wait.count()) + " ms");
    }
  }
  if (options_.stop_grace.count() < 0) return out_of_range("stop_grace", "negative", "0 and more");
  return {};
}

Result<void> Worker::Impl::start() {
  if (started_) return fail(Errc::conflict, "the worker was started before");
  FF_TRY_VOID(check_options());
  FF_TRY_VOID(make_plans());
  // The innermost is the handler itself. A start that fails may be repeated; handlers are wrapped once.
  const auto middleware = std::exchange(middleware_, {});
  for (auto& [name, kind] : kinds_) {
    if (kind.batch) continue;
    for (auto outer = middleware.rbegin(); outer != middleware.rend(); ++outer) {
      kind.handler = [wrap = *outer, next = std::move(kind.handler)](Task& task) { return wrap(task, next); };
    }
  }
  FF_TRY_VOID(begin());
  started_ = true;
  return {};
}

Result<void> Worker::Impl::begin() {
  const auto liveness =
      std::clamp<std::int64_t>(options_.lease_ttl.count(), limits::min_liveness_ttl_ms, limits::max_liveness_ttl_ms);
  sdk::LeaseKeeper::Options keeping;
  keeping.registration = {options_.worker_namespace,   options_.worker_id,
                          options_.worker_instance_id, options_.lanes,
                          options_.capabilities,       static_cast<std::uint32_t>(liveness)};
  keeping.name_space = options_.name_space;
  keeping.period = milliseconds(std::min<std::int64_t>(options_.lease_ttl.count(), liveness) / 3);
  keeping.on_drain = [this] { drain(); };
  keeping.on_lost = [this](const TaskPtr& task) {
    log(LogLevel::info, "a task was lost",
        {{"execution_id", to_string(task->execution().execution_id)}, {"reason", task->stop_reason()}});
    const std::lock_guard lock(mutex_);
    ++counts_.lost;
  };
  settler_ = std::make_unique<sdk::Settler>();
  keeper_ = std::make_unique<sdk::LeaseKeeper>(gateway_, std::move(keeping));
  FF_TRY_VOID(keeper_->start());
  claiming_ = true;
  claimer_ = std::thread([this] { claim_work(stop_claims_.get_token()); });
  for (std::uint32_t i = 0; i < options_.concurrency; ++i) pool_.emplace_back([this] { run_tasks(); });
  return {};
}

void Worker::Impl::drain() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    notify_if_ended();
  }
  log(LogLevel::info, "the worker was told to drain", {});
  stop_claims_.request_stop();
}

void Worker::Impl::stop() {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = !grace_begun_;
    grace_begun_ = stopping_ = true;
    notify_if_ended();
  }
  stop_claims_.request_stop();
  if (!settler_) return;
  const auto grace = first ? options_.stop_grace : milliseconds{0};
  settler_->at(steady_clock::now() + grace, [this] { end_grace(); });
}

// What no handler has begun goes back at once; what runs may finish within the grace, and goes back then.
void Worker::Impl::end_grace() {
  std::vector<TaskPtr> running;
  {
    const std::lock_guard lock(mutex_);
    running.assign(held_.begin(), held_.end());
  }
  hand_back(running, "the worker is stopping");
}

void Worker::Impl::hand_back(const std::vector<TaskPtr>& tasks, const char* reason) {
  for (const TaskPtr& task : tasks) {
    task->request_stop(reason);
    if (task->begin_settling()) leave(task, sdk::GiveBack{});
  }
}

Result<void> Worker::Impl::join() {
  if (!started_) return {};
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return stopping_ && !claiming_ && held_.empty() && running_ == 0; });
  }
  if (claimer_.joinable()) claimer_.join();
  for (std::thread& thread : pool_) {
    if (thread.joinable()) thread.join();
  }
  keeper_->stop();
  if (fatal_) return Unexpected(*fatal_);
  return {};
}

Worker::Statistics Worker::Impl::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics counts = counts_;
  counts.running = running_;
  return counts;
}

// Expects the lock.
void Worker::Impl::notify_if_ended() {
  if (!stopping_ || claiming_ || !held_.empty()) return;
  work_came_.notify_all();
  if (running_ == 0) ended_.notify_all();
}

// ---------------------------------------------------------------- claiming

bool Worker::Impl::wait_for_slot(const std::stop_token& stop, std::uint32_t& free) {
  std::unique_lock lock(mutex_);
  slot_freed_.wait(lock, stop, [&] { return held_.size() < options_.concurrency; });
  free = options_.concurrency - static_cast<std::uint32_t>(std::min<std::size_t>(held_.size(), options_.concurrency));
  return !stop.stop_requested();
}

void Worker::Impl::claim_work(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "ff-claim");
  ClaimRequest request;
  request.worker_namespace = options_.worker_namespace;
  request.worker_id = options_.worker_id;
  request.worker_instance_id = options_.worker_instance_id;
  request.name_space = options_.name_space;
  request.lanes = options_.lanes;
  request.lane_weights = options_.lane_weights;
  request.capabilities = options_.capabilities;
  request.lease_ttl_ms = static_cast<std::uint32_t>(options_.lease_ttl.count());
  request.wait_ms = claim_wait_ms;
  milliseconds pause = first_claim_pause;
  while (wait_for_slot(stop, request.max_executions)) {
    auto claimed = gateway_->claim(request, stop);
    if (claimed) {
      pause = first_claim_pause;
      take_in(std::move(*claimed));
      continue;
    }
    if (stop.stop_requested()) break;
    log(LogLevel::warn, "work cannot be claimed", {{"cause", claimed.error().message}});
    std::unique_lock lock(mutex_);
    // A worker that is draining or was marked dead: the next heartbeat says which, and then it ends or registers again.
    const bool passes = sdk::is_passing(claimed.error()) || claimed.error().code == Errc::not_eligible;
    if (!passes) {
      // It will not get better by itself: a wrong lane name, a revoked key.
      fatal_ = claimed.error();
      stopping_ = true;
      break;
    }
    slot_freed_.wait_for(lock, stop, pause, [] { return false; });
    pause = std::min(pause * 2, longest_claim_pause);
  }
  const std::lock_guard lock(mutex_);
  claiming_ = false;
  notify_if_ended();
}

void Worker::Impl::take_in(std::vector<ClaimedExecution> claimed) {
  for (ClaimedExecution& execution : claimed) {
    auto task = std::make_shared<sdk::RunningTask>(*gateway_, std::move(execution));
    keeper_->add(task);
    const std::lock_guard lock(mutex_);
    ++counts_.claimed;
    held_.insert(task);
    waiting_.push_back(std::move(task));
    work_came_.notify_one();
  }
}

// ---------------------------------------------------------------- running

Worker::Impl::Kind* Worker::Impl::kind_of(const TaskPtr& task) {
  const auto found = kinds_.find(task->execution().kind);
  return found == kinds_.end() ? nullptr : &found->second;
}

// What one handler is called with next: the first whose kind may run once more, or a batch that begins with it. Expects the lock.
std::vector<TaskPtr> Worker::Impl::next_tasks(std::optional<SteadyTime>& look_again) {
  std::set<const Kind*> not_full;  // batches that wait for more
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    const Kind* kind = kind_of(*at);
    if (kind != nullptr && (kind->is_full() || not_full.contains(kind))) continue;
    if (kind != nullptr && kind->batch) {
      std::vector<TaskPtr> tasks = take_batch(*kind, at, look_again);
      if (!tasks.empty()) return tasks;
      not_full.insert(kind);
      continue;
    }
    TaskPtr task = std::move(*at);
    waiting_.erase(at);
    return {std::move(task)};
  }
  return {};
}

// Nothing if it is worth waiting for more: while the worker can claim more, and the first of them has not waited long enough.
std::vector<TaskPtr> Worker::Impl::take_batch(const Kind& kind, std::list<TaskPtr>::iterator first,
                                              std::optional<SteadyTime>& look_again) {
  std::vector<std::list<TaskPtr>::iterator> found;
  for (auto at = first; at != waiting_.end() && found.size() < kind.batching.max_size; ++at) {
    if (kind_of(*at) == &kind) found.push_back(at);
  }
  const SteadyTime ends = (*first)->received_at() + kind.batching.max_wait;
  const bool may_grow = found.size() < kind.batching.max_size && held_.size() < options_.concurrency && !stopping_;
  if (may_grow && steady_clock::now() < ends) {
    look_again = look_again ? std::min(*look_again, ends) : ends;
    return {};
  }
  std::vector<TaskPtr> tasks;
  for (const auto at : found) {
    tasks.push_back(std::move(*at));
    waiting_.erase(at);
  }
  return tasks;
}

// False: the worker has ended.
bool Worker::Impl::wait_for_tasks(std::unique_lock<std::mutex>& lock, std::vector<TaskPtr>& tasks) {
  for (;;) {
    std::optional<SteadyTime> look_again;
    tasks = next_tasks(look_again);
    if (!tasks.empty()) return true;
    if (stopping_ && !claiming_ && held_.empty()) return false;
    if (look_again) {
      work_came_.wait_until(lock, *look_again);
    } else {
      work_came_.wait(lock);
    }
  }
}

void Worker::Impl::run_tasks() {
  pthread_setname_np(pthread_self(), "ff-handler");
  std::unique_lock lock(mutex_);
  std::vector<TaskPtr> tasks;
  while (wait_for_tasks(lock, tasks)) {
    Kind* kind = kind_of(tasks.front());
    if (kind != nullptr) ++kind->running;
    ++running_;
    const bool too_late = stopping_;
    lock.unlock();
    // What was claimed and not begun when the worker stops is better off elsewhere.
    if (too_late) {
      hand_back(tasks, "the worker is stopping");
    } else if (kind != nullptr && kind->batch) {
      run_batch(*kind, tasks);
    } else {
      run_one(tasks.front());
    }
    tasks.clear();
    lock.lock();
    --running_;
    if (kind != nullptr) --kind->running;
    // This thread looks for the next task itself; a kind that was full may have one for another thread.
    if (kind != nullptr && kind->options.concurrency != 0 && !waiting_.empty()) work_came_.notify_one();
    notify_if_ended();
  }
}

void Worker::Impl::run_batch(const Kind& kind, const std::vector<TaskPtr>& tasks) {
  using State = sdk::RunningTask::State;
  std::vector<sdk::BatchEntry> entries;
  for (const TaskPtr& task : tasks) {
    if (task->state() == State::lost) {
      free_slot(task);  // before its turn came
      continue;
    }
    const auto settle = [this, task](sdk::Settlement settlement) {
      if (task->begin_settling()) {
        leave(task, std::move(settlement));
        return true;
      }
      if (task->state() == State::lost) free_slot(task);
      return false;
    };
    entries.push_back({task.get(), settle});
  }
  if (!entries.empty()) sdk::call_batch_handler(entries, kind.batch);
}

void Worker::Impl::run_one(const TaskPtr& task) {
  using State = sdk::RunningTask::State;
  if (task->state() == State::lost) return free_slot(task);  // before its turn came
  sdk::Settlement settlement = outcome_of(task);
  // A task that waits for signals was settled when it was suspended.
  const bool settled = std::holds_alternative<sdk::Suspended>(settlement);
  if (settled || task->begin_settling()) return leave(task, std::move(settlement));
  if (task->state() == State::lost) free_slot(task);
}

sdk::Settlement Worker::Impl::outcome_of(const TaskPtr& task) {
  const Kind* kind = kind_of(task);
  if (kind != nullptr) return sdk::call_handler(*task, kind->handler, kind->plan.get());
  return sdk::failure_request("no_handler",
                              "worker " + options_.worker_instance_id + " has no handler for kind " +
                                  task->execution().kind + "; it has: " + names_of(kinds_),
                              FailRequest::Retryable::by_policy);
}

// ---------------------------------------------------------------- leaving

void Worker::Impl::leave(const TaskPtr& task, sdk::Settlement settlement) {
  settler_->settle(task, settlement,
                   [this, task, settlement](const Result<void>& answer) { note_left(task, settlement, answer); });
}

void Worker::Impl::note_left(const TaskPtr& task, const sdk::Settlement& settlement, const Result<void>& answer) {
  const bool noticed = task->state() == sdk::RunningTask::State::lost;
  if (!answer && !noticed) {
    log(LogLevel::warn, "the end of an execution could not be reported",
        {{"execution_id", to_string(task->execution().execution_id)}, {"cause", answer.error().message}});
  }
  {
    const std::lock_guard lock(mutex_);
    if (!answer) {
      counts_.lost += noticed ? 0 : 1;
    } else if (std::holds_alternative<CompleteRequest>(settlement)) {
      ++counts_.completed;
    } else if (std::holds_alternative<FailRequest>(settlement)) {
      ++counts_.failed;
    } else if (std::holds_alternative<sdk::GiveBack>(settlement)) {
      ++counts_.handed_back;
    }
  }
  free_slot(task);
}

void Worker::Impl::free_slot(const TaskPtr& task) {
  keeper_->remove(task);
  const std::lock_guard lock(mutex_);
  held_.erase(task);
  slot_freed_.notify_one();
  notify_if_ended();
}

}  // namespace flowfabric
