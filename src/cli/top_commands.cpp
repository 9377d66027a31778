// top: a live view of a store or a server.
#include <chrono>
#include <thread>

#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/table.hpp"
#include "cli/times.hpp"
#include "cli/top_screen.hpp"
#include "cli/top_snapshot.hpp"

namespace flowfabric::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t min_interval_ms = 100;
constexpr std::int64_t max_interval_ms = 3600 * 1000;
// A refresh costs the store something, so the pause after it is at least this many times as long.
constexpr int rest_factor = 5;

Cell rate_cell(const std::optional<double>& rate) { return {rate ? fmt::format("{:.1f}", *rate) : "-"}; }

// 850 ms, 12 s, 5 m, 3 h, 2 d: two digits are enough.
std::string rough(const std::optional<std::int64_t>& duration_ms) {
  if (!duration_ms) return "-";
  constexpr std::pair<std::int64_t, const char*> units[] = {
      {86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}};
  for (const auto& [unit, name] : units) {
    if (*duration_ms >= unit) return fmt::format("{} {}", *duration_ms / unit, name);
  }
  return fmt::format("{} ms", *duration_ms);
}

Table lanes_table(const TopSnapshot& snapshot) {
  Table table({{"LANE", false, true},
               {"STATE"},
               {"WAITING", true},
               {"ACTIVE", true},
               {"DELAYED", true},
               {"OTHER", true},
               {"COMPLETED", true},
               {"FAILED", true},
               {"CREATED/S", true},
               {"FINISHED/S", true},
               {"OLDEST", true}});
  for (const LaneFigures& lane : snapshot.lanes) {
    Cell failed = number_cell(lane.failed);
    if (lane.failed > 0) failed.tone = Tone::bad;
    table.add({{printable(lane.lane)},
               {std::string(to_string(lane.state)), lane.state == LaneState::active ? Tone::plain : Tone::bad},
               number_cell(lane.waiting),
               number_cell(lane.active),
               number_cell(lane.delayed),
               number_cell(lane.other),
               number_cell(lane.completed),
               std::move(failed),
               rate_cell(lane.created_per_s),
               rate_cell(lane.finished_per_s),
               {rough(lane.oldest_waiting_ms)}});
  }
  return table;
}

std::string render(const TopSnapshot& snapshot, const Look& look) {
  const Pulse& pulse = snapshot.pulse;
  std::string text =
      fmt::format("{}   workers {}, draining {}   parked claims {}   due lag {}\n\n", format_time(pulse.now),
                  snapshot.workers_live, snapshot.workers_draining,
                  pulse.parked_claims ? std::to_string(*pulse.parked_claims) : "-", rough(pulse.due_lag_ms));
  return text + (snapshot.lanes.empty() ? "no lanes yet\n" : lanes_table(snapshot).render(look));
}

Result<milliseconds> interval_of(const Arguments& arguments) {
  FF_TRY(interval, parse_duration(arguments.text("--interval", "1s"), "--interval"));
  if (interval < min_interval_ms || interval > max_interval_ms) {
    return fail(Errc::invalid_argument, "--interval must be from 100ms to 1h", "--interval");
  }
  return milliseconds(interval);
}

// Rates need two snapshots.
Result<int> show_once(TopObserver& observer, milliseconds interval, bool as_json) {
  FF_TRY_VOID(observer.look());
  std::this_thread::sleep_for(interval);
  FF_TRY(snapshot, observer.look());
  fmt::print("{}", as_json ? to_json(snapshot) + "\n" : render(snapshot, stdout_look()));
  return 0;
}

// Goes on when the server cannot be reached for a while.
Result<int> show_forever(TopObserver& observer, milliseconds interval) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  auto snapshot = observer.look();
  if (!snapshot) return tl::unexpected(snapshot.error());
  const Screen screen;
  std::string shown;
  while (true) {
    if (snapshot) shown = render(*snapshot, stdout_look());
    const std::string trouble = snapshot ? "" : "\n" + printable(snapshot.error().message) + "\n";
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    const milliseconds pause = std::max(interval, took * rest_factor);
    screen.draw(fmt::format("flowfabric top   every {}   q quits\n", format_duration(pause.count())) + shown + trouble);
    if (screen.left_within(pause)) return 0;
    begin = Clock::now();
    snapshot = observer.look();
  }
}

Result<int> run_top(const Arguments& arguments) {
  FF_TRY(interval, interval_of(arguments));
  FF_TRY(target, find_target(arguments));
  TopObserver observer(*target, arguments.maybe("--namespace"));
  const bool once = arguments.has("--once") || arguments.has("--json") || !can_have_screen();
  return once ? show_once(observer, interval, arguments.has("--json")) : show_forever(observer, interval);
}

}  // namespace

std::vector<Command> top_commands() {
  return {
      {{"top",
        {},
        "watch lanes, rates and workers live",
        "Shows lanes with their counts, executions created and finished per second, the age of the oldest waiting\n"
        "execution, workers, parked claims and the lag of the clock. Refreshes every second until q or Ctrl-C.\n"
        "Without a terminal it prints one snapshot. Only servers know parked claims. If a snapshot takes long, the\n"
        "view is refreshed less often.",
        options_of_reading({{"--interval", "DURATION", "refresh interval, 100ms to 1h (1s)"},
                            {"--namespace", "NAME", "only executions and workers of this namespace"},
                            {"--once", "", "print one snapshot and exit"}})},
       run_top}};
}

}  // namespace flowfabric::cli
