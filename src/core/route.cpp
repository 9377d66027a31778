#include "core/route.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "base/hashing.hpp"

namespace flowfabric {
namespace {

constexpr std::size_t remembered_routes = 256;

// Neither a lane nor a capability contains control characters, so the separator makes the text unambiguous.
std::string route_name(std::string_view lane, const std::vector<std::string>& capabilities) {
  std::string name(lane);
  for (const std::string& capability : capabilities) {
    name += '\x1f';
    name += capability;
  }
  return name;
}

}  // namespace

// A thread computes the number of a few routes over and over, and a hash of this kind costs as much as decoding a record.
RouteNo route_of(std::string_view lane, const std::vector<std::string>& capabilities) {
  struct Remembered {
    std::string name;
    RouteNo number = 0;
  };
  thread_local std::array<Remembered, remembered_routes> remembered;
  std::string name = route_name(lane, capabilities);
  Remembered& place = remembered[std::hash<std::string>{}(name) % remembered_routes];
  if (place.number == 0 || place.name != name) {
    const RouteNo number = digest64(name) >> 1;
    place = {std::move(name), number == 0 ? 1 : number};
  }
  return place.number;
}

bool covers(const std::vector<std::string>& offered, const std::vector<std::string>& required) {
  return std::includes(offered.begin(), offered.end(), required.begin(), required.end());
}

}  // namespace flowfabric
