// Routes as the engine uses them: who is handed what, how many there may be, and when they are forgotten.
#include "base/limits.hpp"
#include "conformance/engine_suite.hpp"
#include "core/route.hpp"
#include "core/state.hpp"
#include "engine/integrity.hpp"

namespace flowfabric::test {
namespace {

class EngineRoutes : public EngineSuite {
 protected:
  static CreateRequest job_for(const std::string& lane, std::vector<std::string> capabilities,
                               const std::string& name_space = "default") {
    CreateRequest request = job(lane);
    request.required_capabilities = std::move(capabilities);
    request.name_space = name_space;
    return request;
  }
  void open_limited(std::size_t limit, std::size_t quiet) {
    RuntimeOptions options;
    options.max_namespace_routes = limit;
    options.quiet_namespace_routes = quiet;
    engine_.reset();
    engine_ = open_engine(1, options);
  }
  std::set<std::string> stored_lanes() {
    const auto store = open_store();
    const auto session = value_of(store->open_session());
    ReadRequest request;
    request.want_routes = true;
    std::set<std::string> lanes;
    for (const Route& route : value_of(session->read(request)).routes) lanes.insert(route.lane);
    return lanes;
  }
  void move_entry(const ReadyEntry& from, const ReadyEntry& to, const Route& route) {
    const auto store = open_store();
    ChangeSet set;
    set.routes = {route};
    set.ready_drop = {from};
    set.ready_put = {to};
    EXPECT_EQ(value_of(value_of(store->open_session())->commit({set})), std::vector{Verdict::committed});
  }
  void finish_all(const std::string& lane) {
    for (const ClaimedExecution& claimed : claim_all(lane)) value_of(engine().complete(claimed));
  }
};
ON_EVERY_STORE(EngineRoutes);

using Lanes = std::set<std::string>;

// As after a failover that lost commits, when numbers of routes were still handed out: the work of one stood under the
// number of another.
TEST_P(EngineRoutes, a_worker_is_not_handed_what_its_record_says_it_cannot_do) {
  const ExecutionId id = make(job_for("default", {"gpu"}));
  const ReadyEntry right = *ready_entry(engine().execution(id));
  ReadyEntry wrong = right;
  wrong.route = route_of("default", {});
  move_entry(right, wrong, {wrong.route, "default", {}, "default"});
  const std::string name = "execution " + to_string(id);
  EXPECT_EQ(value_of(integrity_findings(engine().store())),
            (std::vector<std::string>{"the ready index has an entry of " + name + ", which does not ask for it",
                                      name + " can be claimed, but is missing from the ready index"}));
  EXPECT_TRUE(claim(ask(10)).empty());
  ClaimForWorkerRequest request;
  request.worker_id = "worker";
  request.worker_instance_id = "w-1";
  request.lane = "default";
  EXPECT_FALSE(value_of(engine().claim_for_worker(request)));
  EXPECT_EQ(state(id), PublicState::waiting);
  const ExecutionId other = make(job());
  EXPECT_EQ(ids_of(claim(ask(10))), std::vector{other}) << "it does not stand in the way of others";

  move_entry(wrong, right, {right.route, "default", {"gpu"}, "default"});
  EXPECT_EQ(ids_of(claim(ask(10, {"default"}, {"gpu"}))), std::vector{id});
}

TEST_P(EngineRoutes, the_longest_capabilities_that_are_allowed_can_be_required) {
  std::vector<std::string> many;
  for (int i = 0; i < 256; ++i) many.push_back(std::to_string(1000 + i) + "-capability");
  const ExecutionId a = make(job_for("default", many)), b = make(job_for("default", {std::string(4096, 'x')}));
  EXPECT_EQ(ids_of(claim(ask(10, {"default"}, many))), std::vector{a});
  EXPECT_EQ(ids_of(claim(ask(10, {"default"}, {std::string(4096, 'x')}))), std::vector{b});
}

TEST_P(EngineRoutes, a_namespace_may_use_so_many_and_takes_none_from_others) {
  open_limited(3, 1000);
  for (const char* lane : {"a", "b", "c"}) make(job_for(lane, {}, "greedy"));
  const auto refused = engine().create(job_for("d", {}, "greedy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::overloaded);
  EXPECT_NE(refused.error().message.find("\"greedy\" uses 3 combinations"), std::string::npos)
      << refused.error().message;
  make(job_for("a", {}, "greedy"));
  make(job_for("d", {}, "modest"));
  make(job_for("d", {}, "greedy"));
  EXPECT_EQ(refusal(engine().create(job_for("a", {"x"}, "greedy"))), Errc::overloaded);
  EXPECT_EQ(stored_lanes(), (Lanes{"a", "b", "c", "d"}));
}

TEST_P(EngineRoutes, creates_of_one_batch_count_together) {
  open_limited(3, 1000);
  int made = 0, refused = 0;
  for (int i = 0; i < 6; ++i) {
    engine().runtime().submit_create(job_for("lane" + std::to_string(i), {}),
                                     [&](const Result<Reply>& reply) { ++(reply ? made : refused); });
  }
  engine().settle();
  EXPECT_EQ(made, 3);
  EXPECT_EQ(refused, 3);
}

TEST_P(EngineRoutes, a_create_that_is_refused_leaves_none_behind) {
  value_of(engine().call(LaneCommand{"closed", LaneState::disabled, {}}));
  EXPECT_EQ(refusal(engine().create(job_for("closed", {"gpu"}))), Errc::lane_closed);
  EXPECT_EQ(stored_lanes(), Lanes{});
}

TEST_P(EngineRoutes, what_nothing_uses_is_forgotten_and_comes_back_with_the_next_create) {
  open_limited(100, 2);
  for (const char* lane : {"a", "b", "c"}) make(job(lane));
  make(job("waits"));
  for (const char* lane : {"a", "b", "c"}) finish_all(lane);
  engine().advance(limits::idle_route_ms / 2);
  EXPECT_EQ(stored_lanes(), (Lanes{"a", "b", "c", "waits"})) << "not before its time";
  engine().advance(limits::idle_route_ms / 3);
  auto parked = second().claim_later(ask_and_wait(limits::idle_route_ms, {"a"}));
  second().settle();
  engine().advance(limits::idle_route_ms / 3);
  EXPECT_EQ(stored_lanes(), Lanes{"waits"});
  EXPECT_EQ(engine().runtime().routes().size(), 1u);

  const ExecutionId id = make(job("a"));
  EXPECT_TRUE(comes_true(second(), [&] { return parked.done(); }));
  EXPECT_EQ(ids_of(value_of(parked.get())), std::vector{id});
  EXPECT_EQ(claim(ask(10, {"waits"})).size(), 1u);
}

TEST_P(EngineRoutes, a_few_are_never_forgotten) {
  open_limited(100, 2);
  for (const char* lane : {"a", "b"}) {
    make(job(lane));
    finish_all(lane);
  }
  engine().advance(3 * limits::idle_route_ms);
  EXPECT_EQ(stored_lanes(), (Lanes{"a", "b"}));
}

// What was delayed or ended comes back to a route that was forgotten meanwhile.
TEST_P(EngineRoutes, a_forgotten_route_comes_back_with_work_that_becomes_ready_again) {
  open_limited(100, 0);
  const ExecutionId ended = make(job("ended"));
  finish_all("ended");
  CreateRequest later = job("later");
  later.delay_until = now() + 3 * limits::idle_route_ms;
  const ExecutionId delayed = make(later);
  engine().advance(2 * limits::idle_route_ms);
  EXPECT_EQ(stored_lanes(), Lanes{});
  value_of(engine().call(ReplayCommand{ended, {}}));
  engine().advance(2 * limits::idle_route_ms);
  EXPECT_EQ(stored_lanes(), (Lanes{"ended", "later"}));
  EXPECT_EQ(ids_of(value_of(second().claim(ask(10, {"ended", "later"})))), (std::vector{ended, delayed}));
}

}  // namespace
}  // namespace flowfabric::test
