// Bodies that exist only in HTTP: what a C++ caller passes as arguments.
#pragma once

#include "wire/shapes.hpp"

namespace flowfabric::api {

struct CreateManyBody {
  std::vector<CreateRequest> executions;
};
struct ReasonBody {
  std::string reason;
};
struct RevokeBody {
  std::string reason;
  std::optional<Uuid> expected_lease_id;
};
struct PriorityBody {
  std::int32_t priority = 0;
  std::string reason;
};
struct TagsBody {
  Tags set;
  std::vector<std::string> remove;
  std::string reason;
};
struct TagsReply {
  Tags tags;
};
struct ClaimReply {
  std::vector<ClaimedExecution> executions;
};
struct HandlesBody {
  std::vector<std::string> handles;
};
struct CompleteBody : CompleteRequest {
  Handle handle;
};
struct FailBody {
  Handle handle;
  std::string category = "error";
  std::string message;
  FailRequest::Retryable retryable = FailRequest::Retryable::by_policy;
};
struct ProgressBody {
  Handle handle;
  std::optional<std::uint8_t> percent;
  std::optional<std::string> message;
};
struct DelayBody {
  Handle handle;
  TimestampMs delay_until = 0;
};
struct AttemptsReply {
  std::vector<Attempt> attempts;
};
struct ReasonsReply {
  std::vector<Reason> reasons;
};
struct LanesReply {
  std::vector<LaneInfo> lanes;
};
struct LaneBody {
  LaneState state = LaneState::active;
  std::string reason;
};

struct CallerReply {
  std::string name;
  ApiRole role = ApiRole::viewer;
  std::optional<std::string> name_space;
};
struct ApiKeysReply {
  std::vector<ApiKeyInfo> keys;
};

// One of many in a call: what came of it, or the error.
template <class T>
struct Item {
  std::optional<T> value;
  std::optional<Error> error;
};
struct CreatedMany {
  std::vector<Item<Created>> results;
};
struct Verdicts {
  std::vector<Item<RenewVerdict>> results;
};

template <class T>
std::vector<Item<T>> items(std::vector<Result<T>> results) {
  std::vector<Item<T>> all(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) {
      all[i].value = std::move(*results[i]);
    } else {
      all[i].error = std::move(results[i]).error();
    }
  }
  return all;
}

}  // namespace flowfabric::api

namespace flowfabric::wire {

template <>
struct EnumRange<Errc> {
  static constexpr Errc first = Errc::invalid_argument;
  static constexpr Errc last = Errc::internal;
  static std::string_view name(Errc value) { return to_string(value); }
};

template <>
struct Shape<Error> {
  static constexpr std::string_view name = "ItemError";
  static constexpr auto fields = std::tuple{
      field("code", &Error::code, ""),
      field("message", &Error::message, ""),
      field("field", &Error::field, ""),
  };
};

template <class T>
struct Shape<api::Item<T>> {
  static inline const std::string own_name = std::string(Shape<T>::name) + "Item";
  static inline const std::string_view name = own_name;
  static constexpr auto fields = std::tuple{
      field("value", &api::Item<T>::value, "What came of it."),
      field("error", &api::Item<T>::error, "Or why nothing did."),
  };
};

#define FF_SHAPE(type, shape_name, ...)                     \
  template <>                                               \
  struct Shape<type> {                                      \
    using T = type;                                         \
    static constexpr std::string_view name = shape_name;    \
    static constexpr auto fields = std::tuple{__VA_ARGS__}; \
  };

FF_SHAPE(api::CreateManyBody, "CreateMany", required("executions", &T::executions, "Up to 1,000."))
FF_SHAPE(api::ReasonBody, "ReasonBody", field("reason", &T::reason, "Stands in the event log."))
FF_SHAPE(api::RevokeBody, "RevokeBody", field("reason", &T::reason, "Stands in the event log."),
         field("expected_lease_id", &T::expected_lease_id, "Revoke only this lease."))
FF_SHAPE(api::PriorityBody, "PriorityBody", required("priority", &T::priority, "Higher first."),
         field("reason", &T::reason, "Stands in the event log."))
FF_SHAPE(api::TagsBody, "TagsBody", field("set", &T::set, ""), field("remove", &T::remove, ""),
         field("reason", &T::reason, "Stands in the event log."))
FF_SHAPE(api::TagsReply, "TagsReply", field("tags", &T::tags, "All tags afterwards."))
FF_SHAPE(api::ClaimReply, "ClaimReply", field("executions", &T::executions, "Best first; empty: no work."))
FF_SHAPE(api::HandlesBody, "HandlesBody", required("handles", &T::handles, "Up to 1,000."))
FF_SHAPE(api::FailBody, "FailBody", required("handle", &T::handle, ""), field("category", &T::category, ""),
         field("message", &T::message, ""), field("retryable", &T::retryable, ""))
FF_SHAPE(api::ProgressBody, "ProgressBody", required("handle", &T::handle, ""),
         field("percent", &T::percent, "0 to 100."), field("message", &T::message, ""))
FF_SHAPE(api::DelayBody, "DelayBody", required("handle", &T::handle, ""),
         required("delay_until", &T::delay_until, "When the attempt goes on."))
FF_SHAPE(api::AttemptsReply, "AttemptsReply", field("attempts", &T::attempts, "Oldest first."))
FF_SHAPE(api::ReasonsReply, "ReasonsReply", field("reasons", &T::reasons, "Empty while it runs."))
FF_SHAPE(api::LanesReply, "LanesReply", field("lanes", &T::lanes, ""))
FF_SHAPE(api::LaneBody, "LaneBody", required("state", &T::state, ""),
         field("reason", &T::reason, "Stands in the event log."))
FF_SHAPE(api::CreatedMany, "CreatedMany", field("results", &T::results, "One for each request, in order."))
FF_SHAPE(api::Verdicts, "Verdicts", field("results", &T::results, "One for each handle, in order."))

FF_SHAPE(ApiKeyRequest, "ApiKeyRequest", required("name", &T::name, "Stands in the event log; no two keys share one."),
         required("role", &T::role, "Each role may do what those before it may."),
         field("namespace", &T::name_space, "All that the key reaches; absent: everything."),
         moment("expires_at", &T::expires_at, "Absent: never."))
FF_SHAPE(ApiKeyInfo, "ApiKey", field("key_id", &T::key_id, ""), field("name", &T::name, ""),
         field("role", &T::role, ""), field("namespace", &T::name_space, "All that it reaches."),
         moment("created_at", &T::created_at, ""), field("created_by", &T::created_by, ""),
         moment("expires_at", &T::expires_at, ""))
FF_SHAPE(NewApiKey, "NewApiKey", field("key", &T::info, ""),
         field("secret", &T::secret, "Send it as `Authorization: Bearer SECRET`. Nobody can read it again."))
FF_SHAPE(api::CallerReply, "Caller", field("name", &T::name, "As in the event log."), field("role", &T::role, ""),
         field("namespace", &T::name_space, "All that you reach; absent: everything."))
FF_SHAPE(api::ApiKeysReply, "ApiKeys", field("keys", &T::keys, "Oldest first."))

#undef FF_SHAPE

template <>
struct Shape<api::CompleteBody> {
  using T = api::CompleteBody;
  static constexpr std::string_view name = "CompleteBody";
  static constexpr auto fields =
      std::tuple_cat(std::tuple{required("handle", &T::handle, "")}, Shape<CompleteRequest>::fields);
};

}  // namespace flowfabric::wire
