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

// Wide enough for every column with numbers of six digits; the usual terminal of 80 columns gets the most important ones.
constexpr std::size_t all_columns_need = 110;

bool shows_everything(const Look& look) { return look.columns == 0 || look.columns >= all_columns_need; }

// 1234567 is 1.2M where space is short.
Cell count_cell(std::uint64_t count, bool in_full) {
  Cell cell = number_cell(count);
  if (!in_full && count >= 1'000'000) cell.text = fmt::format("{:.1f}M", static_cast<double>(count) / 1e6);
  return cell;
}

std::vector<Column> lane_columns(bool in_full) {
  std::vector<Column> columns = {
      {"LANE", false, true}, {"STATE", false, true}, {"WAITING", true}, {"ACTIVE", true}, {"DELAYED", true}};
  if (in_full) columns.insert(columns.end(), {{"OTHER", true}, {"COMPLETED", true}});
  for (const char* title : {"FAILED", in_full ? "CREATED/S" : "NEW/S", in_full ? "FINISHED/S" : "END/S", "OLDEST"}) {
    columns.push_back({title, true});
  }
  return columns;
}

Table lanes_table(const std::vector<LaneFigures>& lanes, bool in_full) {
  Table table(lane_columns(in_full));
  for (const LaneFigures& lane : lanes) {
    Cell failed = count_cell(lane.failed, in_full);
    if (lane.failed > 0) failed.tone = Tone::bad;
    std::vector<Cell> row = {
        {printable(lane.lane)},
        {std::string(to_string(lane.state)), lane.state == LaneState::active ? Tone::plain : Tone::bad},
        count_cell(lane.waiting, in_full),
        count_cell(lane.active, in_full),
        count_cell(lane.delayed, in_full)};
    if (in_full) row.insert(row.end(), {count_cell(lane.other, true), count_cell(lane.completed, true)});
    row.insert(row.end(), {std::move(failed),
                           rate_cell(lane.created_per_s),
                           rate_cell(lane.finished_per_s),
                           {rough(lane.oldest_waiting_ms)}});
    table.add(std::move(row));
  }
  return table;
}

std::string left_out(std::size_t lanes, bool columns) {
  std::string text;
  if (lanes > 0)
    text += fmt::format("... and {}; a higher terminal or --sort shows others\n", counted(lanes, "more lane"));
  if (columns) text += fmt::format("left out: OTHER, COMPLETED; shown from {} columns on\n", all_columns_need);
  return text;
}

// The time and the store, whose URL may be longer than the line.
std::string heading(const TopSnapshot& snapshot, const Look& look) {
  Table table({{}, {"", false, true}});
  table.add({{format_time(snapshot.pulse.now)}, {snapshot.store}});
  return table.render(look);
}

}  // namespace

std::string top_text(const TopSnapshot& snapshot, const Look& look, std::size_t rows) {
  const Pulse& pulse = snapshot.pulse;
  const bool in_full = shows_everything(look);
  std::string text =
      heading(snapshot, look) + fmt::format("workers {}, draining {}   parked claims {}   due lag {}\n\n",
                                            snapshot.workers_live, snapshot.workers_draining,
                                            pulse.parked_claims ? std::to_string(*pulse.parked_claims) : "-",
                                            rough(pulse.due_lag_ms));
  if (snapshot.lanes.empty()) return text + "no lanes yet\n";
  constexpr std::size_t other_lines = 7;  // above and below the lanes
  const std::size_t fitting = rows == 0 ? snapshot.lanes.size() : std::max(rows, other_lines + 1) - other_lines;
  const std::size_t shown = std::min(snapshot.lanes.size(), fitting);
  const std::vector<LaneFigures> lanes(snapshot.lanes.begin(),
                                       snapshot.lanes.begin() + static_cast<std::ptrdiff_t>(shown));
  return text + lanes_table(lanes, in_full).render(look) + left_out(snapshot.lanes.size() - shown, !in_full);
}

namespace {

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
  fmt::print("{}", as_json ? to_json(snapshot) + "\n" : top_text(snapshot, stdout_look(), 0));
  return 0;
}

// Continues if the server cannot be reached for a while.
Result<int> show_forever(TopObserver& observer, milliseconds interval) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  auto snapshot = observer.look();
  if (!snapshot) return Unexpected(snapshot.error());
  const Screen screen;
  std::string shown;
  while (true) {
    if (snapshot) shown = top_text(*snapshot, stdout_look(), Screen::rows());
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
  const std::string order = arguments.text("--sort", "lane");
  if (!is_top_order(order)) {
    return fail(Errc::invalid_argument, "--sort: must be one of " + top_orders() + ", not \"" + order + "\"", "--sort");
  }
  FF_TRY(target, find_target(arguments));
  TopObserver observer(*target, arguments.maybe("--namespace"), order);
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
                            {"--sort", "COLUMN", "order of the lanes: " + top_orders() + " (lane)"},
                            {"--once", "", "print one snapshot and exit"}})},
       run_top}};
}

}  // namespace flowfabric::cli
