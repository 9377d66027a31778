// How many records of a kind are listed under a namespace, a lane and a state: the counters of the store that say it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/changes.hpp"

namespace flowfabric {

// What a counter counts.
struct Counted {
  RecordKind record_kind = RecordKind::execution;
  std::string name_space;
  std::string lane;
  std::uint8_t state = 0;

  friend auto operator<=>(const Counted&, const Counted&) = default;
};

// The name is stored: the kind's byte, the namespace, the lane and the state in decimal digits, each of the last two after
// a unit separator, which no name contains.
std::string counter_name(RecordKind record_kind, std::string_view name_space, std::string_view lane,
                         std::uint8_t state);
// The names of all counters of a kind, or of one namespace, begin with this.
std::string counter_prefix(RecordKind record_kind, const std::optional<std::string>& name_space);
// Nothing if the name is not one of these.
std::optional<Counted> decode_counter(std::string_view name);

}  // namespace flowfabric
