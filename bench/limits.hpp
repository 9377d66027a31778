// What limits cost that hold nothing back: cycles beside the same load without limits. And what shares are good for: how long
// a small tenant waits beside a large one.
#pragma once

#include <functional>
#include <string>

#include "load.hpp"

namespace flowfabric::bench {

struct LimitsOptions {
  LoadOptions load{};
  int rounds = 3;
};

// `store_url` makes the URL of a new store from a name.
void bench_limits(const std::string& title, const std::function<std::string(const std::string& name)>& store_url,
                  const LimitsOptions& options);

}  // namespace flowfabric::bench
