// Validation of what suspends, signals and decides.
#include <algorithm>

#include <boost/json.hpp>

#include "core/admit_parts.hpp"
#include "core/ingress.hpp"
#include "core/waits.hpp"

namespace flowfabric {

using namespace admit_parts;

namespace {

Result<void> admit_source(std::string_view source, const std::string& field, std::size_t min) {
  return admit_text(source, field, min, limits::max_signal_source_bytes, Content::no_controls);
}

Result<void> admit_encoding(std::string_view encoding, const std::string& field) {
  return admit_text(encoding, field, 0, limits::max_encoding_bytes, Content::no_controls);
}

Result<void> admit_token_ttl(const std::optional<std::int64_t>& ttl_ms, const std::string& field) {
  return ttl_ms ? admit_duration(*ttl_ms, field, 1) : Result<void>{};
}

bool is_json_pointer(std::string_view pointer) {
  if (pointer.empty()) return true;
  if (pointer.front() != '/') return false;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '~' && (i + 1 == pointer.size() || (pointer[i + 1] != '0' && pointer[i + 1] != '1')))
      return false;
  }
  return true;
}

Result<void> admit_match_field(const SignalField& field, const std::string& at) {
  FF_TRY_VOID(admit_text(field.pointer, at + ".pointer", 0, limits::max_match_field_bytes, Content::any_text));
  if (!is_json_pointer(field.pointer)) {
    return refuse("is not a JSON pointer; one reads like /order/state", at + ".pointer");
  }
  FF_TRY_VOID(admit_text(field.equals, at + ".equals", 1, limits::max_match_field_bytes, Content::any_text));
  boost::system::error_code failed;
  std::ignore = boost::json::parse(field.equals, failed);
  if (failed) return refuse("is not JSON text; a string stands in quotes, like \"paid\"", at + ".equals");
  return {};
}

// The condition of one request.
class ConditionCheck {
 public:
  explicit ConditionCheck(const std::vector<WaitpointRequest>& waitpoints) {
    for (const WaitpointRequest& waitpoint : waitpoints) names_.push_back(waitpoint.name);
  }

  Result<void> run(const WaitCondition& condition, const std::string& field) {
    FF_TRY_VOID(visit(condition, field, 1));
    if (can_hold(condition, names_, {})) return {};
    return refuse("can never hold", field);
  }

 private:
  Result<void> visit(const WaitCondition& condition, const std::string& at, std::size_t depth) {
    if (depth > limits::max_condition_depth) {
      return refuse("is nested too deep; allowed: " + std::to_string(limits::max_condition_depth) + " levels", at);
    }
    if (++nodes_ > limits::max_condition_nodes) {
      return refuse("the condition has too many parts; allowed: " + std::to_string(limits::max_condition_nodes), at);
    }
    const int kinds = (condition.signal ? 1 : 0) + (condition.all_of ? 1 : 0) + (condition.any_of ? 1 : 0) +
                      (condition.count ? 1 : 0);
    if (kinds != 1) {
      return refuse("has " + std::to_string(kinds) + " of signal, all_of, any_of and count; exactly one is needed", at);
    }
    if (condition.signal) return visit_match(*condition.signal, at + ".signal");
    if (condition.count) return visit_count(*condition.count, at + ".count");
    return condition.all_of ? visit_members(*condition.all_of, at + ".all_of", depth)
                            : visit_members(*condition.any_of, at + ".any_of", depth);
  }

  Result<void> visit_members(const std::vector<WaitCondition>& members, const std::string& at, std::size_t depth) {
    if (members.empty()) return refuse("is empty; at least one condition is needed", at);
    for (std::size_t i = 0; i < members.size(); ++i) {
      FF_TRY_VOID(visit(members[i], at + "[" + std::to_string(i) + "]", depth + 1));
    }
    return {};
  }

  Result<void> visit_count(const SignalCount& count, const std::string& at) {
    FF_TRY_VOID(admit_range<std::uint32_t>(count.n, at + ".n", 1, limits::max_condition_count));
    if (count.of.empty()) return refuse("is empty; at least one match is needed", at + ".of");
    for (std::size_t i = 0; i < count.of.size(); ++i) {
      if (++nodes_ > limits::max_condition_nodes) {
        return refuse("the condition has too many parts; allowed: " + std::to_string(limits::max_condition_nodes), at);
      }
      FF_TRY_VOID(visit_match(count.of[i], at + ".of[" + std::to_string(i) + "]"));
    }
    if (can_hold({.count = count}, names_, {})) return {};
    return refuse(
        "is " + std::to_string(count.n) + ", and there cannot be so many distinct " + std::string(to_string(count.by)),
        at + ".n");
  }

  Result<void> visit_match(const SignalMatch& match, const std::string& at) {
    if (!match.waitpoint.empty() && std::find(names_.begin(), names_.end(), match.waitpoint) == names_.end()) {
      return refuse("\"" + match.waitpoint + "\" is not one of the waitpoints of this request", at + ".waitpoint");
    }
    FF_TRY_VOID(admit_text(match.name, at + ".name", 0, limits::max_signal_name_bytes, Content::no_controls));
    FF_TRY_VOID(admit_count(match.sources.size(), at + ".sources", 0, limits::max_match_sources));
    for (const std::string& source : match.sources) FF_TRY_VOID(admit_source(source, at + ".sources", 1));
    FF_TRY_VOID(admit_count(match.fields.size(), at + ".fields", 0, limits::max_match_fields));
    for (std::size_t i = 0; i < match.fields.size(); ++i) {
      FF_TRY_VOID(admit_match_field(match.fields[i], at + ".fields[" + std::to_string(i) + "]"));
    }
    return {};
  }

  std::vector<std::string> names_;
  std::size_t nodes_ = 0;
};

// How many signals may count for it at most.
std::size_t most_signals(const WaitCondition& condition) {
  if (condition.signal) return 1;
  if (condition.count) return condition.count->n;
  std::size_t most = 0;
  for (const WaitCondition& member : condition.all_of ? *condition.all_of : *condition.any_of) {
    most += most_signals(member);
  }
  return most;
}

SignalMatch decision_match(const WaitpointRequest& waitpoint, ApprovalDecision decision) {
  SignalMatch match;
  match.waitpoint = waitpoint.name;
  match.name = to_string(decision);
  match.sources = waitpoint.approval->approvers;
  return match;
}

WaitCondition default_condition(const WaitpointRequest& waitpoint) {
  WaitCondition condition;
  if (waitpoint.approval) {
    condition.count = SignalCount{
        waitpoint.approval->needed, CountBy::sources, {decision_match(waitpoint, ApprovalDecision::approve)}};
  } else {
    condition.signal = SignalMatch{waitpoint.name, {}, {}, {}};
  }
  return condition;
}

Result<void> admit_approval(ApprovalRequest& approval, const std::string& at) {
  FF_TRY_VOID(admit_text(approval.title, at + ".title", 1, limits::max_approval_title_bytes, Content::no_controls));
  FF_TRY_VOID(admit_bytes(approval.context, at + ".context", limits::max_approval_context_bytes));
  FF_TRY_VOID(admit_encoding(approval.context_encoding, at + ".context_encoding"));
  std::sort(approval.approvers.begin(), approval.approvers.end());
  approval.approvers.erase(std::unique(approval.approvers.begin(), approval.approvers.end()), approval.approvers.end());
  FF_TRY_VOID(admit_count(approval.approvers.size(), at + ".approvers", 0, limits::max_approvers));
  for (const std::string& approver : approval.approvers) FF_TRY_VOID(admit_source(approver, at + ".approvers", 1));
  const std::size_t people = approval.approvers.size();
  const auto most = people == 0 ? limits::max_condition_count : static_cast<std::uint32_t>(people);
  FF_TRY_VOID(admit_range<std::uint32_t>(approval.needed, at + ".needed", 1, most));
  return admit_range<std::uint32_t>(approval.rejections, at + ".rejections", 1, most);
}

Result<void> admit_timeout(const SuspendRequest& request) {
  if (request.timeout_ms && request.timeout_at != 0) {
    return refuse("is given beside timeout_at; give one of them", "timeout_ms");
  }
  if (request.timeout_ms) FF_TRY_VOID(admit_duration(*request.timeout_ms, "timeout_ms", 1));
  FF_TRY_VOID(admit_time(request.timeout_at, "timeout_at"));
  const bool escalates = request.on_timeout == OnWaitTimeout::escalate;
  const bool has_timeout = request.timeout_ms || request.timeout_at != 0;
  if (!has_timeout && request.on_timeout != OnWaitTimeout::fail) {
    return refuse("is " + std::string(to_string(request.on_timeout)) + " and there is no timeout; give timeout_ms",
                  "on_timeout");
  }
  if (request.after_escalation == OnWaitTimeout::escalate) {
    return refuse("is escalate; a wait escalates once, allowed: fail, cancel, expire, resume", "after_escalation");
  }
  if (escalates) return admit_duration(request.escalate_ms, "escalate_ms", 1);
  if (request.escalate_ms != 0) return refuse("is given and on_timeout is not escalate", "escalate_ms");
  return {};
}

}  // namespace

void fill_in_defaults(SuspendRequest& request) {
  if (!request.condition) {
    std::vector<WaitCondition> parts;
    for (const WaitpointRequest& waitpoint : request.waitpoints) parts.push_back(default_condition(waitpoint));
    WaitCondition& condition = request.condition.emplace();
    if (parts.size() == 1) {
      condition = std::move(parts.front());
    } else {
      condition.all_of = std::move(parts);
    }
  }
  if (request.veto) return;
  std::vector<WaitCondition> vetoes;
  for (const WaitpointRequest& waitpoint : request.waitpoints) {
    if (!waitpoint.approval) continue;
    vetoes.push_back(
        {.count = SignalCount{
             waitpoint.approval->rejections, CountBy::sources, {decision_match(waitpoint, ApprovalDecision::reject)}}});
  }
  if (!vetoes.empty()) request.veto.emplace().any_of = std::move(vetoes);
}

// Those that count stand in the record until the wait is over.
Result<void> admit_most_signals(const SuspendRequest& request) {
  const std::size_t most = most_signals(*request.condition) + (request.veto ? most_signals(*request.veto) : 0);
  if (most <= limits::max_kept_signals) return {};
  return refuse("needs " + std::to_string(most) + " signals, with those of the veto; allowed: at most " +
                    std::to_string(limits::max_kept_signals),
                "condition");
}

Result<void> admit_waitpoint_name(std::string_view name, const std::string& field) {
  FF_TRY_VOID(admit_text(name, field, 1, limits::max_waitpoint_name_bytes, Content::no_controls));
  if (name == "." || name == "..") {
    return refuse("is \"" + std::string(name) + "\", which cannot stand in the path of a URL", field);
  }
  return {};
}

Result<void> admit(WaitpointRequest& request, const std::string& field) {
  const std::string prefix = field.empty() ? "" : field + ".";
  FF_TRY_VOID(admit_waitpoint_name(request.name, prefix + "name"));
  FF_TRY_VOID(admit_token_ttl(request.token_ttl_ms, prefix + "token_ttl_ms"));
  return request.approval ? admit_approval(*request.approval, prefix + "approval") : Result<void>{};
}

Result<void> admit(SuspendRequest& request) {
  FF_TRY_VOID(admit_count(request.waitpoints.size(), "waitpoints", 1, limits::max_waitpoints));
  for (std::size_t i = 0; i < request.waitpoints.size(); ++i) {
    WaitpointRequest& waitpoint = request.waitpoints[i];
    const std::string field = "waitpoints[" + std::to_string(i) + "]";
    FF_TRY_VOID(admit(waitpoint, field));
    const auto same = [&](const WaitpointRequest& other) { return other.name == waitpoint.name; };
    const auto here = request.waitpoints.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(request.waitpoints.begin(), here, same)) {
      return refuse("\"" + waitpoint.name + "\" comes twice", field + ".name");
    }
  }
  if (request.condition) FF_TRY_VOID(ConditionCheck(request.waitpoints).run(*request.condition, "condition"));
  if (request.veto) FF_TRY_VOID(ConditionCheck(request.waitpoints).run(*request.veto, "veto"));
  SuspendRequest whole = request;
  fill_in_defaults(whole);
  FF_TRY_VOID(admit_most_signals(whole));
  FF_TRY_VOID(admit_timeout(request));
  FF_TRY_VOID(admit_duration(request.resume_delay_ms, "resume_delay_ms"));
  FF_TRY_VOID(admit_reason(request.reason));
  FF_TRY_VOID(admit_text(request.idempotency_key, "idempotency_key", 0, limits::max_idempotency_key_bytes,
                         Content::no_controls));
  FF_TRY_VOID(admit_range<std::uint32_t>(request.position, "position", 0, limits::max_steps));
  if (request.position == 0 && !request.step_name.empty()) return refuse("is given without a position", "step_name");
  const std::size_t least = request.position == 0 ? 0 : 1;
  return admit_text(request.step_name, "step_name", least, limits::max_step_name_bytes, Content::no_controls);
}

Result<void> admit(SignalRequest& request, bool has_token) {
  if (!has_token || !request.waitpoint.empty()) FF_TRY_VOID(admit_waitpoint_name(request.waitpoint));
  FF_TRY_VOID(admit_text(request.name, "name", 0, limits::max_signal_name_bytes, Content::no_controls));
  FF_TRY_VOID(admit_bytes(request.payload, "payload", limits::max_signal_bytes));
  FF_TRY_VOID(admit_encoding(request.payload_encoding, "payload_encoding"));
  FF_TRY_VOID(admit_source(request.source, "source", 0));
  return admit_text(request.idempotency_key, "idempotency_key", 0, limits::max_idempotency_key_bytes,
                    Content::no_controls);
}

Result<void> admit(const DecideRequest& request) {
  FF_TRY_VOID(admit_waitpoint_name(request.waitpoint));
  FF_TRY_VOID(admit_text(request.comment, "comment", 0, limits::max_comment_bytes, Content::any_text));
  return admit_source(request.actor, "actor", 1);
}

Result<void> admit(const ReissueRequest& request) {
  FF_TRY_VOID(admit_waitpoint_name(request.waitpoint));
  FF_TRY_VOID(admit_source(request.source, "source", 0));
  return admit_token_ttl(request.token_ttl_ms, "token_ttl_ms");
}

Result<void> admit(const ListWaitsRequest& request) {
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  if (request.cursor.size() > limits::max_cursor_bytes) {
    return refuse("has " + std::to_string(request.cursor.size()) + " bytes; allowed: at most " +
                      std::to_string(limits::max_cursor_bytes),
                  "cursor");
  }
  return admit_range<std::uint32_t>(request.limit, "limit", 1, limits::max_page);
}

}  // namespace flowfabric
