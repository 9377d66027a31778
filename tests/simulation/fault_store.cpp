#include "simulation/fault_store.hpp"

#include <algorithm>
#include <exception>
#include <tuple>

namespace flowfabric::simulation {
namespace {

constexpr std::size_t remembered_candidates = 8;

Unexpected<Error> unavailable() { return fail(Errc::unavailable, "simulated: the store cannot be reached"); }

Unexpected<Error> outcome_unknown() {
  return fail(Errc::outcome_unknown, "simulated: the connection was lost during a commit");
}

// Keeps a few candidates of earlier searches, to return them again when they are outdated.
template <class C>
class Memory {
 public:
  void note(const std::vector<C>& found) {
    for (const C& candidate : found) {
      if (kept_.size() < remembered_candidates) {
        kept_.push_back(candidate);
      } else {
        kept_[next_++ % remembered_candidates] = candidate;
      }
    }
  }
  // One of them, of any age: its record may have been erased since, and created again.
  const C* pick(Environment& environment) const { return kept_.empty() ? nullptr : &environment.random().pick(kept_); }

 private:
  std::vector<C> kept_;
  std::size_t next_ = 0;
};

template <class C>
bool proposes(const std::vector<C>& candidates, const Key& key) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const C& c) { return c.entry.key == key; });
}

class FaultSession final : public Session {
 public:
  FaultSession(std::unique_ptr<Session> inner, FaultStore& store) : inner_(std::move(inner)), store_(store) {
    store_.sessions().insert(this);
  }
  ~FaultSession() override { store_.sessions().erase(this); }

  Result<ReadReply> read(const ReadRequest& request) override;
  Result<std::vector<Satellite>> read_satellites(const std::vector<SatelliteName>& names) override {
    store_.enter("read_satellites");
    if (store_.fails("read_satellites")) return unavailable();
    return inner_->read_satellites(names);
  }
  Result<std::vector<SequenceEntry>> read_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override {
    store_.enter("read_sequence");
    if (store_.fails("read_sequence")) return unavailable();
    return inner_->read_sequence(name, from, limit);
  }
  Result<std::vector<Verdict>> commit(const std::vector<ChangeSet>& sets) override;
  const std::vector<std::uint64_t>& appended() const override { return appended_; }
  void release() override {
    inner_->release();
    open(false);
  }
  // Others continue, or the process dies, between a commit and its replies.
  Result<void> settle() override {
    store_.enter("settle");
    store_.process().reply_commit = last_commit_;
    if (store_.environment().random().chance(store_.environment().rates().failed_flush)) {
      store_.environment().trace().line("store {}: the flush fails", store_.process().number);
      return outcome_unknown();
    }
    return inner_->settle();
  }

 private:
  void open(bool is_open) {
    if (is_open == batch_is_open_) return;
    batch_is_open_ = is_open;
    store_.environment().batch_is_open(is_open);
  }
  void propose_old_work(const ReadRequest& request, ReadReply& reply);
  void propose_old_grouped(const ReadRequest& request, ReadReply& reply);
  Result<std::vector<Verdict>> commit_some(const std::vector<ChangeSet>& sets);

  std::unique_ptr<Session> inner_;
  FaultStore& store_;
  std::uint64_t last_commit_ = 0;
  bool batch_is_open_ = false;
  std::vector<std::uint64_t> appended_;
  Memory<Candidate> ready_;
  Memory<DueCandidate> due_, grouped_;
};

Result<ReadReply> FaultSession::read(const ReadRequest& request) {
  store_.enter("read");
  if (store_.fails("read")) return unavailable();
  // Everything here runs on one thread: who waited for a record to be let go would wait for ever.
  ReadRequest without_waiting = request;
  without_waiting.hold.reset();
  auto reply = inner_->read(without_waiting);
  if (!reply) return reply;
  open(true);
  propose_old_work(request, *reply);
  // Guards are tested between the read and the commit.
  store_.enter("after read");
  return reply;
}

void FaultSession::propose_old_work(const ReadRequest& request, ReadReply& reply) {
  Environment& environment = store_.environment();
  if (environment.random().chance(environment.rates().stale_candidate)) {
    const Candidate* old = request.ready.empty() ? nullptr : ready_.pick(environment);
    const auto wanted = std::find_if(request.ready.begin(), request.ready.end(), [&](const RouteDemand& demand) {
      return old != nullptr && demand.route == old->entry.route &&
             demand.name_space.value_or(old->entry.name_space) == old->entry.name_space;
    });
    if (wanted != request.ready.end() && !proposes(reply.ready, old->entry.key)) {
      Candidate again = *old;
      again.demand = static_cast<std::size_t>(wanted - request.ready.begin());
      const auto place = std::find_if(reply.ready.begin(), reply.ready.end(),
                                      [&](const Candidate& c) { return c.demand >= again.demand; });
      reply.ready.insert(place, std::move(again));
      environment.trace().line("store {}: proposes an old ready candidate", store_.process().number);
    }
    const DueCandidate* old_due = request.due_limit == 0 ? nullptr : due_.pick(environment);
    if (old_due != nullptr && !proposes(reply.due, old_due->entry.key)) {
      reply.due.insert(reply.due.begin(), *old_due);
      environment.trace().line("store {}: proposes an old due candidate", store_.process().number);
    }
    if (!request.groups.empty()) propose_old_grouped(request, reply);
  }
  ready_.note(reply.ready);
  due_.note(reply.due);
  grouped_.note(reply.grouped);
}

void FaultSession::propose_old_grouped(const ReadRequest& request, ReadReply& reply) {
  Environment& environment = store_.environment();
  const DueCandidate* old = grouped_.pick(environment);
  if (old == nullptr || proposes(reply.grouped, old->entry.key)) return;
  const auto demand = std::find_if(request.groups.begin(), request.groups.end(),
                                   [&](const GroupDemand& one) { return one.group == old->entry.group; });
  if (demand == request.groups.end()) return;
  const auto place = [](const DueCandidate& c) { return std::tie(c.entry.group, c.entry.rank, c.entry.key); };
  const auto after = std::find_if(reply.grouped.begin(), reply.grouped.end(),
                                  [&](const DueCandidate& c) { return place(*old) < place(c); });
  reply.grouped.insert(after, *old);
  if (reply.grouped.size() > request.group_limit) reply.grouped.pop_back();
  environment.trace().line("store {}: proposes an old grouped candidate", store_.process().number);
}

Result<std::vector<Verdict>> FaultSession::commit(const std::vector<ChangeSet>& sets) {
  Environment& environment = store_.environment();
  store_.enter("commit");
  if (store_.fails("commit")) {
    release();
    return unavailable();
  }
  const bool lost = environment.random().chance(environment.rates().lost_reply);
  if (lost && environment.random().chance(300)) {
    environment.trace().line("store {}: commit lost, nothing written", store_.process().number);
    release();
    return outcome_unknown();
  }
  auto verdicts = commit_some(sets);
  open(false);
  if (!verdicts) return verdicts;
  const std::uint64_t number = environment.committed(sets, *verdicts);
  store_.enter("after commit");
  if (lost) {
    environment.trace().line("store {}: reply of commit {} lost", store_.process().number, number);
    return outcome_unknown();
  }
  last_commit_ = number;
  return verdicts;
}

// Some sets may be reported as stale although their records are unchanged; those are not written.
Result<std::vector<Verdict>> FaultSession::commit_some(const std::vector<ChangeSet>& sets) {
  Environment& environment = store_.environment();
  std::vector<Verdict> verdicts(sets.size(), Verdict::stale);
  std::vector<std::size_t> kept;
  std::vector<ChangeSet> written;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (environment.random().chance(environment.rates().stale_verdict)) {
      environment.trace().line("store {}: reports set {} as stale", store_.process().number, i);
      continue;
    }
    kept.push_back(i);
    written.push_back(sets[i]);
  }
  auto inner = inner_->commit(written);
  if (!inner) return inner;
  for (std::size_t i = 0; i < kept.size(); ++i) verdicts[kept[i]] = (*inner)[i];
  appended_.clear();
  auto number = inner_->appended().begin();
  auto next_kept = kept.begin();
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const bool was_kept = next_kept != kept.end() && *next_kept == i;
    if (was_kept) ++next_kept;
    for (std::size_t n = 0; n < sets[i].appends.size(); ++n) appended_.push_back(was_kept ? *number++ : 0);
  }
  return verdicts;
}

}  // namespace

FaultStore::FaultStore(std::unique_ptr<Store> inner, Environment& environment, std::shared_ptr<ProcessState> process)
    : inner_(std::move(inner)), environment_(environment), process_(std::move(process)) {}

void FaultStore::die(const char* where) {
  environment_.trace().line("process {} dies: {}", process_->number, where);
  environment_.news_lost();
  process_->dead = true;
  crash();
}

void FaultStore::crash() {
  for (Session* session : sessions_) session->release();
  throw Crash{};
}

void FaultStore::enter(const char* call) {
  // Another thread of this process may have been killed in the meantime.
  if (process_->dead) crash();
  const FaultRates& rates = environment_.rates();
  Random& random = environment_.random();
  if (random.chance(rates.crash)) die(call);
  if (random.chance(rates.clock_step)) environment_.step_clock();
  if (random.chance(rates.interleave)) environment_.interleave();
  if (process_->dead) crash();
}

bool FaultStore::fails(const char* call) {
  if (!environment_.random().chance(environment_.rates().unavailable)) return false;
  environment_.trace().line("store {}: {} fails", process_->number, call);
  return true;
}

Result<std::unique_ptr<Session>> FaultStore::open_session() {
  enter("open_session");
  auto session = inner_->open_session();
  if (!session) return session;
  return std::make_unique<FaultSession>(std::move(*session), *this);
}

Result<std::vector<RouteNo>> FaultStore::forget_routes(const std::vector<RouteNo>& numbers) {
  enter("forget_routes");
  if (fails("forget_routes")) return unavailable();
  return inner_->forget_routes(numbers);
}

Result<std::optional<TimestampMs>> FaultStore::next_due() {
  enter("next_due");
  if (fails("next_due")) return unavailable();
  auto due = inner_->next_due();
  enter("after next_due");
  return due;
}

Result<std::vector<DueEntry>> FaultStore::due_entries(const std::optional<DuePosition>& after, TimestampMs until,
                                                      std::uint32_t limit) {
  enter("due_entries");
  if (fails("due_entries")) return unavailable();
  auto entries = inner_->due_entries(after, until, limit);
  enter("after due_entries");
  return entries;
}

Result<std::vector<DueEntry>> FaultStore::group_entries(std::uint64_t group, const std::optional<GroupPosition>& after,
                                                        std::uint32_t limit) {
  enter("group_entries");
  if (fails("group_entries")) return unavailable();
  auto entries = inner_->group_entries(group, after, limit);
  enter("after group_entries");
  return entries;
}

Result<std::vector<Record>> FaultStore::load(const std::vector<Key>& keys) {
  enter("load");
  if (fails("load")) return unavailable();
  auto records = inner_->load(keys);
  enter("after load");
  return records;
}

Result<std::vector<Satellite>> FaultStore::load_satellites(const Key& root, std::uint8_t kind, std::uint32_t from,
                                                           std::uint32_t limit) {
  return inner_->load_satellites(root, kind, from, limit);
}
Result<std::vector<SequenceEntry>> FaultStore::load_sequence(const SequenceName& name, std::uint64_t from,
                                                             std::uint32_t limit) {
  return inner_->load_sequence(name, from, limit);
}
Result<std::vector<Record>> FaultStore::scan(RecordKind kind, const std::string& after, std::uint32_t limit) {
  return inner_->scan(kind, after, limit);
}
Result<std::vector<ListedRecord>> FaultStore::list(const ListQuery& query) { return inner_->list(query); }
Result<std::vector<Counter>> FaultStore::counters(const std::string& prefix) { return inner_->counters(prefix); }
Result<std::int64_t> FaultStore::now_us() { return inner_->now_us(); }
Result<std::uint64_t> FaultStore::count_ready_before(const ReadyEntry& entry, std::uint64_t limit) {
  return inner_->count_ready_before(entry, limit);
}
Result<std::optional<std::uint64_t>> FaultStore::first_ready(RouteNo route, std::int32_t priority) {
  return inner_->first_ready(route, priority);
}
Result<std::string> FaultStore::log_start() { return inner_->log_start(); }
Result<std::string> FaultStore::log_end() { return inner_->log_end(); }
Result<LogPage> FaultStore::read_log(const LogQuery& query) { return inner_->read_log(query); }
Result<std::vector<LoggedEntry>> FaultStore::history(const Key& root, const std::string& after, std::uint32_t limit) {
  return inner_->history(root, after, limit);
}

void FaultStore::announce(const Wakeup& wakeup) {
  enter("announce");
  environment_.announce(process_->number, wakeup);
}

void FaultStore::listen(std::function<void(const Wakeup&)> listener) { listener_ = std::move(listener); }

void FaultStore::receive(const Wakeup& wakeup) {
  if (process_->dead) return;
  Random& random = environment_.random();
  if (random.chance(environment_.rates().drop_news)) {
    environment_.trace().line("store {}: news dropped", process_->number);
    environment_.news_lost();
  } else if (random.chance(environment_.rates().hold_news)) {
    held_.push_back(wakeup);
  } else if (listener_) {
    listener_(wakeup);
  }
}

void FaultStore::deliver_held() {
  std::vector<Wakeup> held;
  held.swap(held_);
  for (const Wakeup& wakeup : held) {
    if (listener_) listener_(wakeup);
  }
}

}  // namespace flowfabric::simulation
