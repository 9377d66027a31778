#include "engine/reads.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/counts.hpp"
#include "core/fingerprint.hpp"
#include "core/ingress.hpp"
#include "core/schedule_records.hpp"
#include "core/state.hpp"
#include "core/submitting.hpp"
#include "engine/limit_reads.hpp"

namespace flowfabric::reads {
namespace {

constexpr std::uint8_t list_cursor_version = 1;
constexpr std::uint8_t log_cursor_version = 1;
constexpr std::uint64_t max_counted_ahead = 10000;
constexpr std::size_t max_counted_routes = 1000;  // each is a question to the store

std::string encode_log_cursor(const std::string& position) {
  return to_base64url(static_cast<char>(log_cursor_version) + position);
}

Result<std::string> decode_log_cursor(const std::string& cursor) {
  const auto bytes = from_base64url(cursor);
  if (!bytes || bytes->size() < 2 || bytes->front() != static_cast<char>(log_cursor_version)) {
    return Unexpected(bad_cursor());
  }
  return bytes->substr(1);
}

// The store uses positions, callers use cursors.
Error with_cursor(Error error) {
  if (error.code == Errc::invalid_argument) return bad_cursor();
  if (error.code != Errc::cursor_expired) return error;
  error.message = "cursor: " + error.message + "; go on from details.earliest";
  error.field = "cursor";
  for (auto& [name, value] : error.details) {
    if (const auto position = from_hex(value); position && name == "earliest") value = encode_log_cursor(*position);
  }
  return error;
}

Result<LaneInfo> lane_info(Store& store, const std::string& lane) {
  FF_TRY(records, store.load({lane_key(lane)}));
  if (records.empty()) return LaneInfo{.lane = lane};
  FF_TRY(record, decode_lane(records.front().body));
  return record.info;
}

Result<std::string> satellite_body(Store& store, const ExecutionId& id, SatelliteKind kind, std::uint32_t n) {
  FF_TRY(found, store.load_satellites(execution_key(id), static_cast<std::uint8_t>(kind), n, 1));
  if (found.empty() || found.front().name.n != n) {
    return fail(Errc::corruption, "data of execution " + to_string(id) + " is missing");
  }
  return std::move(found.front().body);
}

// What the log tells of an event without its body.
Event damaged_event(const LogEntry& entry, const Error& error) {
  Event event;
  event.type = event_type_of(entry.type);
  event.at = entry.at;
  if (entry.root.kind() == RecordKind::execution) event.execution_id = execution_id_of(entry.root);
  if (entry.root.kind() == RecordKind::flow) event.flow_id = flow_id_of(entry.root);
  event.name_space = entry.name_space;
  event.lane = entry.lane;
  event.damage = error.message;
  return event;
}

// An event that cannot be decoded is shown as damaged: subscribers go on behind it.
Event event_of(const LoggedEntry& logged) {
  auto decoded = decode_event(logged.entry.body);
  Event event = decoded ? std::move(*decoded) : damaged_event(logged.entry, decoded.error());
  event.cursor = encode_log_cursor(logged.position);
  event.redrive_id = redrive_id_of(logged.entry.root);
  event.schedule = schedule_name_of(logged.entry.root);  // its key says it, so the event does not repeat it
  // The one who takes a lease is the worker, so the log does not store the name twice.
  const bool leased =
      event.type == EventType::claimed || event.type == EventType::resumed || event.type == EventType::lease_reclaimed;
  if (leased && event.worker_instance_id.empty()) event.worker_instance_id = event.actor;
  return event;
}

GrantInfo grant_info(const HeldGrant& grant) {
  return {grant.kind,       to_hex(grant.grant_id), grant.worker_id,      grant.worker_instance_id,
          grant.expires_at, grant.capability_hash,  grant.route_snapshot, grant.admission_summary};
}

void describe_facts(const Execution& execution, ExecutionDescription& out) {
  const Facts& facts = execution.facts;
  out.summary = summarize(execution);
  out.creator = execution.spec.creator;
  out.payload_encoding = execution.payload_encoding();
  out.payload_bytes = execution.payload_bytes();
  out.required_capabilities = execution.spec.required_capabilities;
  out.policy = execution.spec.policy;
  if (execution.spec.submit_key_kind != SubmitKeyKind::none) {
    const bool held = facts.submit.holds != SubmitKeyKind::none && !owes_key(facts);
    out.submit_key = SubmitKey{execution.spec.submit_key_kind, execution.spec.submit_key, held};
  }
  out.lease = facts.lease;
  out.lease_epoch = facts.lease_epoch;
  if (facts.grant) out.grant = grant_info(*facts.grant);
  out.attempt = facts.attempt;
  out.retry_count = facts.retry_count;
  out.reclaim_count = facts.reclaim_count;
  out.replay_count = facts.replay_count;
  out.delay_until = facts.delay_until;
  out.deadline_at = facts.deadline_at;
  out.last_transition_at = facts.last_transition_at;
  out.last_mutation_at = facts.last_mutation_at;
  out.progress = facts.progress;
  out.failure = facts.failure;
  if (facts.phase == Phase::terminal && facts.outcome == Outcome::failed) {
    out.fingerprint = fingerprint_text(facts.letter.fingerprint);
  }
  if (facts.letter.redriven_by) out.redrive_id = to_string(*facts.letter.redriven_by);
  out.cancellation_reason = facts.cancellation_reason;
  out.cancelled_by = facts.cancelled_by;
}

// Each read is a round trip to the store, so only what `explain` needs is read.
Result<Surroundings> surroundings_of(Store& store, const Execution& execution) {
  const Spec& spec = execution.spec;
  const Phase phase = execution.facts.phase;
  const bool wants_capabilities = phase == Phase::runnable && !spec.required_capabilities.empty();
  Surroundings out;
  if (phase == Phase::active || wants_capabilities) {
    FF_TRY(now_us, store.now_us());
    out.now = now_us / 1000;
  }
  if (phase != Phase::runnable) return out;
  FF_TRY(lane, lane_info(store, spec.lane));
  out.lane = std::move(lane);
  if ((execution.facts.gates & dependency_gate) != 0) {
    FF_TRY(upstream, open_upstream(store, execution));
    out.upstream = std::move(upstream);
  }
  FF_TRY(limited, held_by(store, execution));
  if (limited) out.limited = Surroundings::Limited{limited->limit, limited->use};
  if (const auto entry = ready_entry(execution)) {
    FF_TRY(ahead, store.count_ready_before(*entry, max_counted_ahead));
    out.ahead = ahead;
    FF_TRY(share, share_over(store, execution));
    out.share = std::move(share);
  }
  if (wants_capabilities) {
    FF_TRY(lives, capable_worker_lives(store, spec, out.now));
    out.capable_worker_lives = lives;
  }
  return out;
}

bool is_public_state(std::uint8_t state) { return state <= static_cast<std::uint8_t>(PublicState::skipped); }

// What is known of a record that cannot be decoded. Often only one of its two parts is damaged.
ExecutionSummary damaged_summary(const ListedRecord& listed, const Error& error) {
  ExecutionSummary summary;
  if (listed.record.key.bytes.size() == execution_key_bytes) summary.execution_id = execution_id_of(listed.record.key);
  summary.created_at = listed.created_at;
  if (is_public_state(listed.state)) summary.public_state = static_cast<PublicState>(listed.state);
  if (const auto spec = decode_spec(listed.record.fixed)) {
    summary.name_space = spec->name_space;
    summary.lane = spec->lane;
    summary.kind = spec->kind;
  }
  summary.damage = error.message;
  return summary;
}

// An attempt becomes history when the next one starts, so the history is everything before the current attempt.
Result<std::vector<Attempt>> attempts_of(Store& store, const Execution& execution, std::uint32_t from,
                                         std::uint32_t limit) {
  const auto& current = execution.facts.attempt;
  const std::uint32_t ended = current ? current->attempt_index : execution.facts.attempt_count;
  std::vector<Attempt> out;
  if (from < ended) {
    FF_TRY(history,
           store.load_satellites(execution_key(execution.id), static_cast<std::uint8_t>(SatelliteKind::attempt), from,
                                 std::min(limit, ended - from)));
    for (const Satellite& satellite : history) {
      FF_TRY(attempt, decode_attempt(satellite.body));
      out.push_back(std::move(attempt));
    }
  }
  if (current && current->attempt_index >= from && out.size() < limit) out.push_back(*current);
  return out;
}

}  // namespace

std::string encode_cursor(const ListQuery::Position& position) {
  Encoder out;
  out.u8(list_cursor_version);
  out.number(position.created_at);
  out.text(position.key.bytes);
  return to_base64url(out.take());
}

Result<ListQuery::Position> decode_list_cursor(const std::string& cursor) {
  const auto bytes = from_base64url(cursor);
  if (!bytes) return Unexpected(bad_cursor());
  Decoder in(*bytes);
  const bool known = in.u8() == list_cursor_version;
  ListQuery::Position position;
  position.created_at = in.number();
  position.key.bytes = in.text();
  if (!known || !in.at_end() || position.key.bytes.size() > limits::max_key_bytes) return Unexpected(bad_cursor());
  return position;
}

Result<void> admit_limit(std::uint32_t limit) {
  if (limit >= 1 && limit <= limits::max_page) return {};
  return fail(Errc::invalid_argument,
              "limit: is " + std::to_string(limit) + "; allowed: 1 to " + std::to_string(limits::max_page), "limit");
}

Error bad_cursor() { return Error{Errc::invalid_argument, "cursor: is not a cursor of this call", "cursor", {}}; }

Result<Execution> load_execution(Store& store, const ExecutionId& id) {
  FF_TRY_VOID(admit_execution_id(id));
  FF_TRY(records, store.load({execution_key(id)}));
  if (records.empty()) return fail(Errc::not_found, "there is no execution " + to_string(id), "execution_id");
  auto execution = decode_execution(records.front());
  if (execution) return execution;
  return fail(Errc::corruption, "execution " + to_string(id) + " is damaged: " + execution.error().message);
}

Result<std::map<ExecutionId, std::string>> namespaces(Store& store, const std::vector<ExecutionId>& ids) {
  std::set<Key> keys;
  for (const ExecutionId& id : ids) keys.insert(execution_key(id));
  FF_TRY(records, store.load({keys.begin(), keys.end()}));
  std::map<ExecutionId, std::string> found;
  for (const Record& record : records) {
    auto execution = decode_execution(record);
    if (execution) found.emplace(execution->id, std::move(execution->spec.name_space));
  }
  return found;
}

Result<ExecutionDescription> describe(Store& store, const ExecutionId& id) {
  FF_TRY(execution, load_execution(store, id));
  FF_TRY(surroundings, surroundings_of(store, execution));
  ExecutionDescription out;
  describe_facts(execution, out);
  out.state = state_vector(execution, surroundings.lane.state);
  out.explain = explain(execution, surroundings);
  FF_TRY(all, attempts_of(store, execution, 0, limits::default_page));
  out.attempts = std::move(all);
  return out;
}

Result<ExecutionResult> result(Store& store, const ExecutionId& id) {
  FF_TRY(execution, load_execution(store, id));
  return result_of(store, execution);
}

Result<ExecutionResult> result_of(Store& store, const Execution& execution) {
  const Facts& facts = execution.facts;
  ExecutionResult out;
  out.outcome = facts.outcome;
  out.finished_at = facts.finished_at;
  // The facts keep the failure of an attempt too; it is no answer to how the execution ended.
  if (facts.outcome == Outcome::failed) out.failure = facts.failure;
  if (facts.attempt) out.attempt_index = facts.attempt->attempt_index;
  if (!facts.has_result) return out;
  out.result_encoding = facts.attempt->result_encoding;
  if (facts.result_is_inline) {
    out.result = facts.result;
  } else {
    FF_TRY(body, satellite_body(store, execution.id, SatelliteKind::result, facts.attempt->attempt_index));
    out.result = std::move(body);
  }
  return out;
}

Result<ExecutionResult> attempt_result(Store& store, const ExecutionId& id, std::uint32_t attempt_index) {
  FF_TRY(current, result(store, id));
  if (current.attempt_index == attempt_index && current.outcome == Outcome::success) return current;
  FF_TRY(found, attempts(store, id, attempt_index, 1));
  if (found.empty() || found.front().attempt_index != attempt_index) {
    return fail(Errc::not_found, "execution " + to_string(id) + " has no attempt " + std::to_string(attempt_index),
                "attempt_index");
  }
  const Attempt& attempt = found.front();
  ExecutionResult out;
  out.attempt_index = attempt_index;
  out.failure = attempt.failure;
  out.finished_at = attempt.ended_at;
  if (!attempt.has_result) return out;
  out.outcome = Outcome::success;
  out.result_encoding = attempt.result_encoding;
  FF_TRY(body, satellite_body(store, id, SatelliteKind::result, attempt_index));
  out.result = std::move(body);
  return out;
}

Result<ExecutionContext> context(Store& store, const ExecutionId& id) {
  FF_TRY(execution, load_execution(store, id));
  ExecutionContext out{execution.spec.kind, execution.inline_payload(), execution.payload_encoding(),
                       execution.facts.tags};
  if (!execution.payload_is_inline()) {
    FF_TRY(body, satellite_body(store, id, SatelliteKind::payload, 0));
    out.payload = std::move(body);
  }
  return out;
}

Result<std::vector<Attempt>> attempts(Store& store, const ExecutionId& id, std::uint32_t from, std::uint32_t limit) {
  FF_TRY_VOID(admit_limit(limit));
  FF_TRY(execution, load_execution(store, id));
  return attempts_of(store, execution, from, limit);
}

Result<EventPage> history(Store& store, const ExecutionId& id, const std::string& cursor, std::uint32_t limit) {
  FF_TRY_VOID(admit_limit(limit));
  FF_TRY(execution, load_execution(store, id));
  return history_of(store, execution_key(id), cursor, limit);
}

Result<EventPage> history_of(Store& store, const Key& key, const std::string& cursor, std::uint32_t limit) {
  std::string after;
  if (!cursor.empty()) {
    FF_TRY(position, decode_log_cursor(cursor));
    after = std::move(position);
  }
  // One more than asked for tells whether there is more.
  auto entries = store.history(key, after, limit + 1);
  if (!entries) return Unexpected(with_cursor(entries.error()));
  const bool more = entries->size() > limit;
  if (more) entries->pop_back();
  EventPage page;
  for (const LoggedEntry& logged : *entries) {
    page.events.push_back(event_of(logged));
  }
  if (more) page.next_cursor = page.events.back().cursor;
  return page;
}

namespace {

Result<ListQuery> query_of(const ListRequest& request) {
  ListQuery query;
  query.name_space = request.name_space;
  query.lane = request.lane;
  query.kind = request.kind;
  for (const PublicState state : request.states) query.states.push_back(static_cast<std::uint8_t>(state));
  if (request.tag) query.tag = request.tag->first + "=" + request.tag->second;
  if (request.flow) {
    query.flow = std::string(reinterpret_cast<const char*>(request.flow->bytes.data()), request.flow->bytes.size());
  }
  query.created_from = request.created_from;
  query.created_before = request.created_before;
  query.finished_from = request.finished_from;
  query.finished_before = request.finished_before;
  query.limit = request.limit + 1;  // one more than asked for tells whether there is more
  if (!request.cursor.empty()) {
    FF_TRY(position, decode_list_cursor(request.cursor));
    query.after = std::move(position);
  }
  return query;
}

// Whether a lane or states are asked for that nothing is counted under. Then no record needs to be read.
Result<bool> matches_nothing(Store& store, const ListQuery& query) {
  if (!query.lane && query.states.empty()) return false;
  FF_TRY(counters, store.counters(counter_prefix(query.record_kind, query.name_space)));
  return std::none_of(counters.begin(), counters.end(), [&](const Counter& counter) {
    const auto counted = decode_counter(counter.name);
    if (!counted || (query.lane && counted->lane != *query.lane)) return false;
    const auto& states = query.states;
    return states.empty() || std::find(states.begin(), states.end(), counted->state) != states.end();
  });
}

// The groups of the states that are asked for, if each has one. A flow has an index of its own, which is better.
std::vector<std::uint64_t> groups_of(const ListRequest& request) {
  std::set<std::uint64_t> groups;
  for (const PublicState state : request.states) {
    const auto group = group_of_state(state);
    if (!group || request.flow) return {};
    groups.insert(*group);
  }
  return {groups.begin(), groups.end()};
}

// The page of each group, put together.
Result<std::vector<ListedRecord>> list_groups(Store& store, ListQuery query, const std::vector<std::uint64_t>& groups) {
  std::vector<ListedRecord> all;
  for (const std::uint64_t group : groups) {
    query.group = group;
    FF_TRY(found, store.list(query));
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end(), [](const ListedRecord& a, const ListedRecord& b) {
    return std::tie(b.created_at, b.record.key) < std::tie(a.created_at, a.record.key);
  });
  // A record that changed from one group to another meanwhile may be in both pages.
  const auto same = [](const ListedRecord& a, const ListedRecord& b) { return a.record.key == b.record.key; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  if (all.size() > query.limit) all.resize(query.limit);
  return all;
}

Result<std::vector<ListedRecord>> find_listed(Store& store, const ListRequest& request, const ListQuery& query) {
  FF_TRY(nothing, matches_nothing(store, query));
  if (nothing) return std::vector<ListedRecord>{};
  const auto groups = groups_of(request);
  return groups.empty() ? store.list(query) : list_groups(store, query, groups);
}

}  // namespace

Result<ListReply> list(Store& store, const ListRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY(query, query_of(request));
  FF_TRY(found, find_listed(store, request, query));
  const bool more = found.size() > request.limit;
  if (more) found.pop_back();
  ListReply reply;
  for (const ListedRecord& listed : found) {
    const auto execution = decode_execution(listed.record);
    reply.executions.push_back(execution ? summarize(*execution) : damaged_summary(listed, execution.error()));
  }
  if (more) {
    reply.next_cursor = encode_cursor({found.back().created_at, found.back().record.key});
  }
  return reply;
}

Result<std::vector<LaneCounts>> counts(Store& store, const std::optional<std::string>& name_space) {
  if (name_space) FF_TRY_VOID(admit_namespace(*name_space));
  FF_TRY(rows, store.counters(counter_prefix(RecordKind::execution, name_space)));
  std::map<std::string, LaneCounts> lanes;
  for (const Counter& row : rows) {
    const auto counted = decode_counter(row.name);
    // Those that make no sense are named by an integrity check.
    if (!counted || !is_public_state(counted->state) || row.value < 0) continue;
    LaneCounts& lane = lanes[counted->lane];
    lane.lane = counted->lane;
    lane.counts[static_cast<PublicState>(counted->state)] += static_cast<std::uint64_t>(row.value);
  }
  std::vector<LaneCounts> out;
  for (auto& [name, lane] : lanes) out.push_back(std::move(lane));
  return out;
}

Result<std::vector<LaneInfo>> lanes(Store& store, const RouteTable& routes) {
  std::map<std::string, LaneInfo> found;
  for (const auto& lane : routes.lanes()) found[lane] = LaneInfo{.lane = lane};
  std::string after;
  for (;;) {
    FF_TRY(records, store.scan(RecordKind::lane, after, limits::max_page));
    for (const Record& record : records) {
      const auto lane = decode_lane(record.body);
      if (lane) found[lane->info.lane] = lane->info;
    }
    if (records.size() < limits::max_page) break;
    after = records.back().key.bytes;
  }
  std::vector<LaneInfo> out;
  for (auto& [name, info] : found) out.push_back(std::move(info));
  return out;
}

Result<std::map<std::string, std::uint64_t>> ready_by_lane(Store& store, const RouteTable& routes,
                                                           std::uint64_t limit) {
  std::map<std::string, std::uint64_t> lanes;
  for (const Route& route : routes.some(max_counted_routes)) {
    // After every possible entry of a route.
    const ReadyEntry end{route.number, limits::min_priority, INT64_MAX, Key{"\xff"}};
    FF_TRY(count, store.count_ready_before(end, limit));
    lanes[route.lane] += count;
  }
  return lanes;
}

Result<NamespaceInfo> name_space(Store& store, const std::string& name) {
  FF_TRY_VOID(admit_namespace(name));
  FF_TRY(records, store.load({namespace_key(name)}));
  if (records.empty()) return NamespaceInfo{name, {}};
  FF_TRY(record, decode_namespace(records.front().body));
  return record.info;
}

Result<std::vector<NamespaceInfo>> all_namespaces(Store& store) {
  std::vector<NamespaceInfo> all;
  std::string after;
  while (true) {
    FF_TRY(records, store.scan(RecordKind::name_space, after, limits::max_page));
    for (const Record& record : records) {
      FF_TRY(decoded, decode_namespace(record.body));
      all.push_back(std::move(decoded.info));
    }
    if (records.size() < limits::max_page) return all;
    after = records.back().key.bytes;
  }
}

Result<std::int64_t> overdue_ms(Store& store) {
  FF_TRY(due, store.next_due());
  FF_TRY(now_us, store.now_us());
  const TimestampMs now = now_us / 1000;
  return now - std::min(due.value_or(now), now);
}

Result<std::string> start_cursor(Store& store, const std::string& cursor) {
  if (cursor.empty()) {
    FF_TRY(position, store.log_end());
    return encode_log_cursor(position);
  }
  if (cursor == "earliest") {
    FF_TRY(position, store.log_start());
    return encode_log_cursor(position);
  }
  FF_TRY(position, decode_log_cursor(cursor));
  return cursor;
}

Result<EventsRead> events(Store& store, const EventFilter& filter, const std::string& cursor, std::uint32_t limit) {
  FF_TRY_VOID(admit_limit(limit));
  LogQuery query;
  FF_TRY(position, decode_log_cursor(cursor));
  query.after = std::move(position);
  query.name_space = filter.name_space;
  query.lane = filter.lane;
  if (filter.execution_id) query.root = execution_key(*filter.execution_id);
  if (filter.flow_id) query.root = flow_key(*filter.flow_id);
  for (const EventType type : filter.types) query.types.push_back(static_cast<std::uint8_t>(type));
  query.limit = limit;
  auto page = store.read_log(query);
  if (!page) return Unexpected(with_cursor(std::move(page).error()));
  const LogPage& found = *page;
  EventsRead read;
  read.behind = found.behind;
  read.page.events.reserve(found.entries.size());
  for (const LoggedEntry& logged : found.entries) {
    read.page.events.push_back(event_of(logged));
  }
  read.page.next_cursor = encode_log_cursor(found.next);
  return read;
}

}  // namespace flowfabric::reads
