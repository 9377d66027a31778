// Metrics that are not counted but computed on request.
#include "base/limits.hpp"
#include "core/limit_records.hpp"
#include "engine/dead_letter_reads.hpp"
#include "engine/limit_reads.hpp"
#include "engine/reads.hpp"
#include "engine/runtime.hpp"
#include "engine/schedule_reads.hpp"

namespace flowfabric {
namespace {

using observe::Label;
using observe::Sample;

constexpr std::uint64_t max_ready_counted = 100000;
constexpr std::size_t max_lanes_shown = 250;
constexpr std::size_t max_budgets_shown = 250;

std::vector<Sample> limit_samples(Store& store, reads::LimitFigure wanted) {
  const auto figures = reads::limit_figures(store, wanted);
  if (!figures) return {};
  std::vector<Sample> samples;
  for (const reads::LimitFigures& one : *figures) {
    const std::uint64_t value = wanted == reads::LimitFigure::in_use ? one.in_use : one.held_back;
    samples.push_back({{one.limit.name_space.value_or(""), one.limit.name}, static_cast<double>(value)});
  }
  return samples;
}

// If the store cannot be reached, there is a gap in the graphs. Its errors are counted elsewhere.
std::vector<Sample> ready_executions(Store& store, const RouteTable& routes) {
  std::vector<Sample> samples;
  const auto lanes = reads::ready_by_lane(store, routes, max_ready_counted);
  if (!lanes) return samples;
  for (const auto& [lane, count] : *lanes) samples.push_back({{lane}, static_cast<double>(count)});
  return samples;
}

std::vector<Sample> workers(Store& store) {
  const auto count = reads::count_workers(store);
  if (!count) return {};
  return {{{"working"}, static_cast<double>(count->working)}, {{"draining"}, static_cast<double>(count->draining)}};
}

// Every state in which a flow is stored, also those that no flow is in: a series that comes and goes cannot be graphed.
std::vector<Sample> flows_by_state(Store& store) {
  const auto counts = reads::flow_counts(store);
  if (!counts) return {};
  std::vector<Sample> samples;
  for (const FlowState state :
       {FlowState::running, FlowState::cancelling, FlowState::completed, FlowState::failed, FlowState::cancelled}) {
    const auto found = counts->find(state);
    const double count = found == counts->end() ? 0.0 : static_cast<double>(found->second);
    samples.push_back({{std::string(to_string(state))}, count});
  }
  return samples;
}

std::vector<Sample> suspended_executions(Store& store) {
  const auto lanes = reads::counts(store, std::nullopt);
  if (!lanes) return {};
  std::uint64_t suspended = 0;
  for (const LaneCounts& lane : *lanes) {
    const auto found = lane.counts.find(PublicState::suspended);
    if (found != lane.counts.end()) suspended += found->second;
  }
  return {{{}, static_cast<double>(suspended)}};
}

std::vector<Sample> schedules_by_state(Store& store) {
  const auto counts = reads::schedule_counts(store);
  if (!counts) return {};
  std::vector<Sample> samples;
  for (const ScheduleState state : {ScheduleState::active, ScheduleState::paused}) {
    const auto found = counts->find(state);
    const double count = found == counts->end() ? 0.0 : static_cast<double>(found->second);
    samples.push_back({{std::string(to_string(state))}, count});
  }
  return samples;
}

enum class BudgetFigure : std::uint8_t { spent, limit };

void add_budget(const LimitInfo& limit, const BudgetUse& use, BudgetFigure figure, std::vector<Sample>& samples) {
  for (const DimensionUse& one : use.dimensions) {
    if (figure == BudgetFigure::limit && !one.hard) continue;
    const std::int64_t value = figure == BudgetFigure::limit ? *one.hard : one.spent;
    samples.push_back({{limit.name_space.value_or(""), limit.name, one.name}, static_cast<double>(value)});
  }
}

// Of each dimension of the budgets that have one account: others may have any number of them.
std::vector<Sample> budgets(Store& store, BudgetFigure figure) {
  std::vector<Sample> samples;
  const auto limits = reads::list_limits(store, {});
  if (!limits) return samples;
  for (const LimitInfo& limit : *limits) {
    if (!limit.budget || !limit.per.empty()) continue;
    const auto use = reads::limit_use(store, {limit, {}, 1});
    if (!use) return {};
    const bool used = !use->keys.empty() && use->keys.front().budget;
    add_budget(limit, used ? *use->keys.front().budget : account_use(*limit.budget, nullptr, 0), figure, samples);
  }
  return samples;
}

std::vector<Sample> dead_letters(Store& store) {
  const auto kinds = reads::dead_letters_by_kind(store);
  if (!kinds) return {};
  std::vector<Sample> samples;
  for (const auto& [kind, count] : *kinds) samples.push_back({{kind}, static_cast<double>(count)});
  return samples;
}

std::vector<Sample> held_back(Store& store) {
  const auto health = store.log_health();
  if (!health) return {};
  return {{{"events"}, static_cast<double>(health->held_back_ms) / 1000},
          {{"removed_rows"}, static_cast<double>(health->uncleared_ms) / 1000}};
}

// What is due but not dealt with yet: whoever only counts what was dealt with does not see what is left lying.
std::vector<Sample> overdue_seconds(Store& store) {
  const auto overdue_ms = reads::overdue_ms(store);
  if (!overdue_ms) return {};
  return {{{}, static_cast<double>(*overdue_ms) / 1000}};
}

}  // namespace

void Runtime::add_gauges() {
  observe::Registry& registry = metrics_.registry;
  registry.computed_gauges({"flowfabric_queue_commands", "Commands and claims waiting for a batch."},
                           observe::one_value([this] {
                             const std::lock_guard lock(queue_mutex_);
                             return static_cast<double>(queue_.size() + patient_.size());
                           }));
  registry.computed_gauges({"flowfabric_parked_claims", "Claims waiting for work."},
                           observe::one_value([this] { return static_cast<double>(parking_.parked_claims()); }));
  registry.computed_gauges({"flowfabric_parked_waiters", "Callers waiting for the end of an execution or for events."},
                           observe::one_value([this] { return static_cast<double>(waiting_.size()); }));
  registry.computed_counters({"flowfabric_conflicts_total",
                              "Changes that were not written because their record had "
                              "changed in the meantime."},
                             observe::one_value([this] { return static_cast<double>(statistics_.stale); }));
  registry.computed_counters({"flowfabric_store_failures_total", "Batches that failed because of the store."},
                             observe::one_value([this] { return static_cast<double>(health_.failures()); }));
  registry.computed_gauges({"flowfabric_store_writable", "1 if the last write succeeded, 0 if it failed."},
                           observe::one_value([this] { return health_.failure() ? 0.0 : 1.0; }));
  const std::vector<StoreFigure> figures = store_->figures();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto value = observe::one_value([this, i] { return store_->figures().at(i).value; });
    const StoreFigure& figure = figures[i];
    figure.counts ? registry.computed_counters({figure.name, figure.help}, value)
                  : registry.computed_gauges({figure.name, figure.help}, value);
  }
  registry.computed_gauges(
      {"flowfabric_ready_executions", "Claimable executions.", {Label::open("lane")}, max_lanes_shown},
      observe::seldom([this] { return ready_executions(*store_, routes_); }));
  registry.computed_gauges(
      {"flowfabric_workers", "Live registered workers; state is working or draining.", {Label::closed("state")}},
      observe::seldom([this] { return workers(*store_); }));
  registry.computed_gauges({"flowfabric_flows", "Flows that are stored, by state.", {Label::closed("state")}},
                           observe::seldom([this] { return flows_by_state(*store_); }));
  registry.computed_gauges({"flowfabric_suspended_executions", "Executions that wait for signals."},
                           observe::seldom([this] { return suspended_executions(*store_); }));
  const std::vector<Label> of_budgets = {Label::open("namespace"), Label::open("budget"), Label::open("dimension")};
  registry.computed_gauges({"flowfabric_budget_spent", "What is spent in the period, of budgets that have one account.",
                            of_budgets, max_budgets_shown},
                           observe::seldom([this] { return budgets(*store_, BudgetFigure::spent); }));
  registry.computed_gauges(
      {"flowfabric_budget_limit", "Hard limits of budgets that have one account.", of_budgets, max_budgets_shown},
      observe::seldom([this] { return budgets(*store_, BudgetFigure::limit); }));
  registry.computed_gauges({"flowfabric_dead_letters",
                            "Failed executions that are kept, by kind; those of earlier versions have the kind \"\".",
                            {Label::open("kind")},
                            max_lanes_shown},
                           observe::seldom([this] { return dead_letters(*store_); }));
  registry.computed_gauges({"flowfabric_schedules", "Schedules, by state.", {Label::closed("state")}},
                           observe::seldom([this] { return schedules_by_state(*store_); }));
  registry.computed_gauges({"flowfabric_limit_slots_in_use",
                            "Slots of a limit that are taken, of all its keys; without a namespace: a limit for all "
                            "namespaces.",
                            {Label::open("namespace"), Label::open("limit")},
                            limits::max_limits},
                           observe::seldom([this] { return limit_samples(*store_, reads::LimitFigure::in_use); }));
  registry.computed_gauges({"flowfabric_limit_held_back",
                            "Executions that wait for a limit, of all its keys; counted up to 1000.",
                            {Label::open("namespace"), Label::open("limit")},
                            limits::max_limits},
                           observe::seldom([this] { return limit_samples(*store_, reads::LimitFigure::held_back); }));
  registry.computed_gauges({"flowfabric_held_back_seconds",
                            "How long a transaction that stays open has kept events from subscribers, or removed rows "
                            "from being cleared away; what is events or removed_rows.",
                            {Label::closed("what")}},
                           observe::seldom([this] { return held_back(*store_); }));
  registry.computed_gauges({"flowfabric_overdue_seconds",
                            "How long the earliest of what is due and not dealt with yet has been due; 0: nothing is."},
                           observe::seldom([this] { return overdue_seconds(*store_); }));
}

}  // namespace flowfabric
