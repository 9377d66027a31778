#include "cli/target.hpp"

#include "base/check.hpp"

namespace flowfabric::cli {

std::vector<LaneView> lane_views(std::vector<LaneInfo> lanes, std::vector<LaneCounts> counts) {
  std::map<std::string, LaneView> views;
  for (LaneInfo& lane : lanes) views[lane.lane].info = std::move(lane);
  for (LaneCounts& count : counts) {
    LaneView& view = views[count.lane];
    view.info.lane = count.lane;
    view.counts = std::move(count.counts);
  }
  std::vector<LaneView> out;
  for (auto& [name, view] : views) out.push_back(std::move(view));
  return out;
}

Result<std::unique_ptr<Target>> find_target(const Arguments& arguments) {
  FF_TRY(place, chosen_place(arguments));
  if (place.is_server()) return make_server_target(place);
  return make_store_target(std::move(place.url));
}

}  // namespace flowfabric::cli
