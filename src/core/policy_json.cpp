// The policy as JSON. This is the only file here that uses Boost.JSON, which is compiled into it completely, so nothing
// is linked.
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>

#include <algorithm>
#include <span>

#include <flowfabric/types.hpp>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/ingress.hpp"

namespace flowfabric {
namespace {

namespace json = boost::json;

// The policy itself needs three levels; deeper nesting is refused early.
constexpr std::size_t max_depth = 8;

Unexpected<Error> refuse_policy(const std::string& field, const std::string& message) {
  return fail(Errc::invalid_argument, field + ": " + message, field);
}

// ---- The text as a tree. Not json::value, because that silently keeps the last of two equal keys. ------------------

struct Node {
  enum class Kind { object, array, text, whole_number, other_number, boolean, null };

  Kind kind = Kind::null;
  std::int64_t number = 0;
  std::string text;            // of a string; of a number as it was written
  std::string key;             // of a member of an object
  std::vector<Node> children;  // members or elements
};

// Receives the parser's events and builds the tree.
class TreeBuilder {
 public:
  static constexpr std::size_t max_object_size = limits::max_policy_json_bytes;
  static constexpr std::size_t max_array_size = limits::max_policy_json_bytes;
  static constexpr std::size_t max_key_size = limits::max_policy_json_bytes;
  static constexpr std::size_t max_string_size = limits::max_policy_json_bytes;

  Node root;
  std::string duplicate;  // the full name of a repeated key

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return open(Node::Kind::object); }
  bool on_object_end(std::size_t, json::error_code&) { return close(); }
  bool on_array_begin(json::error_code&) { return open(Node::Kind::array); }
  bool on_array_end(std::size_t, json::error_code&) { return close(); }

  bool on_key_part(json::string_view part, std::size_t, json::error_code&) { return gather(part); }
  bool on_key(json::string_view part, std::size_t, json::error_code& error) {
    gather(part);
    const auto same = [&](const Node& member) { return member.key == gathered_; };
    if (std::any_of(open_.back()->children.begin(), open_.back()->children.end(), same)) {
      duplicate = path() + "." + gathered_;
      error = json::error::syntax;
      return false;
    }
    keys_.back() = std::move(gathered_);
    gathered_.clear();
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) { return gather(part); }
  bool on_string(json::string_view part, std::size_t, json::error_code&) {
    gather(part);
    add(Node::Kind::text).text = std::move(gathered_);
    gathered_.clear();
    return true;
  }

  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t value, json::string_view, json::error_code&) {
    Node& node = add(Node::Kind::whole_number);
    node.number = value;
    node.text = std::to_string(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, json::string_view, json::error_code&) {
    // Larger than every range; so is the greatest signed number.
    Node& node = add(Node::Kind::whole_number);
    node.number = INT64_MAX;
    node.text = std::to_string(value);
    return true;
  }
  bool on_double(double, json::string_view, json::error_code&) { return plain(Node::Kind::other_number); }
  bool on_bool(bool, json::error_code&) { return plain(Node::Kind::boolean); }
  bool on_null(json::error_code&) { return plain(Node::Kind::null); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  bool gather(json::string_view part) {
    gathered_.append(part.data(), part.size());
    return true;
  }

  Node& add(Node::Kind kind) {
    Node* node = &root;
    if (!open_.empty()) {
      node = &open_.back()->children.emplace_back();
      node->key = keys_.back();
    }
    node->kind = kind;
    return *node;
  }

  bool plain(Node::Kind kind) {
    add(kind);
    return true;
  }

  bool open(Node::Kind kind) {
    open_.push_back(&add(kind));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::string path() const {
    std::string text = "policy";
    for (std::size_t i = 0; i + 1 < keys_.size(); ++i) {
      if (!keys_[i].empty()) text += "." + keys_[i];
    }
    return text;
  }

  // A node on this stack does not move: its parent gets no other child before it is closed.
  std::vector<Node*> open_;
  std::vector<std::string> keys_;  // the key being read in each open object, empty in an array
  std::string gathered_;
};

Result<Node> parse_tree(std::string_view text) {
  if (text.size() > limits::max_policy_json_bytes) {
    return refuse_policy("policy", "has " + std::to_string(text.size()) + " bytes of JSON; allowed: at most " +
                                       std::to_string(limits::max_policy_json_bytes));
  }
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<TreeBuilder> parser(options);
  json::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  TreeBuilder& tree = parser.handler();
  if (!tree.duplicate.empty()) return refuse_policy(tree.duplicate, "appears twice; each field is allowed once");
  if (error == json::error::too_deep) {
    return refuse_policy("policy", "is nested too deeply; allowed: " + std::to_string(max_depth) + " levels");
  }
  if (error || used != text.size()) {
    return refuse_policy("policy", "is not well-formed JSON (" + (error ? error.message() : "text after the end") +
                                       " near byte " + std::to_string(used) + "); it must be one JSON object");
  }
  return std::move(tree.root);
}

// ---- The tree as a policy. -----------------------------------------------------------------------------------------

template <class Owner>
struct Field {
  std::string_view name;
  Result<void> (*read)(const Node& node, const std::string& path, Owner& into);
};

template <class Owner>
Result<void> read_object(const Node& node, const std::string& path, Owner& into, std::span<const Field<Owner>> fields) {
  if (node.kind != Node::Kind::object) return refuse_policy(path, "must be a JSON object");
  for (const Node& value : node.children) {
    const std::string& name = value.key;
    const auto same = [&](const Field<Owner>& candidate) { return candidate.name == name; };
    const auto field = std::find_if(fields.begin(), fields.end(), same);
    if (field == fields.end()) {
      std::string allowed;
      for (const auto& known : fields) allowed += (allowed.empty() ? "" : ", ") + std::string(known.name);
      return refuse_policy(path + "." + name, "unknown field; allowed: " + allowed);
    }
    FF_TRY_VOID(field->read(value, path + "." + name, into));
  }
  return {};
}

Result<std::int64_t> read_number(const Node& node, const std::string& path, std::int64_t min, std::int64_t max) {
  const std::string allowed = "allowed: whole numbers from " + std::to_string(min) + " to " + std::to_string(max);
  if (node.kind == Node::Kind::other_number) {
    return refuse_policy(path, "has a fraction, an exponent or too many digits; " + allowed);
  }
  if (node.kind != Node::Kind::whole_number) return refuse_policy(path, "is not a number; " + allowed);
  if (node.number < min || node.number > max) return refuse_policy(path, "is " + node.text + "; " + allowed);
  return node.number;
}

// The ranges are those of `admit`, which checks them too; here they prevent truncation of a number.
template <auto member, std::int64_t min, std::int64_t max, class Owner>
Result<void> read_count(const Node& node, const std::string& path, Owner& into) {
  FF_TRY(value, read_number(node, path, min, max));
  into.*member = static_cast<std::uint32_t>(value);
  return {};
}

template <auto member, std::int64_t min, class Owner>
Result<void> read_duration(const Node& node, const std::string& path, Owner& into) {
  FF_TRY(value, read_number(node, path, min, limits::max_duration_ms));
  into.*member = value;
  return {};
}

// The names are in the order of the enumerators, which start at zero.
template <class Enum>
Result<Enum> read_choice(const Node& node, const std::string& path, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (node.kind == Node::Kind::text && node.text == names[i]) return static_cast<Enum>(i);
  }
  std::string allowed;
  for (const auto name : names) allowed += (allowed.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  return refuse_policy(path, "is not an allowed value; allowed: " + allowed);
}

constexpr std::string_view backoff_names[] = {"exponential", "fixed"};
constexpr std::string_view jitter_names[] = {"none", "full"};
constexpr std::string_view on_lease_lost_names[] = {"requeue", "manual"};

template <auto member, const auto& names, class Owner>
Result<void> read_enum(const Node& node, const std::string& path, Owner& into) {
  using Enum = std::remove_reference_t<decltype(into.*member)>;
  FF_TRY(value, read_choice<Enum>(node, path, names));
  into.*member = value;
  return {};
}

Result<void> read_categories(const Node& node, const std::string& path, RetryPolicy& into) {
  if (node.kind != Node::Kind::array) return refuse_policy(path, "must be a JSON array of strings");
  for (const Node& element : node.children) {
    if (element.kind != Node::Kind::text)
      return refuse_policy(path, "has an entry that is not a string; allowed: strings");
    into.retryable_categories.push_back(element.text);
  }
  return {};
}

constexpr Field<RetryPolicy> retry_fields[] = {
    {"max_retries", read_count<&RetryPolicy::max_retries, 0, limits::max_max_retries>},
    {"backoff", read_enum<&RetryPolicy::backoff, backoff_names>},
    {"initial_delay_ms", read_duration<&RetryPolicy::initial_delay_ms, 0>},
    {"max_delay_ms", read_duration<&RetryPolicy::max_delay_ms, 0>},
    {"multiplier_percent", read_count<&RetryPolicy::multiplier_percent, 100, 10000>},
    {"jitter", read_enum<&RetryPolicy::jitter, jitter_names>},
    {"retryable_categories", read_categories},
};

constexpr Field<RetentionPolicy> retention_fields[] = {
    {"completed_ms", read_duration<&RetentionPolicy::completed_ms, 0>},
    {"failed_ms", read_duration<&RetentionPolicy::failed_ms, 0>},
    {"cancelled_ms", read_duration<&RetentionPolicy::cancelled_ms, 0>},
    {"expired_ms", read_duration<&RetentionPolicy::expired_ms, 0>},
    {"skipped_ms", read_duration<&RetentionPolicy::skipped_ms, 0>},
};

Result<void> read_retry(const Node& node, const std::string& path, Policy& into) {
  into.retry = RetryPolicy{};
  return read_object<RetryPolicy>(node, path, *into.retry, retry_fields);
}

Result<void> read_retention(const Node& node, const std::string& path, Policy& into) {
  return read_object<RetentionPolicy>(node, path, into.retention, retention_fields);
}

constexpr Field<Policy> policy_fields[] = {
    {"retry", read_retry},
    {"attempt_timeout_ms", read_duration<&Policy::attempt_timeout_ms, 1>},
    {"on_lease_lost", read_enum<&Policy::on_lease_lost, on_lease_lost_names>},
    {"reclaim_grace_ms", read_duration<&Policy::reclaim_grace_ms, 0>},
    {"max_reclaims", read_count<&Policy::max_reclaims, 0, limits::max_max_reclaims>},
    {"max_replays", read_count<&Policy::max_replays, 0, limits::max_max_replays>},
    {"dedup_window_ms", read_duration<&Policy::dedup_window_ms, 1>},
    {"retention", read_retention},
};

// ---- And back. -----------------------------------------------------------------------------------------------------

template <class Enum>
json::string_view name_of(std::span<const std::string_view> names, Enum value) {
  const std::string_view name = names[static_cast<std::size_t>(value)];
  return {name.data(), name.size()};
}

json::object retry_to_json(const RetryPolicy& retry) {
  json::object out;
  out["max_retries"] = retry.max_retries;
  out["backoff"] = name_of(backoff_names, retry.backoff);
  out["initial_delay_ms"] = retry.initial_delay_ms;
  out["max_delay_ms"] = retry.max_delay_ms;
  out["multiplier_percent"] = retry.multiplier_percent;
  out["jitter"] = name_of(jitter_names, retry.jitter);
  json::array categories;
  for (const auto& category : retry.retryable_categories) {
    categories.emplace_back(json::string_view(category.data(), category.size()));
  }
  out["retryable_categories"] = std::move(categories);
  return out;
}

json::object retention_to_json(const RetentionPolicy& retention) {
  json::object out;
  if (retention.completed_ms) out["completed_ms"] = *retention.completed_ms;
  if (retention.failed_ms) out["failed_ms"] = *retention.failed_ms;
  if (retention.cancelled_ms) out["cancelled_ms"] = *retention.cancelled_ms;
  if (retention.expired_ms) out["expired_ms"] = *retention.expired_ms;
  if (retention.skipped_ms) out["skipped_ms"] = *retention.skipped_ms;
  return out;
}

}  // namespace

Result<Policy> parse_policy_json(std::string_view text) {
  FF_TRY(tree, parse_tree(text));
  Policy policy;
  FF_TRY_VOID(read_object<Policy>(tree, "policy", policy, policy_fields));
  FF_TRY_VOID(admit(policy));
  return policy;
}

std::string policy_to_json(const Policy& policy) {
  json::object out;
  if (policy.retry) out["retry"] = retry_to_json(*policy.retry);
  if (policy.attempt_timeout_ms) out["attempt_timeout_ms"] = *policy.attempt_timeout_ms;
  out["on_lease_lost"] = name_of(on_lease_lost_names, policy.on_lease_lost);
  out["reclaim_grace_ms"] = policy.reclaim_grace_ms;
  out["max_reclaims"] = policy.max_reclaims;
  out["max_replays"] = policy.max_replays;
  out["dedup_window_ms"] = policy.dedup_window_ms;
  json::object retention = retention_to_json(policy.retention);
  if (!retention.empty()) out["retention"] = std::move(retention);
  return json::serialize(out);
}

}  // namespace flowfabric
