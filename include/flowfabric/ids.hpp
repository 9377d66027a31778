// Identifiers and time.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <flowfabric/result.hpp>

namespace flowfabric {

// Milliseconds since the Unix epoch, always by the store's clock. Zero means "not set".
using TimestampMs = std::int64_t;

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  friend auto operator<=>(const Uuid&, const Uuid&) = default;
  bool is_nil() const { return *this == Uuid{}; }
};

// Canonical form only: 36 characters, lower case, hyphenated.
std::string to_string(const Uuid& uuid);
Result<Uuid> parse_uuid(std::string_view text);

// Identifies an execution: a UUID and the partition that holds it. The text form is `fpN-uuid`, with N decimal, without
// leading zeros and below `partition_count`. It needs no quoting in URLs and shells. The earlier form `{fp:N}:uuid` is
// still read; everything that is written has the form `fpN-uuid`, so equal ids have equal text.
struct ExecutionId {
  std::uint16_t partition = 0;
  Uuid uuid;

  friend auto operator<=>(const ExecutionId&, const ExecutionId&) = default;
};

inline constexpr std::uint16_t partition_count = 256;

std::string to_string(const ExecutionId& id);
Result<ExecutionId> parse_execution_id(std::string_view text);

}  // namespace flowfabric

template <>
struct std::hash<flowfabric::Uuid> {
  std::size_t operator()(const flowfabric::Uuid& uuid) const noexcept {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()});
  }
};

template <>
struct std::hash<flowfabric::ExecutionId> {
  std::size_t operator()(const flowfabric::ExecutionId& id) const noexcept {
    return std::hash<flowfabric::Uuid>{}(id.uuid) ^ id.partition;
  }
};
