// Whose turn it is among the lanes of claims that weigh them: a smooth weighted round robin.
//
// Of lanes that always have work each gets its share of the turns, as evenly spread as possible. A lane without work takes no
// part, and saves nothing up. Claims that ask for the same lanes and weights continue one sequence of turns.
//
// Thread-safe. Only a preference: when it is forgotten, turns begin anew.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <flowfabric/operations.hpp>

namespace flowfabric {

class LaneTurns {
 public:
  // One of `with_work`, which are lanes of the claim and not empty.
  std::string next(const ClaimRequest& claim, const std::vector<std::string>& with_work);
  std::size_t sequences() const;

 private:
  struct Asked {
    std::vector<std::string> lanes;
    Weights weights;

    friend auto operator<=>(const Asked&, const Asked&) = default;
  };

  mutable std::mutex mutex_;
  std::map<Asked, std::map<std::string, std::int64_t>> credits_;  // that each lane has; their sum is 0
};

}  // namespace flowfabric
