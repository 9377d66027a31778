// The storage format of the log: positions, and entries packed into pages.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/changes.hpp"
#include "store/postgres/connection.hpp"

namespace flowfabric::postgres {

// The number of the transaction that wrote an entry (its id plus the shift of the incarnation) and the entry's turn in it,
// from 1 on.
struct Position {
  std::uint64_t xid = 0;
  std::uint32_t n = 0;

  friend auto operator<=>(const Position&, const Position&) = default;
};

// 12 big-endian bytes, so that positions order as bytes: where the newest entry of a record stands.
std::string encode(const Position& position);
// Of a record's last entry: bytes of our own, or none for the position before everything.
Position known_position(const std::string& bytes);

// A position as others keep it, together with the incarnation in which they got it. Positions that were handed out before
// there were incarnations are 12 bytes; they have none.
struct Cursor {
  std::int32_t incarnation = 0;
  Position position;
};
std::string encode(const Cursor& cursor);
Result<Cursor> decode_cursor(const std::string& bytes);

// Columns xid, n from `column` on.
Position position_at(const Rows& rows, int row, int column);

// A page must fit into a block of 8 KB together with its header; an entry costs a length, padding and its link in
// addition to its bytes. A single larger entry has its own page, which the server stores separately.
inline constexpr std::size_t max_page_bytes = 7800;
inline constexpr std::size_t bytes_beside_entry = 20;

// Type, time, record, namespace, lane, each of the three after its length in two bytes, and the body: all big-endian,
// so that SQL can create it too (schema.cpp) and find the record in it (queries.cpp).
std::string pack(const LogEntry& entry);
LogEntry unpack(std::string_view bytes);

}  // namespace flowfabric::postgres
