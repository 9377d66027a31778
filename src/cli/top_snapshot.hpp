// The data of `flowfabric top`: a snapshot of a store or a server, and the difference from the previous one.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/target.hpp"
#include "cli/terminal.hpp"

namespace flowfabric::cli {

struct LaneFigures {
  std::string lane{};
  LaneState state = LaneState::active;
  std::uint64_t waiting = 0;
  std::uint64_t active = 0;
  std::uint64_t delayed = 0;
  std::uint64_t other = 0;  // not ended either: suspended, resumable, ...
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t gone = 0;                 // cancelled, expired or skipped
  std::optional<double> created_per_s{};  // absent in the first snapshot
  std::optional<double> finished_per_s{};
  std::optional<std::int64_t> oldest_waiting_ms{};  // absent if nothing waits, or if it was not found cheaply

  std::uint64_t ended() const { return completed + failed + gone; }
  std::uint64_t all() const { return waiting + active + delayed + other + ended(); }
};

struct TopSnapshot {
  std::string store{};  // or the server
  Pulse pulse{};
  std::uint64_t workers_live = 0;
  std::uint64_t workers_draining = 0;
  std::vector<LaneFigures> lanes{};  // in the order that was asked for
};

// Takes repeated snapshots, and remembers what makes the next one cheap.
class TopObserver {
 public:
  TopObserver(Target& target, std::optional<std::string> name_space, std::string order)
      : target_(target), name_space_(std::move(name_space)), order_(std::move(order)) {}

  Result<TopSnapshot> look();

 private:
  Result<void> count_workers(TopSnapshot& snapshot);
  void add_rates(TopSnapshot& snapshot);

  Target& target_;
  const std::optional<std::string> name_space_;
  const std::string order_;
  std::map<std::string, LaneFigures> before_;
  std::optional<std::chrono::steady_clock::time_point> looked_at_;
};

LaneFigures figures_of(const LaneView& view);

// What lanes can be sorted by; all but the name put the largest first.
bool is_top_order(const std::string& order);
std::string top_orders();
void sort_lanes(std::vector<LaneFigures>& lanes, const std::string& order);

// The snapshot for people. `rows` is the height of the terminal, 0 for any. What does not fit is said to be left out.
std::string top_text(const TopSnapshot& snapshot, const Look& look, std::size_t rows);

}  // namespace flowfabric::cli
