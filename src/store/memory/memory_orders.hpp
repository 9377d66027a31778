// The orders of the indexes of the memory store, and the numbers in its positions.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <tuple>

#include "store/store.hpp"

namespace flowfabric {

// The order of service: route, then priority descending, then sequence, then key.
struct ServedBefore {
  bool operator()(const ReadyEntry& a, const ReadyEntry& b) const {
    return std::tie(a.route, b.priority, a.sequence, a.key) < std::tie(b.route, a.priority, b.sequence, b.key);
  }
};

// The same within each namespace.
struct ServedBeforeInNamespace {
  bool operator()(const ReadyEntry& a, const ReadyEntry& b) const {
    if (a.name_space != b.name_space) return a.name_space < b.name_space;
    return ServedBefore{}(a, b);
  }
};

// Sorts before every entry of the route.
inline ReadyEntry first_of_route(RouteNo route, std::string name_space = {}) {
  return {route, std::numeric_limits<std::int32_t>::max(), 0, {}, std::move(name_space)};
}

struct DueBefore {
  bool operator()(const DueEntry& a, const DueEntry& b) const {
    return std::tie(a.due_at, a.key) < std::tie(b.due_at, b.key);
  }
};

struct GroupBefore {
  bool operator()(const DueEntry& a, const DueEntry& b) const {
    return std::tie(a.group, a.rank, a.key) < std::tie(b.group, b.rank, b.key);
  }
};

inline DueEntry first_of_group(std::uint64_t group) { return {0, {}, group, std::numeric_limits<std::int64_t>::min()}; }

// The position of a listed record. The records of a kind are adjacent, oldest first; pages go backwards.
struct ListingPlace {
  RecordKind kind = RecordKind::execution;
  TimestampMs created_at = 0;
  Key key;

  friend auto operator<=>(const ListingPlace&, const ListingPlace&) = default;
};

// Positions are the log's id in four bytes and the sequence in eight, both big-endian, so that they also order as bytes.
// Where the history of a record stands is the sequence alone.
inline constexpr std::size_t log_id_bytes = 4;
inline constexpr std::size_t sequence_bytes = 8;

inline std::string encode_number(std::uint64_t number, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = size; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number & 0xff);
  return bytes;
}

inline std::uint64_t decode_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = (number << 8) | static_cast<std::uint8_t>(byte);
  return number;
}

}  // namespace flowfabric
