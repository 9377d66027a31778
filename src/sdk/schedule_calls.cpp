#include "sdk/schedule_calls.hpp"

#include "wire/schedule_shapes.hpp"

namespace flowfabric::sdk {
namespace {

std::string schedule_path(const ScheduleName& name) { return "/v1/schedules/" + in_path(name.name); }

Url schedule_url(const ScheduleName& name, const std::string& more = {}) {
  Url url(schedule_path(name) + more);
  url.add("namespace", name.name_space);
  return url;
}

class HttpScheduleCalls final : public ScheduleCalls {
 public:
  explicit HttpScheduleCalls(HttpCaller& caller) : caller_(caller) {}

  Result<ScheduleSaved> create(ScheduleRequest request) override {
    return caller_.send<ScheduleSaved>("POST", "/v1/schedules", request);
  }
  Result<ScheduleSaved> update(const ScheduleName& name, ScheduleSpec spec,
                               std::optional<std::uint64_t> expected_revision, const Operator& by) override {
    bodies::ScheduleUpdateBody body;
    static_cast<ScheduleSpec&>(body) = std::move(spec);
    body.name_space = name.name_space;
    body.revision = expected_revision;
    body.reason = by.reason;
    return caller_.send<ScheduleSaved>("PUT", schedule_path(name), body);
  }
  Result<ScheduleSaved> change(const ScheduleName& name, ScheduleState state, const Operator& by) override {
    if (state == ScheduleState::deleted) {
      Url url = schedule_url(name);
      if (!by.reason.empty()) url.add("reason", by.reason);
      FF_TRY(response, caller_.call("DELETE", url.text(), {}, {}));
      return HttpCaller::read<ScheduleSaved>(response);
    }
    const std::string path = schedule_path(name) + (state == ScheduleState::paused ? "/pause" : "/resume");
    return caller_.send<ScheduleSaved>("POST", path, bodies::ScheduleBody{name.name_space, by.reason});
  }
  Result<TriggerReply> trigger(const ScheduleName& name, const TriggerRequest& request, const Operator& by) override {
    bodies::TriggerBody body;
    static_cast<TriggerRequest&>(body) = request;
    body.name_space = name.name_space;
    body.reason = by.reason;
    // Without a key a repetition would start another execution.
    CallOptions options;
    options.repeat = !request.idempotency_key.empty();
    return caller_.send<TriggerReply>("POST", schedule_path(name) + "/trigger", body, options);
  }
  Result<BackfillReply> backfill(const ScheduleName& name, const BackfillRequest& request,
                                 const Operator& by) override {
    bodies::BackfillBody body;
    static_cast<BackfillRequest&>(body) = request;
    body.name_space = name.name_space;
    body.reason = by.reason;
    return caller_.send<BackfillReply>("POST", schedule_path(name) + "/backfill", body);
  }
  Result<ScheduleDescription> describe(const ScheduleName& name) override {
    return caller_.get<ScheduleDescription>(schedule_url(name));
  }
  Result<ListSchedulesReply> list(const ListSchedulesRequest& request) override {
    Url url("/v1/schedules");
    url.add("namespace", request.name_space);
    std::string states;
    for (const ScheduleState state : request.states) {
      states += (states.empty() ? "" : ",") + std::string(to_string(state));
    }
    if (!states.empty()) url.add("state", states);
    return caller_.get<ListSchedulesReply>(url.page(request.cursor, request.limit));
  }
  Result<NextRuns> next(const ScheduleName& name, const NextRunsRequest& request) override {
    Url url = schedule_url(name, "/next");
    if (request.from != 0) url.add("from", std::to_string(request.from));
    url.add("count", std::to_string(request.count));
    return caller_.get<NextRuns>(url);
  }

 private:
  HttpCaller& caller_;
};

class EngineScheduleCalls final : public ScheduleCalls {
 public:
  explicit EngineScheduleCalls(Engine& engine) : engine_(engine) {}

  Result<ScheduleSaved> create(ScheduleRequest request) override { return engine_.create_schedule(std::move(request)); }
  Result<ScheduleSaved> update(const ScheduleName& name, ScheduleSpec spec,
                               std::optional<std::uint64_t> expected_revision, const Operator& by) override {
    return engine_.update_schedule(name.name_space, name.name, std::move(spec), expected_revision, by);
  }
  Result<ScheduleSaved> change(const ScheduleName& name, ScheduleState state, const Operator& by) override {
    switch (state) {
      case ScheduleState::active: return engine_.resume_schedule(name.name_space, name.name, by);
      case ScheduleState::paused: return engine_.pause_schedule(name.name_space, name.name, by);
      case ScheduleState::deleted: break;
    }
    return engine_.delete_schedule(name.name_space, name.name, by);
  }
  Result<TriggerReply> trigger(const ScheduleName& name, const TriggerRequest& request, const Operator& by) override {
    return engine_.trigger_schedule(name.name_space, name.name, request, by);
  }
  Result<BackfillReply> backfill(const ScheduleName& name, const BackfillRequest& request,
                                 const Operator& by) override {
    return engine_.backfill_schedule(name.name_space, name.name, request, by);
  }
  Result<ScheduleDescription> describe(const ScheduleName& name) override {
    return engine_.describe_schedule(name.name_space, name.name);
  }
  Result<ListSchedulesReply> list(const ListSchedulesRequest& request) override {
    return engine_.list_schedules(request);
  }
  Result<NextRuns> next(const ScheduleName& name, const NextRunsRequest& request) override {
    return engine_.next_runs(name.name_space, name.name, request);
  }

 private:
  Engine& engine_;
};

}  // namespace

std::unique_ptr<ScheduleCalls> schedule_calls(HttpCaller& caller) {
  return std::make_unique<HttpScheduleCalls>(caller);
}
std::unique_ptr<ScheduleCalls> schedule_calls(Engine& engine) { return std::make_unique<EngineScheduleCalls>(engine); }

}  // namespace flowfabric::sdk
