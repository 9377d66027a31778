#include "cli/store_schedules.hpp"

#include "base/check.hpp"
#include "engine/schedule_reads.hpp"
#include "engine/time_zones.hpp"

namespace flowfabric::cli {
namespace {

class StoreSchedules final : public sdk::ScheduleCalls {
 public:
  StoreSchedules(std::function<Result<Store*>()> opened_store, std::function<Result<Engine*>()> opened_engine)
      : opened_store_(std::move(opened_store)), opened_engine_(std::move(opened_engine)) {}

  Result<ScheduleSaved> create(ScheduleRequest request) override {
    FF_TRY(engine, opened_engine_());
    return engine->create_schedule(std::move(request));
  }
  Result<ScheduleSaved> update(const sdk::ScheduleName& name, ScheduleSpec spec,
                               std::optional<std::uint64_t> expected_revision, const Operator& by) override {
    FF_TRY(engine, opened_engine_());
    return sdk::schedule_calls(*engine)->update(name, std::move(spec), expected_revision, by);
  }
  Result<ScheduleSaved> change(const sdk::ScheduleName& name, ScheduleState state, const Operator& by) override {
    FF_TRY(engine, opened_engine_());
    return sdk::schedule_calls(*engine)->change(name, state, by);
  }
  Result<TriggerReply> trigger(const sdk::ScheduleName& name, const TriggerRequest& request,
                               const Operator& by) override {
    FF_TRY(engine, opened_engine_());
    return sdk::schedule_calls(*engine)->trigger(name, request, by);
  }
  Result<BackfillReply> backfill(const sdk::ScheduleName& name, const BackfillRequest& request,
                                 const Operator& by) override {
    FF_TRY(engine, opened_engine_());
    return sdk::schedule_calls(*engine)->backfill(name, request, by);
  }
  Result<ScheduleDescription> describe(const sdk::ScheduleName& name) override {
    FF_TRY(store, opened_store_());
    return reads::describe_schedule(*store, system_time_zones().get(), name.name_space, name.name);
  }
  Result<ListSchedulesReply> list(const ListSchedulesRequest& request) override {
    FF_TRY(store, opened_store_());
    return reads::schedules(*store, request);
  }
  Result<NextRuns> next(const sdk::ScheduleName& name, const NextRunsRequest& request) override {
    FF_TRY(store, opened_store_());
    return reads::next_runs(*store, system_time_zones().get(), name.name_space, name.name, request);
  }

 private:
  std::function<Result<Store*>()> opened_store_;
  std::function<Result<Engine*>()> opened_engine_;
};

}  // namespace

std::unique_ptr<sdk::ScheduleCalls> store_schedules(std::function<Result<Store*>()> opened_store,
                                                    std::function<Result<Engine*>()> opened_engine) {
  return std::make_unique<StoreSchedules>(std::move(opened_store), std::move(opened_engine));
}

}  // namespace flowfabric::cli
