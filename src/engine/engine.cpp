// The public interface: validates, turns calls into commands, blocks for the reply.
#include "engine/engine_impl.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "base/check.hpp"
#include "engine/calls.hpp"
#include "engine/integrity.hpp"
#include "engine/reads.hpp"

namespace flowfabric {

Engine::Impl::~Impl() {
  stop();
  // Notifications of other engines arrive until it is destroyed and ring the clock, so it is destroyed before the bell.
  runtime.reset();
}

Result<void> Engine::Impl::start(std::unique_ptr<Store> store, RuntimeOptions options) {
  options.alarm = [this] {
    const std::lock_guard lock(clock_mutex_);
    alarm_ = true;
    clock_wake_.notify_one();
  };
  options.settle_apart = true;
  FF_TRY(opened, Runtime::open(std::move(store), std::move(options)));
  runtime = std::move(opened);
  for (std::size_t i = 0; i < runtime->writers(); ++i) writers_.emplace_back([this, i] { write(i); });
  if (runtime->settles_apart()) settler_ = std::thread([this] { settle(); });
  clock_ = std::thread([this] { keep_time(); });
  reader_ = std::thread([this] { read(); });
  return {};
}

void Engine::Impl::write(std::size_t i) {
  pthread_setname_np(pthread_self(), "ff-writer");
  for (;;) {
    runtime->wait_for_work(i);
    if (runtime->pump(i)) continue;
    const std::lock_guard lock(clock_mutex_);
    if (stopping_) return;
  }
}

// It only waits for the disk; the writers do the rest, so that the data of a batch stays in the cache of one core.
void Engine::Impl::settle() {
  pthread_setname_np(pthread_self(), "ff-settler");
  while (runtime->settle()) {
  }
}

// For waiting callers. It does not share a thread with the clock, because a read may take long.
void Engine::Impl::read() {
  pthread_setname_np(pthread_self(), "ff-reader");
  for (;;) {
    runtime->wait_for_turn();
    if (runtime->look()) continue;
    const std::lock_guard lock(clock_mutex_);
    if (stopping_) return;
  }
}

void Engine::Impl::keep_time() {
  pthread_setname_np(pthread_self(), "ff-clock");
  for (;;) {
    const std::int64_t wait_ms = runtime->tick();
    std::unique_lock lock(clock_mutex_);
    clock_wake_.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return alarm_ || stopping_; });
    alarm_ = false;
    if (stopping_) return;
  }
}

void Engine::Impl::stop() {
  const std::lock_guard once(stop_mutex_);
  if (stopped_ || runtime == nullptr) return;
  stopped_ = true;
  runtime->refuse_new_work();
  {
    const std::lock_guard lock(clock_mutex_);
    stopping_ = true;
    clock_wake_.notify_all();
  }
  if (clock_.joinable()) clock_.join();
  runtime->interrupt_waits();
  reader_.join();
  for (std::thread& writer : writers_) writer.join();
  runtime->end_settling();
  if (settler_.joinable()) settler_.join();
  runtime->refuse_everything();
}

Result<std::unique_ptr<Engine>> start_engine(std::unique_ptr<Store> store, const EngineOptions& options,
                                             std::shared_ptr<observe::Tracer> tracer) {
  const auto refuse = [](std::size_t value, const char* field) {
    return fail(Errc::invalid_argument,
                std::string(field) + ": is " + std::to_string(value) + "; allowed: 1 to " +
                    std::to_string(limits::ceiling_max_payload_bytes),
                field);
  };
  for (const auto& [value, field] : {std::pair{options.max_payload_bytes, "max_payload_bytes"},
                                     std::pair{options.max_result_bytes, "max_result_bytes"}}) {
    if (value == 0 || value > limits::ceiling_max_payload_bytes) return refuse(value, field);
  }
  if (options.writers > 64) return fail(Errc::invalid_argument, "writers: must be 0 to 64", "writers");
  if (options.max_queued_commands == 0) {
    return fail(Errc::invalid_argument, "max_queued_commands: must be at least 1", "max_queued_commands");
  }
  if (options.default_retention_ms < 0 || options.default_retention_ms > limits::max_duration_ms) {
    return fail(Errc::invalid_argument, "default_retention_ms: must be 0 to ten years", "default_retention_ms");
  }
  RuntimeOptions runtime_options;
  runtime_options.ingress = {options.max_payload_bytes, options.max_result_bytes};
  runtime_options.writers = options.writers;
  runtime_options.max_queued_commands = options.max_queued_commands;
  runtime_options.default_retention_ms = options.default_retention_ms;
  runtime_options.release_on_worker_death = options.on_worker_death == OnWorkerDeath::release_now;
  runtime_options.on_failure = options.on_failure;
  runtime_options.tracer = std::move(tracer);
  auto impl = std::make_unique<Engine::Impl>();
  FF_TRY_VOID(impl->start(std::move(store), std::move(runtime_options)));
  return std::make_unique<Engine>(std::move(impl));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

void Engine::stop() { impl_->stop(); }

Result<Created> Engine::create(CreateRequest request) {
  return impl_->counted("create", [&]() -> Result<Created> {
    Answer<Result<Reply>> answer;
    impl_->runtime->submit_create(std::move(request), [&](Result<Reply> reply) { answer.give(std::move(reply)); });
    return reply_as<Created>(answer.take());
  });
}

std::vector<Result<Created>> Engine::create_many(std::vector<CreateRequest> requests) {
  if (requests.empty()) return {};
  if (requests.size() > limits::max_bulk_items) {
    const auto refusal =
        flowfabric::fail(Errc::invalid_argument,
                         "requests: at most " + std::to_string(limits::max_bulk_items) + " in one call", "requests");
    return std::vector<Result<Created>>(requests.size(), refusal);
  }
  const OperationTimer timer = impl_->timer("create");
  Answers<Result<Created>> answers(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    impl_->runtime->submit_create(std::move(requests[i]), [&answers, timer, i](Result<Reply> reply) {
      timer.ended(reply);
      answers.give(i, reply_as<Created>(std::move(reply)));
    });
  }
  return answers.take();
}

Result<std::vector<ClaimedExecution>> Engine::claim(ClaimRequest request) {
  return impl_->counted("claim", [&]() -> Result<std::vector<ClaimedExecution>> {
    Answer<Result<std::vector<ClaimedExecution>>> answer;
    impl_->runtime->submit_claim(std::move(request), [&](auto reply) { answer.give(std::move(reply)); });
    return answer.take();
  });
}

Result<RenewVerdict> Engine::renew(const Handle& handle) {
  return impl_->counted("renew", [&]() -> Result<RenewVerdict> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    return call_as<RenewVerdict>(*impl_->runtime, RenewCommand{fence, 0});
  });
}

std::vector<Result<RenewVerdict>> Engine::renew_many(const std::vector<Handle>& handles) {
  if (handles.empty()) return {};
  if (const auto admitted = admit_handles(handles); !admitted) {
    return std::vector<Result<RenewVerdict>>(handles.size(), Unexpected(admitted.error()));
  }
  Answers<Result<RenewVerdict>> answers(handles.size());
  for (std::size_t i = 0; i < handles.size(); ++i) {
    renew_async(handles[i], [&answers, i](Result<RenewVerdict> verdict) { answers.give(i, std::move(verdict)); });
  }
  return answers.take();
}

void Engine::create_async(CreateRequest request, Done<Created> done) {
  impl_->runtime->submit_create(std::move(request),
                                [timer = impl_->timer("create"), done = std::move(done)](Result<Reply> reply) {
                                  timer.ended(reply);
                                  done(reply_as<Created>(std::move(reply)));
                                });
}

Engine::ClaimTicket Engine::claim_async(ClaimRequest request, Done<std::vector<ClaimedExecution>> done) {
  return impl_->runtime->submit_claim(std::move(request),
                                      [timer = impl_->timer("claim"), done = std::move(done)](auto claimed) {
                                        timer.ended(claimed);
                                        done(std::move(claimed));
                                      });
}

void Engine::withdraw_claim(const ClaimTicket& claim) {
  if (const auto waiting = claim.lock()) impl_->runtime->withdraw(std::static_pointer_cast<QueuedClaim>(waiting));
}

void Engine::renew_async(const Handle& handle, Done<RenewVerdict> done) {
  const auto timer = impl_->timer("renew");
  impl_->runtime->with_fence(handle, [this, timer, done = std::move(done)](const Result<Fence>& fence) {
    if (!fence) return refuse(timer, done, fence.error());
    impl_->runtime->submit(RenewCommand{*fence, 0}, [timer, done](Result<Reply> reply) {
      timer.ended(reply);
      done(reply_as<RenewVerdict>(std::move(reply)));
    });
  });
}

void Engine::complete_async(const Handle& handle, CompleteRequest request, Done<void> done) {
  const auto timer = impl_->timer("complete");
  if (auto admitted = admit(request, impl_->runtime->ingress()); !admitted) {
    return refuse(timer, done, admitted.error());
  }
  impl_->runtime->with_fence(
      handle, [this, timer, request = std::move(request), done = std::move(done)](const Result<Fence>& fence) mutable {
        if (!fence) return refuse(timer, done, fence.error());
        impl_->runtime->submit(CompleteCommand{*fence, std::move(request)}, [timer, done](Result<Reply> reply) {
          timer.ended(reply);
          if (!reply) return done(Unexpected(std::move(reply).error()));
          done({});
        });
      });
}

void Engine::fail_async(const Handle& handle, FailRequest request, Done<FailReply> done) {
  const auto timer = impl_->timer("fail");
  if (auto admitted = admit(request); !admitted) return refuse(timer, done, admitted.error());
  impl_->runtime->with_fence(
      handle, [this, timer, request = std::move(request), done = std::move(done)](const Result<Fence>& fence) mutable {
        if (!fence) return refuse(timer, done, fence.error());
        impl_->runtime->submit(FailCommand{*fence, std::move(request)}, [timer, done](Result<Reply> reply) {
          timer.ended(reply);
          done(reply_as<FailReply>(std::move(reply)));
        });
      });
}

void Engine::release_async(const Handle& handle, Done<void> done) {
  const auto timer = impl_->timer("release");
  impl_->runtime->with_fence(handle, [this, timer, done = std::move(done)](const Result<Fence>& fence) mutable {
    if (!fence) return refuse(timer, done, fence.error());
    submit_as(*impl_->runtime, timer, ReleaseHeldCommand{*fence}, std::move(done));
  });
}

void Engine::record_step_async(const Handle& handle, StepRequest request, Done<StepReply> done) {
  const auto timer = impl_->timer("record_step");
  const auto fence = impl_->runtime->fence_of(handle);
  if (!fence) return refuse(timer, done, fence.error());
  if (auto admitted = admit(request, impl_->runtime->ingress()); !admitted) {
    return refuse(timer, done, admitted.error());
  }
  submit_as(*impl_->runtime, timer, StepCommand{*fence, std::move(request)}, std::move(done));
}

void Engine::cancel_async(const ExecutionId& id, Operator by, Done<CancelReply> done) {
  const auto timer = impl_->timer("cancel");
  if (auto admitted = admit_execution_id(id); !admitted) return refuse(timer, done, admitted.error());
  if (auto admitted = admit(by); !admitted) return refuse(timer, done, admitted.error());
  submit_as(*impl_->runtime, timer, CancelCommand{id, std::move(by)}, std::move(done));
}

void Engine::replay_async(const ExecutionId& id, Operator by, Done<ReplayReply> done) {
  const auto timer = impl_->timer("replay_execution");
  if (auto admitted = admit_execution_id(id); !admitted) return refuse(timer, done, admitted.error());
  if (auto admitted = admit(by); !admitted) return refuse(timer, done, admitted.error());
  submit_as(*impl_->runtime, timer, ReplayCommand{id, std::move(by)}, std::move(done));
}

void Engine::change_priority_async(const ExecutionId& id, std::int32_t priority, Operator by, Done<void> done) {
  const auto timer = impl_->timer("change_priority");
  if (auto admitted = admit_execution_id(id); !admitted) return refuse(timer, done, admitted.error());
  if (auto admitted = admit_priority(priority); !admitted) return refuse(timer, done, admitted.error());
  if (auto admitted = admit(by); !admitted) return refuse(timer, done, admitted.error());
  submit_as(*impl_->runtime, timer, PriorityCommand{id, priority, std::move(by)}, std::move(done));
}

Result<void> Engine::report_progress(const Handle& handle, ProgressReport report) {
  return impl_->counted("report_progress", [&]() -> Result<void> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit(report));
    return call_done(*impl_->runtime, ProgressCommand{fence, std::move(report)});
  });
}

Result<void> Engine::complete(const Handle& handle, CompleteRequest request) {
  return impl_->counted("complete", [&]() -> Result<void> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit(request, impl_->runtime->ingress()));
    return call_done(*impl_->runtime, CompleteCommand{fence, std::move(request)});
  });
}

Result<FailReply> Engine::fail(const Handle& handle, FailRequest request) {
  return impl_->counted("fail", [&]() -> Result<FailReply> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit(request));
    return call_as<FailReply>(*impl_->runtime, FailCommand{fence, std::move(request)});
  });
}

Result<DelayReply> Engine::delay_for(const Handle& handle, std::int64_t delay_ms) {
  return impl_->counted("delay", [&]() -> Result<DelayReply> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit_delay(delay_ms));
    return call_as<DelayReply>(*impl_->runtime, DelayCommand{fence, 0, delay_ms});
  });
}

Result<StepReply> Engine::record_step(const Handle& handle, StepRequest request) {
  return impl_->counted("record_step", [&]() -> Result<StepReply> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit(request, impl_->runtime->ingress()));
    return call_as<StepReply>(*impl_->runtime, StepCommand{fence, std::move(request)});
  });
}

Result<void> Engine::store_checkpoint(const Handle& handle, std::string bytes, std::string encoding) {
  return impl_->counted("store_checkpoint", [&]() -> Result<void> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit_checkpoint(bytes, encoding, impl_->runtime->ingress()));
    return call_done(*impl_->runtime, CheckpointCommand{fence, std::move(bytes), std::move(encoding)});
  });
}

Result<DelayReply> Engine::delay(const Handle& handle, TimestampMs delay_until) {
  return impl_->counted("delay", [&]() -> Result<DelayReply> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit_time(delay_until, "delay_until"));
    return call_as<DelayReply>(*impl_->runtime, DelayCommand{fence, delay_until});
  });
}

Result<void> Engine::release(const Handle& handle) {
  return impl_->counted("release", [&]() -> Result<void> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    return call_done(*impl_->runtime, ReleaseHeldCommand{fence});
  });
}

Result<Tags> Engine::change_tags_held(const Handle& handle, TagChanges changes) {
  return impl_->counted("change_tags_held", [&]() -> Result<Tags> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit(changes));
    return call_as<Tags>(*impl_->runtime, TagsCommand{fence.execution_id, std::move(changes), {}, fence});
  });
}

Result<CancelReply> Engine::cancel_held(const Handle& handle, std::string reason) {
  return impl_->counted("cancel_held", [&]() -> Result<CancelReply> {
    FF_TRY(fence, impl_->runtime->fence_of(handle));
    FF_TRY_VOID(admit_reason(reason));
    return call_as<CancelReply>(*impl_->runtime, CancelHeldCommand{fence, std::move(reason)});
  });
}

Result<CancelReply> Engine::cancel(const ExecutionId& id, Operator by) {
  return impl_->counted("cancel", [&]() -> Result<CancelReply> {
    FF_TRY_VOID(admit_execution_id(id));
    FF_TRY_VOID(admit(by));
    return call_as<CancelReply>(*impl_->runtime, CancelCommand{id, std::move(by)});
  });
}

Result<RevokeReply> Engine::revoke_lease(const ExecutionId& id, Operator by, std::optional<Uuid> expected_lease_id) {
  return impl_->counted("revoke_lease", [&]() -> Result<RevokeReply> {
    FF_TRY_VOID(admit_execution_id(id));
    FF_TRY_VOID(admit(by));
    return call_as<RevokeReply>(*impl_->runtime, RevokeCommand{id, expected_lease_id, std::move(by)});
  });
}

Result<ReplayReply> Engine::replay_execution(const ExecutionId& id, Operator by,
                                             const std::optional<std::string>& from_step) {
  return impl_->counted("replay_execution", [&]() -> Result<ReplayReply> {
    FF_TRY_VOID(admit_execution_id(id));
    FF_TRY_VOID(admit(by));
    ReplayCommand command{id, std::move(by)};
    if (from_step) {
      FF_TRY(place, reads::find_step(impl_->runtime->store(), id, *from_step));
      command.from_position = place.position;
      command.replay_count = place.replay_count;
    }
    return call_as<ReplayReply>(*impl_->runtime, std::move(command));
  });
}

Result<void> Engine::change_priority(const ExecutionId& id, std::int32_t priority, Operator by) {
  return impl_->counted("change_priority", [&]() -> Result<void> {
    FF_TRY_VOID(admit_execution_id(id));
    FF_TRY_VOID(admit_priority(priority));
    FF_TRY_VOID(admit(by));
    return call_done(*impl_->runtime, PriorityCommand{id, priority, std::move(by)});
  });
}

Result<Tags> Engine::change_tags(const ExecutionId& id, TagChanges changes, Operator by) {
  return impl_->counted("change_tags", [&]() -> Result<Tags> {
    FF_TRY_VOID(admit_execution_id(id));
    FF_TRY_VOID(admit(changes));
    FF_TRY_VOID(admit(by));
    return call_as<Tags>(*impl_->runtime, TagsCommand{id, std::move(changes), std::move(by)});
  });
}

Result<LaneInfo> Engine::set_lane_state(const std::string& lane, LaneState state, Operator by) {
  return impl_->counted("set_lane_state", [&]() -> Result<LaneInfo> {
    FF_TRY_VOID(admit_lane(lane));
    FF_TRY_VOID(admit(by));
    return call_as<LaneInfo>(*impl_->runtime, impl_->runtime->lane_command(lane, state, std::move(by)));
  });
}

Result<NamespaceInfo> Engine::set_namespace(NamespaceInfo info, Operator by) {
  return impl_->counted("set_namespace", [&]() -> Result<NamespaceInfo> {
    FF_TRY_VOID(admit(info));
    FF_TRY_VOID(admit(by));
    return call_as<NamespaceInfo>(*impl_->runtime, NamespaceCommand{std::move(info), std::move(by)});
  });
}

Result<std::vector<std::string>> Engine::check_integrity() {
  return impl_->counted("check_integrity", [&] { return integrity_findings(impl_->runtime->store()); });
}

std::string Engine::metrics() { return impl_->runtime->metrics().registry.text(); }

Engine::Statistics Engine::statistics() const {
  const RuntimeStatistics& counted = impl_->runtime->statistics();
  Statistics statistics{counted.batches, counted.commands, counted.stale, counted.sweeps, {}};
  constexpr double ns_per_ms = 1e6;
  const std::vector<std::int64_t> bounds = observe::durations().bounds;
  const std::vector<std::uint64_t> counts = impl_->runtime->metrics().commit_duration.counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double up_to_ms =
        i < bounds.size() ? static_cast<double>(bounds[i]) / ns_per_ms : std::numeric_limits<double>::infinity();
    statistics.commit_durations.push_back({up_to_ms, counts[i]});
  }
  return statistics;
}

Result<Engine::Delays> Engine::delays() {
  return impl_->counted("delays", [&]() -> Result<Delays> {
    FF_TRY(overdue_ms, reads::overdue_ms(impl_->runtime->store()));
    FF_TRY(health, impl_->runtime->store().log_health());
    return Delays{overdue_ms, health.held_back_ms, std::move(health.holder)};
  });
}

}  // namespace flowfabric
