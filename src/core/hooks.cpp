#include "core/hooks.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json.hpp>

#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/admit_parts.hpp"
#include "core/ingress.hpp"
#include "core/record_codec.hpp"
#include "core/waits.hpp"

namespace flowfabric {

using namespace admit_parts;
using namespace record_codec;

namespace {

constexpr std::string_view header_place = "header:";
constexpr std::string_view query_place = "query:";

// ---- Stored form

void put_hook(Encoder& out, const HooksRecord::Hook& hook) {
  const HookRequest& request = hook.request;
  out.text(request.name);
  out.text(request.name_space);
  out.enumerator(request.scheme);
  out.text(request.signature_header);
  out.text(request.signature_prefix);
  out.enumerator(request.action);
  out.text(request.execution_at);
  out.text(request.token_at);
  out.text(request.waitpoint);
  out.text(request.signal_name);
  out.text(request.lane);
  out.text(request.kind);
  out.text(request.idempotency_at);
  out.number(hook.created_at);
  out.text(hook.created_by);
  out.unsigned_number(hook.secrets.size());
  for (const HooksRecord::Secret& secret : hook.secrets) {
    out.text(secret.text);
    out.number(secret.expires_at);
  }
}

HooksRecord::Hook get_hook(Decoder& in) {
  HooksRecord::Hook hook;
  HookRequest& request = hook.request;
  request.name = in.text();
  request.name_space = in.text();
  request.scheme = in.enumerator(HookScheme::hmac);
  request.signature_header = in.text();
  request.signature_prefix = in.text();
  request.action = in.enumerator(HookAction::create);
  request.execution_at = in.text();
  request.token_at = in.text();
  request.waitpoint = in.text();
  request.signal_name = in.text();
  request.lane = in.text();
  request.kind = in.text();
  request.idempotency_at = in.text();
  hook.created_at = in.number();
  hook.created_by = in.text();
  hook.secrets.resize(in.count());
  for (HooksRecord::Secret& secret : hook.secrets) {
    secret.text = in.text();
    secret.expires_at = in.number();
  }
  return hook;
}

// ---- Reading a request

const std::string* find_value(const std::vector<std::pair<std::string, std::string>>& values, std::string_view name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.first == name; });
  return found == values.end() ? nullptr : &found->second;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

class Body {
 public:
  explicit Body(const std::string& bytes) {
    boost::system::error_code failed;
    value_ = boost::json::parse(bytes, failed);
    if (failed) value_ = nullptr;
  }
  // The text at that place; numbers are written as they stand in JSON.
  std::optional<std::string> at(std::string_view pointer) const {
    boost::system::error_code failed;
    const boost::json::value* found = value_.find_pointer(pointer, failed);
    if (found == nullptr || failed) return std::nullopt;
    if (const auto* text = found->if_string()) return std::string(text->data(), text->size());
    if (found->is_number()) return boost::json::serialize(*found);
    return std::nullopt;
  }

 private:
  boost::json::value value_;
};

std::optional<std::string> value_at(const std::string& place, const HookCall& call, const Body& body) {
  const std::string* found = nullptr;
  if (place.starts_with(header_place)) {
    found = find_value(call.headers, in_lower_case(place.substr(header_place.size())));
  } else if (place.starts_with(query_place)) {
    found = find_value(call.query, place.substr(query_place.size()));
  } else {
    return body.at(place);
  }
  return found == nullptr ? std::nullopt : std::optional(*found);
}

// ---- Signatures

// What the sender has signed, and the signatures that it offers.
struct Signed {
  std::string bytes;
  std::vector<std::string> signatures;  // raw
  std::optional<std::int64_t> at_s{};   // when, if the scheme says so
};

void add_signature(Signed& what, std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return;
  if (auto raw = from_hex(text.substr(prefix.size())); raw && raw->size() == 32) {
    what.signatures.push_back(std::move(*raw));
  }
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return seconds;
}

std::string_view header_of(const HookCall& call, std::string_view name) {
  const std::string* found = find_value(call.headers, name);
  return found == nullptr ? std::string_view() : *found;
}

Signed signed_by_stripe(const HookCall& call) {
  Signed what;
  std::string_view rest = header_of(call, "stripe-signature");
  std::string seconds;
  std::vector<std::string_view> offered;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (part.starts_with("t=")) seconds = part.substr(2);
    if (part.starts_with("v1=") && offered.size() < limits::max_hook_signatures) offered.push_back(part);
  }
  what.at_s = seconds_of(seconds).value_or(0);
  what.bytes = seconds + "." + call.body;
  for (const std::string_view one : offered) add_signature(what, one, "v1=");
  return what;
}

Signed what_is_signed(const HookRequest& hook, const HookCall& call) {
  Signed what;
  switch (hook.scheme) {
    case HookScheme::stripe: return signed_by_stripe(call);
    case HookScheme::slack: {
      const std::string_view seconds = header_of(call, "x-slack-request-timestamp");
      what.at_s = seconds_of(seconds).value_or(0);
      what.bytes = "v0:" + std::string(seconds) + ":" + call.body;
      add_signature(what, header_of(call, "x-slack-signature"), "v0=");
      return what;
    }
    case HookScheme::github:
      what.bytes = call.body;
      add_signature(what, header_of(call, "x-hub-signature-256"), "sha256=");
      return what;
    case HookScheme::hmac: break;
  }
  what.bytes = call.body;
  const std::string header = hook.signature_header.empty() ? "x-signature" : in_lower_case(hook.signature_header);
  add_signature(what, header_of(call, header), hook.signature_prefix);
  return what;
}

// Two secrets are tried whether there are two or not, and every signature: the time tells nothing.
bool is_genuine(const HooksRecord::Hook& hook, const Signed& what, TimestampMs now) {
  bool genuine = false;
  for (std::size_t i = 0; i < 2; ++i) {
    const bool exists = i < hook.secrets.size();
    const HooksRecord::Secret secret = exists ? hook.secrets[i] : HooksRecord::Secret{"absent", 1};
    const bool accepted = exists && (secret.expires_at == 0 || secret.expires_at > now);
    const std::string wanted = Signer(secret.text).sign(what.bytes);
    for (const std::string& signature : what.signatures) {
      const bool equal = equal_in_constant_time(wanted, signature);
      genuine = genuine || (equal && accepted);
    }
  }
  if (!what.at_s) return genuine;
  const std::int64_t age_ms = now - *what.at_s * 1000;
  return genuine && age_ms <= limits::hook_tolerance_ms && age_ms >= -limits::hook_tolerance_ms;
}

// ---- What it becomes

std::string idempotency_key_of(const HookRequest& hook, const HookCall& call, const Body& body) {
  std::string place = hook.idempotency_at;
  if (place.empty()) {
    switch (hook.scheme) {
      case HookScheme::github: place = "header:x-github-delivery"; break;
      case HookScheme::stripe: place = "/id"; break;
      case HookScheme::slack: place = "/event_id"; break;
      case HookScheme::hmac: return {};
    }
  }
  const std::string key = value_at(place, call, body).value_or("");
  if (key.empty()) return {};
  return "hook:" + hook.name + ":" + key.substr(0, limits::max_idempotency_key_bytes / 2);
}

HookWish signal_of(const HookRequest& hook, const HookCall& call, const Body& body) {
  HookSignal signal;
  signal.request.waitpoint = hook.waitpoint;
  signal.request.name = hook.signal_name;
  signal.request.payload = call.body;
  signal.request.payload_encoding = "json";
  signal.request.source = "hook:" + hook.name;
  signal.request.idempotency_key = idempotency_key_of(hook, call, body);
  const std::string& place = hook.token_at.empty() ? hook.execution_at : hook.token_at;
  const auto found = value_at(place, call, body);
  if (!found) return HookDropped{"the request has nothing at " + place};
  if (!hook.token_at.empty()) {
    signal.token = *found;
    return signal;
  }
  const auto id = parse_execution_id(*found);
  if (!id) return HookDropped{"what stands at " + place + " is not the id of an execution"};
  signal.execution_id = *id;
  return signal;
}

CreateRequest create_of(const HookRequest& hook, const HookCall& call, const Body& body) {
  CreateRequest create;
  create.name_space = hook.name_space;
  create.lane = hook.lane;
  create.kind = hook.kind;
  create.payload = call.body;
  create.payload_encoding = "json";
  create.creator = "hook:" + hook.name;
  create.idempotency_key = idempotency_key_of(hook, call, body);
  return create;
}

Result<void> admit_place(std::string_view place, const std::string& field) {
  FF_TRY_VOID(admit_text(place, field, 0, limits::max_match_field_bytes, Content::no_controls));
  const bool known = place.empty() || place.front() == '/' ||
                     (place.starts_with(header_place) && place.size() > header_place.size()) ||
                     (place.starts_with(query_place) && place.size() > query_place.size());
  if (known) return {};
  return refuse("is \"" + std::string(place) + "\"; allowed: header:NAME, query:NAME, or a JSON pointer like /data/id",
                field);
}

Result<void> admit_action(const HookRequest& request) {
  const bool creates = request.action == HookAction::create;
  if (creates) {
    if (request.kind.empty()) return refuse("is missing; a hook that creates executions needs it", "kind");
    FF_TRY_VOID(admit_text(request.kind, "kind", 1, limits::max_kind_bytes, Content::no_controls));
    FF_TRY_VOID(admit_lane(request.lane));
    if (!request.execution_at.empty() || !request.token_at.empty() || !request.waitpoint.empty()) {
      return refuse("is create; execution_at, token_at and waitpoint belong to signals", "action");
    }
    return {};
  }
  if (!request.kind.empty()) return refuse("is given, and the hook sends signals", "kind");
  if (request.execution_at.empty() == request.token_at.empty()) {
    return refuse("and token_at: exactly one of the two is needed", "execution_at");
  }
  if (request.token_at.empty()) FF_TRY_VOID(admit_waitpoint_name(request.waitpoint));
  return admit_text(request.signal_name, "signal_name", 0, limits::max_signal_name_bytes, Content::no_controls);
}

Unexpected<Error> refuse_call() {
  return fail(Errc::unauthenticated, "this request is not accepted: there is no such hook, or its signature is wrong");
}

}  // namespace

std::string encode(const HooksRecord& record) {
  Encoder out;
  out.u8(layout_1);
  out.unsigned_number(record.hooks.size());
  for (const HooksRecord::Hook& hook : record.hooks) put_hook(out, hook);
  return out.take();
}

Result<HooksRecord> decode_hooks(std::string_view bytes) {
  Decoder in(bytes);
  if (!known_layout(in)) return Unexpected(unknown_layout("the hooks"));
  HooksRecord record;
  record.hooks.resize(in.count());
  for (HooksRecord::Hook& hook : record.hooks) hook = get_hook(in);
  return finished(in, std::move(record), "the hooks");
}

HookInfo info_of(const HooksRecord::Hook& hook, TimestampMs now) {
  HookInfo info{hook.request, hook.created_at, hook.created_by, 0, 0};
  for (const HooksRecord::Secret& secret : hook.secrets) {
    if (secret.expires_at != 0 && secret.expires_at <= now) continue;
    ++info.secrets;
    if (secret.expires_at != 0) info.older_secret_until = secret.expires_at;
  }
  return info;
}

std::string make_hook_secret(const Entropy& entropy) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t bits = entropy();
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  return "ffh_" + to_base64url(bytes);
}

Result<void> admit_hook_name(std::string_view name) {
  FF_TRY_VOID(admit_text(name, "name", 1, limits::max_hook_name_bytes, Content::no_controls_or_spaces));
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
  if (plain && name != "." && name != "..") return {};
  return refuse("is \"" + std::string(name) + "\"; allowed: letters, digits, and - _ .", "name");
}

Result<void> admit(HookRequest& request) {
  FF_TRY_VOID(admit_hook_name(request.name));
  FF_TRY_VOID(admit_namespace(request.name_space));
  if (request.scheme != HookScheme::hmac && (!request.signature_header.empty() || !request.signature_prefix.empty())) {
    return refuse("is given, and only the scheme hmac can choose it",
                  request.signature_header.empty() ? "signature_prefix" : "signature_header");
  }
  FF_TRY_VOID(admit_text(request.signature_header, "signature_header", 0, limits::max_hook_name_bytes,
                         Content::no_controls_or_spaces));
  FF_TRY_VOID(
      admit_text(request.signature_prefix, "signature_prefix", 0, limits::max_hook_name_bytes, Content::no_controls));
  if (!request.secret.empty()) {
    FF_TRY_VOID(admit_text(request.secret, "secret", limits::min_hook_secret_bytes, limits::max_hook_secret_bytes,
                           Content::no_controls));
  }
  FF_TRY_VOID(admit_place(request.execution_at, "execution_at"));
  FF_TRY_VOID(admit_place(request.token_at, "token_at"));
  FF_TRY_VOID(admit_place(request.idempotency_at, "idempotency_at"));
  return admit_action(request);
}

Result<HookWish> receive(const HooksRecord& record, const HookCall& call, TimestampMs now) {
  const auto found = std::find_if(record.hooks.begin(), record.hooks.end(),
                                  [&](const HooksRecord::Hook& hook) { return hook.request.name == call.name; });
  const bool exists = found != record.hooks.end();
  const HooksRecord::Hook hook = exists ? *found : HooksRecord::Hook{};
  if (!is_genuine(hook, what_is_signed(hook.request, call), now) || !exists) return refuse_call();
  const Body body(call.body);
  if (hook.request.scheme == HookScheme::slack && body.at("/type") == "url_verification") {
    return HookChallenge{body.at("/challenge").value_or("").substr(0, limits::max_hook_challenge_bytes)};
  }
  if (hook.request.action == HookAction::create) return create_of(hook.request, call, body);
  return signal_of(hook.request, call, body);
}

}  // namespace flowfabric
