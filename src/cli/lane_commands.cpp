// lanes list, pause, resume, drain, disable.
#include <set>

#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/table.hpp"
#include "cli/target.hpp"

namespace flowfabric::cli {
namespace {

Cell lane_state_cell(LaneState state) {
  return {std::string(to_string(state)), state == LaneState::active ? Tone::plain : Tone::bad};
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c == '_' ? ' ' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

// One column for each state that occurs.
Table lanes_table(const std::vector<LaneView>& lanes) {
  std::set<PublicState> states;
  for (const LaneView& lane : lanes) {
    for (const auto& [state, count] : lane.counts) states.insert(state);
  }
  std::vector<Column> columns = {{"LANE"}, {"STATE"}};
  for (const PublicState state : states) columns.push_back({upper(to_string(state)), true});
  for (Column column : {Column{"CHANGED"}, Column{"BY", false, true}, Column{"REASON", false, true}}) {
    columns.push_back(std::move(column));
  }
  Table table(std::move(columns));
  for (const LaneView& lane : lanes) {
    std::vector<Cell> row = {{lane.info.lane}, lane_state_cell(lane.info.state)};
    for (const PublicState state : states) {
      const auto found = lane.counts.find(state);
      row.push_back(number_cell(found == lane.counts.end() ? 0 : found->second));
    }
    row.push_back(time_cell(lane.info.changed_at));
    row.push_back({lane.info.changed_by.empty() ? "-" : lane.info.changed_by});
    row.push_back({lane.info.reason.empty() ? "-" : lane.info.reason});
    table.add(std::move(row));
  }
  return table;
}

Result<int> run_lanes_list(const Arguments& arguments) {
  FF_TRY(target, find_target(arguments));
  FF_TRY(lanes, target->lanes(arguments.maybe("--namespace")));
  if (arguments.has("--json")) {
    fmt::print("{}\n", to_json(ShownLanes{lanes}));
  } else if (lanes.empty()) {
    fmt::print("this store has no lanes yet; the first execution on a lane creates it\n");
  } else {
    fmt::print("{}", lanes_table(lanes).render(stdout_look()));
  }
  return 0;
}

std::function<Result<int>(const Arguments&)> run_lane_change(LaneState state) {
  return [state](const Arguments& arguments) -> Result<int> {
    FF_TRY(target, find_target(arguments));
    FF_TRY(lane, target->set_lane_state(arguments.operands.front(), state, acting_operator(arguments)));
    if (arguments.has("--json")) {
      fmt::print("{}\n", to_json(lane));
    } else {
      fmt::print("lane {} is {}\n", lane.lane, to_string(lane.state));
    }
    return 0;
  };
}

}  // namespace

std::vector<Command> lane_commands() {
  const OperandSpec lane{"LANE", 1, 1};
  return {
      {{"lanes list",
        {},
        "list lanes with their states and counts",
        "Lists every lane with its state and the number of executions in each public state.",
        options_of_reading({{"--namespace", "NAME", "count only executions of this namespace"}})},
       run_lanes_list},
      {{"lanes pause", lane, "stop handing out executions of a lane",
        "Pauses a lane: it accepts new executions but hands none out. Running executions continue.",
        options_of_acting({})},
       run_lane_change(LaneState::paused)},
      {{"lanes resume", lane, "make a lane active again", "Makes a paused or draining lane active again.",
        options_of_acting({})},
       run_lane_change(LaneState::active)},
      {{"lanes drain", lane, "refuse new executions and let a lane run empty",
        "Drains a lane: it hands out the executions it has but refuses new ones.", options_of_acting({})},
       run_lane_change(LaneState::draining)},
      {{"lanes disable", lane, "close a lane",
        "Disables a lane: it refuses new executions and hands none out. Running executions continue.",
        options_of_acting({})},
       run_lane_change(LaneState::disabled)},
  };
}

}  // namespace flowfabric::cli
