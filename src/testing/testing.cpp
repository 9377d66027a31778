#include <flowfabric/testing.hpp>

#include <algorithm>
#include <deque>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "sdk/batch_call.hpp"
#include "sdk/handler_call.hpp"
#include "sdk/running_task.hpp"
#include "testing/virtual_gateway.hpp"

namespace flowfabric::testing {
namespace {

constexpr std::chrono::milliseconds ten_years{limits::max_duration_ms};

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

}  // namespace

class Engine::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        engine_(options_.seed),
        gateway_(std::make_shared<VirtualGateway>(engine_, plan)) {}

  VirtualGateway& gateway() { return *gateway_; }
  VirtualEngine& engine() { return engine_; }
  struct Kind {
    Handler handler{};
    std::optional<sdk::StepPlan> plan{};
    BatchHandler batch{};  // instead of the handler
    std::uint32_t max_batch = 1;
  };
  std::map<std::string, Kind> kinds;
  CrashPlan plan;

  // Runs one execution, or one batch, if one can run now.
  bool run_one() {
    if (claimed_.empty()) claim(1);
    if (claimed_.empty()) return false;
    const auto found = kinds.find(claimed_.front().kind);
    if (found != kinds.end() && found->second.batch) {
      run_batch(found->first, found->second);
    } else {
      ClaimedExecution execution = std::move(claimed_.front());
      claimed_.pop_front();
      run_claimed(std::move(execution)) ? left_in_order() : crashed();
    }
    return true;
  }

  // Leases of crashed workers run out before anything else is expected to happen.
  bool somebody_crashed() const { return held_ > 0; }
  void leases_ran_out() { held_ = 0; }
  std::chrono::milliseconds lease_ttl() const { return options_.lease_ttl; }

 private:
  void claim(std::uint32_t count) {
    ClaimRequest request;
    request.worker_id = "test";
    // A crashed worker does not come back under its name.
    request.worker_instance_id = "test-" + std::to_string(plan.crashes());
    request.lanes = options_.lanes;
    request.lease_ttl_ms = static_cast<std::uint32_t>(options_.lease_ttl.count());
    request.max_executions = count;
    for (ClaimedExecution& execution : must(gateway_->claim(request, {}))) {
      ++held_;
      claimed_.push_back(std::move(execution));
    }
  }
  void left_in_order() { --held_; }
  // What the worker had claimed and not begun is gone with it.
  void crashed() { claimed_.clear(); }

  // What is claimed beside the executions of this kind runs next.
  void run_batch(const std::string& kind, const Kind& how) {
    if (claimed_.size() < how.max_batch) claim(how.max_batch - static_cast<std::uint32_t>(claimed_.size()));
    std::vector<std::unique_ptr<sdk::RunningTask>> tasks;
    for (auto at = claimed_.begin(); at != claimed_.end() && tasks.size() < how.max_batch;) {
      if (at->kind != kind) {
        ++at;
        continue;
      }
      tasks.push_back(std::make_unique<sdk::RunningTask>(*gateway_, std::move(*at)));
      at = claimed_.erase(at);
    }
    std::vector<sdk::BatchEntry> entries;
    for (const auto& task : tasks) {
      entries.push_back({task.get(), [this, &kind, &task = *task](sdk::Settlement settlement) {
                           return settle_one(kind, task, std::move(settlement));
                         }});
    }
    try {
      sdk::call_batch_handler(entries, how.batch);
    } catch (const sdk::Abandon&) {
      crashed();
    }
  }

  bool settle_one(const std::string& kind, sdk::RunningTask& task, sdk::Settlement settlement) {
    if (std::holds_alternative<CompleteRequest>(settlement)) plan.pass(CrashPlan::Side::end, kind);
    bool counts = false;
    gateway_->settle(task.handle(), std::move(settlement),
                     [&](const Result<void>& answer) { counts = answer.has_value(); });
    left_in_order();
    return counts;
  }

  // Whether it was left in good order.
  bool run_claimed(ClaimedExecution execution) {
    const std::string kind = execution.kind;
    sdk::RunningTask task(*gateway_, std::move(execution));
    try {
      sdk::Settlement settlement = settlement_of(task, kind);
      if (std::holds_alternative<CompleteRequest>(settlement)) plan.pass(CrashPlan::Side::end, kind);
      gateway_->settle(task.handle(), std::move(settlement), [](const Result<void>& answer) {
        // A lease that was lost on the way, for example by cancel(), is no error of the test.
        static_cast<void>(answer);
      });
      return true;
    } catch (const sdk::Abandon&) {
      return false;
    }
  }

  sdk::Settlement settlement_of(sdk::RunningTask& task, const std::string& kind) {
    const auto found = kinds.find(kind);
    if (found == kinds.end()) throw std::runtime_error("the test has no handler for kind " + kind);
    return sdk::call_handler(task, found->second.handler, found->second.plan ? &*found->second.plan : nullptr);
  }

  Options options_;
  VirtualEngine engine_;
  std::shared_ptr<VirtualGateway> gateway_;
  std::deque<ClaimedExecution> claimed_;  // and not begun
  std::uint64_t held_ = 0;                // claimed, and not left in good order
};

Engine::Engine(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Engine::~Engine() = default;

void Engine::add(std::string kind, Handler handler, const KindOptions& options) {
  Impl::Kind entry{std::move(handler)};
  if (options.steps) entry.plan = must(sdk::StepPlan::create(*options.steps));
  impl_->kinds.insert_or_assign(std::move(kind), std::move(entry));
}

void Engine::add_batch(std::string kind, BatchHandler handler, const BatchOptions& options) {
  Impl::Kind entry;
  entry.batch = std::move(handler);
  entry.max_batch = std::max(options.max_size, 1U);
  impl_->kinds.insert_or_assign(std::move(kind), std::move(entry));
}

ExecutionId Engine::submit(CreateRequest request) {
  return must(impl_->gateway().create(std::move(request))).execution_id;
}
LimitSaved Engine::set_limit(LimitRequest request) {
  return must(impl_->gateway().limits().set(std::move(request), {"test", {}}));
}
std::vector<LimitUse> Engine::limit_use(const LimitName& limit) {
  return must(impl_->gateway().limits().use({limit, {}, limits::max_page})).keys;
}
BudgetUse Engine::change_budget(ChangeBudgetRequest request) {
  return must(impl_->gateway().limits().change_budget(std::move(request), {"test", {}}));
}
FlowId Engine::submit_flow(FlowRequest request) {
  return must(impl_->gateway().submit_flow(std::move(request))).flow_id;
}
FlowDescription Engine::get_flow(const FlowId& id) { return must(impl_->gateway().describe_flow(id)); }
FlowResult Engine::flow_result(const FlowId& id) { return must(impl_->gateway().wait_flow(id, {})); }
ExecutionDescription Engine::get(const ExecutionId& id) { return must(impl_->gateway().describe(id)); }
ExecutionResult Engine::outcome(const ExecutionId& id) { return must(impl_->gateway().wait(id, {})); }

std::string Engine::result_bytes(const ExecutionId& id) {
  ExecutionResult ended = outcome(id);
  if (ended.outcome == Outcome::success) return std::move(ended.result);
  const std::string state(to_string(get(id).summary.public_state));
  throw std::runtime_error("the execution has no result: it is " + state +
                           (ended.failure ? ": " + ended.failure->message : ""));
}

std::vector<Step> Engine::steps(const ExecutionId& id) {
  return must(impl_->gateway().list_steps(id, 0, limits::max_page)).steps;
}
std::vector<Event> Engine::history(const ExecutionId& id) {
  return must(impl_->gateway().history(id, {}, limits::max_page)).events;
}
void Engine::cancel(const ExecutionId& id, std::string reason) {
  static_cast<void>(must(impl_->gateway().cancel(id, std::move(reason))));
}
SignalReply Engine::send_signal(const ExecutionId& id, SignalRequest request) {
  return must(impl_->gateway().send_signal(id, std::move(request)));
}
SignalReply Engine::send_signal_by_token(const std::string& token, SignalRequest request) {
  return must(impl_->gateway().send_signal_by_token(token, std::move(request)));
}
SignalReply Engine::approve(const ExecutionId& id, std::string waitpoint, std::string actor, std::string comment) {
  return must(impl_->gateway().decide_approval(
      id, {std::move(waitpoint), ApprovalDecision::approve, std::move(comment), std::move(actor)}));
}
SignalReply Engine::reject(const ExecutionId& id, std::string waitpoint, std::string actor, std::string comment) {
  return must(impl_->gateway().decide_approval(
      id, {std::move(waitpoint), ApprovalDecision::reject, std::move(comment), std::move(actor)}));
}
void Engine::resume(const ExecutionId& id, std::string reason) {
  const auto resumed = impl_->gateway().resume(id, std::move(reason));
  if (!resumed) throw std::runtime_error(resumed.error().message);
}
ExecutionWaits Engine::waits(const ExecutionId& id) { return must(impl_->gateway().describe_waits(id)); }
TimestampMs Engine::now() const { return impl_->engine().now(); }

void Engine::run() {
  for (;;) {
    while (impl_->run_one()) {
    }
    if (!impl_->somebody_crashed()) return;
    for (auto left = impl_->lease_ttl().count() + 1; left > 0;) left -= impl_->engine().step(left);
    impl_->leases_ran_out();
  }
}

void Engine::advance(std::chrono::milliseconds time) {
  run();
  for (std::int64_t left = time.count(); left > 0;) {
    left -= impl_->engine().step(left);
    run();
  }
}

void Engine::run_until_ended(const ExecutionId& id) {
  run();
  for (std::int64_t left = ten_years.count(); left > 0 && outcome(id).outcome == Outcome::none;) {
    left -= impl_->engine().step(left);
    run();
  }
}

void Engine::crash_before(std::string step) { impl_->plan.order(CrashPlan::Side::before, std::move(step)); }
void Engine::crash_after(std::string step) { impl_->plan.order(CrashPlan::Side::after, std::move(step)); }
void Engine::crash_at_end(std::string kind) { impl_->plan.order(CrashPlan::Side::end, std::move(kind)); }
void Engine::crash_at_boundary(std::uint64_t n) { impl_->plan.order(n); }
std::uint64_t Engine::boundaries() const { return impl_->plan.boundaries(); }
std::uint64_t Engine::crashes() const { return impl_->plan.crashes(); }

std::uint64_t crash_everywhere(const std::function<void(Engine&)>& scenario, const Options& options) {
  Engine undisturbed(options);
  scenario(undisturbed);
  const std::uint64_t boundaries = undisturbed.boundaries();
  for (std::uint64_t n = 0; n < boundaries; ++n) {
    Engine engine(options);
    engine.crash_at_boundary(n);
    try {
      scenario(engine);
    } catch (const std::exception& error) {
      throw std::runtime_error("with a crash at boundary " + std::to_string(n) + " of " + std::to_string(boundaries) +
                               ": " + error.what());
    }
  }
  return boundaries + 1;
}

}  // namespace flowfabric::testing
