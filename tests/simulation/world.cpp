#include "simulation/world.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace flowfabric::simulation {

const std::vector<std::string> lane_names = {"default", "mail", "video"};
const std::vector<std::string> namespace_names = {"default", "tenant"};
const std::vector<std::string> capability_names = {"cpu", "gpu", "net"};

namespace {

constexpr std::int64_t start_us = 1'700'000'000'000'000;
constexpr std::int64_t default_retention_ms = 2 * hour_ms;
constexpr int max_depth = 3;
constexpr int open_tries = 200;

}  // namespace

RunResult run_seed(std::uint64_t seed, bool verbose, const test::StoreKind& kind) {
  try {
    World world(seed, verbose, kind);
    return world.run();
  } catch (const Violation& violation) {  // the world could not even be opened
    return {false, violation, 0, 0, 0};
  }
}

World::World(std::uint64_t seed, bool verbose, const test::StoreKind& kind)
    : random_(seed),
      budget_random_(seed ^ 0xb0d6e7),
      trace_(verbose),
      seed_(seed),
      now_us_(start_us),
      latest_us_(start_us),
      kind_(kind),
      database_(test::make_database(kind.id)) {
  release_on_worker_death_ = random_.chance(900);
  WatcherOptions options{default_retention_ms, release_on_worker_death_};
  options.log_grows_at_its_end = kind.id != test::StoreKindId::postgres;
  watcher_ = std::make_unique<Watcher>(*database_, options);
}

World::~World() {
  // Later output of the engines is ignored.
  for (const auto& process : processes_) process->state->dead = true;
}

RunResult World::run() {
  RunResult result;
  try {
    choose_profile();
    choose_budgets();
    const int steps = static_cast<int>(random_.between(100, 500));
    for (int i = 1; i <= steps; ++i) {
      trace_.set_step(i);
      step();
    }
    trace_.set_step(steps + 1);
    drain();
    check_the_end();
  } catch (const Violation& violation) {
    result.passed = false;
    result.violation = violation;
  }
  result.step = trace_.step();
  result.trace_hash = trace_.hash();
  result.executions = watcher_->shadows().size();
  return result;
}

// Some runs have no faults, some have one kind, most have several.
void World::choose_profile() {
  const auto rate = [&](int most) { return random_.chance(600) ? static_cast<int>(random_.between(1, most)) : 0; };
  if (!random_.chance(100)) {
    rates_.unavailable = rate(40);
    rates_.lost_reply = rate(60);
    rates_.crash = rate(15);
    rates_.stale_verdict = rate(100);
    rates_.stale_candidate = rate(200);
    rates_.clock_step = rate(20);
    rates_.drop_news = rate(300);
    rates_.hold_news = rate(400);
    rates_.failed_flush = rate(30);
    clock_goes_back_ = random_.chance(250);
  }
  rates_.interleave = random_.chance(700) ? static_cast<int>(random_.between(50, 400)) : 0;
  writers_ = static_cast<std::uint32_t>(random_.between(1, 2));
  settles_later_ = random_.chance(400);
  // Nearly everything is read ahead, or, in a quarter of all runs, nothing.
  read_ahead_.lead_ms = random_.between(1, 2000);
  read_ahead_.stride_ms = random_.between(100, 1000);
  read_ahead_.dense_ms = random_.between(0, 1000);
  read_ahead_.page = random_.chance(250) ? 1000 : static_cast<std::uint32_t>(random_.between(1, 3));
  read_ahead_.most = static_cast<std::uint32_t>(random_.between(1, 10));
  read_ahead_.distrust_ms = random_.between(0, 2000);
  const auto engines = random_.between(1, 3);
  trace_.line("seed {}: {} engines with {} writers", seed_, engines, writers_);
  for (std::int64_t i = 0; i < engines; ++i) {
    processes_.push_back(std::make_unique<Process>());
    processes_.back()->state->number = static_cast<int>(i);
    open_process(*processes_.back());
  }
  for (int i = 0; i < 4; ++i) {
    Worker worker;
    worker.id = fmt::format("worker-{}", i / 2);
    worker.instance = fmt::format("instance-{}", i);
    for (const auto& capability : capability_names) {
      if (random_.chance(i == 0 ? 1000 : 500)) worker.capabilities.push_back(capability);
    }
    if (i >= 2 && random_.chance(600)) worker.keeps_to = random_.pick(namespace_names);
    workers_.push_back(std::move(worker));
  }
  // Two namespaces may use the same instance id.
  Worker twin = workers_.front();
  twin.name_space = "tenant";
  twin.id = "worker-1";
  if (random_.chance(600)) twin.keeps_to = twin.name_space;
  workers_.push_back(std::move(twin));
}

void World::step() {
  operate_on_budget();
  const auto dice = random_.below(1000);
  if (dice < 90) {
    create_something();
  } else if (dice < 310) {
    work_somehow();
  } else if (dice < 440) {
    fleet_somehow();
  } else if (dice < 500) {
    operate_somehow();
  } else if (dice < 525) {
    operate_on_schedule();
  } else if (dice < 535) {
    operate_on_limit();
  } else if (dice < 545) {
    operate_on_redrive();
  } else if (dice < 590) {
    signal_something();
  } else if (dice < 830) {
    drive_something();
  } else if (dice < 850) {
    advance_to_an_edge();
  } else if (dice < 920) {
    advance(random_.chance(30) ? random_.between(1, 4) * hour_ms : random_.between(1, 3000));
  } else if (dice < 950) {
    watcher_->read_as_subscriber(random_, false);
  } else if (dice < 970) {
    Process& process = live_process();
    process.store->deliver_held();
  } else if (dice < 985) {
    check_calm();
  } else if (rates_.crash > 0 && !random_.chance(300)) {
    Process& process = live_process();
    trace_.line("process {} is killed", process.state->number);
    news_lost_ = true;
    process.state->dead = true;
  } else {
    stop_gracefully(live_process());
  }
  bury_the_dead();
  if (watcher_->commits() != checked_commit_) watcher_->check_indexes();
  checked_commit_ = watcher_->commits();
}

// ---------------------------------------------------------------- processes

void World::open_process(Process& process) {
  const int number = process.state->number;
  for (int i = 0; i < open_tries; ++i) {
    process = Process{};
    process.state->number = number;
    StoreOptions of_store;
    of_store.now_us = [this] { return now_us_; };
    auto store = std::make_unique<FaultStore>(database_->open(std::move(of_store)), *this, process.state);
    process.store = store.get();
    RuntimeOptions options;
    options.writers = writers_;
    options.default_retention_ms = default_retention_ms;
    options.release_on_worker_death = release_on_worker_death_;
    options.keep_alive_ms = keep_alive_ms;
    options.settle_apart = settles_later_;
    options.read_ahead = read_ahead_;
    options.entropy = seeded_entropy(seed_ * 1000 + ++lives_);
    options.steady_ms = [this] { return (now_us_ + steady_lead_us_) / 1000; };
    // A process that is being opened does not interleave with others yet.
    std::optional<Result<std::unique_ptr<Runtime>>> opened;
    ++depth_;
    try {
      opened = Runtime::open(std::move(store), std::move(options));
    } catch (const Crash&) {
    }
    --depth_;
    if (!opened || !*opened) continue;
    process.runtime = std::move(**opened);
    process.writer_busy.assign(process.runtime->writers(), false);
    trace_.line("process {} opens", number);
    return;
  }
  violated("an engine opens", "process {} could not", number);
}

void World::bury_the_dead() {
  // Others may die while one opens, so this is repeated until no dead process is left.
  for (std::size_t i = 0; i < processes_.size();) {
    Process* process = processes_[i++].get();
    if (!process->state->dead || process->frames > 0) continue;
    i = 0;
    // Callers of a dead process get no reply; the last messages of the runtime are ignored too.
    process->runtime.reset();
    std::vector<std::uint64_t> lost;
    for (const auto& [number, call] : calls_) {
      if (call.process == process) lost.push_back(number);
    }
    for (const std::uint64_t number : lost) {
      const auto crashed = calls_.at(number).crashed;
      calls_.erase(number);
      crashed(Error{Errc::outcome_unknown, "the process died", {}, {}});
    }
    open_process(*process);
  }
}

// Runs something in the process; a simulated crash ends it there.
void World::run_in(Process& process, const std::function<void()>& work) {
  ++process.frames;
  try {
    work();
  } catch (const Crash&) {
  }
  --process.frames;
}

Process& World::live_process() { return *processes_[random_.below(processes_.size())]; }

bool World::pump(Process& process, std::size_t writer) {
  if (process.state->dead || process.writer_busy[writer]) return false;
  bool moved = false;
  process.writer_busy[writer] = true;
  // Another writer of the process may be in the middle of its answers.
  const std::uint64_t being_answered = process.state->reply_commit;
  trace_.deeper();
  run_in(process, [&] { moved = process.runtime->pump(writer); });
  trace_.shallower();
  process.state->reply_commit = being_answered;
  process.writer_busy[writer] = false;
  return moved;
}

void World::tick(Process& process) {
  if (process.state->dead || process.tick_busy) return;
  process.tick_busy = true;
  run_in(process, [&] { process.runtime->tick(); });
  process.tick_busy = false;
}

bool World::look(Process& process) {
  if (process.state->dead || process.look_busy) return false;
  bool moved = false;
  process.look_busy = true;
  run_in(process, [&] { moved = process.runtime->look(); });
  process.look_busy = false;
  return moved;
}

bool World::settle_written(Process& process) {
  if (process.state->dead || process.settle_busy) return false;
  bool moved = false;
  process.settle_busy = true;
  run_in(process, [&] { moved = process.runtime->settle_written(); });
  process.settle_busy = false;
  return moved;
}

bool World::drive_something() {
  Process& process = live_process();
  if (process.state->dead || !process.runtime) return false;
  if (random_.chance(300)) {
    tick(process);
    return false;
  }
  if (random_.chance(200)) return look(process);
  if (settles_later_ && random_.chance(300)) return settle_written(process);
  return pump(process, random_.below(process.writer_busy.size()));
}

void World::interleave() {
  if (depth_ >= max_depth || processes_.empty()) return;
  if (kind_.takes_turns && open_batches_ > 0) return;  // the others would wait
  ++depth_;
  for (auto turns = random_.between(1, 3); turns > 0; --turns) {
    drive_something();
  }
  --depth_;
}

void World::announce(int from, const Wakeup& wakeup) {
  if (!kind_.announces) return news_lost();
  for (const auto& process : processes_) {
    if (process->is_up() && process->state->number != from) process->store->receive(wakeup);
  }
}

void World::stop_gracefully(Process& process) {
  if (process.frames > 0 || process.state->dead) return;
  trace_.line("process {} stops", process.state->number);
  run_in(process, [&] { process.runtime->refuse_new_work(); });
  while (!process.state->dead && !process.runtime->queues_empty()) {
    for (std::size_t i = 0; i < process.writer_busy.size(); ++i) pump(process, i);
    settle_written(process);
  }
  if (!process.state->dead) {
    process.runtime->refuse_everything();
    const bool forgotten =
        std::any_of(calls_.begin(), calls_.end(), [&](const auto& entry) { return entry.second.process == &process; });
    if (forgotten) violated("a clean stop answers every call", "process {}", process.state->number);
  }
  process.state->dead = true;
}

// ---------------------------------------------------------------- time and commits

void World::advance(std::int64_t ms) {
  trace_.line("{} ms pass", ms);
  now_us_ += ms * 1000 + random_.between(0, 999);
  latest_us_ = std::max(latest_us_, now_us_);
}

// To the exact millisecond at which something ends, or to the one before: this tests the meaning of "until".
void World::advance_to_an_edge() {
  std::vector<TimestampMs> edges;
  for (const auto& [key, shadow] : watcher_->workers()) edges.push_back(shadow.record.info.expires_at);
  if (const auto id = any_execution()) {
    const Facts& facts = watcher_->find(*id)->execution.facts;
    if (facts.lease) edges.push_back(facts.lease->expires_at);
    if (facts.grant) edges.push_back(facts.grant->expires_at);
    edges.push_back(facts.delay_until);
    if (facts.waits && facts.waits->wait) edges.push_back(facts.waits->wait->timeout_at);
  }
  if (edges.empty()) return;
  const TimestampMs edge = random_.pick(edges) - (random_.chance(300) ? 1 : 0);
  if (edge <= now_ms()) return;
  trace_.line("time goes on to {}", edge);
  now_us_ = edge * 1000 + random_.between(0, 999);
  latest_us_ = std::max(latest_us_, now_us_);
  if (random_.chance(500)) heartbeat(workers_[random_.below(workers_.size())]);
}

void World::step_clock() {
  if (clock_goes_back_ && random_.chance(500)) {
    const std::int64_t back = random_.between(1, 60) * 1000;
    trace_.line("the clock goes back {} us", back);
    now_us_ -= back;
    // Half of the time the steady clock does not change.
    if (random_.chance(500)) steady_lead_us_ += back;
    return;
  }
  advance(random_.chance(100) ? random_.between(1, 3) * hour_ms : random_.between(1, 5000));
}

std::uint64_t World::committed(const std::vector<ChangeSet>& sets, const std::vector<Verdict>& verdicts) {
  const int rotations = watcher_->rotations();
  const std::uint64_t number = watcher_->committed(sets, verdicts, latest_us_ / 1000);
  // An engine that cannot read the new keys right away reads them again only after a while.
  if (watcher_->rotations() != rotations) news_lost_ = true;
  trace_.line("commit {} of {} sets at {}", number, sets.size(), now_ms());
  return number;
}

}  // namespace flowfabric::simulation
