// Limits: operators make, change and remove them.
#include "simulation/world.hpp"

namespace flowfabric::simulation {

LimitRequest World::random_limit() {
  LimitRequest request;
  request.name = fmt::format("limit-{}", random_.below(3));
  // What a limit is for cannot be changed, so it follows from the name in most runs.
  if (random_.chance(300)) request.lane = lane_names.front();
  if (random_.chance(200)) request.name_space = namespace_names.front();
  if (random_.chance(300)) request.per.emplace_back("tags.app.tag");
  if (random_.chance(300)) request.per.emplace_back("kind");
  if (random_.chance(200)) request.per.emplace_back("lane");
  if (random_.chance(700)) request.concurrency = static_cast<std::uint32_t>(random_.between(1, 3));
  if (!request.concurrency || random_.chance(200)) {
    request.rate = RateLimit{static_cast<std::uint32_t>(random_.between(1, 4)), random_.between(1, 5000), {}};
    if (random_.chance(500)) request.rate->burst = static_cast<std::uint32_t>(random_.between(1, 4));
  }
  return request;
}

// Between few keys, so that each has several executions in line.
LimitRequest World::random_share() {
  LimitRequest request;
  request.name = fmt::format("share-{}", random_.below(2));
  request.lane = lane_names[random_.below(lane_names.size())];
  request.per.emplace_back(random_.chance(500) ? "kind" : "tags.app.tag");
  request.share.emplace();
  if (random_.chance(500)) request.share->weights[""] = static_cast<std::uint32_t>(random_.between(1, 5));
  return request;
}

void World::operate_on_limit() {
  const Operator by{"operator", "because"};
  const auto ignore = [](Process&, const auto&) {};
  LimitRequest request = random_.chance(250) ? random_share() : random_limit();
  const LimitsRecord& known = watcher_->limits();
  // Half of the time one that exists, with other numbers.
  if (!known.limits.empty() && random_.chance(500)) {
    const LimitInfo& present = known.limits[random_.below(known.limits.size())].info;
    if (random_.chance(300)) {
      return send(live_process(), RemoveLimitCommand{present, by}, "remove " + present.name, ignore);
    }
    static_cast<LimitName&>(request) = present;
    // Whether it is a share cannot be changed either.
    if (present.share.has_value() != request.share.has_value()) static_cast<LimitSpec&>(request) = present;
    request.lane = present.lane;
    request.kind = present.kind;
    request.per = present.per;
  }
  const std::string what = "set " + request.name;
  send(live_process(), SetLimitCommand{std::move(request), by}, what, ignore);
}

void World::remove_all_limits() {
  for (const LimitDefinition& limit : watcher_->limits().limits) {
    send(*processes_.front(), RemoveLimitCommand{limit.info, {"operator", "drain"}}, "remove limit",
         [](Process&, const auto&) {});
  }
}

}  // namespace flowfabric::simulation
