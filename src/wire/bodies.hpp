// Bodies that exist only in HTTP: the arguments of C++ calls, and replies with more than one value.
#pragma once

#include "wire/shapes.hpp"

namespace flowfabric::bodies {

// ---- Submitting and reading

struct CreateManyBody {
  std::vector<CreateRequest> executions{};
};
struct StateReply {
  PublicState public_state = PublicState::waiting;
};
struct AttemptsReply {
  std::vector<Attempt> attempts{};
  std::string next_cursor{};
};
struct StepsReply {
  std::vector<Step> steps{};
  std::string next_cursor{};
};
struct ReasonsReply {
  std::vector<Reason> reasons{};
};
struct TagsReply {
  Tags tags{};
};

// ---- Operating

struct ReasonBody {
  std::string reason{};
};
struct RevokeBody {
  std::string reason{};
  std::optional<Uuid> expected_lease_id{};
};
struct PriorityBody {
  std::int32_t priority = 0;
  std::string reason{};
};
struct TagsBody {
  Tags set{};
  std::vector<std::string> remove{};
  std::string reason{};
};
struct CountsReply {
  std::vector<LaneCounts> lanes{};
};
struct LanesReply {
  std::vector<LaneInfo> lanes{};
};
struct LaneBody {
  LaneState state = LaneState::active;
  std::string reason{};
};
struct NamespacesReply {
  std::vector<NamespaceInfo> namespaces{};
};
struct NamespaceBody {
  RetentionPolicy retention{};
  std::string reason{};
};

// ---- Working

struct ClaimReply {
  std::vector<ClaimedExecution> executions{};
};
struct HandlesBody {
  std::vector<Handle> handles{};
};
struct CompleteBody : CompleteRequest {
  Handle handle{};
};
struct FailBody : FailRequest {
  Handle handle{};
};
struct HandleBody {
  Handle handle{};
};
struct ProgressBody {
  Handle handle{};
  std::optional<std::uint8_t> percent{};
  std::optional<std::string> message{};
};
struct DelayBody {
  Handle handle{};
  std::optional<TimestampMs> delay_until{};
  std::optional<std::int64_t> delay_ms{};
};
struct StepBody : StepRequest {
  Handle handle{};
};
struct CheckpointBody {
  Handle handle{};
  std::string bytes{};
  std::string encoding{};
};
struct TagsHeldBody {
  Handle handle{};
  Tags set{};
  std::vector<std::string> remove{};
};
struct ReplayBody {
  std::string reason{};
  std::optional<std::string> from_step{};
};
struct CancelHeldBody {
  Handle handle{};
  std::string reason{};
};
// The end of one attempt: exactly one of the two.
struct Completion {
  Handle handle{};
  std::optional<CompleteRequest> complete{};
  std::optional<FailRequest> fail{};
};
struct CompletionsBody {
  std::vector<Completion> completions{};
};
struct CompletionDone {
  std::optional<FailReply> fail{};
};

// ---- Callers

struct CallerReply {
  std::string name{};
  ApiRole role = ApiRole::viewer;
  std::optional<std::string> name_space{};
};
struct ApiKeysReply {
  std::vector<ApiKeyInfo> keys{};
};

// One item of a bulk request: its result, or its error.
template <class T>
struct Item {
  std::optional<T> value{};
  std::optional<Error> error{};
};
struct CreatedMany {
  std::vector<Item<Created>> results{};
};
struct Verdicts {
  std::vector<Item<RenewVerdict>> results{};
};
struct CompletionsReply {
  std::vector<Item<CompletionDone>> results{};
};

template <class T>
Item<T> item(Result<T> result) {
  Item<T> one;
  if (result) {
    one.value = std::move(*result);
  } else {
    one.error = std::move(result).error();
  }
  return one;
}

template <class T>
std::vector<Item<T>> items(std::vector<Result<T>> results) {
  std::vector<Item<T>> all;
  all.reserve(results.size());
  for (Result<T>& result : results) all.push_back(item(std::move(result)));
  return all;
}

}  // namespace flowfabric::bodies

namespace flowfabric::wire {

template <class T>
struct Shape<bodies::Item<T>> {
  static inline const std::string own_name = std::string(Shape<T>::name) + "Item";
  static inline const std::string_view name = own_name;
  static constexpr auto fields = std::tuple{
      field("value", &bodies::Item<T>::value, "The result of this item."),
      field("error", &bodies::Item<T>::error, "The error, if this item failed."),
  };
};

#define FF_SHAPE(type, shape_name, ...)                     \
  template <>                                               \
  struct Shape<type> {                                      \
    using T = type;                                         \
    static constexpr std::string_view name = shape_name;    \
    static constexpr auto fields = std::tuple{__VA_ARGS__}; \
  };

inline constexpr std::string_view about_reason = "Recorded in the event log.";
inline constexpr std::string_view about_handle = "The handle of the claim; proves ownership of the lease.";

FF_SHAPE(bodies::CreateManyBody, "CreateMany",
         required("executions", &T::executions, "Up to 1,000.").up_to(limits::max_http_items))
FF_SHAPE(bodies::StateReply, "StateReply", field("public_state", &T::public_state, "Its state."))
FF_SHAPE(bodies::AttemptsReply, "AttemptsReply", field("attempts", &T::attempts, "Oldest first."),
         field("next_cursor", &T::next_cursor, "Cursor of the next page; empty on the last page."))
FF_SHAPE(bodies::StepsReply, "StepsReply", field("steps", &T::steps, "By position."),
         field("next_cursor", &T::next_cursor, "Cursor of the next page; empty on the last page."))
FF_SHAPE(bodies::ReasonsReply, "ReasonsReply", field("reasons", &T::reasons, "Empty while it runs."))
FF_SHAPE(bodies::TagsReply, "TagsReply", field("tags", &T::tags, "All tags."))

FF_SHAPE(bodies::ReasonBody, "ReasonBody", field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))
FF_SHAPE(bodies::ReplayBody, "ReplayBody", field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes),
         field("from_step", &T::from_step, "Keep only the steps that were recorded before the step of this name.")
             .up_to(limits::max_step_name_bytes))
FF_SHAPE(bodies::RevokeBody, "RevokeBody", field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes),
         field("expected_lease_id", &T::expected_lease_id, "Revoke only this lease."))
FF_SHAPE(bodies::PriorityBody, "PriorityBody",
         required("priority", &T::priority, "Higher first, -32768 to 32767.")
             .within(limits::min_priority, limits::max_priority),
         field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))
FF_SHAPE(bodies::TagsBody, "TagsBody", field("set", &T::set, "Tags to set.").up_to(limits::max_tags),
         field("remove", &T::remove, "Keys of tags to remove.")
             .up_to(limits::max_tags)
             .each_up_to(limits::max_tag_key_bytes),
         field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))
FF_SHAPE(bodies::TagsHeldBody, "TagsHeldBody", required("handle", &T::handle, about_handle),
         field("set", &T::set, "Tags to set.").up_to(limits::max_tags),
         field("remove", &T::remove, "Keys of tags to remove.")
             .up_to(limits::max_tags)
             .each_up_to(limits::max_tag_key_bytes))
FF_SHAPE(bodies::CountsReply, "CountsReply", field("lanes", &T::lanes, "Every lane that has an execution."))
FF_SHAPE(bodies::LanesReply, "LanesReply", field("lanes", &T::lanes, "Sorted by name."))
FF_SHAPE(bodies::LaneBody, "LaneBody",
         required("state", &T::state, "Whether it accepts and hands out executions from now on."),
         field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))
FF_SHAPE(bodies::NamespacesReply, "NamespacesReply", field("namespaces", &T::namespaces, "Sorted by name."))
FF_SHAPE(bodies::NamespaceBody, "NamespaceBody",
         required("retention", &T::retention, "How long its ended executions are kept, unless their policy sets it."),
         field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))

FF_SHAPE(bodies::ClaimReply, "ClaimReply", field("executions", &T::executions, "In queue order; empty: no work."))
FF_SHAPE(bodies::HandlesBody, "HandlesBody",
         required("handles", &T::handles, "Up to 1,000.").up_to(limits::max_http_items))
FF_SHAPE(bodies::HandleBody, "HandleBody", required("handle", &T::handle, about_handle))
FF_SHAPE(bodies::ProgressBody, "ProgressBody", required("handle", &T::handle, about_handle),
         field("percent", &T::percent, "0 to 100; absent: the last one is kept.").up_to(100),
         field("message", &T::message, "A message for people; absent: the last one is kept.")
             .up_to(limits::max_message_bytes))
FF_SHAPE(bodies::DelayBody, "DelayBody", required("handle", &T::handle, about_handle),
         field("delay_until", &T::delay_until, "When the attempt goes on; or").up_to(limits::max_timestamp_ms),
         field("delay_ms", &T::delay_ms, "how long from now, by the store's clock. Exactly one of the two.")
             .up_to(limits::max_duration_ms))
FF_SHAPE(bodies::CancelHeldBody, "CancelHeldBody", required("handle", &T::handle, about_handle),
         field("reason", &T::reason, about_reason).up_to(limits::max_reason_bytes))
FF_SHAPE(bodies::Completion, "Completion", required("handle", &T::handle, about_handle),
         field("complete", &T::complete, "The attempt succeeded."),
         field("fail", &T::fail, "The attempt failed. Give exactly one of the two."))
FF_SHAPE(bodies::CompletionsBody, "CompletionsBody",
         required("completions", &T::completions, "Up to 1,000.").up_to(limits::max_http_items))
FF_SHAPE(bodies::CompletionDone, "CompletionDone", field("fail", &T::fail, "The decision about a failed attempt."))

FF_SHAPE(bodies::CreatedMany, "CreatedMany", field("results", &T::results, "One for each request, in order."))
FF_SHAPE(bodies::Verdicts, "Verdicts", field("results", &T::results, "One for each handle, in order."))
FF_SHAPE(bodies::CompletionsReply, "CompletionsReply", field("results", &T::results, "One for each, in order."))

FF_SHAPE(ApiKeyRequest, "ApiKeyRequest",
         required("name", &T::name, "Recorded in the event log as the actor; unique.")
             .within(1, limits::max_api_key_name_bytes),
         required("role", &T::role, "Each role includes the previous ones: viewer, worker, operator, admin."),
         field("namespace", &T::name_space, "Restricts the key to this namespace; absent: all namespaces.")
             .within(1, limits::max_namespace_bytes),
         moment("expires_at", &T::expires_at, "Absent: never.").up_to(limits::max_timestamp_ms))
FF_SHAPE(ApiKeyInfo, "ApiKey", field("key_id", &T::key_id, "Also part of the secret."),
         field("name", &T::name, "The name in the event log."), field("role", &T::role, "Its permissions."),
         field("namespace", &T::name_space, "The namespace to which it is restricted; absent: all namespaces."),
         moment("created_at", &T::created_at, "When it was created."),
         field("created_by", &T::created_by, "The creator."),
         moment("expires_at", &T::expires_at, "When it expires; absent: never."))
FF_SHAPE(NewApiKey, "NewApiKey", field("key", &T::info, "Its permissions."),
         field("secret", &T::secret, "Send it as `Authorization: Bearer SECRET`. It is not shown again."))
FF_SHAPE(bodies::CallerReply, "Caller", field("name", &T::name, "The name in the event log."),
         field("role", &T::role, "Your permissions."),
         field("namespace", &T::name_space, "The namespace to which you are restricted; absent: all namespaces."))
FF_SHAPE(bodies::ApiKeysReply, "ApiKeys", field("keys", &T::keys, "Oldest first."))

template <>
struct Shape<bodies::CompleteBody> {
  using T = bodies::CompleteBody;
  static constexpr std::string_view name = "CompleteBody";
  static constexpr auto fields =
      std::tuple_cat(std::tuple{required("handle", &T::handle, about_handle)}, Shape<CompleteRequest>::fields);
};

template <>
struct Shape<bodies::StepBody> {
  using T = bodies::StepBody;
  static constexpr std::string_view name = "StepBody";
  static constexpr auto fields =
      std::tuple_cat(std::tuple{required("handle", &T::handle, about_handle)}, Shape<StepRequest>::fields);
};

template <>
struct Shape<bodies::CheckpointBody> {
  using T = bodies::CheckpointBody;
  static constexpr std::string_view name = "CheckpointBody";
  static constexpr auto fields = std::tuple{
      required("handle", &T::handle, about_handle),
      LabelledJson<&T::bytes, &T::encoding>{"checkpoint", about_json_in},
      LabelledBase64<&T::bytes, &T::encoding>{"checkpoint_base64", about_base64_in},
      field("encoding", &T::encoding, "Its label."),
  };
};

template <>
struct Shape<bodies::FailBody> {
  using T = bodies::FailBody;
  static constexpr std::string_view name = "FailBody";
  static constexpr auto fields =
      std::tuple_cat(std::tuple{required("handle", &T::handle, about_handle)}, Shape<FailRequest>::fields);
};

}  // namespace flowfabric::wire
