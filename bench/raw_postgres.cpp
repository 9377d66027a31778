#include "raw_postgres.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace flowfabric::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The sizes are those of a typical execution with a payload of 128 bytes and a result of 32.
constexpr std::size_t fixed_bytes = 250, body_bytes = 220, event_bytes = 130;
constexpr int oid_bytea = 17, oid_int8 = 20, oid_int4 = 23, oid_xid8 = 5069;
constexpr std::size_t page_entries = 50;  // fill the block within which a page of the log stays

void put32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((value >> shift) & 255);
}

void put64(std::string& out, std::uint64_t value) {
  put32(out, static_cast<std::uint32_t>(value >> 32));
  put32(out, static_cast<std::uint32_t>(value));
}

std::string array_header(int element_oid, std::size_t count) {
  std::string out;
  put32(out, 1);
  put32(out, 0);
  put32(out, static_cast<std::uint32_t>(element_oid));
  put32(out, static_cast<std::uint32_t>(count));
  put32(out, 1);
  return out;
}

std::string bytea_array(const std::vector<std::string>& values) {
  std::string out = array_header(oid_bytea, values.size());
  for (const auto& value : values) {
    put32(out, static_cast<std::uint32_t>(value.size()));
    out += value;
  }
  return out;
}

std::string int8_array(const std::vector<std::int64_t>& values, int oid = oid_int8) {
  std::string out = array_header(oid, values.size());
  for (const std::int64_t value : values) {
    put32(out, 8);
    put64(out, static_cast<std::uint64_t>(value));
  }
  return out;
}

struct Prepared {
  const char* name;
  const char* sql;
};

constexpr Prepared statements[] = {
    {"create_root",
     "INSERT INTO root (key, record_kind, created_at, name_space, lane, kind, flow, fixed, version, finished_at, "
     "state, tags, body, log_xid, log_n) SELECT key, 101, 1700000000000, 'default', 'default', 'bench', '', $2::bytea, "
     "1, 0, 0, '', $3::bytea, pg_current_xact_id(), 1 FROM unnest($1::bytea[]) i(key)"},
    {"create_ready",
     "INSERT INTO ready (route, priority, sequence, key) SELECT 1, 0, s, k FROM unnest($1::bytea[], "
     "$2::int8[]) i(k, s)"},
    {"page",
     "INSERT INTO log (n, live, entries, prev_xids, prev_ns) VALUES ($1::int8, $2::int8, $3::bytea[], $4::xid8[], "
     "$5::int4[])"},
    {"search",
     "SELECT r.sequence, r.key, o.version, o.fixed, o.body FROM (SELECT sequence, key FROM ready WHERE route = 1 "
     "ORDER BY priority DESC, sequence, key LIMIT $1::int8 FOR UPDATE SKIP LOCKED) r CROSS JOIN LATERAL (SELECT "
     "version, fixed, body FROM root WHERE key = r.key LIMIT 1) o"},
    {"drop_ready",
     "DELETE FROM ready WHERE ctid = ANY (ARRAY(SELECT r.ctid FROM unnest($1::bytea[], $2::int8[]) i(k, s) "
     "CROSS JOIN LATERAL (SELECT ctid FROM ready WHERE route = 1 AND priority = 0 AND sequence = i.s AND key "
     "= i.k LIMIT 1) r))"},
    {"update_root",
     "UPDATE root SET version = version + 1, state = $3::int8, finished_at = $3::int8, body = $2::bytea, "
     "log_xid = pg_current_xact_id(), log_n = 1 FROM unnest($1::bytea[]) i(k) WHERE root.key = i.k"},
    {"put_due", "INSERT INTO due (due_at, key) SELECT $2::int8, k FROM unnest($1::bytea[]) i(k)"},
    {"drop_due",
     "DELETE FROM due WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM unnest($1::bytea[]) i(k) CROSS JOIN LATERAL "
     "(SELECT ctid FROM due WHERE due_at = $2::int8 AND key = i.k LIMIT 1) d))"},
};

class RawConnection {
 public:
  RawConnection(const std::string& url, const std::string& schema) : connection_(PQconnectdb(url.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) die("connect");
    run("SET search_path = " + schema +
        "; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
        "SET plan_cache_mode = force_generic_plan");
    for (const Prepared& statement : statements) {
      check(PQprepare(connection_, statement.name, statement.sql, 0, nullptr), statement.name);
    }
    PQenterPipelineMode(connection_);
  }
  ~RawConnection() { PQfinish(connection_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  void send(const char* name, const std::vector<std::string>& parameters) {
    std::vector<const char*> values;
    std::vector<int> lengths, formats;
    for (const auto& parameter : parameters) {
      values.push_back(parameter.data());
      lengths.push_back(static_cast<int>(parameter.size()));
      formats.push_back(1);
    }
    if (PQsendQueryPrepared(connection_, name, static_cast<int>(values.size()), values.data(), lengths.data(),
                            formats.data(), 1) != 1) {
      die(name);
    }
    ++sent_;
  }
  void begin() { plain("BEGIN"); }
  void commit() { plain("COMMIT"); }

  // Ends the round trip; returns the rows of the `wanted`-th statement as (sequence, key).
  std::vector<std::pair<std::int64_t, std::string>> sync(int wanted = -1) {
    PQpipelineSync(connection_);
    std::vector<std::pair<std::int64_t, std::string>> rows;
    for (int i = 0; i < sent_; ++i) {
      PGresult* result = PQgetResult(connection_);
      const auto status = PQresultStatus(result);
      if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) die("statement");
      if (i == wanted) {
        for (int row = 0; row < PQntuples(result); ++row) rows.push_back(row_of(result, row));
      }
      PQclear(result);
      PQgetResult(connection_);
    }
    PQclear(PQgetResult(connection_));
    sent_ = 0;
    return rows;
  }

 private:
  static std::pair<std::int64_t, std::string> row_of(PGresult* result, int row) {
    std::int64_t sequence = 0;
    for (int i = 0; i < 8; ++i) {
      sequence = (sequence << 8) | static_cast<unsigned char>(PQgetvalue(result, row, 0)[i]);
    }
    return {sequence, std::string(PQgetvalue(result, row, 1), static_cast<std::size_t>(PQgetlength(result, row, 1)))};
  }
  void plain(const char* sql) {
    if (PQsendQueryParams(connection_, sql, 0, nullptr, nullptr, nullptr, nullptr, 1) != 1) die(sql);
    ++sent_;
  }
  void run(const std::string& sql) {
    PGresult* result = PQexec(connection_, sql.c_str());
    if (PQresultStatus(result) != PGRES_COMMAND_OK) die(sql.c_str());
    PQclear(result);
  }
  void check(PGresult* result, const char* what) {
    if (PQresultStatus(result) != PGRES_COMMAND_OK) die(what);
    PQclear(result);
  }
  [[noreturn]] void die(const char* what) {
    std::fprintf(stderr, "bench: raw PostgreSQL: %s: %s\n", what, PQerrorMessage(connection_));
    std::exit(1);
  }

  PGconn* connection_;
  int sent_ = 0;
};

std::string number(std::int64_t value) {
  std::string out;
  put64(out, static_cast<std::uint64_t>(value));
  return out;
}

// Keys increase with time, like generated ids.
std::vector<std::string> fresh_keys(std::atomic<std::uint64_t>& counter, int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) {
    std::string key = "e";
    put64(key, counter++);
    put64(key, static_cast<std::uint64_t>(std::rand()));
    key += "\1\2";
    keys.push_back(std::move(key));
  }
  return keys;
}

struct Shared {
  std::atomic<std::uint64_t> keys{1};
  std::atomic<std::int64_t> sequence{1};
  std::atomic<std::uint64_t> cycles{0};
  std::atomic<bool> stop{false};
};

// The entries of a batch, in as many pages as they need.
void send_pages(RawConnection& connection, std::size_t count, const std::string& entry) {
  for (std::size_t from = 0; from < count; from += page_entries) {
    const std::size_t size = std::min(page_entries, count - from);
    std::string numbers = array_header(oid_int4, size);
    for (std::size_t i = 0; i < size; ++i) {
      put32(numbers, 4);
      put32(numbers, 1);
    }
    connection.send("page", {number(static_cast<std::int64_t>(from + 1)), number(static_cast<std::int64_t>(size)),
                             bytea_array(std::vector<std::string>(size, entry)),
                             int8_array(std::vector<std::int64_t>(size, 1000), oid_xid8), numbers});
  }
}

void run_connection(const std::string& url, const std::string& schema, int batch, Shared& shared) {
  RawConnection connection(url, schema);
  const std::string fixed(fixed_bytes, 'f'), body(body_bytes, 'b'), event(event_bytes, 'e');
  constexpr std::int64_t lease_due = 1700000030000, retention_due = 1700600000000;
  while (!shared.stop) {
    const auto created = fresh_keys(shared.keys, batch);
    std::vector<std::int64_t> sequences;
    for (int i = 0; i < batch; ++i) sequences.push_back(shared.sequence++);
    const std::string created_array = bytea_array(created);
    connection.send("create_root", {created_array, fixed, body});
    connection.send("create_ready", {created_array, int8_array(sequences)});
    send_pages(connection, created.size(), event);
    connection.sync();

    connection.begin();
    connection.send("search", {number(batch)});
    const auto claimed = connection.sync(1);
    std::vector<std::string> keys;
    std::vector<std::int64_t> claimed_sequences;
    for (const auto& [sequence, key] : claimed) {
      keys.push_back(key);
      claimed_sequences.push_back(sequence);
    }
    const std::string array = bytea_array(keys);
    connection.send("drop_ready", {array, int8_array(claimed_sequences)});
    connection.send("update_root", {array, body, number(1)});
    connection.send("put_due", {array, number(lease_due)});
    send_pages(connection, keys.size(), event);
    connection.commit();
    connection.sync();

    connection.send("update_root", {array, body, number(2)});
    connection.send("drop_due", {array, number(lease_due)});
    connection.send("put_due", {array, number(retention_due)});
    send_pages(connection, keys.size(), event);
    connection.sync();
    shared.cycles += claimed.size();
  }
}

}  // namespace

double raw_postgres_cycles(const std::string& url, const std::string& schema, int connections, int batch,
                           double seconds) {
  Shared shared;
  shared.keys = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  std::vector<std::thread> threads;
  const auto start = Clock::now();
  for (int i = 0; i < connections; ++i) threads.emplace_back([&] { run_connection(url, schema, batch, shared); });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  shared.stop = true;
  for (auto& thread : threads) thread.join();
  return static_cast<double>(shared.cycles) / std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace flowfabric::bench
