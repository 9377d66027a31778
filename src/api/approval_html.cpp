#include "api/approval_html.hpp"

#include <algorithm>

#include "api/call.hpp"
#include "api/html.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric::api {
namespace {

constexpr std::string_view approval_style = R"(
:root { color-scheme: light dark; --ground: #f4f6f8; --paper: #ffffff; --text: #17202a; --muted: #4d5965; --line: #c6ced6;
  --good: #17683a; --bad: #a3271c; --on: #ffffff; --note: #fff4dc; --sunken: #eef1f4; --focus: #1557c0; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #12171d; --paper: #1b222a; --text: #e8edf2; --muted: #a9b5c1; --line: #46525e; --good: #7fd6a1; --bad: #ff9d92;
    --on: #12171d; --note: #3a2f14; --sunken: #141a20; --focus: #8ab8ff; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 16px; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 640px; margin: 0 auto; padding: 20px; background: var(--paper); border: 1px solid var(--line); border-radius: 10px; }
h1 { margin: 0 0 12px; font-size: 22px; line-height: 1.3; overflow-wrap: anywhere; }
h2 { margin: 22px 0 8px; font-size: 16px; }
p { margin: 8px 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 4px 14px; margin: 0; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: 0; padding: 12px; background: var(--sunken); border: 1px solid var(--line); border-radius: 6px; font: 14px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
ul { margin: 0; padding: 0; list-style: none; }
li { padding: 8px 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
li p { margin: 2px 0 0; white-space: pre-wrap; }
.note { padding: 10px 12px; background: var(--note); border: 1px solid var(--line); border-radius: 6px; }
.muted { color: var(--muted); }
label { display: block; margin: 14px 0 4px; font-weight: 600; }
input, textarea { width: 100%; padding: 10px; border: 1px solid var(--muted); border-radius: 6px; background: var(--paper); color: var(--text); font: inherit; }
.buttons { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 18px; }
button { flex: 1 1 140px; min-height: 48px; padding: 10px 18px; border: 2px solid var(--good); border-radius: 8px; background: var(--good); color: var(--on); font: inherit; font-weight: 600; cursor: pointer; }
button.reject { border-color: var(--bad); background: var(--paper); color: var(--bad); }
button[hidden] { display: none; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
)";

// "2026-01-02 03:04 UTC"
std::string minute_utc(TimestampMs at) {
  std::string text = format_utc(at).substr(0, 16);
  text[10] = ' ';
  return text + " UTC";
}

std::string time_html(TimestampMs at) {
  return "<time datetime=\"" + format_utc(at) + "\">" + minute_utc(at) + "</time>";
}

std::string page(std::string_view title, std::string_view body) {
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += "<meta name=\"robots\" content=\"noindex\">\n<title>" + escaped_html(title) + "</title>\n<style>";
  html += approval_style;
  html += "</style>\n</head>\n<body>\n<main>\n";
  html += body;
  return html + "</main>\n</body>\n</html>\n";
}

std::string heading(std::string_view title) { return "<h1>" + escaped_html(title) + "</h1>\n"; }

std::string row(std::string_view name, const std::string& html) {
  return "<dt>" + std::string(name) + "</dt><dd>" + html + "</dd>\n";
}

std::string of_people(std::size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

std::size_t count_of(const ApprovalInfo& approval, ApprovalDecision decision) {
  return static_cast<std::size_t>(std::count_if(approval.decisions.begin(), approval.decisions.end(),
                                                [&](const Decision& one) { return one.decision == decision; }));
}

std::string facts_html(const ApprovalView& view) {
  const ApprovalInfo& approval = *view.token.waitpoint.approval;
  std::string html = "<dl>\n" + row("Asked by", escaped_html(view.token.kind));
  html += row("Needed", of_people(approval.needed, "approval", "approvals") + ", " +
                            std::to_string(count_of(approval, ApprovalDecision::approve)) + " so far; " +
                            of_people(approval.rejections, "rejection ends it", "rejections end it"));
  if (!approval.approvers.empty()) html += row("May decide", escaped_html(join(approval.approvers, ", ")));
  if (view.since != 0) html += row("Waits since", time_html(view.since));
  if (view.timeout_at != 0) html += row("Until", time_html(view.timeout_at));
  if (view.token.expires_at != 0) html += row("Link valid until", time_html(view.token.expires_at));
  if (!view.token.source.empty()) html += row("You decide as", "<b>" + escaped_html(view.token.source) + "</b>");
  html += row("Execution", escaped_html(to_string(view.token.execution_id)));
  return html + "</dl>\n";
}

bool is_text(std::string_view encoding) {
  return encoding.empty() || encoding == "json" || is_media_type(encoding, "text/plain") ||
         is_media_type(encoding, json_type);
}

std::string context_html(const ApprovalInfo& approval) {
  if (approval.context.empty()) return {};
  std::string html = "<h2>What it is about</h2>\n";
  if (is_text(approval.context_encoding) && is_valid_utf8(approval.context)) {
    // The first line break after <pre> is not shown by browsers.
    return html + "<pre>\n" + escaped_html(approval.context) + "</pre>\n";
  }
  html += "<p>" + std::to_string(approval.context.size()) + " bytes";
  if (!approval.context_encoding.empty()) html += ", labelled " + escaped_html(approval.context_encoding);
  return html + ", which this page does not show.</p>\n";
}

std::string_view past_tense(ApprovalDecision decision) {
  return decision == ApprovalDecision::approve ? "approved" : "rejected";
}

std::string decisions_html(const ApprovalInfo& approval) {
  std::string html = "<h2>Decisions</h2>\n";
  if (approval.decisions.empty()) return html + "<p class=\"muted\">Nobody has decided yet.</p>\n";
  html += "<ul>\n";
  for (const Decision& decision : approval.decisions) {
    html += "<li><b>" + escaped_html(decision.actor) + "</b> " + std::string(past_tense(decision.decision)) + ", " +
            time_html(decision.decided_at);
    if (!decision.comment.empty()) html += "<p>" + escaped_html(decision.comment) + "</p>";
    html += "</li>\n";
  }
  return html + "</ul>\n";
}

std::string form_html(const ApprovalView& view) {
  const std::string most_comment = std::to_string(limits::max_comment_bytes);
  std::string html = "<h2>Your decision</h2>\n<form method=\"post\" accept-charset=\"utf-8\" autocomplete=\"off\">\n";
  // The Enter key in a field presses the first button of a form. That must not approve.
  html += "<button type=\"submit\" disabled hidden></button>\n";
  if (view.token.source.empty()) {
    html += "<label for=\"name\">Your name</label>\n<input id=\"name\" name=\"name\" required maxlength=\"" +
            std::to_string(limits::max_signal_source_bytes) + "\" autocomplete=\"name\" value=\"" +
            escaped_html(view.form.name) + "\">\n";
  }
  html += "<label for=\"comment\">Comment <span class=\"muted\">(optional)</span></label>\n";
  html += "<textarea id=\"comment\" name=\"comment\" rows=\"4\" maxlength=\"" + most_comment + "\">\n" +
          escaped_html(view.form.comment) + "</textarea>\n";
  html +=
      "<div class=\"buttons\">\n<button type=\"submit\" name=\"decision\" value=\"approve\">Approve</button>\n"
      "<button type=\"submit\" name=\"decision\" value=\"reject\" class=\"reject\">Reject</button>\n</div>\n</form>\n";
  return html;
}

// What the person has decided here before.
const Decision* own_decision(const TokenInfo& token) {
  if (token.source.empty()) return nullptr;
  const auto& decisions = token.waitpoint.approval->decisions;
  const auto found = std::find_if(decisions.begin(), decisions.end(),
                                  [&](const Decision& decision) { return decision.actor == token.source; });
  return found == decisions.end() ? nullptr : &*found;
}

std::string problem_html(const std::string& problem) {
  return problem.empty() ? "" : "<p class=\"note\" role=\"alert\">" + escaped_html(problem) + "</p>\n";
}

}  // namespace

const std::string& approval_page_policy() {
  static const std::string policy = [] {
    const Sha256 hash = sha256(approval_style);
    return "default-src 'none'; style-src 'sha256-" +
           to_base64({reinterpret_cast<const char*>(hash.data()), hash.size()}) +
           "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
  }();
  return policy;
}

std::string open_approval_page(const ApprovalView& view) {
  const ApprovalInfo& approval = *view.token.waitpoint.approval;
  std::string body = heading(approval.title) + problem_html(view.problem) + facts_html(view);
  body += context_html(approval) + decisions_html(approval);
  const auto& approvers = approval.approvers;
  const bool may =
      approvers.empty() || std::find(approvers.begin(), approvers.end(), view.token.source) != approvers.end();
  if (const Decision* own = own_decision(view.token)) {
    body += "<p class=\"note\">You have " + std::string(past_tense(own->decision)) + " already.</p>\n";
  } else if (!may && view.token.source.empty()) {
    body +=
        "<p class=\"note\">Only the people named above may decide, and this link does not say for whom it is. Ask for "
        "a link of "
        "your own.</p>\n";
  } else if (!may) {
    body += "<p class=\"note\">" + escaped_html(view.token.source) + " is not one of those who may decide.</p>\n";
  } else {
    body += form_html(view);
  }
  return page(approval.title, body);
}

std::string closed_approval_page(const TokenInfo& token) {
  if (!token.waitpoint.approval) {
    return plain_approval_page(
        "This approval is closed",
        "It takes no more decisions: it was decided, was not decided in time, or was withdrawn.");
  }
  const ApprovalInfo& approval = *token.waitpoint.approval;
  std::string body =
      heading(approval.title) + "<p class=\"note\">This approval is closed and takes no more decisions.</p>\n";
  if (const Decision* own = own_decision(token)) {
    body += "<p>You have " + std::string(past_tense(own->decision)) + ".</p>\n";
  }
  return page(approval.title, body + decisions_html(approval) + context_html(approval));
}

std::string decided_page(const TokenInfo& token, ApprovalDecision decision, const std::string& actor,
                         SignalEffect effect) {
  std::string title = decision == ApprovalDecision::approve ? "Approved" : "Rejected";
  if (effect == SignalEffect::ignored) title = "Not recorded";
  const std::string about = token.waitpoint.approval ? token.waitpoint.approval->title : token.waitpoint.name;
  std::string body = heading(title) + "<p><b>" + escaped_html(about) + "</b></p>\n";
  switch (effect) {
    case SignalEffect::resumed:
      body += "<p>The decision of <b>" + escaped_html(actor) + "</b> is recorded, and the wait is over.</p>\n";
      break;
    case SignalEffect::accepted:
      body += "<p>The decision of <b>" + escaped_html(actor) + "</b> is recorded. More decisions are needed.</p>\n";
      break;
    case SignalEffect::kept: body += "<p>The decision of <b>" + escaped_html(actor) + "</b> is recorded.</p>\n"; break;
    case SignalEffect::ignored:
      body += "<p>The decision makes no difference any more and was not recorded.</p>\n";
      break;
  }
  return page(title + ": " + about, body + "<p class=\"muted\">You can close this page.</p>\n");
}

std::string refused_link_page() {
  return plain_approval_page("This link is not accepted",
                             "It is incomplete, has expired or was replaced. Ask for a new one where you got it.");
}

std::string plain_approval_page(std::string_view title, std::string_view text) {
  return page(title, heading(title) + "<p>" + escaped_html(text) + "</p>\n");
}

}  // namespace flowfabric::api
