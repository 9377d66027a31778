#include "simulation/watcher.hpp"

#include <algorithm>
#include <set>

#include "base/limits.hpp"
#include "core/state.hpp"
#include "core/transitions.hpp"
#include "engine/integrity.hpp"
#include "engine/reads.hpp"
#include "simulation/watcher_parts.hpp"

namespace flowfabric::simulation {
namespace {

// A clock at the end of time: every entry of the due index is due by it.
StoreOptions at_the_end_of_time() {
  StoreOptions options;
  options.now_us = [] { return limits::max_timestamp_ms * 1000; };
  return options;
}

// Whether the holder of the lease did it, as opposed to an operator or the clock.
bool is_by_holder(const Event& event, const Lease& lease) {
  switch (event.type) {
    case EventType::completed:
    case EventType::released:
    case EventType::step_recorded:
    case EventType::suspended:
    case EventType::waitpoint_opened:
    case EventType::delayed: return true;
    case EventType::tags_changed:
    case EventType::wait_ended:
    case EventType::failed:
    case EventType::retry_scheduled:
    case EventType::cancelled: return event.actor == lease.worker_instance_id;
    default: return false;
  }
}

}  // namespace

Watcher::Watcher(test::TestDatabase& database, WatcherOptions options)
    : store_(database.open(at_the_end_of_time())), session_(ok(store_->open_session())), options_(options) {
  newest_position_ = cursor_ = ok(store_->log_end());
}

Shadow* Watcher::find(const ExecutionId& id) {
  const auto found = shadows_.find(execution_key(id));
  return found == shadows_.end() ? nullptr : &found->second;
}

std::uint64_t Watcher::committed(const std::vector<ChangeSet>& sets, const std::vector<Verdict>& verdicts,
                                 TimestampMs latest_ms) {
  ++commit_;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (verdicts[i] != Verdict::committed) continue;
    for (const RootChange& change : sets[i].roots) observe(change, latest_ms);
  }
  check_removed_flows();
  check_limits();
  check_places();
  check_unique();
  check_ended_redrives();
  // What was decided together with a change of limits was decided before it.
  if (limits_are_new_) {
    limits_changed();
    limits_changed_by_ms_ = latest_ms;
  }
  if (!log_.empty()) newest_position_ = std::max(newest_position_, log_.rbegin()->first);
  return commit_;
}

void Watcher::observe(const RootChange& change, TimestampMs latest_ms) {
  if (change.action == RootChange::Action::check) {
    const auto known = versions_.find(change.key);
    const std::uint64_t version = known == versions_.end() ? 0 : known->second;
    if (version != change.expected_version) {
      violated("checks hold", "{} has version {} instead of {}", name_of(change.key), version, change.expected_version);
    }
    return;
  }
  check_version(change);
  const Key& key = change.key;
  if (key.kind() == RecordKind::execution) {
    if (change.action == RootChange::Action::erase) {
      removed(key, latest_ms);
    } else {
      changed(key, latest_ms);
    }
  } else if (key.kind() == RecordKind::flow) {
    change.action == RootChange::Action::erase ? flow_removed(key) : flow_changed(key);
  } else if (key.kind() == RecordKind::schedule) {
    change.action == RootChange::Action::erase ? schedule_removed(key) : schedule_changed(key);
  } else if (key.kind() == RecordKind::worker) {
    if (change.action == RootChange::Action::erase) {
      worker_removed(key, latest_ms);
    } else {
      worker_changed(key);
    }
  } else if (key.kind() == RecordKind::lane || key.kind() == RecordKind::name_space) {
    new_events(key, other_positions_[key]);
  } else if (key.kind() == RecordKind::keyring) {
    keys_changed(key);
  } else if (key.kind() == RecordKind::limits) {
    limits_are_new_ = true;
  } else if (key.kind() == RecordKind::limit_pool) {
    pool_changed(key, change.action == RootChange::Action::erase);
  } else if (key.kind() == RecordKind::submit_key) {
    submit_key_changed(key, change.action == RootChange::Action::erase);
  } else if (key.kind() == RecordKind::redrive) {
    redrive_changed(key, change.action == RootChange::Action::erase);
  }
  if (key.kind() == RecordKind::idempotency) {
    idempotency_.erase(key);
    for (const Record& record : ok(store_->load({key}))) idempotency_[key] = ok(decode_idempotency(record.body));
  }
  if (key.kind() == RecordKind::name_space) {
    const auto record = ok(decode_namespace(ok(store_->load({key})).front().body));
    retentions_[record.info.name_space].push_back(record.info.retention);
  }
}

void Watcher::check_version(const RootChange& change) {
  const auto records = ok(store_->load({change.key}));
  std::uint64_t& known = versions_[change.key];
  if (change.action == RootChange::Action::erase) {
    if (!records.empty()) violated("erased is gone", "{}", name_of(change.key));
    retired_[change.key] = known;
    versions_.erase(change.key);
    return;
  }
  if (records.empty()) violated("nothing is lost", "{} is gone after it was written", name_of(change.key));
  const std::uint64_t version = records.front().version;
  if (known != 0 && version != known + 1) {
    violated("versions grow by one", "{} went from version {} to {}", name_of(change.key), known, version);
  }
  if (known == 0 && retired_.contains(change.key) && version == retired_[change.key]) {
    violated("no version comes back", "{} has version {} again", name_of(change.key), version);
  }
  known = version;
}

std::vector<Event> Watcher::new_events(const Key& key, std::string& position) {
  std::vector<Event> events;
  for (const LoggedEntry& logged : ok(store_->history(key, position, everything))) {
    if (logged.position <= (options_.log_grows_at_its_end ? newest_position_ : cursor_)) {
      violated("log positions ascend", "an event of {} stands before what was already in the log", name_of(key));
    }
    if (!log_.emplace(logged.position, key).second) violated("log positions ascend", "a position was given twice");
    position = logged.position;
    events.push_back(ok(decode_event(logged.entry.body)));
  }
  return events;
}

void Watcher::changed(const Key& key, TimestampMs latest_ms) {
  const Record record = std::move(ok(store_->load({key})).front());
  Execution now = ok(decode_execution(record));
  Shadow& shadow = shadows_[key];
  if (shadow.removed) shadow = Shadow{{}, {}, {}, shadow.incarnation + 1, false, 0, {}, {}};
  const bool is_new = shadow.position.empty();
  if (is_new) shadow.latest_at_creation = latest_ms;
  const std::vector<Event> events = new_events(key, shadow.position);
  if (is_new && events.empty()) violated("events come in legal order", "{} has no created event", name_of(key));
  if (!is_new && record.fixed != shadow.stored_spec) violated("the spec never changes", "{}", name_of(key));
  shadow.stored_spec = record.fixed;
  if (!is_new) {
    if (events.empty()) check_quiet_change(shadow.execution.facts, now.facts);
    check_holder_was_in_time(shadow.execution.facts, events);
  }
  if (!events.empty()) check_loss(shadow, events.front());
  check_start(shadow, events);
  for (const Event& event : events) shadow.life.take(event, now.spec.policy, commit_);
  const Facts before = std::move(shadow.execution.facts);
  shadow.execution = std::move(now);
  shadow.life.compare(shadow.execution.facts);
  check_waits(shadow, before, events);
  if (!is_new) check_redriven(key, shadow, before);
  note_lease(shadow);
  note_key(key, shadow, is_new);
  if (is_new) created_.push_back(key);
  const auto& lease = shadow.execution.facts.lease;
  if (lease && (!before.lease || before.lease->lease_epoch != lease->lease_epoch)) note_start_under_limits(key, shadow);
}

// Only renewals, progress, checkpoints, due entries and a changed retention have no event.
void Watcher::check_quiet_change(const Facts& before, const Facts& after) {
  Facts expected = before;
  expected.armed_due = after.armed_due;
  expected.retain_until = after.retain_until;
  expected.last_mutation_at = after.last_mutation_at;
  expected.member = after.member;  // resolved edges
  // Slots and calls are given back.
  expected.limits.slots = after.limits.slots;
  expected.limits.reserved = after.limits.reserved;
  if (!after.limits.holds_any()) expected.limits.slots_epoch = 0;
  if (!after.limits.called) expected.limits.called.reset();
  if (after.submit.holds == SubmitKeyKind::none) expected.submit.holds = SubmitKeyKind::none;
  // Its schedule was told of its end.
  if ((after.gates & untold_schedule) == 0) expected.gates &= ~untold_schedule;
  if (before.gates != 0 && after.failure && after.failure->category == "node_failed") {
    expected.failure = after.failure;  // it is a flow, and a node in it has failed; it ends with the others
  }
  if (before.gates != 0 && after.delay_until == 0) {
    expected.delay_until = 0;
    expected.delay_cause = DelayCause::none;
  }
  if (before.lease && after.lease && before.lease->lease_id == after.lease->lease_id) {
    expected.lease->renewed_at = after.lease->renewed_at;
    expected.lease->expires_at = after.lease->expires_at;
    expected.lease->lease_ttl_ms = after.lease->lease_ttl_ms;
    expected.progress = after.progress;
    expected.has_checkpoint = before.has_checkpoint || after.has_checkpoint;
    const bool renewed = *before.lease != *after.lease;
    if (renewed && after.lease->renewed_at >= before.lease->expires_at) {
      violated("a lapsed lease is never renewed", "renewed at {}, lapsed at {}", after.lease->renewed_at,
               before.lease->expires_at);
    }
    const bool progressed = before.progress != after.progress;
    if (progressed && !renewed && after.progress->updated_at >= before.lease->expires_at) {
      violated("no write by a stale holder", "progress at {}, lapsed at {}", after.progress->updated_at,
               before.lease->expires_at);
    }
  }
  if (expected != after) violated("every transition has its event", "facts changed without one");
}

void Watcher::check_holder_was_in_time(const Facts& before, const std::vector<Event>& events) {
  // A renewal in the same batch may be in between; then the previous facts prove nothing.
  if (!before.lease || events.empty()) return;
  const Event& first = events.front();
  if (!is_by_holder(first, *before.lease) || first.at < before.lease->expires_at) return;
  violated("no write by a stale holder", "{} at {}, but the lease had lapsed at {}", to_string(first.type), first.at,
           before.lease->expires_at);
}

// A lease is lost only by its time, an operator, or the death of its holder.
void Watcher::check_loss(const Shadow& shadow, const Event& event) {
  const auto& lease = shadow.execution.facts.lease;
  if (!lease) return;
  if (event.type == EventType::lease_expired && event.at < lease->expires_at) {
    violated("a live lease is not taken away", "{} at {}, it lasts until {}", to_string(shadow.execution.id), event.at,
             lease->expires_at);
  }
  if (event.type != EventType::lease_revoked || event.reason != "worker_dead") return;
  const WorkerShadow* worker = find_worker(lease->worker_namespace, lease->worker_instance_id);
  const bool died = worker != nullptr && std::any_of(worker->life.deaths().begin(), worker->life.deaths().end(),
                                                     [&](const WorkerLife::Death& death) {
                                                       return death.commit < commit_ && lease->acquired_at <= death.at;
                                                     });
  if (!died || !options_.release_on_worker_death) {
    violated("a live lease is not taken away", "{} from {}, which had not died", to_string(shadow.execution.id),
             lease->worker_instance_id);
  }
}

void Watcher::note_lease(Shadow& shadow) {
  const auto& attempt = shadow.execution.facts.attempt;
  if (!shadow.life.leases().empty() && attempt) {
    const LeaseSpan& last = shadow.life.leases().rbegin()->second;
    if (!last.granted_to.empty() && last.attempt_index == attempt->attempt_index &&
        last.granted_to != attempt->worker_id) {
      violated("a granted execution goes to the grant's worker", "{} was granted to {} and given to {}",
               to_string(shadow.execution.id), last.granted_to, attempt->worker_id);
    }
  }
  const auto& lease = shadow.execution.facts.lease;
  if (!lease) return;
  LeaseSpan& span = shadow.life.leases().at(lease->lease_epoch);
  if (!span.lease_id) span.lease_id = lease->lease_id;
  if (*span.lease_id != lease->lease_id) {
    violated("at most one live lease", "two leases share epoch {}", lease->lease_epoch);
  }
}

void Watcher::removed(const Key& key, TimestampMs latest_ms) {
  Shadow& shadow = shadows_.at(key);
  const Execution& execution = shadow.execution;
  if (execution.facts.phase != Phase::terminal) violated("retention never removes a live one", "{}", name_of(key));
  if (execution.spec.member) {
    // Its flow decides.
    const FlowShadow& flow = flows_.at(flow_key(flow_of(execution)));
    if (!has_ended(flow.record.facts.state)) violated("a member stays as long as its flow", "{}", name_of(key));
    shadow.removed = true;
    return forget_log(key);
  }
  // The namespace's default is read when the retention is due, without a guard: any earlier value may have been used.
  std::vector<RetentionPolicy> defaults = retentions_[execution.spec.name_space];
  defaults.push_back(execution.spec.namespace_retention);
  defaults.emplace_back();
  std::int64_t kept = options_.default_retention_ms;
  for (const RetentionPolicy& of_namespace : defaults) {
    kept = std::min(kept, retention_ms(execution.spec.policy, of_namespace, execution.facts.outcome,
                                       options_.default_retention_ms));
  }
  const auto& own = execution.spec.policy.retention;
  const TimestampMs end = execution.facts.finished_at;
  shadow.removed = true;
  forget_log(key);
  if (const auto asked = removable_.find(key); asked != removable_.end() && end < asked->second) return;
  if (end + kept > latest_ms) violated("retention waits for its time", "{} ended at {}", name_of(key), end);
  if (own.completed_ms && execution.facts.outcome == Outcome::success && end + *own.completed_ms > latest_ms) {
    violated("retention waits for its time", "{} ended at {} and keeps for {}", name_of(key), end, *own.completed_ms);
  }
}

// Events are removed with their record.
void Watcher::forget_log(const Key& key) {
  for (auto entry = log_.begin(); entry != log_.end();) {
    if (entry->second != key) {
      ++entry;
      continue;
    }
    entry = log_.erase(entry);
  }
}

// ---------------------------------------------------------------- between steps

void Watcher::check_indexes() {
  check_ready_index();
  check_due_index();
}

void Watcher::check_ready_index() {
  ReadRequest request;
  request.want_routes = true;
  const auto routes = ok(session_->read(request)).routes;
  request.want_routes = false;
  for (const Route& route : routes) request.ready.push_back({route.number, everything});
  std::map<Key, ReadyEntry> ready;
  std::set<ReadyLine> lines;
  for (const Candidate& candidate : ok(session_->read(request)).ready) {
    lines.insert({candidate.entry.route, candidate.entry.name_space});
    if (!ready.emplace(candidate.entry.key, candidate.entry).second) {
      violated("the ready index is exact", "{} is in it twice", name_of(candidate.entry.key));
    }
  }
  request.ready.clear();
  for (const ReadyLine& line : lines) request.ready.push_back({line.route, everything, line.name_space});
  const auto by_namespace = ok(session_->read(request)).ready;
  session_->release();
  for (const Candidate& candidate : by_namespace) {
    const ReadyLine& line = *std::next(lines.begin(), static_cast<std::ptrdiff_t>(candidate.demand));
    const auto found = ready.find(candidate.entry.key);
    if (found == ready.end() || found->second != candidate.entry || candidate.entry.name_space != line.name_space) {
      violated("the ready index is exact", "{} is found otherwise by its namespace", name_of(candidate.entry.key));
    }
  }
  if (by_namespace.size() != ready.size()) {
    violated("the ready index is exact", "{} entries are found by namespace, {} by route", by_namespace.size(),
             ready.size());
  }

  std::size_t claimable = 0;
  for (const auto& [key, shadow] : shadows_) {
    if (shadow.removed || !shadow.life.claimable()) continue;
    ++claimable;
    const auto wanted = ready_entry(shadow.execution);
    const auto found = ready.find(key);
    if (!wanted || found == ready.end() || found->second != *wanted) {
      violated("the ready index is exact", "{} is claimable and not in it as it should be", name_of(key));
    }
  }
  if (claimable != ready.size()) {
    violated("the ready index is exact", "it has {} entries, {} executions are claimable", ready.size(), claimable);
  }
}

void Watcher::check_due_index() {
  std::map<Key, DueEntry> due;
  for (const DueEntry& entry : ok(store_->due_entries(std::nullopt, never_due, everything))) {
    if (!due.emplace(entry.key, entry).second) {
      violated("the due index is what the record says", "{} is in it twice", name_of(entry.key));
    }
  }
  std::size_t expected = 0;
  for (const auto& [key, shadow] : shadows_) {
    if (shadow.removed) continue;
    const Facts& facts = shadow.execution.facts;
    const Grouping grouped = grouping(shadow.execution);
    expected += check_due_entry(due, {facts.armed_due, key, grouped.group, grouped.rank}, next_due(facts));
    const auto letter = letter_of(shadow.execution);
    if (!letter) continue;
    const auto entry = due.find(letter->key);
    if (entry == due.end() || entry->second != due_entry_of(letter->key, letter->record)) {
      violated("the due index is what the record says", "the dead letter of {} is not in its group", name_of(key));
    }
    ++expected;
  }
  for (const auto& [key, shadow] : workers_) {
    if (!shadow.removed) expected += check_due_entry(due, {shadow.record.armed_due, key}, next_due(shadow.record));
  }
  for (const auto& [key, shadow] : flows_) {
    const FlowFacts& facts = shadow.record.facts;
    if (!shadow.removed) expected += check_due_entry(due, {facts.armed_due, key}, next_due(facts));
  }
  for (const auto& [key, shadow] : schedules_) {
    if (!shadow.removed) expected += check_due_entry(due, {shadow.record.armed_due, key}, next_due(shadow.record));
  }
  for (const auto& [id, redrive] : redrives_) {
    expected += check_due_entry(due, {redrive.armed_due, redrive_key(id)}, next_due(redrive));
  }
  expected += check_due_entries_of_limits(due);
  expected += check_due_entries_of_keys(due);
  for (const auto& [key, record] : idempotency_) {
    expected += check_due_entry(due, {record.armed_due, key}, record.expires_at);
  }
  if (expected != due.size()) {
    violated("nothing is left over in the due index", "{} entries, {} are wanted", due.size(), expected);
  }
}

// `wanted` is the entry according to the record, `next` is when time next changes the record. Returns how many entries
// the record has.
std::size_t Watcher::check_due_entry(const std::map<Key, DueEntry>& due, const DueEntry& wanted, TimestampMs next) {
  const auto entry = due.find(wanted.key);
  const TimestampMs armed = entry == due.end() ? 0 : entry->second.due_at;
  if (armed != wanted.due_at) {
    violated("the due index is what the record says", "{}: {} instead of {}", name_of(wanted.key), armed,
             wanted.due_at);
  }
  if (armed != 0 && entry->second != wanted) {
    violated("due entries stand in their group", "{}: group {} rank {} instead of {} and {}", name_of(wanted.key),
             entry->second.group, entry->second.rank, wanted.group, wanted.rank);
  }
  if (next != 0 && (armed == 0 || armed > next)) {
    violated("nothing due is missing from the due index", "{} is due at {}, its entry says {}", name_of(wanted.key),
             next, armed);
  }
  if (armed == 0 && wanted.group != 0) {
    violated("due entries stand in their group", "{} is in group {} and has no entry", name_of(wanted.key),
             wanted.group);
  }
  return armed == 0 ? 0 : 1;
}

void Watcher::check_everything() {
  const auto findings = ok(integrity_findings(*store_));
  if (!findings.empty()) violated("the integrity check is clean", "{}", findings.front());
  std::size_t seen = 0;
  for (const RecordKind kind :
       {RecordKind::execution, RecordKind::flow, RecordKind::flow_name, RecordKind::idempotency, RecordKind::keyring,
        RecordKind::lane, RecordKind::name_space, RecordKind::worker, RecordKind::schedule, RecordKind::schedule_flow,
        RecordKind::limits, RecordKind::limit_pool, RecordKind::submit_key, RecordKind::dead_letter,
        RecordKind::redrive}) {
    for (const Record& record : ok(store_->scan(kind, {}, everything))) {
      ++seen;
      const auto known = versions_.find(record.key);
      if (known == versions_.end() || known->second != record.version) {
        violated("nothing changes on the side", "{} has version {}", name_of(record.key), record.version);
      }
      if (kind == RecordKind::execution && ok(decode_facts(record.body)) != shadows_.at(record.key).execution.facts) {
        violated("nothing changes on the side", "{} has other facts", name_of(record.key));
      }
    }
  }
  if (seen != versions_.size()) violated("nothing is lost", "{} records of {}", seen, versions_.size());
  for (const auto& [key, shadow] : shadows_) {
    if (!shadow.removed) check_attempts(shadow);
  }
  check_listings();
  check_groups();
}

void Watcher::check_attempts(const Shadow& shadow) {
  const auto attempts = ok(reads::attempts(*store_, shadow.execution.id, 0, limits::max_page));
  if (attempts.size() != shadow.execution.facts.attempt_count) {
    violated("attempts are dense and ascending", "{} attempts, {} in the history", shadow.execution.facts.attempt_count,
             attempts.size());
  }
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (attempts[i].attempt_index != i) violated("attempts are dense and ascending", "attempt {} is missing", i);
    const bool running = i + 1 == attempts.size() && shadow.execution.facts.phase != Phase::terminal;
    if (!running && attempts[i].ended_at == 0) violated("attempts end", "attempt {} never ended", i);
  }
}

// Listings and counts show each execution once, in its current state.
void Watcher::check_listings() {
  std::map<std::pair<std::string, PublicState>, std::uint64_t> expected;
  std::size_t alive = 0;
  for (const auto& [key, shadow] : shadows_) {
    if (shadow.removed) continue;
    ++alive;
    ++expected[{shadow.execution.spec.lane, public_state(shadow.execution.facts)}];
  }
  std::map<std::pair<std::string, PublicState>, std::uint64_t> counted;
  for (const LaneCounts& lane : ok(reads::counts(*store_, std::nullopt))) {
    for (const auto& [state, count] : lane.counts) counted[{lane.lane, state}] = count;
  }
  if (counted != expected) violated("counts are right", "{} groups instead of {}", counted.size(), expected.size());

  std::set<ExecutionId> listed;
  ListRequest request;
  request.limit = 7;
  do {
    const ListReply page = ok(reads::list(*store_, request));
    for (const ExecutionSummary& summary : page.executions) {
      if (!listed.insert(summary.execution_id).second) violated("listings do not repeat", "a page repeats");
    }
    request.cursor = page.next_cursor;
  } while (!request.cursor.empty());
  if (listed.size() != alive) violated("listings do not skip", "{} of {} are listed", listed.size(), alive);
}

std::string Watcher::result_of(const ExecutionId& id, std::uint32_t attempt_index) {
  const Facts& facts = find(id)->execution.facts;
  if (facts.has_result && facts.result_is_inline && facts.attempt->attempt_index == attempt_index) return facts.result;
  const auto kind = static_cast<std::uint8_t>(SatelliteKind::result);
  const auto stored = ok(store_->load_satellites(execution_key(id), kind, attempt_index, 1));
  if (stored.empty() || stored.front().name.n != attempt_index) {
    violated("an acknowledged completion is there", "the result of attempt {} of {} is missing", attempt_index,
             to_string(id));
  }
  return stored.front().body;
}

// ---------------------------------------------------------------- the subscriber

void Watcher::read_as_subscriber(Random& random, bool to_the_end) {
  for (;;) {
    LogQuery query;
    query.after = cursor_;
    query.limit = static_cast<std::uint32_t>(random.between(1, 12));
    const auto page = store_->read_log(query);
    if (!page) violated("a subscriber sees every event", "its cursor was refused: {}", page.error().message);
    std::vector<std::string> seen;
    for (const LoggedEntry& logged : page->entries) seen.push_back(logged.position);
    check_page(cursor_, page->next, seen);
    cursor_ = page->next;
    if (!to_the_end || !page->behind) return;
  }
}

void Watcher::check_page(const std::string& from, const std::string& next, const std::vector<std::string>& seen) {
  std::vector<std::string> expected;
  for (auto entry = log_.upper_bound(from); entry != log_.end() && entry->first <= next; ++entry) {
    expected.push_back(entry->first);
  }
  if (seen != expected) {
    violated("a subscriber sees every event once, in order", "{} events where {} are in the log", seen.size(),
             expected.size());
  }
}

}  // namespace flowfabric::simulation
