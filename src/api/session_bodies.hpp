// Bodies of the routes with which a browser signs in.
#pragma once

#include "wire/bodies.hpp"

namespace flowfabric::api {

struct SessionBody {
  std::string api_key{};
};
struct SessionReply {
  bool authentication = false;
  bool signed_in = false;
  std::string name{};
  std::optional<ApiRole> role{};
  std::optional<std::string> name_space{};
  std::string version{};
  std::string store{};
};

}  // namespace flowfabric::api

namespace flowfabric::wire {

FF_SHAPE(api::SessionBody, "SessionBody", required("api_key", &T::api_key, "The secret of an API key."))
FF_SHAPE(api::SessionReply, "Session",
         field("authentication", &T::authentication, "Whether the server requires API keys."),
         field("signed_in", &T::signed_in, "Whether it knows the caller; always when it requires no keys."),
         if_set("name", &T::name, "The name in the event log."), field("role", &T::role, "What the caller may do."),
         field("namespace", &T::name_space, "All that the caller reaches; absent: everything."),
         if_set("version", &T::version, "Of the server; only for those who are signed in."),
         if_set("store", &T::store, "The kind of its store, such as sqlite; only for those who are signed in."))

}  // namespace flowfabric::wire
