#include "cli/json_out.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "api/bulk_bodies.hpp"
#include "base/text.hpp"
#include "wire/fleet_bodies.hpp"
#include "wire/flow_shapes.hpp"
#include "wire/shapes.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::cli {
namespace {

using wire::Writer;

template <class T>
void put(Writer& writer, std::string_view name, const T& value) {
  writer.key(name);
  wire::Codec<T>::write(writer, value);
}
void put_rate(Writer& writer, std::string_view name, const std::optional<double>& rate) {
  if (!rate) return;
  writer.key(name);
  writer.raw(fmt::format("{:.3f}", *rate));
}
template <class T>
void put_if_set(Writer& writer, std::string_view name, const std::optional<T>& value) {
  if (value) put(writer, name, *value);
}

// One object, whose members `fill` writes.
template <class Fill>
std::string object(const Fill& fill) {
  Writer writer;
  writer.begin_object();
  fill(writer);
  writer.end_object();
  return writer.take();
}

// An object of the API with more members. Both are not empty.
std::string with_members(std::string of_api, const std::string& more) {
  if (more == "{}") return of_api;
  of_api.back() = ',';
  return of_api + more.substr(1);
}

void write_figures(Writer& writer, const LaneFigures& lane) {
  writer.begin_object();
  put(writer, "lane", lane.lane);
  put(writer, "state", lane.state);
  put(writer, "waiting", lane.waiting);
  put(writer, "active", lane.active);
  put(writer, "delayed", lane.delayed);
  put(writer, "other", lane.other);
  put(writer, "completed", lane.completed);
  put(writer, "failed", lane.failed);
  put(writer, "gone", lane.gone);
  put_rate(writer, "created_per_s", lane.created_per_s);
  put_rate(writer, "finished_per_s", lane.finished_per_s);
  put_if_set(writer, "oldest_waiting_ms", lane.oldest_waiting_ms);
  writer.end_object();
}

}  // namespace

std::string to_json(const Error& error) {
  wire::ErrorBody body{error};
  std::string& message = body.error.message;
  if (!is_valid_utf8(message)) {  // the message of a database in a foreign character set
    std::replace_if(message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  return wire::to_json(body);
}

std::string to_json(const ListReply& reply) { return wire::to_json(reply); }
std::string to_json(const ListStepsReply& reply) {
  return wire::to_json(
      bodies::StepsReply{reply.steps, reply.next_position == 0 ? "" : std::to_string(reply.next_position)});
}
std::string to_json(const EventPage& page) { return wire::to_json(page); }
std::string to_json(const Event& event) { return wire::to_json(event); }
std::string to_json(const Created& created) { return wire::to_json(created); }
std::string to_json(const LaneInfo& lane) { return wire::to_json(lane); }
std::string to_json(const NamespaceInfo& name_space) { return wire::to_json(name_space); }
std::string to_json(const ListWorkersReply& reply) { return wire::to_json(reply); }
std::string to_json(const ListExpiredLeasesReply& reply) { return wire::to_json(reply); }
std::string to_json(const KeyRotation& rotation) { return wire::to_json(rotation); }

std::string to_json(const FlowCreated& created) { return wire::to_json(created); }
std::string to_json(const FlowAdded& added) { return wire::to_json(added); }
std::string to_json(const FlowSealed& sealed) { return wire::to_json(sealed); }
std::string to_json(const ListFlowsReply& reply) { return wire::to_json(reply); }
std::string to_json(const FlowNodesReply& reply) { return wire::to_json(reply); }
std::string to_json(const FlowEdgesReply& reply) { return wire::to_json(reply); }
std::string to_json(const FlowGraph& graph) { return wire::to_json(graph); }
std::string to_json(const FlowResult& result) { return wire::to_json(result); }

std::string to_json(const ShownFlow& shown) {
  return with_members(wire::to_json(shown.description),
                      object([&](Writer& writer) { put(writer, "critical_path", shown.graph.critical_path); }));
}

std::string cancelled_flow_to_json(const FlowId& id, const FlowCancelReply& reply) {
  return with_members(object([&](Writer& writer) { put(writer, "flow_id", id); }), wire::to_json(reply));
}

std::string replayed_flow_to_json(const FlowId& id, const FlowReplayReply& reply) {
  return with_members(object([&](Writer& writer) { put(writer, "flow_id", id); }), wire::to_json(reply));
}

std::string to_json(const std::vector<NamespaceInfo>& namespaces) {
  return wire::to_json(bodies::NamespacesReply{namespaces});
}
std::string to_json(const std::vector<SigningKeyInfo>& keys) { return wire::to_json(bodies::KeysReply{keys}); }

std::string to_json(const ShownExecution& shown) {
  return with_members(wire::to_json(shown.description), object([&](Writer& writer) {
                        put_if_set(writer, "context", shown.context);
                        put_if_set(writer, "result", shown.result);
                        if (!shown.steps.steps.empty()) put(writer, "steps", shown.steps.steps);
                        put_if_set(writer, "waits", shown.waits);
                      }));
}

std::string to_json(const BulkReport& report) {
  return object([&](Writer& writer) {
    put(writer, "action", report.action);
    put(writer, "dry_run", report.dry_run);
    put(writer, "interrupted", report.interrupted);
    put(writer, "matched", report.matched);
    put(writer, "changed", report.changed);
    put(writer, "unchanged", report.unchanged);
    put(writer, "skipped", report.skipped);
    put(writer, "failed", std::uint64_t{report.failures.size()});
    put(writer, "results", report.results);
    put(writer, "failures", report.failures);
  });
}

std::string to_json(const TopSnapshot& snapshot) {
  return object([&](Writer& writer) {
    put(writer, "store", snapshot.store);
    put(writer, "at", snapshot.pulse.now);
    put(writer, "workers_live", snapshot.workers_live);
    put(writer, "workers_draining", snapshot.workers_draining);
    put_if_set(writer, "parked_claims", snapshot.pulse.parked_claims);
    put_if_set(writer, "due_lag_ms", snapshot.pulse.due_lag_ms);
    writer.key("lanes");
    writer.begin_array();
    for (const LaneFigures& lane : snapshot.lanes) write_figures(writer, lane);
    writer.end_array();
  });
}

std::string to_json(const DeployReport& report) {
  return object([&](Writer& writer) {
    put(writer, "kinds", report.kinds);
    put(writer, "examined", report.examined);
    writer.key("would_break");
    writer.begin_array();
    for (const Misfit& misfit : report.misfits) {
      writer.raw(object([&](Writer& one) {
        put(one, "execution_id", misfit.execution_id);
        put(one, "kind", misfit.kind);
        put(one, "public_state", misfit.public_state);
        put(one, "position", std::uint64_t{misfit.position});
        put(one, "step", misfit.step);
        put(one, "recorded", misfit.recorded);
        put(one, "declared", misfit.declared);
      }));
    }
    writer.end_array();
  });
}

std::string to_json(const std::vector<LaneView>& lanes) {
  return object([&](Writer& writer) {
    writer.key("lanes");
    writer.begin_array();
    for (const LaneView& lane : lanes) {
      writer.raw(
          with_members(wire::to_json(lane.info), object([&](Writer& counts) { put(counts, "counts", lane.counts); })));
    }
    writer.end_array();
  });
}

std::string to_json(const ExecutionWaits& waits) { return wire::to_json(waits); }
std::string to_json(const ListWaitsReply& reply) { return wire::to_json(reply); }
std::string to_json(const SignalReply& reply) { return wire::to_json(reply); }
std::string to_json(const WaitpointToken& token) { return wire::to_json(token); }

std::string waitpoints_to_json(const ExecutionId& id, const std::vector<WaitpointInfo>& waitpoints) {
  return object([&](Writer& writer) {
    put(writer, "execution_id", id);
    put(writer, "waitpoints", waitpoints);
  });
}

std::string resumed_to_json(const ExecutionId& id) {
  return object([&](Writer& writer) {
    put(writer, "execution_id", id);
    put(writer, "resumed", true);
  });
}

std::string closed_waitpoint_to_json(const ExecutionId& id, const std::string& waitpoint) {
  return object([&](Writer& writer) {
    put(writer, "execution_id", id);
    put(writer, "waitpoint", waitpoint);
    put(writer, "closed", true);
  });
}

std::string explanation_to_json(const ExecutionDescription& description) {
  return object([&](Writer& writer) {
    put(writer, "execution_id", description.summary.execution_id);
    put(writer, "public_state", description.summary.public_state);
    put(writer, "reasons", description.explain);
  });
}

std::string tags_to_json(const ExecutionId& id, const Tags& tags) {
  return object([&](Writer& writer) {
    put(writer, "execution_id", id);
    put(writer, "tags", tags);
  });
}

std::string revocation_to_json(const ExecutionId& id, const RevokeReply& reply) {
  return with_members(object([&](Writer& writer) { put(writer, "execution_id", id); }), wire::to_json(reply));
}

std::string worker_to_json(const std::string& name_space, const std::string& worker_instance_id,
                           const std::string& outcome) {
  return object([&](Writer& writer) {
    put(writer, "namespace", name_space);
    put(writer, "worker_instance_id", worker_instance_id);
    put(writer, "outcome", outcome);
  });
}

std::string retention_to_json(std::uint64_t matched, std::uint64_t removed) {
  return wire::to_json(bodies::RetentionReply{matched, removed});
}

std::string integrity_to_json(const std::vector<std::string>& findings, const std::vector<std::string>* repairs) {
  return object([&](Writer& writer) {
    put(writer, "findings", findings);
    if (repairs != nullptr) put(writer, "repairs", *repairs);
  });
}

}  // namespace flowfabric::cli
