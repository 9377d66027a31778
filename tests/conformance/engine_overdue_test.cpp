// What is due has its share of the writer, however much else there is to do: nothing falls behind for ever.
#include "conformance/engine_suite.hpp"

namespace flowfabric::test {
namespace {

class EngineOverdue : public EngineSuite {
 protected:
  void submit(std::size_t count, const CreateRequest& request) {
    for (std::size_t i = 0; i < count; ++i) {
      engine().runtime().submit_create(request, [](const Result<Reply>& reply) { value_of(reply); });
    }
  }
  static CreateRequest delayed_until(TimestampMs until) {
    CreateRequest request = job();
    request.delay_until = until;
    return request;
  }
};
ON_EVERY_STORE(EngineOverdue);

TEST_P(EngineOverdue, what_is_due_has_its_turn_however_long_the_queue_is) {
  const ExecutionId id = make(delayed_until(now() + 10));
  submit(4 * limits::max_batch_commands, job("other"));
  clock_.advance_ms(10);
  engine().runtime().tick();
  engine().runtime().pump(0);
  engine().runtime().pump(0);
  EXPECT_FALSE(engine().runtime().queues_empty());
  EXPECT_EQ(state(id), PublicState::waiting);
  engine().settle();
}

// Each round makes more due than a sweep takes at first that leaves room for commands, and the commands never pause.
TEST_P(EngineOverdue, the_share_of_what_is_due_grows_with_its_lag) {
  constexpr int rounds = 30;
  constexpr std::int64_t round_ms = 100;
  constexpr std::size_t due_in_a_round = 300;
  for (int i = 0; i < rounds; ++i) {
    submit(due_in_a_round, delayed_until(now() + 1));
    engine().runtime().tick();
    engine().runtime().pump(0);
    engine().runtime().pump(0);
    clock_.advance_ms(round_ms);
  }
  const TimestampMs earliest = value_of(engine().store().next_due()).value_or(now());
  EXPECT_LT(now() - earliest, 10 * round_ms) << "a third of the time";
  engine().settle();
}

TEST_P(EngineOverdue, a_figure_says_how_late_it_is) {
  make(delayed_until(now() + 1));
  clock_.advance_ms(7501);
  const auto overdue = [](Driver& driver) {
    const std::string text = driver.runtime().metrics().registry.text();
    const std::string name = "\nflowfabric_overdue_seconds ";
    return text.substr(text.find(name) + name.size(), 4);
  };
  EXPECT_EQ(overdue(engine()), "7.5\n");
}

}  // namespace
}  // namespace flowfabric::test
