#include "engine/dead_letter_reads.hpp"

#include <algorithm>
#include <tuple>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/counts.hpp"
#include "core/dead_letter_ingress.hpp"
#include "core/fingerprint.hpp"
#include "core/state.hpp"
#include "engine/reads.hpp"

namespace flowfabric::reads {
namespace {

constexpr std::uint8_t group_cursor_version = 1;
constexpr std::uint32_t older_page = 100;

// What the counters say of one group.
struct GroupCount {
  std::string name_space;
  std::uint64_t fingerprint = 0;  // 0: older failures
  std::string kind;
  std::map<std::string, std::uint64_t> lanes;
  std::uint64_t count = 0;
};

void count_in(GroupCount& group, const std::string& lane, std::int64_t value) {
  if (value <= 0) return;
  group.lanes[lane] += static_cast<std::uint64_t>(value);
  group.count += static_cast<std::uint64_t>(value);
}

// Failed executions that have no letter, by namespace and lane. They are counted first: one that fails meanwhile is then missing
// here rather than one too many.
using LaneNumbers = std::map<std::pair<std::string, std::string>, std::int64_t>;
Result<LaneNumbers> count_failed(Store& store, const std::optional<std::string>& name_space) {
  FF_TRY(rows, store.counters(counter_prefix(RecordKind::execution, name_space)));
  LaneNumbers failed;
  for (const Counter& row : rows) {
    const auto counted = decode_counter(row.name);
    if (!counted || counted->state != static_cast<std::uint8_t>(PublicState::failed)) continue;
    failed[{counted->name_space, counted->lane}] += row.value;
  }
  return failed;
}

Result<std::vector<GroupCount>> count_groups(Store& store, const std::optional<std::string>& name_space) {
  FF_TRY(older, count_failed(store, name_space));
  FF_TRY(rows, store.counters(counter_prefix(RecordKind::dead_letter, name_space)));
  std::map<std::pair<std::string, std::uint64_t>, GroupCount> groups;
  for (const Counter& row : rows) {
    const auto counted = decode_counter(row.name);
    const auto line = counted ? decode_letter_line(counted->lane) : std::nullopt;
    if (!line || row.value <= 0) continue;
    GroupCount& group = groups[{counted->name_space, line->fingerprint}];
    group.name_space = counted->name_space;
    group.fingerprint = line->fingerprint;
    group.kind = line->kind;
    count_in(group, line->lane, row.value);
    older[{counted->name_space, line->lane}] -= row.value;
  }
  for (const auto& [place, count] : older) {
    if (count <= 0) continue;
    GroupCount& group = groups[{place.first, 0}];
    group.name_space = place.first;
    count_in(group, place.second, count);
  }
  std::vector<GroupCount> all;
  for (auto& [name, group] : groups) all.push_back(std::move(group));
  return all;
}

// What is left of a group on one lane.
bool restrict_to(GroupCount& group, const std::optional<std::string>& lane, const std::optional<std::string>& kind) {
  if (kind && *kind != group.kind) return false;
  if (!lane) return true;
  const auto found = group.lanes.find(*lane);
  if (found == group.lanes.end()) return false;
  group.count = found->second;
  group.lanes = {{*lane, found->second}};
  return true;
}

// The order of a listing: the largest first.
auto group_order(const GroupCount& group) {
  return std::tuple(UINT64_MAX - group.count, std::string_view(group.name_space), group.fingerprint);
}

std::string group_cursor(const GroupCount& last) {
  Encoder out;
  out.u8(group_cursor_version);
  out.unsigned_number(last.count);
  out.text(last.name_space);
  out.unsigned_number(last.fingerprint);
  return to_base64url(out.take());
}

Result<GroupCount> decode_group_cursor(const std::string& cursor) {
  const auto bytes = from_base64url(cursor);
  if (!bytes) return Unexpected(bad_cursor());
  Decoder in(*bytes);
  const bool known = in.u8() == group_cursor_version;
  GroupCount last;
  last.count = in.unsigned_number();
  last.name_space = in.text();
  last.fingerprint = in.unsigned_number();
  if (!known || !in.at_end()) return Unexpected(bad_cursor());
  return last;
}

ListQuery letters_query(const std::string& name_space, std::uint64_t fingerprint, std::uint32_t limit) {
  ListQuery query;
  query.record_kind = RecordKind::dead_letter;
  query.group = group_of_letters(name_space, fingerprint);
  query.name_space = name_space;
  query.limit = limit;
  return query;
}

// Executions that failed under an older version, the first created one first, and where the search stopped.
struct OlderFailures {
  std::vector<Execution> found;
  std::optional<Store::GroupPosition> last;  // that was examined, if there may be more
};

Result<OlderFailures> find_older(Store& store, const std::string& name_space, const std::optional<std::string>& lane,
                                 std::optional<Store::GroupPosition> after, std::uint32_t limit) {
  OlderFailures older;
  for (std::uint32_t examined = 0; examined < limits::max_older_examined; examined += older_page) {
    FF_TRY(entries, store.group_entries(*group_of_state(PublicState::failed), after, older_page));
    std::vector<Key> keys;
    for (const DueEntry& entry : entries) keys.push_back(entry.key);
    std::map<Key, Record> records;
    if (!keys.empty()) {
      FF_TRY(loaded, store.load(keys));
      for (Record& record : loaded) records.emplace(record.key, std::move(record));
    }
    for (const DueEntry& entry : entries) {
      after = Store::GroupPosition{entry.rank, entry.key};
      const auto record = records.find(entry.key);
      if (record == records.end()) continue;
      auto execution = decode_execution(record->second);
      if (!execution || execution->facts.letter.fingerprint != 0 || execution->facts.outcome != Outcome::failed)
        continue;
      if (execution->spec.name_space != name_space || (lane && execution->spec.lane != *lane)) continue;
      older.found.push_back(std::move(*execution));
      older.last = after;
      if (older.found.size() == limit) return older;
    }
    older.last = after;
    if (entries.size() < older_page) {
      older.last.reset();
      return older;
    }
  }
  return older;
}

DeadLetterGroup shown_group(const GroupCount& count) {
  DeadLetterGroup group;
  group.name_space = count.name_space;
  group.fingerprint = fingerprint_text(count.fingerprint);
  group.kind = count.kind;
  group.count = count.count;
  for (const auto& [lane, number] : count.lanes) group.lanes.push_back({lane, number});
  std::sort(group.lanes.begin(), group.lanes.end(), [](const DeadLetterLane& a, const DeadLetterLane& b) {
    return a.count != b.count ? a.count > b.count : a.lane < b.lane;
  });
  return group;
}

// False: there are none, what was counted has changed since.
Result<bool> add_older_example(Store& store, const std::optional<std::string>& lane, DeadLetterGroup& group) {
  FF_TRY(older, find_older(store, group.name_space, lane, std::nullopt, 1));
  if (older.found.empty()) return false;
  if (const auto& failure = older.found.front().facts.failure) group.example = failure->message;
  return true;
}

void add_example(const Execution& newest, DeadLetterGroup& group) {
  const Failure failure = newest.facts.failure.value_or(Failure{});
  group.kind = newest.spec.kind;
  group.category = failure.category;
  group.message = normalized_message(failure.message);
  group.example = failure.message;
}

// Times and an example. False: all of the group have gone since they were counted.
Result<bool> complete_group(Store& store, const std::optional<std::string>& lane, DeadLetterGroup& group) {
  FF_TRY(fingerprint, parse_fingerprint(group.fingerprint));
  if (fingerprint == 0) return add_older_example(store, lane, group);
  ListQuery query = letters_query(group.name_space, fingerprint, 1);
  if (lane) query.lane = text_of(LetterLine{fingerprint, *lane, group.kind});
  FF_TRY(newest, store.list(query));
  if (newest.empty()) return false;
  group.last_at = newest.front().created_at;
  FF_TRY(oldest, store.group_entries(*query.group, std::nullopt, 1));
  group.first_at = oldest.empty() ? group.last_at : oldest.front().rank;
  FF_TRY(records, store.load({execution_key(execution_of_letter(newest.front().record.key))}));
  if (records.empty()) return true;
  const auto execution = decode_execution(records.front());
  if (execution && execution->facts.letter.fingerprint == fingerprint) add_example(*execution, group);
  return true;
}

DeadLetter shown_letter(const Execution& execution) {
  DeadLetter letter;
  letter.summary = summarize(execution);
  letter.failure = execution.facts.failure.value_or(Failure{});
  letter.failed_at = execution.facts.finished_at;
  letter.replay_count = execution.facts.replay_count;
  letter.max_replays = execution.spec.policy.max_replays;
  if (execution.facts.letter.redriven_by) letter.redrive_id = to_string(*execution.facts.letter.redriven_by);
  return letter;
}

Result<void> add_older_page(Store& store, const GetDeadLettersRequest& request, DeadLetterDetails& details) {
  std::optional<Store::GroupPosition> after;
  if (!request.cursor.empty()) {
    FF_TRY(position, decode_list_cursor(request.cursor));
    after = Store::GroupPosition{position.created_at, std::move(position.key)};
  }
  FF_TRY(older, find_older(store, request.name_space, std::nullopt, after, request.limit));
  for (const Execution& execution : older.found) details.executions.push_back(shown_letter(execution));
  if (older.last) details.next_cursor = encode_cursor({older.last->rank, older.last->key});
  return {};
}

Result<void> add_letters_page(Store& store, const GetDeadLettersRequest& request, std::uint64_t fingerprint,
                              DeadLetterDetails& details) {
  ListQuery query = letters_query(request.name_space, fingerprint, request.limit + 1);
  if (!request.cursor.empty()) {
    FF_TRY(position, decode_list_cursor(request.cursor));
    query.after = std::move(position);
  }
  FF_TRY(letters, store.list(query));
  const bool more = letters.size() > request.limit;
  if (more) letters.pop_back();
  std::vector<Key> keys;
  for (const ListedRecord& one : letters) keys.push_back(execution_key(execution_of_letter(one.record.key)));
  std::map<Key, Record> records;
  if (!keys.empty()) {
    FF_TRY(loaded, store.load(keys));
    for (Record& record : loaded) records.emplace(record.key, std::move(record));
  }
  for (const Key& key : keys) {
    const auto record = records.find(key);
    if (record == records.end()) continue;
    const auto execution = decode_execution(record->second);
    // It may have been replayed since the letter was read. One that cannot be decoded is in `integrity`.
    if (execution && execution->facts.letter.fingerprint == fingerprint) {
      details.executions.push_back(shown_letter(*execution));
    }
  }
  if (more) details.next_cursor = encode_cursor({letters.back().created_at, letters.back().record.key});
  return {};
}

Error no_such_group(const std::string& name_space, const std::string& fingerprint, const std::string& field) {
  return Error{Errc::not_found,
               field + ": there are no dead letters with the fingerprint \"" + fingerprint + "\" in namespace \"" +
                   name_space + "\" (a group ends when its last execution is replayed or removed)",
               field,
               {}};
}

Result<std::optional<GroupCount>> find_group(Store& store, const std::string& name_space, std::uint64_t fingerprint) {
  FF_TRY(groups, count_groups(store, name_space));
  for (GroupCount& group : groups) {
    if (group.fingerprint == fingerprint) return std::optional<GroupCount>(std::move(group));
  }
  return std::optional<GroupCount>();
}

}  // namespace

Result<ListDeadLettersReply> dead_letters(Store& store, const ListDeadLettersRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY(groups, count_groups(store, request.name_space));
  std::erase_if(groups, [&](GroupCount& group) { return !restrict_to(group, request.lane, request.kind); });
  std::sort(groups.begin(), groups.end(),
            [](const GroupCount& a, const GroupCount& b) { return group_order(a) < group_order(b); });
  ListDeadLettersReply reply;
  reply.total_groups = groups.size();
  for (const GroupCount& group : groups) reply.executions += group.count;
  auto next = groups.begin();
  if (!request.cursor.empty()) {
    FF_TRY(last, decode_group_cursor(request.cursor));
    next = std::upper_bound(groups.begin(), groups.end(), last,
                            [](const GroupCount& a, const GroupCount& b) { return group_order(a) < group_order(b); });
  }
  for (std::uint32_t n = 0; n < request.limit && next != groups.end(); ++n, ++next) {
    DeadLetterGroup group = shown_group(*next);
    FF_TRY(exists, complete_group(store, request.lane, group));
    if (exists) reply.groups.push_back(std::move(group));
  }
  if (next != groups.end()) reply.next_cursor = group_cursor(*std::prev(next));
  return reply;
}

Result<DeadLetterDetails> dead_letter_group(Store& store, const GetDeadLettersRequest& request) {
  FF_TRY_VOID(admit(request));
  FF_TRY(fingerprint, parse_fingerprint(request.fingerprint));
  FF_TRY(counted, find_group(store, request.name_space, fingerprint));
  if (!counted) return Unexpected(no_such_group(request.name_space, request.fingerprint, "fingerprint"));
  DeadLetterDetails details;
  details.group = shown_group(*counted);
  FF_TRY(exists, complete_group(store, std::nullopt, details.group));
  if (!exists) return Unexpected(no_such_group(request.name_space, request.fingerprint, "fingerprint"));
  FF_TRY_VOID(fingerprint == 0 ? add_older_page(store, request, details)
                               : add_letters_page(store, request, fingerprint, details));
  return details;
}

Result<std::map<std::string, std::uint64_t>> dead_letters_by_kind(Store& store) {
  FF_TRY(groups, count_groups(store, std::nullopt));
  std::map<std::string, std::uint64_t> kinds;
  for (const GroupCount& group : groups) kinds[group.kind] += group.count;
  return kinds;
}

namespace {

Result<void> check_redrive_count(Store& store, const std::string& name_space) {
  FF_TRY(rows, store.counters(counter_prefix(RecordKind::redrive, name_space)));
  std::int64_t count = 0;
  for (const Counter& row : rows) count += row.value;
  if (count < static_cast<std::int64_t>(limits::max_redrives)) return {};
  return fail(Errc::overloaded,
              "namespace \"" + name_space + "\" has " + std::to_string(limits::max_redrives) +
                  " redrives, which is the limit; ended ones are kept for a week",
              "namespace");
}

Result<void> choose_groups(Store& store, CreateRedriveCommand& command) {
  const RedriveRequest& request = command.request;
  std::vector<std::uint64_t> asked;
  for (const std::string& text : request.fingerprints) {
    FF_TRY(fingerprint, parse_fingerprint(text));
    asked.push_back(fingerprint);
  }
  FF_TRY(groups, count_groups(store, request.name_space));
  for (const std::uint64_t fingerprint : asked) {
    const bool exists = std::any_of(groups.begin(), groups.end(),
                                    [&](const GroupCount& group) { return group.fingerprint == fingerprint; });
    if (!exists) return Unexpected(no_such_group(request.name_space, fingerprint_text(fingerprint), "fingerprints"));
  }
  for (GroupCount& group : groups) {
    if (!asked.empty() && std::find(asked.begin(), asked.end(), group.fingerprint) == asked.end()) continue;
    // Nobody has counted the kinds of older failures.
    if (!restrict_to(group, request.lane, group.fingerprint == 0 ? std::nullopt : request.kind)) continue;
    command.fingerprints.push_back(group.fingerprint);
    command.found += group.count;
  }
  if (command.fingerprints.size() <= limits::max_redrive_groups) return {};
  return fail(Errc::invalid_argument,
              "fingerprints: " + std::to_string(command.fingerprints.size()) + " groups are meant; allowed: at most " +
                  std::to_string(limits::max_redrive_groups) + " (select by lane or kind)",
              "fingerprints");
}

}  // namespace

Result<CreateRedriveCommand> redrive_command(Store& store, RedriveRequest request, Operator by, const Uuid& new_id) {
  FF_TRY_VOID(admit(request));
  CreateRedriveCommand command;
  command.id = new_id;
  command.by = std::move(by);
  command.request = std::move(request);
  if (!command.request.rate.empty()) {
    FF_TRY(rate, parse_redrive_rate(command.request.rate));
    command.rate = rate;
  }
  if (!command.request.idempotency_key.empty()) {
    command.id = redrive_id_for(command.request.name_space, command.request.idempotency_key);
    // One that exists is only looked at.
    FF_TRY(records, store.load({redrive_key(command.id)}));
    if (!records.empty()) return command;
  }
  FF_TRY_VOID(check_redrive_count(store, command.request.name_space));
  if (command.request.execution_ids.empty()) {
    FF_TRY_VOID(choose_groups(store, command));
  } else {
    command.found = command.request.execution_ids.size();
  }
  return command;
}

Result<RedriveInfo> with_failed_again(Store& store, RedriveInfo info) {
  FF_TRY(id, parse_redrive_id(info.redrive_id));
  FF_TRY(rows, store.counters(failed_again_counter(id)));
  if (!rows.empty() && rows.front().value > 0) info.failed_again = static_cast<std::uint64_t>(rows.front().value);
  return info;
}

Result<RedriveInfo> redrive(Store& store, const Uuid& id) {
  FF_TRY(records, store.load({redrive_key(id)}));
  if (records.empty()) return fail(Errc::not_found, "there is no redrive " + to_string(id), "redrive_id");
  FF_TRY(stored, decode_redrive(records.front()));
  return with_failed_again(store, info_of(stored));
}

Result<ListRedrivesReply> redrives(Store& store, const ListRedrivesRequest& request) {
  FF_TRY_VOID(admit(request));
  ListQuery query;
  query.record_kind = RecordKind::redrive;
  query.name_space = request.name_space;
  for (const RedriveState state : request.states) query.states.push_back(static_cast<std::uint8_t>(state));
  if (!request.cursor.empty()) {
    FF_TRY(position, decode_list_cursor(request.cursor));
    query.after = std::move(position);
  }
  query.limit = request.limit + 1;
  FF_TRY(found, store.list(query));
  const bool more = found.size() > request.limit;
  if (more) found.pop_back();
  ListRedrivesReply reply;
  for (const ListedRecord& listed : found) {
    const auto stored = decode_redrive(listed.record);
    if (!stored) {
      RedriveInfo damaged;
      damaged.redrive_id = redrive_id_of(listed.record.key);
      damaged.created_at = listed.created_at;
      damaged.damage = stored.error().message;
      reply.redrives.push_back(std::move(damaged));
      continue;
    }
    FF_TRY(info, with_failed_again(store, info_of(*stored)));
    reply.redrives.push_back(std::move(info));
  }
  if (more) reply.next_cursor = encode_cursor({found.back().created_at, found.back().record.key});
  return reply;
}

}  // namespace flowfabric::reads
