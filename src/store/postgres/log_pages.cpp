#include "store/postgres/log_pages.hpp"

#include <optional>

#include "base/check.hpp"

namespace flowfabric::postgres {
namespace {

constexpr std::size_t position_bytes = 12;
constexpr std::size_t incarnation_bytes = 4;

void put(std::string& out, std::uint64_t value, int width) {
  for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}

void put_text(std::string& out, std::string_view text) {
  put(out, text.size(), 2);
  out += text;
}

// Takes from the front. Data that we packed fits; a damaged page gives empty values, not a crash.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    for (const char byte : bytes(width)) value = (value << 8) | static_cast<std::uint8_t>(byte);
    return value;
  }
  std::string text() { return std::string(bytes(number(2))); }
  std::string rest() { return std::string(rest_); }

 private:
  std::string_view bytes(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

std::optional<Position> decode_position(std::string_view bytes) {
  if (bytes.size() != position_bytes || static_cast<std::uint8_t>(bytes[8]) > 0x7f ||
      static_cast<std::uint8_t>(bytes[0]) > 0x7f) {
    return std::nullopt;
  }
  Unpacker parts(bytes);
  const std::uint64_t xid = parts.number(8);
  return Position{xid, static_cast<std::uint32_t>(parts.number(4))};
}

}  // namespace

std::string encode(const Position& position) {
  std::string out;
  put(out, position.xid, 8);
  put(out, position.n, 4);
  return out;
}

Position known_position(const std::string& bytes) {
  if (bytes.empty()) return {};
  const auto position = decode_position(bytes);
  FF_CHECK(position);
  return *position;
}

std::string encode(const Cursor& cursor) {
  std::string out;
  put(out, static_cast<std::uint32_t>(cursor.incarnation), incarnation_bytes);
  return out + encode(cursor.position);
}

Result<Cursor> decode_cursor(const std::string& bytes) {
  Cursor cursor;
  std::string_view rest = bytes;
  bool sound = true;
  if (bytes.size() == incarnation_bytes + position_bytes) {
    cursor.incarnation = static_cast<std::int32_t>(Unpacker(rest).number(incarnation_bytes));
    sound = cursor.incarnation > 0;
    rest.remove_prefix(incarnation_bytes);
  }
  const auto position = decode_position(rest);
  if (!sound || !position) return fail(Errc::invalid_argument, "not a position of this log", "after");
  cursor.position = *position;
  return cursor;
}

Position position_at(const Rows& rows, int row, int column) {
  return {static_cast<std::uint64_t>(rows.integer(row, column)),
          static_cast<std::uint32_t>(rows.integer(row, column + 1))};
}

std::string pack(const LogEntry& entry) {
  std::string out;
  out.reserve(16 + entry.root.bytes.size() + entry.name_space.size() + entry.lane.size() + entry.body.size());
  put(out, entry.type, 2);
  put(out, static_cast<std::uint64_t>(entry.at), 8);
  put_text(out, entry.root.bytes);
  put_text(out, entry.name_space);
  put_text(out, entry.lane);
  out += entry.body;
  return out;
}

LogEntry unpack(std::string_view bytes) {
  Unpacker parts(bytes);
  LogEntry entry;
  entry.type = static_cast<std::uint8_t>(parts.number(2));
  entry.at = static_cast<TimestampMs>(parts.number(8));
  entry.root.bytes = parts.text();
  entry.name_space = parts.text();
  entry.lane = parts.text();
  entry.body = parts.rest();
  return entry;
}

}  // namespace flowfabric::postgres
