// The watcher's data about workers, keys and lost leases.
#include <algorithm>
#include <set>

#include "base/codec.hpp"
#include "base/limits.hpp"
#include "core/state.hpp"
#include "engine/reads.hpp"
#include "simulation/watcher_parts.hpp"

namespace flowfabric::simulation {
namespace {

// The number of the key that signed a handle or grant key. It follows two bytes (core/tokens.hpp).
std::uint32_t key_id_of(const std::string& token) {
  const std::string bytes = ok(from_base64url(token));
  Decoder in(bytes);
  in.u8();
  in.u8();
  return in.u32();
}

std::string name_of(const WorkerInfo& info) { return info.name_space + "/" + info.worker_instance_id; }

bool registers(const std::vector<Event>& events) {
  return std::any_of(events.begin(), events.end(),
                     [](const Event& event) { return event.type == EventType::worker_registered; });
}

}  // namespace

const WorkerShadow* Watcher::find_worker(const std::string& name_space, const std::string& instance) const {
  const auto found = workers_.find(worker_key(name_space, instance));
  return found == workers_.end() ? nullptr : &found->second;
}

void Watcher::permit_removal(const ExecutionId& id, TimestampMs finished_before) {
  TimestampMs& until = removable_[execution_key(id)];
  until = std::max(until, finished_before);
}

// ---------------------------------------------------------------- commits

void Watcher::worker_changed(const Key& key) {
  const WorkerRecord now = ok(decode_worker(ok(store_->load({key})).front().body));
  WorkerShadow& shadow = workers_[key];
  const bool is_new = shadow.position.empty() || shadow.removed;
  const std::vector<Event> events = new_events(key, shadow.position);
  if (is_new && !registers(events)) violated("workers register", "{} is there without", name_of(now.info));
  if (!is_new) check_worker_change(shadow, now, events);
  for (const Event& event : events) shadow.life.take(event, commit_, shadow.record.info.expires_at);
  shadow.record = now;
  shadow.removed = false;
  shadow.life.compare(now.info);
}

// Between two registrations only a heartbeat in time keeps a worker alive, and nothing revives it.
void Watcher::check_worker_change(const WorkerShadow& shadow, const WorkerRecord& after,
                                  const std::vector<Event>& events) {
  const WorkerRecord& before = shadow.record;
  if (!events.empty() && events.front().type == EventType::worker_ttl_swept &&
      events.front().at < before.info.expires_at) {
    violated("a worker in good standing is not written off", "{} at {}, alive until {}", name_of(before.info),
             events.front().at, before.info.expires_at);
  }
  if (before.release_until != 0 && after.release_until == 0) check_gave_leases_back(before.info);
  if (registers(events)) return;
  if (!shadow.life.live() && before.info != after.info) {
    violated("a heartbeat revives nobody", "{} changed after its death", name_of(before.info));
  }
  const bool beat = before.info.last_heartbeat_at != after.info.last_heartbeat_at;
  if (beat && after.info.last_heartbeat_at >= before.info.expires_at) {
    violated("a heartbeat revives nobody", "{} was alive until {} and beat at {}", name_of(before.info),
             before.info.expires_at, after.info.last_heartbeat_at);
  }
  if (beat && after.info.expires_at != after.info.last_heartbeat_at + after.info.liveness_ttl_ms) {
    violated("a heartbeat lasts for the TTL", "{}", name_of(before.info));
  }
}

void Watcher::check_gave_leases_back(const WorkerInfo& info) const {
  for (const auto& [key, held] : shadows_) {
    const auto& lease = held.execution.facts.lease;
    const bool theirs = lease && worker_key(lease->worker_namespace, lease->worker_instance_id) ==
                                     worker_key(info.name_space, info.worker_instance_id);
    if (theirs && is_of_the_dead(held)) {
      violated("the dead give their leases back", "{} still holds {}", name_of(info), name_of(key));
    }
  }
}

// If nobody came by for a day, the visit that finds no leases any more removes the record as well.
void Watcher::worker_removed(const Key& key, TimestampMs latest_ms) {
  WorkerShadow& shadow = workers_.at(key);
  const WorkerInfo& info = shadow.record.info;
  if (shadow.life.live()) violated("a live worker stays on record", "{}", name_of(info));
  check_gave_leases_back(info);
  if (info.ended_at + limits::dead_worker_retention_ms > latest_ms) {
    violated("a dead worker stays on record for a day", "{} died at {}", name_of(info), info.ended_at);
  }
  shadow.removed = true;
  forget_log(key);
}

// Whether its holder had this lease when it died. By commits, so that a claim in progress does not count, and by the
// time that the release uses.
bool Watcher::is_of_the_dead(const Shadow& shadow) const {
  const auto& lease = shadow.execution.facts.lease;
  if (shadow.removed || !lease || !options_.release_on_worker_death) return false;
  const WorkerShadow* worker = find_worker(lease->worker_namespace, lease->worker_instance_id);
  if (worker == nullptr) return false;
  const std::uint64_t began = shadow.life.leases().at(lease->lease_epoch).began_commit;
  const auto& deaths = worker->life.deaths();
  return std::any_of(deaths.begin(), deaths.end(), [&](const WorkerLife::Death& death) {
    return began < death.commit && lease->acquired_at <= death.until;
  });
}

void Watcher::keys_changed(const Key& key) {
  const KeyringRecord now = ok(decode_keyring(ok(store_->load({key})).front().body));
  const bool is_new = keyring_.keys.empty();
  if (!is_new) {
    ++rotations_;
    new_events(key, other_positions_[key]);
    if (now.keys.back().key_id <= keyring_.keys.back().key_id) {
      violated("a rotation makes a new key", "{} after {}", now.keys.back().key_id, keyring_.keys.back().key_id);
    }
  }
  for (const auto& signing : now.keys) {
    const bool newest = signing.key_id == now.keys.back().key_id;
    if (newest != (signing.expires_at == 0)) violated("the newest key signs", "key {}", signing.key_id);
  }
  keyring_ = now;
}

bool Watcher::key_is_good(const std::string& token, TimestampMs now) const {
  const std::uint32_t id = key_id_of(token);
  return std::any_of(keyring_.keys.begin(), keyring_.keys.end(), [&](const auto& key) {
    return key.key_id == id && (key.expires_at == 0 || key.expires_at > now);
  });
}

// ---------------------------------------------------------------- now and then

void Watcher::check_fleet_is_settled(TimestampMs now) const {
  for (const auto& [key, shadow] : workers_) {
    if (!shadow.removed && next_due(shadow.record) <= now) {
      violated("the clock does what is due", "worker {} is not looked after", name_of(shadow.record.info));
    }
  }
  for (const auto& [key, shadow] : shadows_) {
    if (shadow.removed) continue;
    if (is_of_the_dead(shadow)) {
      violated("the dead give their leases back", "{} still holds {}", shadow.execution.facts.lease->worker_instance_id,
               name_of(key));
    }
    const auto& reservation = shadow.life.reservation();
    if (reservation && reservation->expires_at <= now) {
      violated("nothing stays reserved", "{} was granted until {}", name_of(key), reservation->expires_at);
    }
  }
}

void Watcher::check_fleet(Store& store, TimestampMs now) {
  check_workers(store, now);
  check_expired_leases(store, now);
}

void Watcher::check_workers(Store& store, TimestampMs now) {
  for (const bool include_expired : {false, true}) {
    std::vector<WorkerInfo> expected;
    for (const auto& [key, shadow] : workers_) {
      const bool lives = shadow.life.live() && shadow.record.info.expires_at > now;
      if (shadow.removed || (!lives && !include_expired)) continue;
      expected.push_back(worker_info(shadow.record, now));
    }
    std::vector<WorkerInfo> listed;
    ListWorkersRequest request;
    request.include_expired = include_expired;
    request.limit = 2;
    do {
      const ListWorkersReply page = ok(reads::workers(store, request));
      listed.insert(listed.end(), page.workers.begin(), page.workers.end());
      request.cursor = page.next_cursor;
    } while (!request.cursor.empty());
    for (const WorkerInfo& info : listed)
      workers_.at(worker_key(info.name_space, info.worker_instance_id)).life.compare(info);
    if (listed != expected) {
      violated("workers are listed as they are", "{} instead of {}", listed.size(), expected.size());
    }
  }
}

// Expired leases whose executions have not been claimed again, according to the events.
void Watcher::check_expired_leases(Store& store, TimestampMs now) {
  std::set<std::pair<TimestampMs, Key>> expected;
  for (const auto& [key, shadow] : shadows_) {
    if (shadow.removed) continue;
    const Facts& facts = shadow.execution.facts;
    if (facts.lease && facts.lease->expires_at <= now) expected.insert({facts.lease->expires_at, key});
    if (shadow.life.lost() && facts.lost.lost_at <= now) expected.insert({facts.lost.lost_at, key});
  }
  std::vector<std::pair<TimestampMs, Key>> listed;
  ListExpiredLeasesRequest request;
  request.as_of = now;
  request.limit = 3;
  do {
    const ListExpiredLeasesReply page = ok(reads::expired_leases(store, request));
    for (const ExpiredLease& lease : page.leases) {
      listed.emplace_back(lease.expires_at, execution_key(lease.execution_id));
    }
    request.cursor = page.next_cursor;
  } while (!request.cursor.empty());
  if (!std::equal(listed.begin(), listed.end(), expected.begin(), expected.end())) {
    violated("lost leases are listed", "{} instead of {}", listed.size(), expected.size());
  }
}

// Every group finds its own entries, in the order of their ranks.
void Watcher::check_groups() {
  std::map<std::uint64_t, std::set<std::pair<std::int64_t, Key>>> groups;
  for (const DueEntry& entry : ok(store_->due_entries(std::nullopt, never_due, everything))) {
    if (entry.group != 0) groups[entry.group].insert({entry.rank, entry.key});
  }
  for (const auto& [group, expected] : groups) {
    std::vector<std::pair<std::int64_t, Key>> found;
    for (const DueEntry& entry : ok(store_->group_entries(group, std::nullopt, everything))) {
      found.emplace_back(entry.rank, entry.key);
    }
    if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end())) {
      violated("groups find their entries", "{} instead of {}", found.size(), expected.size());
    }
  }
}

}  // namespace flowfabric::simulation
