#include "cli/top_snapshot.hpp"

#include <algorithm>

#include "api/oldest_waiting.hpp"
#include "base/check.hpp"
#include "base/text.hpp"

namespace flowfabric::cli {
namespace {

// New executions since then. Retention removes ended executions, so there may be fewer than before.
double rate(std::uint64_t before, std::uint64_t now, double seconds) {
  return now <= before || seconds <= 0 ? 0 : static_cast<double>(now - before) / seconds;
}

struct TopOrder {
  std::string name;
  double (*figure)(const LaneFigures&);  // larger first
};

const std::vector<TopOrder> figure_orders = {
    {"waiting", [](const LaneFigures& lane) { return static_cast<double>(lane.waiting); }},
    {"active", [](const LaneFigures& lane) { return static_cast<double>(lane.active); }},
    {"delayed", [](const LaneFigures& lane) { return static_cast<double>(lane.delayed); }},
    {"completed", [](const LaneFigures& lane) { return static_cast<double>(lane.completed); }},
    {"failed", [](const LaneFigures& lane) { return static_cast<double>(lane.failed); }},
    {"created", [](const LaneFigures& lane) { return lane.created_per_s.value_or(0); }},
    {"finished", [](const LaneFigures& lane) { return lane.finished_per_s.value_or(0); }},
    {"oldest", [](const LaneFigures& lane) { return static_cast<double>(lane.oldest_waiting_ms.value_or(-1)); }}};

}  // namespace

bool is_top_order(const std::string& order) {
  return order == "lane" || std::any_of(figure_orders.begin(), figure_orders.end(),
                                        [&](const TopOrder& one) { return one.name == order; });
}

std::string top_orders() {
  std::vector<std::string> names = {"lane"};
  for (const TopOrder& order : figure_orders) names.push_back(order.name);
  return join(names, ", ");
}

void sort_lanes(std::vector<LaneFigures>& lanes, const std::string& order) {
  const auto found =
      std::find_if(figure_orders.begin(), figure_orders.end(), [&](const TopOrder& one) { return one.name == order; });
  std::sort(lanes.begin(), lanes.end(), [&](const LaneFigures& a, const LaneFigures& b) {
    const double of_a = found == figure_orders.end() ? 0 : found->figure(a);
    const double of_b = found == figure_orders.end() ? 0 : found->figure(b);
    return of_a != of_b ? of_a > of_b : a.lane < b.lane;
  });
}

LaneFigures figures_of(const LaneView& view) {
  LaneFigures lane;
  lane.lane = view.info.lane;
  lane.state = view.info.state;
  for (const auto& [state, count] : view.counts) {
    switch (state) {
      case PublicState::waiting: lane.waiting += count; break;
      case PublicState::active: lane.active += count; break;
      case PublicState::delayed: lane.delayed += count; break;
      case PublicState::completed: lane.completed += count; break;
      case PublicState::failed: lane.failed += count; break;
      case PublicState::cancelled:
      case PublicState::expired:
      case PublicState::skipped: lane.gone += count; break;
      default: lane.other += count; break;
    }
  }
  return lane;
}

Result<TopSnapshot> TopObserver::look() {
  TopSnapshot snapshot;
  snapshot.store = target_.name();
  FF_TRY(pulse, target_.pulse());
  snapshot.pulse = pulse;
  FF_TRY(views, target_.lanes(name_space_));
  for (const LaneView& view : views) snapshot.lanes.push_back(figures_of(view));
  add_rates(snapshot);
  FF_TRY_VOID(count_workers(snapshot));
  for (LaneFigures& lane : snapshot.lanes) {
    if (lane.waiting == 0) continue;
    FF_TRY(since, api::oldest_waiting([this](const ListRequest& request) { return target_.list(request); }, name_space_,
                                      lane.lane, pulse.now));
    if (since) lane.oldest_waiting_ms = std::max<std::int64_t>(0, pulse.now - *since);
  }
  sort_lanes(snapshot.lanes, order_);
  return snapshot;
}

void TopObserver::add_rates(TopSnapshot& snapshot) {
  const auto now = std::chrono::steady_clock::now();
  if (looked_at_) {
    const double seconds = std::chrono::duration<double>(now - *looked_at_).count();
    for (LaneFigures& lane : snapshot.lanes) {
      const LaneFigures& before = before_[lane.lane];
      lane.created_per_s = rate(before.all(), lane.all(), seconds);
      lane.finished_per_s = rate(before.ended(), lane.ended(), seconds);
    }
  }
  looked_at_ = now;
  before_.clear();
  for (const LaneFigures& lane : snapshot.lanes) before_[lane.lane] = lane;
}

Result<void> TopObserver::count_workers(TopSnapshot& snapshot) {
  ListWorkersRequest request;
  request.name_space = name_space_;
  request.limit = 1000;
  do {
    FF_TRY(reply, target_.workers(request));
    for (const auto& worker : reply.workers) {
      if (worker.state == WorkerState::live) ++(worker.draining ? snapshot.workers_draining : snapshot.workers_live);
    }
    request.cursor = std::move(reply.next_cursor);
  } while (!request.cursor.empty());
  return {};
}

}  // namespace flowfabric::cli
