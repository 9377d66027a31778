// Which number a route has, and which workers it suits. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/changes.hpp"

namespace flowfabric {

// The number of a route: the first 63 bits of SHA-256 over the lane and the capabilities, which come sorted and unique.
// Nobody hands numbers out, so none can be handed out twice for different things. Stored; never change it.
RouteNo route_of(std::string_view lane, const std::vector<std::string>& capabilities);

// Whether every required capability is offered. Both sorted.
bool covers(const std::vector<std::string>& offered, const std::vector<std::string>& required);

}  // namespace flowfabric
