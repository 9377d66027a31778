// Finds the oldest execution that waits on a lane, with listings, which begin with the newest.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <flowfabric/operations.hpp>
#include <flowfabric/result.hpp>

namespace flowfabric::api {

// When it was created, to within a second or five per cent of its age. Nothing when none waits, or when it was not found
// with a few listings.
using Lister = std::function<Result<ListReply>(const ListRequest&)>;
Result<std::optional<TimestampMs>> oldest_waiting(const Lister& list, const std::optional<std::string>& name_space,
                                                  const std::string& lane, TimestampMs now);

}  // namespace flowfabric::api
