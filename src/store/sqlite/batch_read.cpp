// The reading half of a batch.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "store/sqlite/batch.hpp"

namespace flowfabric::sqlite {
namespace {

// One record by its key, through root_key.
constexpr char load_root_sql[] = "SELECT id, version, fixed, body, last_entry FROM root WHERE key = ?1";

// The first entries of one route in order of service: a prefix of the clustered table, each with its record. CROSS JOIN
// prevents SQLite from reversing the join.
constexpr char find_ready_sql[] = R"(
  SELECT ready.neg_priority, ready.sequence, ready.key, ready.name_space,
         root.id, root.version, root.fixed, root.body, root.last_entry
  FROM ready CROSS JOIN root ON root.key = ready.key
  WHERE ready.route = ?1 ORDER BY ready.neg_priority, ready.sequence, ready.key LIMIT ?2)";

// The same for one namespace: a range of ready_namespace, which has all columns. The second condition allows the use of
// the partial index.
constexpr char find_ready_of_sql[] = R"(
  SELECT ready.neg_priority, ready.sequence, ready.key, ready.name_space,
         root.id, root.version, root.fixed, root.body, root.last_entry
  FROM ready INDEXED BY ready_namespace CROSS JOIN root ON root.key = ready.key
  WHERE ready.name_space = ?3 AND ready.name_space <> 'default' AND ready.route = ?1
  ORDER BY ready.neg_priority, ready.sequence, ready.key LIMIT ?2)";

// The same for the namespace that is not in that index.
constexpr char find_ready_of_default_sql[] = R"(
  SELECT ready.neg_priority, ready.sequence, ready.key, ready.name_space,
         root.id, root.version, root.fixed, root.body, root.last_entry
  FROM ready CROSS JOIN root ON root.key = ready.key
  WHERE ready.name_space = 'default' AND ready.route = ?1
  ORDER BY ready.neg_priority, ready.sequence, ready.key LIMIT ?2)";

// Entries due by ?1, earliest first: a prefix of the clustered table.
constexpr char find_due_sql[] = R"(
  SELECT due.due_at, due.key, due.group_no, due.rank, root.id, root.version, root.fixed, root.body, root.last_entry
  FROM due CROSS JOIN root ON root.key = due.key
  WHERE due.due_at <= ?1 AND (due.due_at, due.key) > (?3, ?4) ORDER BY due.due_at, due.key LIMIT ?2)";

// One group in its order: a range of due_group. The second condition allows the use of the partial index.
constexpr char find_grouped_sql[] = R"(
  SELECT due.due_at, due.key, due.group_no, due.rank, root.id, root.version, root.fixed, root.body, root.last_entry
  FROM due INDEXED BY due_group CROSS JOIN root ON root.key = due.key
  WHERE due.group_no = ?1 AND due.group_no <> 0 ORDER BY due.rank, due.key LIMIT ?2)";

constexpr char load_satellite_sql[] = "SELECT body FROM satellite WHERE root = ?1 AND kind = ?2 AND n = ?3";
constexpr char load_routes_sql[] =
    "SELECT turn, number, name_space, lane, capabilities FROM route WHERE turn > ?1 ORDER BY turn";

}  // namespace

Result<void> Batch::prepare_reads() {
  const std::pair<Statement*, const char*> all[] = {
      {&statements_.load_root, load_root_sql},         {&statements_.find_ready, find_ready_sql},
      {&statements_.find_ready_of, find_ready_of_sql}, {&statements_.find_ready_of_default, find_ready_of_default_sql},
      {&statements_.find_due, find_due_sql},           {&statements_.find_grouped, find_grouped_sql},
      {&statements_.load_routes, load_routes_sql},     {&statements_.load_satellite, load_satellite_sql},
      {&statements_.load_sequence, load_sequence_sql},
  };
  for (const auto& [statement, sql] : all) {
    FF_TRY(prepared, database_->prepare(sql));
    *statement = std::move(prepared);
  }
  return {};
}

Result<ReadReply> Batch::read(const ReadRequest& request, std::int64_t now_us) {
  ReadReply reply;
  reply.now_us = now_us;
  FF_TRY_VOID(read_keys(request.keys, reply));
  for (std::size_t i = 0; i < request.ready.size(); ++i) FF_TRY_VOID(read_ready(request.ready[i], i, reply));
  if (request.due_limit > 0) FF_TRY_VOID(read_due(request, reply));
  FF_TRY_VOID(read_groups(request, reply));
  if (request.want_routes) FF_TRY_VOID(read_routes(request.routes_seen, reply));
  return reply;
}

Result<void> Batch::read_keys(const std::vector<Key>& keys, ReadReply& reply) {
  Statement& load = statements_.load_root;
  reply.records.reserve(keys.size());
  for (const Key& key : keys) {
    load.bind_blob(1, key.bytes);
    FF_TRY(row, load.step());
    if (!row) {
      remember(key, Root{});
      continue;
    }
    reply.records.push_back(take_record(key, load, 0));
    load.reset();
  }
  return {};
}

Statement& Batch::search_for(const RouteDemand& demand) {
  if (!demand.name_space) return statements_.find_ready;
  if (*demand.name_space == default_namespace) return statements_.find_ready_of_default;
  statements_.find_ready_of.bind_text(3, *demand.name_space);
  return statements_.find_ready_of;
}

Result<void> Batch::read_ready(const RouteDemand& demand, std::size_t index, ReadReply& reply) {
  Statement& find = search_for(demand);
  find.bind(1, static_cast<std::int64_t>(demand.route));
  find.bind(2, demand.limit);
  for (;;) {
    FF_TRY(row, find.step());
    if (!row) return {};
    Candidate& candidate = reply.ready.emplace_back();
    candidate.entry.route = demand.route;
    candidate.entry.priority = static_cast<std::int32_t>(-find.integer(0));
    candidate.entry.sequence = static_cast<std::uint64_t>(find.integer(1));
    candidate.entry.key.bytes = find.view(2);
    candidate.entry.name_space = find.view(3);
    candidate.record = take_record(candidate.entry.key, find, 4);
    candidate.demand = index;
  }
}

// No key is empty, so the empty key sorts before all entries of its time.
Result<void> Batch::read_due(const ReadRequest& request, ReadReply& reply) {
  const DuePosition after = request.due_after.value_or(DuePosition{INT64_MIN, {}});
  Statement& find = statements_.find_due;
  find.bind(1, reply.now_ms());
  find.bind(2, request.due_limit);
  find.bind(3, after.due_at);
  find.bind_blob(4, after.key.bytes);
  return take_due(find, reply.due);
}

Result<void> Batch::read_groups(const ReadRequest& request, ReadReply& reply) {
  Statement& find = statements_.find_grouped;
  std::vector<GroupDemand> groups = request.groups;
  std::sort(groups.begin(), groups.end(), [](const GroupDemand& a, const GroupDemand& b) { return a.group < b.group; });
  for (const GroupDemand& demand : groups) {
    if (reply.grouped.size() >= request.group_limit) break;
    find.bind(1, static_cast<std::int64_t>(demand.group));
    find.bind(
        2, static_cast<std::int64_t>(std::min<std::size_t>(demand.limit, request.group_limit - reply.grouped.size())));
    FF_TRY_VOID(take_due(find, reply.grouped));
  }
  return {};
}

// Takes all rows of a search in the due index.
Result<void> Batch::take_due(Statement& find, std::vector<DueCandidate>& found) {
  for (;;) {
    FF_TRY(row, find.step());
    if (!row) return {};
    DueCandidate& candidate = found.emplace_back();
    candidate.entry.due_at = find.integer(0);
    candidate.entry.key.bytes = find.view(1);
    candidate.entry.group = static_cast<std::uint64_t>(find.integer(2));
    candidate.entry.rank = find.integer(3);
    candidate.record = take_record(candidate.entry.key, find, 4);
  }
}

// What a reader has seen is the turn of the last route.
Result<void> Batch::read_routes(const std::string& seen, ReadReply& reply) {
  std::int64_t last = seen.empty() ? 0 : std::stoll(seen);
  Statement& load = statements_.load_routes;
  load.bind(1, last);
  for (;;) {
    FF_TRY(row, load.step());
    if (!row) break;
    auto capabilities = decode_capabilities(load.view(4));
    if (!capabilities) {
      load.reset();
      return Unexpected(std::move(capabilities).error());
    }
    last = load.integer(0);
    reply.routes.push_back(
        Route{static_cast<RouteNo>(load.integer(1)), load.bytes(3), std::move(*capabilities), load.bytes(2)});
  }
  reply.routes_seen = std::to_string(last);
  return {};
}

Record Batch::take_record(Key key, const Statement& row, int first_column) {
  const Root root{static_cast<std::uint64_t>(row.integer(first_column + 1)), row.integer(first_column)};
  remember(key, root);
  return Record{std::move(key),
                root.version,
                row.bytes(first_column + 2),
                row.bytes(first_column + 3),
                encode_last_entry(row.integer(first_column + 4)),
                static_cast<std::uint64_t>(root.id)};
}

Result<std::vector<Satellite>> Batch::read_satellites(const std::vector<SatelliteName>& names) {
  Statement& load = statements_.load_satellite;
  std::vector<Satellite> found;
  for (const SatelliteName& name : names) {
    load.bind_blob(1, name.root.bytes);
    load.bind(2, name.kind);
    load.bind(3, name.n);
    FF_TRY(row, load.step());
    if (!row) continue;
    found.push_back(Satellite{name, load.bytes(0)});
    load.reset();
  }
  return found;
}

// No entry has a number below 1; see the migration for the row that does.
Result<std::vector<SequenceEntry>> entries_of(Statement& load, const SequenceName& name, std::uint64_t from,
                                              std::uint32_t limit) {
  load.bind_blob(1, name.root.bytes);
  load.bind(2, name.kind);
  load.bind(3, static_cast<std::int64_t>(std::clamp<std::uint64_t>(from, 1, INT64_MAX)));
  load.bind(4, limit);
  std::vector<SequenceEntry> entries;
  for (;;) {
    FF_TRY(row, load.step());
    if (!row) return entries;
    entries.push_back({static_cast<std::uint64_t>(load.integer(0)), load.bytes(1)});
  }
}

Result<std::vector<SequenceEntry>> Batch::read_sequence(const SequenceName& name, std::uint64_t from,
                                                        std::uint32_t limit) {
  return entries_of(statements_.load_sequence, name, from, limit);
}

std::string encode_capabilities(const std::vector<std::string>& capabilities) {
  Encoder encoder;
  encoder.unsigned_number(capabilities.size());
  for (const std::string& capability : capabilities) encoder.text(capability);
  return encoder.take();
}

Result<std::vector<std::string>> decode_capabilities(std::string_view bytes) {
  Decoder decoder(bytes);
  std::vector<std::string> capabilities(decoder.count());
  for (std::string& capability : capabilities) capability = decoder.text();
  if (!decoder.at_end()) return fail(Errc::corruption, "the capabilities of a route cannot be decoded");
  return capabilities;
}

}  // namespace flowfabric::sqlite
