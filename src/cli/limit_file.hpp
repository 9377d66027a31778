// Limits in a file, and what is to be done so that a store has them. Pure functions.
//
//   [limits.api]
//   per = ["tags.app.customer"]
//   concurrency = 3
//
// The name of the table is the name of the limit, unless it has a `name`. deploy/limits.toml has all settings.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <flowfabric/limits.hpp>

namespace flowfabric::cli {

struct FiledLimit {
  LimitRequest request{};
  std::size_t line = 0;  // of its first setting
};

// All limits of the file are valid, or there is an error that names the line and the setting. With a namespace they are
// limits of that namespace.
Result<std::vector<FiledLimit>> read_limit_file(std::string_view text, const std::optional<std::string>& name_space);

struct PlannedLimit {
  LimitChange outcome = LimitChange::unchanged;
  LimitRequest request{};  // guarded by the revision that was seen
};

struct LimitPlan {
  bool prune = false;                       // what is not in the file is removed
  std::optional<std::string> name_space{};  // only limits of this namespace
};

// What to do, removals first. Refuses changes that are not possible, by their line.
Result<std::vector<PlannedLimit>> plan_limits(const std::vector<FiledLimit>& wanted,
                                              const std::vector<LimitInfo>& present, const LimitPlan& plan);

}  // namespace flowfabric::cli
