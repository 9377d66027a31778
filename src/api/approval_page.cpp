#include "api/approval_page.hpp"

#include <algorithm>

#include "api/approval_html.hpp"
#include "api/browser_guard.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "net/target.hpp"

namespace flowfabric::api {
namespace {

constexpr std::string_view first_segment = "approve";
// Name and comment, each character in three, and the names of the fields.
constexpr std::size_t max_form_bytes = 3 * (limits::max_comment_bytes + limits::max_signal_source_bytes) + 1024;

net::Response html_response(int status, std::string html) {
  net::Response response;
  response.status = status;
  response.content_type = "text/html; charset=utf-8";
  response.headers.add("Content-Security-Policy", approval_page_policy());
  response.headers.add("Referrer-Policy", "no-referrer");
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("X-Robots-Tag", "noindex");
  response.body = std::move(html);
  return response;
}

net::Response refused_link() { return html_response(403, refused_link_page()); }

net::Response failed(const Error& error) {
  if (error.code == Errc::invalid_token) return refused_link();
  const int status = describe(error.code).http_status;
  net::Response response =
      status >= 500 || status == 429
          ? html_response(status, plain_approval_page("The server cannot do this now", "Try again in a moment."))
          : html_response(status, plain_approval_page("This was not accepted", error.message));
  if (status == 429 || status == 503) response.headers.add("Retry-After", "1");
  return response;
}

// What the form sent, as a signal.
struct Sent {
  ApprovalDecision decision = ApprovalDecision::approve;
  ApprovalForm form{};
};

// Browsers send line breaks as CR LF.
std::string with_plain_line_breaks(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  return out;
}

Result<Sent> read_decision(const net::Request& request, const TokenInfo& token) {
  if (request.body.size() > max_form_bytes) {
    return fail(Errc::payload_too_large,
                "The comment is too long; allowed: " + std::to_string(limits::max_comment_bytes) + " bytes.");
  }
  FF_TRY(form, read_form(request.body));
  Sent sent;
  const std::string& decision = form["decision"];
  if (decision == "reject") {
    sent.decision = ApprovalDecision::reject;
  } else if (decision != "approve") {
    return fail(Errc::invalid_argument, "Choose one of the buttons Approve and Reject.", "decision");
  }
  sent.form.comment = with_plain_line_breaks(form["comment"]);
  // The sender of a token that names one is not up to the form.
  sent.form.name = token.source.empty() ? form["name"] : token.source;
  return sent;
}

Result<void> check_decision_sent(const Sent& sent) {
  if (sent.form.comment.size() > limits::max_comment_bytes) {
    return fail(Errc::payload_too_large,
                "The comment is too long: " + std::to_string(sent.form.comment.size()) +
                    " bytes; allowed: " + std::to_string(limits::max_comment_bytes) + ".",
                "comment");
  }
  if (sent.form.name.find_first_not_of(' ') == std::string::npos) {
    return fail(Errc::invalid_argument, "Your name is missing.", "name");
  }
  if (sent.form.name.size() > limits::max_signal_source_bytes) {
    return fail(Errc::invalid_argument, "The name is too long.", "name");
  }
  if (has_control_characters(sent.form.name)) {
    return fail(Errc::invalid_argument, "The name has a control character.", "name");
  }
  return {};
}

Result<ApprovalView> view_of(Engine& engine, TokenInfo token) {
  ApprovalView view;
  FF_TRY(waits, engine.describe_waits(token.execution_id));
  if (waits.wait && token.waitpoint.waited_for) {
    view.since = waits.wait->since;
    view.timeout_at = waits.wait->timeout_at;
  }
  view.token = std::move(token);
  return view;
}

net::Response show(Engine& engine, TokenInfo token, int status, std::string problem = {}, ApprovalForm form = {}) {
  if (!token.open) return html_response(status, closed_approval_page(token));
  // The token of another kind of waitpoint is for a program.
  if (!token.waitpoint.approval) return refused_link();
  auto view = view_of(engine, std::move(token));
  if (!view) return failed(view.error());
  view->problem = std::move(problem);
  view->form = std::move(form);
  return html_response(status, open_approval_page(*view));
}

// Shows what stands there now, and why the decision was not taken.
net::Response not_taken(Engine& engine, const std::string& text_of_token, const Error& error, ApprovalForm form) {
  auto token = engine.describe_token(text_of_token);
  if (!token) return failed(token.error());
  switch (error.code) {
    case Errc::waitpoint_closed:
    case Errc::already_terminal:
    case Errc::conflict:
    case Errc::permission_denied:
    case Errc::payload_too_large:
    case Errc::invalid_argument: break;
    default: return failed(error);
  }
  std::string problem = error.message;
  if (error.code == Errc::conflict) problem = form.name + " has decided already. Nobody decides twice.";
  if (error.code == Errc::permission_denied) problem = form.name + " is not one of those who may decide.";
  return show(engine, std::move(*token), describe(error.code).http_status, std::move(problem), std::move(form));
}

net::Response decide(Engine& engine, const net::Request& request, const std::string& text_of_token,
                     const TokenInfo& token) {
  if (!token.open || !token.waitpoint.approval) return show(engine, token, 409);
  const auto sent = read_decision(request, token);
  if (!sent) return not_taken(engine, text_of_token, sent.error(), {});
  if (const auto checked = check_decision_sent(*sent); !checked) {
    return not_taken(engine, text_of_token, checked.error(), sent->form);
  }
  SignalRequest signal;
  signal.name = to_string(sent->decision);
  signal.payload = sent->form.comment;
  signal.payload_encoding = "text/plain";
  signal.source = sent->form.name;
  const auto reply = engine.send_signal_by_token(text_of_token, std::move(signal));
  if (!reply) return not_taken(engine, text_of_token, reply.error(), sent->form);
  return html_response(200, decided_page(token, sent->decision, sent->form.name, reply->effect));
}

}  // namespace

bool is_approval_link(const net::Request& request) {
  return request.segments.size() == 2 && request.segments.front() == first_segment;
}

void hide_approval_token(net::Request& request) {
  if (request.segments.size() < 2 || request.segments.front() != first_segment) return;
  request.path = approval_route;
  request.target = approval_route;
}

Result<Form> read_form(std::string_view body) {
  Form form;
  while (!body.empty()) {
    const std::string_view pair = body.substr(0, body.find('&'));
    body.remove_prefix(std::min(pair.size() + 1, body.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::string name;
    std::string value;
    if (!net::percent_decode(pair.substr(0, equals), true, name) ||
        !net::percent_decode(pair.substr(std::min(equals + 1, pair.size())), true, value)) {
      return fail(Errc::invalid_argument, "The form is not valid text.", "body");
    }
    if (!form.emplace(std::move(name), std::move(value)).second) {
      return fail(Errc::invalid_argument, "A field of the form comes twice.", "body");
    }
  }
  return form;
}

net::Response answer_approval(Engine& engine, const net::Request& request) {
  if (request.method == "POST") {
    if (const auto checked = check_form_sender(request); !checked) return failed(checked.error());
  }
  const std::string& text_of_token = request.segments.at(1);
  auto token = engine.describe_token(text_of_token);
  if (!token) return failed(token.error());
  if (request.method == "POST") return decide(engine, request, text_of_token, *token);
  return show(engine, std::move(*token), 200);
}

net::Response approval_problem(const Error& error) { return failed(error); }

}  // namespace flowfabric::api
