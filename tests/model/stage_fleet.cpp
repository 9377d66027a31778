// The fleet's part: workers, grants, lost leases, keys.
#include <set>

#include "base/check.hpp"
#include "core/state.hpp"
#include "model/stage.hpp"

namespace flowfabric::test {
namespace {

constexpr std::uint32_t small_page = 3;

std::string instance(std::uint32_t n) { return "w-" + std::to_string(n % 3); }
std::string name_space(std::uint32_t n) { return n % 5 == 0 ? "tenant" : "default"; }

}  // namespace

void Stage::manage(const Step& step) {
  switch (step.verb) {
    case 22: return register_worker(step);
    case 23: return heartbeat(step);
    case 24:
      if (step.b % 3 == 0) return say("drain", driver_.drain(instance(step.a), {}, name_space(step.b)));
      return say("mark dead", driver_.mark_dead(instance(step.a), {"operator", "broken"}, name_space(step.b)));
    case 25: return grant(step);
    case 26: return redeem(step);
    case 27: return reclaim(step);
    case 28: return rotate_or_remove(step);
    default: return list_fleet(step);
  }
}

void Stage::register_worker(const Step& step) {
  WorkerRegistration registration;
  registration.name_space = name_space(step.b);
  registration.worker_id = step.b % 8 == 0 ? "other" : "worker";
  registration.worker_instance_id = instance(step.a);
  registration.lanes = step.a % 2 == 0 ? lanes : std::vector<std::string>{lanes[step.b % 3]};
  if (step.b % 2 == 0) registration.capabilities = capabilities;
  registration.liveness_ttl_ms = 1000 + step.a % 60000;
  say("register", driver_.register_worker(registration));
}

void Stage::heartbeat(const Step& step) {
  HeartbeatRequest request;
  request.name_space = name_space(step.b);
  request.worker_instance_id = instance(step.a);
  for (std::size_t i = step.b % 4; i < held_.size(); i += 3) request.leases.push_back(held_[i].handle);
  heartbeats_.push_back(driver_.heartbeat_later(request));
}

void Stage::grant(const Step& step) {
  const std::vector<std::string> offered = step.b % 3 == 0 ? std::vector<std::string>{} : capabilities;
  const std::uint32_t ttl_ms = 1 + step.b % 4000;
  if (step.a % 2 == 0) {
    const GrantRequest request{id(step.a / 2), "worker", instance(step.a), offered, ttl_ms};
    const auto granted = driver_.issue_claim_grant(request);
    say("claim grant", granted);
    if (granted) keep_grant(*granted);
    return;
  }
  const auto keeps_to = step.b % 4 == 0 ? std::optional(name_space(step.a)) : std::nullopt;
  const ClaimForWorkerRequest request{keeps_to, lanes[step.a % 3], "worker", instance(step.a), offered, ttl_ms};
  const auto granted = driver_.claim_for_worker(request);
  say("claim for worker", granted);
  if (granted && *granted) keep_grant(**granted);
}

void Stage::keep_grant(const Grant& granted) { grants_.push_back(granted); }

// Any earlier grant, mostly the last one.
void Stage::redeem(const Step& step) {
  if (grants_.empty()) return;
  const Grant& chosen = step.a % 3 == 0 ? grants_[step.b % grants_.size()] : grants_.back();
  RedeemRequest request;
  request.execution_id = chosen.execution_id;
  request.grant_key = chosen.grant_key;
  request.worker_id = step.b % 16 == 0 ? "other" : chosen.worker_id;
  request.worker_instance_id = instance(step.b);
  if (step.b % 5 != 0) request.capabilities = capabilities;
  request.lease_ttl_ms = 100 + step.a % 6000;
  if (chosen.kind == GrantKind::claim) {
    const auto claimed = driver_.claim_from_grant(request);
    say("claim from grant", claimed);
    if (claimed) held_.push_back(*claimed);
    return;
  }
  const auto outcome = driver_.reclaim(request);
  say("reclaim", outcome);
  if (!outcome) return;
  if (const auto* claimed = std::get_if<Claimed>(&*outcome)) held_.push_back(claimed->execution);
}

void Stage::reclaim(const Step& step) {
  const auto lost = driver_.list_expired_leases();
  FF_CHECK(lost.has_value());
  const bool listed = !lost->leases.empty() && step.b % 4 != 0;
  GrantRequest request;
  request.execution_id = listed ? lost->leases[step.a % lost->leases.size()].execution_id : id(step.a);
  request.worker_id = "worker";
  request.worker_instance_id = instance(step.a);
  if (step.b % 5 != 0) request.capabilities = capabilities;
  request.grant_ttl_ms = 1 + step.b % 4000;
  const auto outcome = driver_.issue_reclaim_grant(request);
  say("reclaim grant", outcome);
  if (!outcome) return;
  if (const auto* granted = std::get_if<Granted>(&*outcome)) keep_grant(granted->grant);
}

void Stage::rotate_or_remove(const Step& step) {
  if (step.a % 8 == 0) return say("rotate", driver_.rotate_keys(step.b % 2 == 0 ? 0 : step.b));
  if (step.a % 8 == 1) {
    return say("note retention", driver_.call(NoteRetentionCommand{{{}, name_space(step.b), {}}, step.b, {"ops", ""}}));
  }
  std::optional<TimestampMs> finished_before;
  if (step.b % 2 == 0) finished_before = clock_.now_ms() - step.b % 3000;
  say("remove", driver_.call(RemoveCommand{id(step.a), finished_before}));
}

void Stage::list_fleet(const Step& step) {
  ListWorkersRequest workers;
  workers.include_expired = step.a % 2 == 0;
  workers.limit = 1 + step.b % 3;
  if (step.b % 4 == 0) workers.name_space = name_space(step.a);
  if (step.b % 5 == 0) workers.lane = lanes[step.a % 3];
  do {
    const auto found = driver_.list_workers(workers);
    FF_CHECK(found.has_value());
    lines_.push_back(fmt::format("workers: {} {}", found->workers.size(), found->next_cursor));
    for (const auto& info : found->workers) lines_.push_back(show(info));
    workers.cursor = found->next_cursor;
  } while (!workers.cursor.empty());
  ListExpiredLeasesRequest leases;
  leases.limit = 1 + step.b % 3;
  if (step.b % 4 == 0) leases.as_of = clock_.now_ms() + step.a % 3000;
  do {
    const auto found = driver_.list_expired_leases(leases);
    FF_CHECK(found.has_value());
    lines_.push_back(fmt::format("expired leases: {} {}", found->leases.size(), found->next_cursor));
    for (const auto& lease : found->leases) lines_.push_back(show(lease));
    leases.cursor = found->next_cursor;
  } while (!leases.cursor.empty());
}

// The due index as a whole, and each of its groups, page by page.
void Stage::tell_ready_entries() {
  const auto inspection = driver_.store().inspect();
  std::optional<ReadyEntry> after;
  for (std::size_t found = small_page; found == small_page;) {
    const auto entries = inspection->ready(after, small_page).value();
    for (const InspectedReady& one : entries) lines_.push_back(show(one.entry));
    if (!entries.empty()) after = entries.back().entry;
    found = entries.size();
  }
}

void Stage::tell_due_entries() {
  std::set<std::uint64_t> groups;
  std::optional<DuePosition> after;
  for (std::size_t found = small_page; found == small_page;) {
    const auto entries = driver_.store().due_entries(after, never_due, small_page).value();
    for (const DueEntry& entry : entries) {
      lines_.push_back(show(entry));
      if (entry.group != 0) groups.insert(entry.group);
      after = DuePosition{entry.due_at, entry.key};
    }
    found = entries.size();
  }
  for (const std::uint64_t group : groups) {
    std::optional<Store::GroupPosition> last;
    for (std::size_t found = small_page; found == small_page;) {
      const auto entries = driver_.store().group_entries(group, last, small_page).value();
      for (const DueEntry& entry : entries) {
        lines_.push_back("in group: " + show(entry));
        last = Store::GroupPosition{entry.rank, entry.key};
      }
      found = entries.size();
    }
  }
}

}  // namespace flowfabric::test
