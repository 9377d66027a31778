// The only file of the program that knows Boost.JSON; the functions behind it are compiled into core/policy_json.cpp.
#include "cli/json_out.hpp"

#include <algorithm>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/hashing.hpp"
#include "base/text.hpp"

namespace flowfabric::cli {
namespace {

namespace json = boost::json;

// One overload for each struct. They stand in a class because there each sees all others, whatever their order.
struct As {
  static json::value of(const std::string& text) {
    std::string copy = text;
    if (!is_valid_utf8(copy)) {  // the message of a database in a foreign character set
      std::replace_if(copy.begin(), copy.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    }
    return json::string(copy.data(), copy.size());
  }
  static json::value of(std::uint64_t number) { return number; }
  static json::value of(std::int64_t number) { return number; }
  static json::value of(std::uint32_t number) { return number; }
  static json::value of(std::int32_t number) { return number; }
  static json::value of(std::uint16_t number) { return number; }
  static json::value of(std::uint8_t number) { return number; }
  static json::value of(bool flag) { return flag; }
  static json::value of(const Uuid& uuid) { return uuid.is_nil() ? json::value() : of(to_string(uuid)); }
  static json::value of(const ExecutionId& id) { return of(to_string(id)); }

  template <class Enum>
    requires std::is_enum_v<Enum>
  static json::value of(Enum value) {
    return of(std::string(to_string(value)));
  }
  template <class T>
  static json::value of(const std::optional<T>& maybe) {
    return maybe ? of(*maybe) : json::value();
  }
  template <class T>
  static json::value of(const std::vector<T>& items) {
    json::array out;
    for (const T& item : items) out.push_back(of(item));
    return out;
  }

  static json::value bytes(const std::string& content) {
    if (is_valid_utf8(content)) return of(content);
    return json::object({{"base64", of(to_base64(content))}});
  }

  static json::value of(const Tags& tags) {
    json::object out;
    for (const auto& [key, value] : tags) out[key] = of(value);
    return out;
  }
  static json::value of(const std::map<PublicState, std::uint64_t>& counts) {
    json::object out;
    for (const auto& [state, count] : counts) {
      const std::string name(to_string(state));
      out[name] = count;
    }
    return out;
  }

  static json::value of(const Error& error) {
    return json::object({{"code", of(error.code)}, {"message", of(error.message)}, {"field", of(error.field)}});
  }
  static json::value of(const Failure& failure) {
    return json::object(
        {{"category", of(failure.category)}, {"message", of(failure.message)}, {"detail", bytes(failure.detail)}});
  }
  static json::value of(const Reason& reason) {
    return json::object({{"code", of(reason.code)}, {"sentence", of(reason.sentence)}, {"until", of(reason.until)}});
  }
  static json::value of(const Progress& progress) {
    return json::object({{"percent", of(progress.percent)},
                         {"message", of(progress.message)},
                         {"updated_at", of(progress.updated_at)}});
  }
  static json::value of(const Policy& policy) { return json::parse(policy_to_json(policy)); }

  static json::value of(const Lease& lease) {
    return json::object({{"lease_id", of(lease.lease_id)},
                         {"lease_epoch", of(lease.lease_epoch)},
                         {"worker_namespace", of(lease.worker_namespace)},
                         {"worker_id", of(lease.worker_id)},
                         {"worker_instance_id", of(lease.worker_instance_id)},
                         {"lease_ttl_ms", of(lease.lease_ttl_ms)},
                         {"acquired_at", of(lease.acquired_at)},
                         {"renewed_at", of(lease.renewed_at)},
                         {"expires_at", of(lease.expires_at)}});
  }
  static json::value of(const GrantInfo& grant) {
    return json::object({{"kind", of(grant.kind)},
                         {"grant_id", of(grant.grant_id)},
                         {"worker_id", of(grant.worker_id)},
                         {"worker_instance_id", of(grant.worker_instance_id)},
                         {"expires_at", of(grant.expires_at)},
                         {"capability_hash", of(grant.capability_hash)},
                         {"route_snapshot", of(grant.route_snapshot)},
                         {"admission_summary", of(grant.admission_summary)}});
  }

  static json::value of(const Attempt& attempt) {
    return json::object({{"attempt_index", of(attempt.attempt_index)},
                         {"attempt_id", of(attempt.attempt_id)},
                         {"attempt_type", of(attempt.attempt_type)},
                         {"attempt_state", of(attempt.attempt_state)},
                         {"lease_epoch", of(attempt.lease_epoch)},
                         {"worker_id", of(attempt.worker_id)},
                         {"worker_instance_id", of(attempt.worker_instance_id)},
                         {"started_at", of(attempt.started_at)},
                         {"suspended_at", of(attempt.suspended_at)},
                         {"resumed_at", of(attempt.resumed_at)},
                         {"ended_at", of(attempt.ended_at)},
                         {"timeout_at", of(attempt.timeout_at)},
                         {"timeout_left_ms", of(attempt.timeout_left_ms)},
                         {"previous_attempt_index", of(attempt.previous_attempt_index)},
                         {"reason", of(attempt.reason)},
                         {"requested_by", of(attempt.requested_by)},
                         {"failure", of(attempt.failure)},
                         {"has_result", of(attempt.has_result)},
                         {"result_encoding", of(attempt.result_encoding)}});
  }
  static json::value of(const StateVector& state) {
    return json::object({{"lifecycle_phase", of(state.lifecycle_phase)},
                         {"ownership_state", of(state.ownership_state)},
                         {"eligibility_state", of(state.eligibility_state)},
                         {"blocking_reason", of(state.blocking_reason)},
                         {"terminal_outcome", of(state.terminal_outcome)},
                         {"attempt_state", of(state.attempt_state)},
                         {"public_state", of(state.public_state)}});
  }
  static json::value of(const ExecutionSummary& summary) {
    return json::object({{"execution_id", of(summary.execution_id)},
                         {"name_space", of(summary.name_space)},
                         {"lane", of(summary.lane)},
                         {"kind", of(summary.kind)},
                         {"public_state", of(summary.public_state)},
                         {"priority", of(summary.priority)},
                         {"tags", of(summary.tags)},
                         {"created_at", of(summary.created_at)},
                         {"started_at", of(summary.started_at)},
                         {"finished_at", of(summary.finished_at)},
                         {"attempt_count", of(summary.attempt_count)}});
  }
  static json::object of(const ExecutionDescription& description) {
    return json::object({{"summary", of(description.summary)},
                         {"state", of(description.state)},
                         {"creator", of(description.creator)},
                         {"payload_encoding", of(description.payload_encoding)},
                         {"payload_bytes", of(description.payload_bytes)},
                         {"required_capabilities", of(description.required_capabilities)},
                         {"policy", of(description.policy)},
                         {"lease", of(description.lease)},
                         {"lease_epoch", of(description.lease_epoch)},
                         {"grant", of(description.grant)},
                         {"attempt", of(description.attempt)},
                         {"attempts", of(description.attempts)},
                         {"retry_count", of(description.retry_count)},
                         {"reclaim_count", of(description.reclaim_count)},
                         {"replay_count", of(description.replay_count)},
                         {"delay_until", of(description.delay_until)},
                         {"deadline_at", of(description.deadline_at)},
                         {"last_transition_at", of(description.last_transition_at)},
                         {"last_mutation_at", of(description.last_mutation_at)},
                         {"progress", of(description.progress)},
                         {"failure", of(description.failure)},
                         {"cancellation_reason", of(description.cancellation_reason)},
                         {"cancelled_by", of(description.cancelled_by)},
                         {"explain", of(description.explain)}});
  }
  static json::value of(const ExecutionContext& context) {
    return json::object({{"kind", of(context.kind)},
                         {"payload", bytes(context.payload)},
                         {"payload_encoding", of(context.payload_encoding)},
                         {"tags", of(context.tags)}});
  }
  static json::value of(const ExecutionResult& result) {
    return json::object({{"outcome", of(result.outcome)},
                         {"attempt_index", of(result.attempt_index)},
                         {"result", bytes(result.result)},
                         {"result_encoding", of(result.result_encoding)},
                         {"failure", of(result.failure)},
                         {"finished_at", of(result.finished_at)}});
  }
  static json::value of(const Event& event) {
    return json::object({{"type", of(event.type)},
                         {"at", of(event.at)},
                         {"execution_id", of(event.execution_id)},
                         {"name_space", of(event.name_space)},
                         {"lane", of(event.lane)},
                         {"kind", of(event.kind)},
                         {"worker_instance_id", of(event.worker_instance_id)},
                         {"attempt_index", of(event.attempt_index)},
                         {"lease_epoch", of(event.lease_epoch)},
                         {"state_before", of(event.state_before)},
                         {"state_after", of(event.state_after)},
                         {"actor", of(event.actor)},
                         {"reason", of(event.reason)},
                         {"next_at", of(event.next_at)},
                         {"cursor", of(event.cursor)}});
  }

  static json::object of(const LaneInfo& lane) {
    return json::object({{"lane", of(lane.lane)},
                         {"state", of(lane.state)},
                         {"changed_at", of(lane.changed_at)},
                         {"changed_by", of(lane.changed_by)},
                         {"reason", of(lane.reason)},
                         {"registered_at", of(lane.registered_at)},
                         {"registered_by", of(lane.registered_by)}});
  }
  static json::value of(const LaneView& lane) {
    json::object out = of(lane.info);
    out["counts"] = of(lane.counts);
    return out;
  }
  static json::value of(const WorkerInfo& worker) {
    return json::object({{"name_space", of(worker.name_space)},
                         {"worker_id", of(worker.worker_id)},
                         {"worker_instance_id", of(worker.worker_instance_id)},
                         {"lanes", of(worker.lanes)},
                         {"capabilities", of(worker.capabilities)},
                         {"liveness_ttl_ms", of(worker.liveness_ttl_ms)},
                         {"registered_at", of(worker.registered_at)},
                         {"last_heartbeat_at", of(worker.last_heartbeat_at)},
                         {"expires_at", of(worker.expires_at)},
                         {"partition", of(worker.partition)},
                         {"draining", of(worker.draining)},
                         {"state", of(worker.state)},
                         {"ended_at", of(worker.ended_at)},
                         {"ended_by", of(worker.ended_by)},
                         {"reason", of(worker.reason)}});
  }
  static json::value of(const ExpiredLease& lease) {
    return json::object({{"execution_id", of(lease.execution_id)},
                         {"name_space", of(lease.name_space)},
                         {"lease_id", of(lease.lease_id)},
                         {"lease_epoch", of(lease.lease_epoch)},
                         {"worker_id", of(lease.worker_id)},
                         {"worker_instance_id", of(lease.worker_instance_id)},
                         {"attempt_index", of(lease.attempt_index)},
                         {"expires_at", of(lease.expires_at)},
                         {"cause", of(lease.cause)}});
  }
  static json::value of(const SigningKeyInfo& key) {
    return json::object(
        {{"key_id", of(key.key_id)}, {"created_at", of(key.created_at)}, {"expires_at", of(key.expires_at)}});
  }

  static json::value of(const api::BulkSuccess& success) {
    json::object out({{"execution_id", of(success.execution_id)}});
    if (success.already_cancelled) out["already_cancelled"] = of(*success.already_cancelled);
    if (success.replay_count) out["replay_count"] = of(*success.replay_count);
    if (success.public_state) out["public_state"] = of(*success.public_state);
    if (success.priority) out["priority"] = of(*success.priority);
    return out;
  }
  static json::value of(const api::BulkFailure& failure) {
    return json::object({{"execution_id", of(failure.execution_id)}, {"error", of(failure.error)}});
  }
};

std::string line(const json::value& document) { return json::serialize(document); }

}  // namespace

std::string to_json(const Error& error) { return line(json::object({{"error", As::of(error)}})); }

std::string to_json(const ListReply& reply) {
  return line(json::object({{"executions", As::of(reply.executions)}, {"next_cursor", As::of(reply.next_cursor)}}));
}

std::string to_json(const ShownExecution& shown) {
  json::object out = As::of(shown.description);
  if (shown.context) out["context"] = As::of(shown.context);
  if (shown.result) out["result"] = As::of(shown.result);
  return line(out);
}

std::string to_json(const EventPage& page) {
  return line(json::object({{"events", As::of(page.events)}, {"next_cursor", As::of(page.next_cursor)}}));
}

std::string to_json(const BulkReport& report) {
  return line(json::object({{"action", As::of(report.action)},
                            {"dry_run", As::of(report.dry_run)},
                            {"interrupted", As::of(report.interrupted)},
                            {"matched", As::of(report.matched)},
                            {"changed", As::of(report.changed)},
                            {"unchanged", As::of(report.unchanged)},
                            {"skipped", As::of(report.skipped)},
                            {"failed", As::of(std::uint64_t{report.failures.size()})},
                            {"results", As::of(report.results)},
                            {"failures", As::of(report.failures)}}));
}

std::string to_json(const LaneInfo& lane) { return line(As::of(lane)); }

std::string to_json(const TopSnapshot& snapshot) {
  const auto maybe = [](const auto& value) { return value ? json::value(*value) : json::value(nullptr); };
  json::array lanes;
  for (const LaneFigures& lane : snapshot.lanes) {
    lanes.push_back(json::object({{"lane", lane.lane},
                                  {"state", std::string(to_string(lane.state))},
                                  {"waiting", lane.waiting},
                                  {"active", lane.active},
                                  {"delayed", lane.delayed},
                                  {"other", lane.other},
                                  {"completed", lane.completed},
                                  {"failed", lane.failed},
                                  {"gone", lane.gone},
                                  {"created_per_s", maybe(lane.created_per_s)},
                                  {"finished_per_s", maybe(lane.finished_per_s)},
                                  {"oldest_waiting_ms", maybe(lane.oldest_waiting_ms)}}));
  }
  return line(json::object({{"at", snapshot.pulse.now},
                            {"workers_live", snapshot.workers_live},
                            {"workers_draining", snapshot.workers_draining},
                            {"parked_claims", maybe(snapshot.pulse.parked_claims)},
                            {"due_lag_ms", maybe(snapshot.pulse.due_lag_ms)},
                            {"lanes", std::move(lanes)}}));
}
std::string to_json(const std::vector<LaneView>& lanes) { return line(json::object({{"lanes", As::of(lanes)}})); }

std::string to_json(const ListWorkersReply& reply) {
  return line(json::object({{"workers", As::of(reply.workers)}, {"next_cursor", As::of(reply.next_cursor)}}));
}

std::string to_json(const ListExpiredLeasesReply& reply) {
  return line(json::object({{"leases", As::of(reply.leases)}, {"next_cursor", As::of(reply.next_cursor)}}));
}

std::string to_json(const std::vector<SigningKeyInfo>& keys) { return line(json::object({{"keys", As::of(keys)}})); }

std::string to_json(const KeyRotation& rotation) {
  return line(json::object({{"key_id", As::of(rotation.key_id)}, {"keys", As::of(rotation.keys)}}));
}

std::string explanation_to_json(const ExecutionDescription& description) {
  return line(json::object({{"execution_id", As::of(description.summary.execution_id)},
                            {"public_state", As::of(description.summary.public_state)},
                            {"explain", As::of(description.explain)}}));
}

std::string tags_to_json(const ExecutionId& id, const Tags& tags) {
  return line(json::object({{"execution_id", As::of(id)}, {"tags", As::of(tags)}}));
}

std::string revocation_to_json(const ExecutionId& id, const RevokeReply& reply) {
  return line(json::object({{"execution_id", As::of(id)},
                            {"lease_id", As::of(reply.lease_id)},
                            {"lease_epoch", As::of(reply.lease_epoch)},
                            {"public_state", As::of(reply.public_state)}}));
}

std::string worker_to_json(const std::string& name_space, const std::string& worker_instance_id,
                           const std::string& outcome) {
  return line(json::object({{"name_space", As::of(name_space)},
                            {"worker_instance_id", As::of(worker_instance_id)},
                            {"outcome", As::of(outcome)}}));
}

std::string retention_to_json(std::uint64_t removed) { return line(json::object({{"removed", As::of(removed)}})); }

std::string findings_to_json(const std::vector<std::string>& findings) {
  return line(json::object({{"findings", As::of(findings)}}));
}

}  // namespace flowfabric::cli
