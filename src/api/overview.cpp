#include "api/overview.hpp"

#include <algorithm>
#include <chrono>

#include "api/attention.hpp"
#include "api/oldest_waiting.hpp"
#include "api/parameters.hpp"
#include "api/route.hpp"
#include "base/check.hpp"

namespace flowfabric::api {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_life{1000};
constexpr milliseconds longest_life{30'000};
constexpr int lives_as_long_as = 20;  // times the time that it took
constexpr std::chrono::seconds commits_window{60};
constexpr std::size_t max_places = 100;
constexpr std::size_t max_lanes_shown = 1000;
constexpr std::size_t max_lanes_searched = 50;  // for their oldest execution

std::uint64_t unfinished(const OverviewLane& lane) {
  std::uint64_t sum = 0;
  for (const auto& [state, count] : lane.counts) {
    if (state < PublicState::completed) sum += count;
  }
  return sum;
}

void sort_by_name(std::vector<OverviewLane>& lanes) {
  std::sort(lanes.begin(), lanes.end(), [](const OverviewLane& a, const OverviewLane& b) { return a.lane < b.lane; });
}

// The bound of the bucket that has the 95th of 100 commits; nothing when there was none.
std::optional<Figure> p95(const Engine::Statistics& before, const Engine::Statistics& now) {
  std::uint64_t total = 0, seen = 0;
  const auto count = [&](std::size_t i) {
    return now.commit_durations[i].commits - before.commit_durations[i].commits;
  };
  for (std::size_t i = 0; i < now.commit_durations.size(); ++i) total += count(i);
  if (total == 0) return std::nullopt;
  std::size_t i = 0;
  while ((seen += count(i)) * 100 < total * 95) ++i;
  // The last bucket has no bound: longer than the one before is all that is known.
  return Figure{now.commit_durations[std::min(i, now.commit_durations.size() - 2)].up_to_ms};
}

// From the sample that holds `since` on.
void cut_samples(ActivityView& view, TimestampMs since) {
  const auto from = std::find_if(view.samples.begin(), view.samples.end(), [&](const ActivitySample& sample) {
    return sample.at + activity_interval_ms > since;
  });
  const auto cut = from - view.samples.begin();
  view.samples.erase(view.samples.begin(), from);
  for (auto& [lane, completed] : view.completed_by_lane) completed.erase(completed.begin(), completed.begin() + cut);
}

}  // namespace

std::shared_ptr<Overview> Overview::start(Engine& engine, std::string store_kind) {
  return std::make_shared<Overview>(engine, std::move(store_kind));
}

Overview::Overview(Engine& engine, std::string store_kind)
    : engine_(engine), store_kind_(std::move(store_kind)), follower_(engine, activity_) {
  commits_.push_back({Steady::now(), engine.statistics()});
}

OverviewReply Overview::read(const std::optional<std::string>& name_space, TimestampMs since) {
  const std::shared_ptr<const Snapshot> snapshot = snapshot_of(name_space);
  OverviewReply reply;
  reply.store = {store_kind_, snapshot->ready, snapshot->message};
  const auto now = engine_.now();
  const auto aged = std::chrono::duration_cast<milliseconds>(Steady::now() - snapshot->taken);
  reply.now = now.value_or(snapshot->now + aged.count());
  ActivityView view = activity_.view(name_space, reply.now);
  reply.failures = view.failures;
  reply.samples = view.samples;
  reply.lanes = snapshot->lanes;
  reply.lanes_left_out = snapshot->lanes_left_out;
  reply.due_lag_ms = snapshot->delays.overdue_ms;
  // A caller that sees one namespace does not learn from here what others do.
  AttentionFacts facts{snapshot->delays.held_back_ms, name_space ? "" : snapshot->delays.holder, view.workers_lost};
  reply.needs_attention = needs_attention(reply, facts);
  if (!name_space) reply.batches = batches();
  if (since != 0) cut_samples(view, since);
  reply.samples = std::move(view.samples);
  for (OverviewLane& lane : reply.lanes) {
    const auto found = view.completed_by_lane.find(lane.lane);
    if (found == view.completed_by_lane.end()) continue;
    const bool any = std::any_of(found->second.begin(), found->second.end(), [](std::uint32_t n) { return n > 0; });
    if (any) lane.samples = std::move(found->second);
  }
  return reply;
}

// One caller asks the store; the others take what was known before, or wait if nothing was.
std::shared_ptr<const Overview::Snapshot> Overview::snapshot_of(const std::optional<std::string>& name_space) {
  const std::string name = name_space.value_or("");
  std::shared_ptr<const Snapshot> before;
  {
    std::unique_lock lock(mutex_);
    if (places_.size() >= max_places && !places_.contains(name)) {
      std::erase_if(places_, [](const auto& place) { return !place.second.is_asking; });
    }
    answered_.wait(lock, [&] { return places_[name].snapshot != nullptr || !places_[name].is_asking; });
    Place& place = places_[name];
    if (place.is_asking || (place.snapshot && Steady::now() < place.snapshot->good_until)) return place.snapshot;
    place.is_asking = true;
    before = place.snapshot;
  }
  std::shared_ptr<const Snapshot> fresh = ask(name_space, before.get());
  const std::lock_guard lock(mutex_);
  places_[name] = {fresh, false};
  answered_.notify_all();
  return fresh;
}

// A store that does not answer leaves what is known of it as it was.
std::shared_ptr<const Overview::Snapshot> Overview::ask(const std::optional<std::string>& name_space,
                                                        const Snapshot* before) {
  auto snapshot = std::make_shared<Snapshot>();
  const auto began = Steady::now();
  if (const auto asked = ask_store(name_space, *snapshot); !asked) {
    *snapshot = before == nullptr ? Snapshot{} : *before;
    snapshot->ready = false;
    // The message may name servers and files, which are not the business of those who see one namespace.
    snapshot->message = name_space ? "" : asked.error().message;
    if (before == nullptr) snapshot->taken = began;
  }
  const auto took = Steady::now() - began;
  const auto life = std::clamp<Steady::duration>(lives_as_long_as * took, shortest_life, longest_life);
  snapshot->good_until = Steady::now() + life;
  return snapshot;
}

Result<void> Overview::ask_store(const std::optional<std::string>& name_space, Snapshot& snapshot) {
  FF_TRY_VOID(engine_.ready());
  FF_TRY(now, engine_.now());
  snapshot.now = now;
  snapshot.taken = Steady::now();
  FF_TRY(lanes, lanes_of(name_space));
  snapshot.lanes = std::move(lanes);
  FF_TRY_VOID(add_oldest(name_space, snapshot));
  FF_TRY(delays, engine_.delays());
  snapshot.delays = std::move(delays);
  snapshot.ready = true;
  return {};
}

// With a namespace: those on which it has executions.
Result<std::vector<OverviewLane>> Overview::lanes_of(const std::optional<std::string>& name_space) {
  FF_TRY(infos, engine_.list_lanes());
  FF_TRY(counts, engine_.count_executions(name_space));
  std::map<std::string, OverviewLane> by_name;
  for (LaneCounts& lane : counts) {
    OverviewLane& one = by_name[lane.lane];
    one.lane = lane.lane;
    one.counts = std::move(lane.counts);
  }
  for (const LaneInfo& info : infos) {
    if (name_space && !by_name.contains(info.lane)) continue;
    OverviewLane& one = by_name[info.lane];
    one.lane = info.lane;
    one.state = info.state;
  }
  std::vector<OverviewLane> lanes;
  for (auto& [name, lane] : by_name) lanes.push_back(std::move(lane));
  return lanes;
}

// Looks at the lanes on which most waits; what is left out has the least to do.
Result<void> Overview::add_oldest(const std::optional<std::string>& name_space, Snapshot& snapshot) {
  std::vector<OverviewLane>& lanes = snapshot.lanes;
  if (lanes.size() > max_lanes_shown) {
    std::sort(lanes.begin(), lanes.end(),
              [](const OverviewLane& a, const OverviewLane& b) { return unfinished(a) > unfinished(b); });
    snapshot.lanes_left_out = lanes.size() - max_lanes_shown;
    lanes.resize(max_lanes_shown);
  }
  std::sort(lanes.begin(), lanes.end(),
            [](const OverviewLane& a, const OverviewLane& b) { return waiting_on(a) > waiting_on(b); });
  for (std::size_t i = 0; i < std::min(lanes.size(), max_lanes_searched) && waiting_on(lanes[i]) > 0; ++i) {
    FF_TRY(oldest, oldest_waiting([this](const ListRequest& request) { return engine_.list_executions(request); },
                                  name_space, lanes[i].lane, snapshot.now));
    lanes[i].oldest_waiting_at = oldest.value_or(0);
  }
  sort_by_name(lanes);
  return {};
}

OverviewBatches Overview::batches() {
  const Commits now{Steady::now(), engine_.statistics()};
  const std::lock_guard lock(mutex_);
  // The one that is a minute old or older is the one to compare with.
  while (commits_.size() > 1 && now.at - commits_[1].at >= commits_window) commits_.pop_front();
  const Commits& before = commits_.front();
  const double seconds = std::max(std::chrono::duration<double>(now.at - before.at).count(), 0.001);
  const auto commits = static_cast<double>(now.statistics.batches - before.statistics.batches);
  const auto commands = static_cast<double>(now.statistics.commands - before.statistics.commands);
  OverviewBatches figures{
      {commits / seconds}, {commits == 0 ? 0 : commands / commits}, p95(before.statistics, now.statistics)};
  if (now.at - commits_.back().at >= shortest_life) commits_.push_back(now);
  return figures;
}

std::vector<Route> overview_routes(const std::shared_ptr<Overview>& overview) {
  auto route = blocking_route<Nothing, OverviewReply>(
      ApiRole::viewer, "GET", "/v1/overview", "What happens on the store, and what needs attention.",
      [overview](Call& call, Nothing) -> Result<OverviewReply> {
        FF_TRY(since, query_moment(call, "since"));
        return overview->read(call.query("namespace"), since.value_or(0));
      },
      {{"namespace", "Only figures of this namespace."},
       moment_parameter("since", "Only samples of the interval with this time and later ones.")});
  route.of_dashboard = true;
  return {described(std::move(route),
                    "Every server of a store counts all of it, for an hour, from the time when the server started. "
                    "Figures of the store itself are a second old or, when they take long to find, up to 30.")};
}

}  // namespace flowfabric::api
