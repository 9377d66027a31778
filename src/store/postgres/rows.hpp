// Converts rows to the types of the store interface, for sessions and readers.
#pragma once

#include "store/postgres/connection.hpp"
#include "store/postgres/log_pages.hpp"
#include "store/store.hpp"

namespace flowfabric::postgres {

// The columns of a record.
#define FF_RECORD_COLUMNS "key, version, fixed, body, log_xid, log_n, ctid"
constexpr int record_columns = 7;

// FF_RECORD_COLUMNS from `column` on.
inline Record record_at(const Rows& rows, int row, int column) {
  Record record{Key{rows.string(row, column)}, static_cast<std::uint64_t>(rows.integer(row, column + 1)),
                rows.string(row, column + 2), rows.string(row, column + 3)};
  if (!rows.is_null(row, column + 4)) record.last_entry = encode(position_at(rows, row, column + 4));
  record.place = rows.place(row, column + 6);
  return record;
}

inline std::vector<Record> records_of(const Rows& rows) {
  std::vector<Record> records;
  records.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) records.push_back(record_at(rows, row, 0));
  return records;
}

// Columns due_at, group_no, rank from `column` on; the key is elsewhere.
inline DueEntry due_entry_at(const Rows& rows, int row, int column, Key key) {
  return {rows.integer(row, column), std::move(key), static_cast<std::uint64_t>(rows.integer(row, column + 1)),
          rows.integer(row, column + 2)};
}

// Columns root, kind, n, body.
inline std::vector<Satellite> satellites_of(const Rows& rows) {
  std::vector<Satellite> out;
  out.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back({{Key{rows.string(row, 0)}, static_cast<std::uint8_t>(rows.integer(row, 1)),
                    static_cast<std::uint32_t>(rows.integer(row, 2))},
                   rows.string(row, 3)});
  }
  return out;
}

inline Params keys_param(const std::vector<Key>& keys) {
  Params params;
  params.array(Type::bytea, keys, [](const Key& key) { return std::string_view(key.bytes); });
  return params;
}

// Result: the records that exist. Index root_pkey.
inline constexpr Statement load_records = {"load_records",
                                           "SELECT " FF_RECORD_COLUMNS " FROM root WHERE key = ANY($1::bytea[])"};

// Result: the server's clock in microseconds.
inline constexpr Statement read_clock = {"read_clock", R"sql(
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)sql"};

}  // namespace flowfabric::postgres
