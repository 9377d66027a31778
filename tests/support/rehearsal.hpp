// A test bed for the state machine: runs commands through `decide` against a store made of maps, and keeps the changes
// of each command. Every plan is checked against the rules of a change set.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/decide.hpp"
#include "core/state.hpp"
#include "core/tokens.hpp"

namespace flowfabric {

class Rehearsal {
 public:
  TimestampMs now = 1000000;
  std::int64_t default_retention_ms = 10000;
  bool release_on_worker_death = true;
  std::vector<Event> last_events;          // of the last command, in log order
  std::vector<Satellite> last_satellites;  // of the last command

  // Loads what the command needs, decides, commits the plan.
  Result<Reply> run(const Command& command) {
    Workspace workspace;
    Result<Reply> reply = decide_in(workspace, command);
    commit(workspace);
    return reply;
  }

  // Only decides, so that several commands can share a workspace as in a batch.
  Result<Reply> decide_in(Workspace& workspace, const Command& command) {
    load(workspace, command);
    return decide(workspace, command, context());
  }

  // The reply of a command that must succeed.
  template <class T>
  T expect(const Command& command) {
    Result<Reply> reply = run(command);
    if (!reply) {
      ADD_FAILURE() << "refused: " << to_string(reply.error().code) << ": " << reply.error().message;
      return {};
    }
    if (!std::holds_alternative<T>(*reply)) {
      ADD_FAILURE() << "a reply of another type, alternative " << reply->index();
      return {};
    }
    return std::get<T>(*reply);
  }

  // The code of a command that must be refused.
  Errc refusal(const Command& command) {
    Result<Reply> reply = run(command);
    if (reply) {
      ADD_FAILURE() << "not refused; alternative " << reply->index();
      return Errc::internal;
    }
    return reply.error().code;
  }

  void commit(Workspace& workspace) {
    last_events.clear();
    last_satellites.clear();
    const PlannedCommit plan = workspace.plan();
    for (const ChangeSet& set : plan.sets) apply(set);
  }

  bool exists(const ExecutionId& id) const { return records_.contains(execution_key(id)); }

  Execution execution(const ExecutionId& id) const {
    const auto found = records_.find(execution_key(id));
    if (found == records_.end()) {
      ADD_FAILURE() << "no execution " << to_string(id);
      return {};
    }
    auto execution = decode_execution(found->second);
    if (!execution) {
      ADD_FAILURE() << execution.error().message;
      return {};
    }
    return *execution;
  }

  Facts facts(const ExecutionId& id) const { return execution(id).facts; }
  PublicState state(const ExecutionId& id) const { return public_state(facts(id)); }

  std::optional<ReadyEntry> ready(const ExecutionId& id) const {
    const auto found = ready_.find(execution_key(id));
    return found == ready_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<DueEntry> due_entry(const Key& key) const {
    const auto found = due_.find(key);
    return found == due_.end() ? std::nullopt : std::optional(found->second);
  }
  // 0 if time alone does not change it, though it may belong to a group.
  TimestampMs due(const Key& key) const {
    const auto entry = due_entry(key);
    return entry && entry->due_at != never_due ? entry->due_at : 0;
  }
  TimestampMs due(const ExecutionId& id) const { return due(execution_key(id)); }
  // The group of an execution, and its rank.
  Grouping group_of(const ExecutionId& id) const {
    const auto entry = due_entry(execution_key(id));
    return entry ? Grouping{entry->group, entry->rank} : Grouping{};
  }
  // The members of a group, in order.
  std::vector<Key> members(std::uint64_t group) const {
    std::vector<std::pair<std::int64_t, Key>> found;
    for (const auto& [key, entry] : due_) {
      if (entry.group == group) found.emplace_back(entry.rank, key);
    }
    std::sort(found.begin(), found.end());
    std::vector<Key> keys;
    for (auto& [rank, key] : found) keys.push_back(std::move(key));
    return keys;
  }
  bool has_record(const Key& key) const { return records_.contains(key); }
  std::uint64_t version(const Key& key) const {
    const auto found = records_.find(key);
    return found == records_.end() ? 0 : found->second.version;
  }

  std::optional<std::string> satellite(const ExecutionId& id, SatelliteKind kind, std::uint32_t n) const {
    const auto found = satellites_.find({execution_key(id), static_cast<std::uint8_t>(kind), n});
    return found == satellites_.end() ? std::nullopt : std::optional(found->second);
  }

  // The types of all events of one record, oldest first.
  std::vector<EventType> history(const Key& key) const {
    std::vector<EventType> types;
    for (const auto& [root, event] : log_) {
      if (root == key) types.push_back(event.type);
    }
    return types;
  }
  std::vector<EventType> history(const ExecutionId& id) const { return history(execution_key(id)); }

  WorkerRecord worker(const std::string& instance, const std::string& name_space = "default") const {
    const auto found = records_.find(worker_key(name_space, instance));
    if (found == records_.end()) {
      ADD_FAILURE() << "no worker " << instance;
      return {};
    }
    auto record = decode_worker(found->second.body);
    if (!record) {
      ADD_FAILURE() << record.error().message;
      return {};
    }
    return *record;
  }

  ApiKeysRecord api_keys() const {
    const auto found = records_.find(api_keys_key());
    return found == records_.end() ? ApiKeysRecord{} : decode_api_keys(found->second.body).value_or(ApiKeysRecord{});
  }
  KeyringRecord keyring() const {
    const auto found = records_.find(keyring_key());
    return found == records_.end() ? KeyringRecord{} : decode_keyring(found->second.body).value_or(KeyringRecord{});
  }

  Context context() {
    Context made;
    made.now = now;
    made.next_sequence = [this] { return ++sequence_; };
    made.entropy = [this] { return entropy_(); };
    made.default_retention_ms = default_retention_ms;
    made.release_on_worker_death = release_on_worker_death;
    made.signer = signer_.get();
    made.note_stretches = true;
    return made;
  }

  const TokenSigner& signer() const { return *signer_; }
  // Signs and verifies with the stored keys, like an engine that has read them.
  void reload_keys() { signer_ = std::make_shared<const TokenSigner>(keyring()); }

  void seed(std::uint64_t number) { entropy_ = seeded_entropy(number); }

  // ---- Making things ----

  CreateCommand create_command(const CreateRequest& request) {
    CreateCommand command;
    command.request = request;
    command.request_digest = request_digest(request);
    command.id_is_supplied = request.id.has_value();
    command.id.uuid = request.id ? *request.id : time_ordered_uuid(now, 0, entropy_);
    command.id.partition = 7;
    return command;
  }
  ExecutionId create(const CreateRequest& request) { return expect<Created>(create_command(request)).execution_id; }

  ClaimedExecution lease(const ExecutionId& id, std::uint32_t ttl_ms = 500, const std::string& instance = "w-1") {
    return expect<ClaimedExecution>(LeaseCommand{id, "default", "w", instance, ttl_ms});
  }

  void due_now(const ExecutionId& id) { expect<Done>(DueCommand{execution_key(id)}); }

  static WorkerRegistration registration(const std::string& instance, std::uint32_t liveness_ttl_ms = 1000) {
    WorkerRegistration made;
    made.worker_id = "w";
    made.worker_instance_id = instance;
    made.liveness_ttl_ms = liveness_ttl_ms;
    return made;
  }

  static GrantCommand grant_command(GrantKind kind, const ExecutionId& id, std::uint32_t ttl_ms = 50) {
    return {kind, {id, "w", "w-1", {}, ttl_ms}};
  }
  Grant claim_grant(const ExecutionId& id, std::uint32_t ttl_ms = 50) {
    return expect<Grant>(grant_command(GrantKind::claim, id, ttl_ms));
  }
  Grant reclaim_grant(const ExecutionId& id, std::uint32_t ttl_ms = 50) {
    const auto outcome = expect<IssueReclaimGrantOutcome>(grant_command(GrantKind::reclaim, id, ttl_ms));
    if (const auto* granted = std::get_if<Granted>(&outcome)) return granted->grant;
    ADD_FAILURE() << "not granted, alternative " << outcome.index();
    return {};
  }
  // Redeems a grant key as its worker.
  static RedeemCommand redeem_command(const Grant& grant, std::uint32_t lease_ttl_ms = 500) {
    RedeemCommand command;
    command.kind = grant.kind;
    command.grant_id = grant_id_of(grant.grant_key);
    command.grant_expires_at = grant.expires_at;
    command.request = {grant.execution_id, grant.grant_key, "default", grant.worker_id, grant.worker_instance_id, {},
                       lease_ttl_ms};
    return command;
  }

  // One run of the clock: everything that is due, at most `most_leases` leases of each dead worker at a time, all in
  // one batch. Returns the number of due records.
  std::size_t sweep(std::size_t most_leases = 500) {
    std::vector<Key> due_keys;
    for (const auto& [key, entry] : due_) {
      if (entry.due_at <= now) due_keys.push_back(key);
    }
    Workspace workspace;
    std::vector<Command> releases;
    for (const Key& key : due_keys) {
      DueCommand command{key};
      if (key.kind() == RecordKind::worker) command.holds_leases = find_leases(key, most_leases, releases);
      EXPECT_TRUE(decide_in(workspace, command));
    }
    for (const Command& release : releases) EXPECT_TRUE(decide_in(workspace, release));
    commit(workspace);
    return due_keys.size();
  }

 private:
  bool find_leases(const Key& key, std::size_t most, std::vector<Command>& releases) {
    const auto worker = decode_worker(records_[key].body);
    if (!worker) {
      ADD_FAILURE() << worker.error().message;
      return false;
    }
    const TimestampMs until = worker->release_until;
    if (until == 0) return false;
    const WorkerInfo& info = worker->info;
    std::size_t found = 0;
    for (const Key& member : members(holder_group(info.name_space, info.worker_instance_id))) {
      if (found == most) break;
      if (due_[member].rank > until) continue;
      releases.push_back(ReleaseCommand{execution_id_of(member), info.name_space, info.worker_instance_id, until});
      ++found;
    }
    return found > 0;
  }

  void load(Workspace& workspace, const Command& command) {
    for (;;) {
      const std::vector<Key> keys = keys_needed(workspace, command);
      if (keys.empty()) return;
      for (const Key& key : keys) {
        const auto found = records_.find(key);
        if (found != records_.end()) {
          const auto admitted = workspace.admit(found->second);
          if (!admitted) ADD_FAILURE() << admitted.error().message;
        }
        workspace.note_looked_up(key);
      }
    }
  }

  void apply(const ChangeSet& set) {
    for (const RootChange& root : set.roots) {
      EXPECT_EQ(version(root.key), root.expected_version) << "the guard of a record";
    }
    for (const ReadyEntry& entry : set.ready_drop) {
      EXPECT_TRUE(ready_.contains(entry.key) && ready_[entry.key] == entry) << "drops name entries exactly";
      ready_.erase(entry.key);
    }
    for (const DueEntry& entry : set.due_drop) {
      EXPECT_EQ(due_entry(entry.key), entry) << "drops name entries exactly";
      due_.erase(entry.key);
    }
    for (const ReadyEntry& entry : set.ready_put) EXPECT_TRUE(ready_.emplace(entry.key, entry).second);
    for (const DueEntry& entry : set.due_put) {
      EXPECT_TRUE(due_.emplace(entry.key, entry).second);
      EXPECT_LT(entry.group, 1ULL << 63);
      EXPECT_TRUE(entry.due_at != never_due || entry.group != 0) << "nobody would ever find it";
    }
    for (const RootChange& root : set.roots) apply(root);
    for (const Satellite& satellite : set.satellites) {
      satellites_[satellite.name] = satellite.body;
      last_satellites.push_back(satellite);
    }
    for (const LogEntry& entry : set.log) {
      auto event = decode_event(entry.body);
      if (!event) {
        ADD_FAILURE() << event.error().message;
        continue;
      }
      EXPECT_EQ(entry.type, static_cast<std::uint8_t>(event->type));
      EXPECT_EQ(entry.at, event->at);
      log_.emplace_back(entry.root, *event);
      last_events.push_back(*event);
    }
  }

  void apply(const RootChange& root) {
    switch (root.action) {
      case RootChange::Action::check: return;
      case RootChange::Action::erase:
        records_.erase(root.key);
        std::erase_if(satellites_, [&](const auto& entry) { return entry.first.root == root.key; });
        std::erase_if(log_, [&](const auto& entry) { return entry.first == root.key; });
        EXPECT_FALSE(ready_.contains(root.key)) << "an erased record leaves no ready entry";
        EXPECT_FALSE(due_.contains(root.key)) << "an erased record leaves no due entry";
        return;
      case RootChange::Action::put: break;
    }
    Record& record = records_[root.key];
    record.key = root.key;
    record.version = root.next_version();
    if (root.expected_version == 0) record.fixed = root.fixed;
    record.body = root.body;
    const RecordKind kind = root.key.kind();
    EXPECT_EQ(root.listing.has_value(), kind == RecordKind::execution || kind == RecordKind::dead_letter);
  }

  std::map<Key, Record> records_;
  std::map<Key, ReadyEntry> ready_;
  std::map<Key, DueEntry> due_;
  std::map<SatelliteName, std::string> satellites_;
  std::vector<std::pair<Key, Event>> log_;
  std::uint64_t sequence_ = 0;
  Entropy entropy_ = seeded_entropy(1);
  std::shared_ptr<const TokenSigner> signer_ =
      std::make_shared<const TokenSigner>(KeyringRecord{{{1, "the secret of the rehearsal", 0, 0}}});
};

inline Fence fence_of(const ClaimedExecution& claim) {
  return {claim.execution_id, claim.attempt.attempt_index, claim.lease.lease_epoch, claim.lease.lease_id};
}

}  // namespace flowfabric
