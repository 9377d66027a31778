#include "engine/waiting.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "core/records.hpp"

namespace flowfabric {
namespace {

// Records that one look reads together.
constexpr std::size_t ends_in_a_look = 256;
// How soon to ask for the end of the log again while entries are committed that may not be shown yet; doubled while the
// end stays where it is.
constexpr std::int64_t first_pause_ms = 2;
constexpr std::int64_t longest_pause_ms = 256;
constexpr std::int64_t reader_retry_pause_ms = 1000;
// Notifications of other engines may concern every waiter. This many looks after one justify a pause of a millisecond
// before the next notification is handled: a busy neighbour must not cause reads all the time.
constexpr std::size_t ends_for_a_pause_ms = 20;
constexpr std::size_t events_for_a_pause_ms = 4;

Error stopping() { return Error{Errc::shutting_down, "the engine is stopping", {}, {}}; }

}  // namespace

Waiting::Waiting(Store& store, std::function<std::int64_t()> steady_ms, std::function<void(std::int64_t)> ring_before)
    : store_(store), steady_ms_(std::move(steady_ms)), ring_before_(std::move(ring_before)) {}

void Waiting::for_end(const ExecutionId& id, std::int64_t until_ms, EndDone done) {
  Waiter waiter;
  waiter.root = execution_key(id).bytes;
  waiter.until_ms = until_ms;
  waiter.wanted =
      End{[this, id, done](const Record* record) { return end_of(record, id, done); },
          [done](const Error& error) { done(Unexpected(error)); }, "the execution did not end within the given time"};
  add(std::move(waiter));
}

void Waiting::for_flow(const FlowId& id, std::int64_t until_ms, FlowEndDone done) {
  Waiter waiter;
  waiter.root = flow_key(id).bytes;
  waiter.until_ms = until_ms;
  waiter.wanted =
      End{[this, id, done](const Record* record) { return flow_end_of(record, id, done); },
          [done](const Error& error) { done(Unexpected(error)); }, "the flow did not end within the given time"};
  add(std::move(waiter));
}

void Waiting::for_events(EventFilter filter, std::string cursor, std::uint32_t limit, std::int64_t until_ms,
                         EventsDone done) {
  Waiter waiter;
  if (filter.execution_id) waiter.root = execution_key(*filter.execution_id).bytes;
  if (filter.flow_id) waiter.root = flow_key(*filter.flow_id).bytes;
  waiter.wanted = Events{std::move(filter), std::move(cursor), limit, std::move(done)};
  waiter.until_ms = until_ms;
  add(std::move(waiter));
}

void Waiting::add(Waiter waiter) {
  Error refusal = stopping();
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ && waiters_.size() < limits::max_parked_waiters) {
      const Ticket ticket = ++last_ticket_;
      if (!waiter.root.empty()) by_root_[waiter.root].push_back(ticket);
      Waiter& kept = waiters_[ticket] = std::move(waiter);
      count_ = waiters_.size();
      return enqueue(ticket, kept);
    }
    if (!closed_) refusal = {Errc::overloaded, "too many callers are waiting; try again later", {}, {}};
  }
  refuse(waiter, refusal);
}

void Waiting::refuse(Waiter& waiter, const Error& error) {
  if (auto* end = std::get_if<End>(&waiter.wanted)) return end->done(error);
  std::get<Events>(waiter.wanted).done(Unexpected(error));
}

// ---------------------------------------------------------------- who is where, with mutex_ held

void Waiting::enqueue(Ticket ticket, Waiter& waiter) {
  waiter.state = State::queued;
  const bool idle = !somebodys_turn();
  (std::holds_alternative<End>(waiter.wanted) ? end_queue_ : events_queue_).push_back(ticket);
  if (idle) turn_.notify_one();
}

void Waiting::begin_look(Waiter& waiter) {
  waiter.state = State::looking;
  waiter.news = false;
  waiter.seen = news_for(waiter);
}

bool Waiting::news_since(const Waiter& waiter) const { return waiter.news || waiter.seen != news_for(waiter); }

void Waiting::park_until(Ticket ticket, Waiter& waiter, std::int64_t timer_ms) {
  waiter.state = State::parked;
  if (waiter.timer_ms == timer_ms) return;
  if (waiter.timer_ms != 0) timers_.erase({waiter.timer_ms, ticket});
  timers_.emplace(timer_ms, ticket);
  waiter.timer_ms = timer_ms;
}

void Waiting::wake(Ticket ticket) {
  const auto found = waiters_.find(ticket);
  if (found == waiters_.end()) return;
  Waiter& waiter = found->second;
  if (waiter.held_back) return;
  if (waiter.state == State::parked) enqueue(ticket, waiter);
  if (waiter.state == State::looking) waiter.news = true;
}

void Waiting::wake_root(const std::string& root, bool ended) {
  const auto found = by_root_.find(root);
  if (found == by_root_.end()) return;
  for (const Ticket ticket : found->second) {
    if (ended || std::holds_alternative<Events>(waiters_.at(ticket).wanted)) wake(ticket);
  }
}

void Waiting::wake_all() {
  std::size_t ends = 0;
  for (auto& [ticket, waiter] : waiters_) {
    if (std::holds_alternative<End>(waiter.wanted)) ++ends;
    wake(ticket);
  }
  parked_on_any_.clear();
  foreign_pending_ = false;
  foreign_not_before_ms_ = steady_ms_() + static_cast<std::int64_t>(ends / ends_for_a_pause_ms +
                                                                    (waiters_.size() - ends) / events_for_a_pause_ms);
}

// Its cursor is at the end of what may be shown.
void Waiting::hold_back(Ticket ticket, Waiter& waiter, std::int64_t now_ms) {
  waiter.held_back = true;
  held_back_.insert(ticket);
  if (ask_for_end_ms_ != 0 || end_of_log_wanted_) return;
  end_pause_ms_ = first_pause_ms;
  ask_for_end_ms_ = now_ms + end_pause_ms_;
}

// Those whose cursor is elsewhere have something to read.
void Waiting::end_moved(const std::string& end) {
  for (auto held = held_back_.begin(); held != held_back_.end();) {
    Waiter& waiter = waiters_.at(*held);
    if (std::get<Events>(waiter.wanted).cursor == end) {
      ++held;
      continue;
    }
    waiter.held_back = false;
    enqueue(*held, waiter);
    held = held_back_.erase(held);
  }
}

Waiting::Waiter Waiting::take(std::unordered_map<Ticket, Waiter>::iterator found) {
  const Ticket ticket = found->first;
  Waiter waiter = std::move(found->second);
  waiters_.erase(found);
  count_ = waiters_.size();
  if (waiter.timer_ms != 0) timers_.erase({waiter.timer_ms, ticket});
  held_back_.erase(ticket);
  if (const auto line = by_root_.find(waiter.root); line != by_root_.end()) {
    std::erase(line->second, ticket);
    if (line->second.empty()) by_root_.erase(line);
  }
  return waiter;
}

// ---------------------------------------------------------------- news

void Waiting::note_commit(const PlannedCommit& plan, const std::vector<Verdict>& verdicts) {
  if (count_ == 0) return;
  const std::lock_guard lock(mutex_);
  ++commits_;
  for (const Ticket ticket : std::exchange(parked_on_any_, {})) wake(ticket);
  if (by_root_.empty()) return;
  for (std::size_t i = 0; i < plan.sets.size(); ++i) {
    if (verdicts[i] != Verdict::committed) continue;
    for (const LogEntry& entry : plan.sets[i].log) {
      const auto type = static_cast<EventType>(entry.type);
      wake_root(entry.root.bytes, is_terminal(type) || ends_flow(type));
    }
  }
}

void Waiting::note_anything() {
  if (count_ == 0) return;
  std::int64_t not_before = 0;
  {
    const std::lock_guard lock(mutex_);
    foreign_pending_ = true;
    not_before = foreign_not_before_ms_;
  }
  ring_before_(not_before);
}

// ---------------------------------------------------------------- looks

bool Waiting::look() {
  const bool ends = look_at_ends();
  const bool events = look_at_events();
  const bool end_of_log = look_at_end_of_log();
  const bool health = look_at_health();
  return ends || events || end_of_log || health;
}

std::vector<Waiting::EndLook> Waiting::begin_end_looks() {
  std::vector<EndLook> looks;
  const std::lock_guard lock(mutex_);
  while (!end_queue_.empty() && looks.size() < ends_in_a_look) {
    const Ticket ticket = end_queue_.front();
    end_queue_.pop_front();
    const auto found = waiters_.find(ticket);
    if (found == waiters_.end()) continue;
    begin_look(found->second);
    looks.push_back({ticket, std::get<End>(found->second.wanted).found, found->second.root});
  }
  return looks;
}

bool Waiting::look_at_ends() {
  const std::vector<EndLook> looks = begin_end_looks();
  if (looks.empty()) return false;
  std::set<std::string> roots;
  for (const EndLook& one : looks) roots.insert(one.root);
  std::vector<Key> keys;
  for (const std::string& root : roots) keys.push_back(Key{root});
  const auto records = store_.load(keys);
  if (!records) {
    for (const EndLook& one : looks) finish_failed_end_look(one.ticket, records.error());
    return true;
  }
  std::unordered_map<std::string, const Record*> by_key;
  for (const Record& record : *records) by_key[record.key.bytes] = &record;
  for (const EndLook& one : looks) {
    const auto record = by_key.find(one.root);
    finish_end_look(one.ticket, one.found(record == by_key.end() ? nullptr : record->second));
  }
  return true;
}

// Nothing while it is running. A missing record means that it has ended and was removed by retention, or never existed.
Waiting::Answer Waiting::end_of(const Record* record, const ExecutionId& id, const EndDone& done) {
  const auto answer = [&](Result<ExecutionResult> end) -> Answer {
    return [done, end = std::move(end)] { done(end); };
  };
  if (record == nullptr) {
    return answer(fail(Errc::not_found, "there is no execution " + to_string(id), "execution_id"));
  }
  const auto execution = decode_execution(*record);
  if (!execution) return answer(Unexpected(execution.error()));
  if (execution->facts.phase != Phase::terminal) return {};
  return answer(reads::result_of(store_, *execution));
}

Waiting::Answer Waiting::flow_end_of(const Record* record, const FlowId& id, const FlowEndDone& done) {
  const auto answer = [&](Result<FlowResult> end) -> Answer { return [done, end = std::move(end)] { done(end); }; };
  if (record == nullptr) return answer(fail(Errc::not_found, "there is no flow " + to_string(id), "flow_id"));
  const auto flow = decode_flow(*record);
  if (!flow) return answer(Unexpected(flow.error()));
  if (!has_ended(flow->facts.state)) return {};
  return answer(reads::flow_result(store_, *flow));
}

void Waiting::finish_end_look(Ticket ticket, const Answer& answer) {
  std::unique_lock lock(mutex_);
  const auto found = waiters_.find(ticket);
  if (found == waiters_.end()) return;  // its time is over, or the engine stops
  Waiter& waiter = found->second;
  if (answer) {
    take(found);
    lock.unlock();
    return answer();
  }
  waiter.looked_at = true;
  if (steady_ms_() >= waiter.until_ms) {
    const Answer late = time_is_up(take(found));
    lock.unlock();
    return late();
  }
  const std::int64_t until_ms = waiter.until_ms;
  park_until(ticket, waiter, until_ms);
  if (news_since(waiter)) enqueue(ticket, waiter);
  lock.unlock();
  ring_before_(until_ms);
}

// A waiter that was examined before tolerates a store that is unavailable for a while.
void Waiting::finish_failed_end_look(Ticket ticket, const Error& error) {
  std::int64_t retry_ms = 0;
  std::function<void(const Error&)> done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiters_.find(ticket);
    if (found == waiters_.end()) return;
    done = std::get<End>(found->second.wanted).done;
    if (found->second.looked_at) {
      retry_ms = steady_ms_() + reader_retry_pause_ms;
      park_until(ticket, found->second, std::min(found->second.until_ms, retry_ms));
    }
  }
  if (retry_ms != 0) return ring_before_(retry_ms);
  finish_end_look(ticket, [done, error] { done(error); });
}

std::optional<std::pair<Waiting::Ticket, Waiting::Events>> Waiting::begin_events_look() {
  const std::lock_guard lock(mutex_);
  while (!events_queue_.empty()) {
    const Ticket ticket = events_queue_.front();
    events_queue_.pop_front();
    const auto found = waiters_.find(ticket);
    if (found == waiters_.end()) continue;
    begin_look(found->second);
    const Events& wanted = std::get<Events>(found->second.wanted);
    return std::pair{ticket, Events{wanted.filter, wanted.cursor, wanted.limit, {}}};
  }
  return std::nullopt;
}

bool Waiting::look_at_events() {
  const auto begun = begin_events_look();
  if (!begun) return false;
  const auto& [ticket, wanted] = *begun;
  const auto start = reads::start_cursor(store_, wanted.cursor);
  finish_events_look(ticket, start ? reads::events(store_, wanted.filter, *start, wanted.limit)
                                   : Result<reads::EventsRead>(Unexpected(start.error())));
  return true;
}

void Waiting::finish_events_look(Ticket ticket, Result<reads::EventsRead> read) {
  std::unique_lock lock(mutex_);
  const auto found = waiters_.find(ticket);
  if (found == waiters_.end()) return;
  Waiter& waiter = found->second;
  if (!read || !read->page.events.empty()) {
    const Waiter answered = take(found);
    lock.unlock();
    const EventsDone& done = std::get<Events>(answered.wanted).done;
    return read ? done(std::move(read->page)) : done(Unexpected(read.error()));
  }
  Events& wanted = std::get<Events>(waiter.wanted);
  const bool advanced = wanted.cursor != read->page.next_cursor;
  wanted.cursor = std::move(read->page.next_cursor);
  waiter.looked_at = true;
  const std::int64_t now = steady_ms_();
  if (now >= waiter.until_ms) {
    const Answer answer = time_is_up(take(found));
    lock.unlock();
    return answer();
  }
  park_until(ticket, waiter, waiter.until_ms);
  std::int64_t ring_ms = waiter.until_ms;
  if (read->behind && !advanced) {
    hold_back(ticket, waiter, now);
    if (ask_for_end_ms_ != 0) ring_ms = std::min(ring_ms, ask_for_end_ms_);
  } else if (read->behind || news_since(waiter)) {
    enqueue(ticket, waiter);
  } else if (waiter.root.empty()) {
    parked_on_any_.push_back(ticket);
  }
  lock.unlock();
  ring_before_(ring_ms);
}

// On behalf of all who are held back.
bool Waiting::look_at_end_of_log() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(end_of_log_wanted_, false)) return false;
    if (held_back_.empty()) return true;
  }
  const auto end = reads::start_cursor(store_, {});
  std::int64_t next_ms = 0;
  {
    const std::lock_guard lock(mutex_);
    const bool moved = end && end_of_log_ != *end;
    end_pause_ms_ = moved ? first_pause_ms : std::min(2 * end_pause_ms_, longest_pause_ms);
    if (!end) end_pause_ms_ = reader_retry_pause_ms;
    if (end) {
      end_of_log_ = *end;
      end_moved(*end);
    }
    if (held_back_.empty()) return true;
    next_ms = ask_for_end_ms_ = steady_ms_() + end_pause_ms_;
  }
  ring_before_(next_ms);
  return true;
}

void Waiting::want_health() {
  const std::lock_guard lock(mutex_);
  health_wanted_ = true;
  turn_.notify_one();
}

bool Waiting::look_at_health() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(health_wanted_, false)) return false;
  }
  if (const auto health = store_.log_health()) health_report_.tell(*health);
  return true;
}

void Waiting::wait_for_turn() {
  std::unique_lock lock(mutex_);
  turn_.wait(lock, [&] { return somebodys_turn() || interrupted_; });
}

void Waiting::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  turn_.notify_all();
}

// ---------------------------------------------------------------- time

Waiting::Answer Waiting::time_is_up(Waiter waiter) {
  return [waiter = std::move(waiter)]() mutable {
    if (auto* end = std::get_if<End>(&waiter.wanted)) {
      return end->done(Error{Errc::timed_out, end->late, {}, {}});
    }
    auto& events = std::get<Events>(waiter.wanted);
    events.done(EventPage{{}, std::move(events.cursor)});
  };
}

void Waiting::on_time(std::int64_t now_ms) {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    if (ask_for_end_ms_ != 0 && now_ms >= ask_for_end_ms_) {
      ask_for_end_ms_ = 0;
      end_of_log_wanted_ = true;
      turn_.notify_one();
    }
    while (!timers_.empty() && timers_.begin()->first <= now_ms) {
      const auto found = waiters_.find(timers_.begin()->second);
      Waiter& waiter = found->second;
      if (now_ms >= waiter.until_ms) {
        answers.push_back(time_is_up(take(found)));
      } else {  // its pause is over
        const Ticket ticket = found->first;
        timers_.erase(timers_.begin());
        waiter.timer_ms = waiter.until_ms;
        timers_.emplace(waiter.timer_ms, ticket);
        wake(ticket);
      }
    }
    if (foreign_pending_ && now_ms >= foreign_not_before_ms_) {
      ++commits_;
      ++foreign_;
      wake_all();
    }
  }
  for (const Answer& answer : answers) answer();
}

std::int64_t Waiting::next_time_ms() const {
  if (count_ == 0) return 0;
  const std::lock_guard lock(mutex_);
  std::int64_t next = timers_.empty() ? 0 : timers_.begin()->first;
  if (ask_for_end_ms_ != 0 && (next == 0 || ask_for_end_ms_ < next)) next = ask_for_end_ms_;
  if (foreign_pending_ && (next == 0 || foreign_not_before_ms_ < next))
    next = std::max<std::int64_t>(foreign_not_before_ms_, 1);
  return next;
}

// ---------------------------------------------------------------- the end

Waiting::Answer Waiting::engine_stops(Waiter waiter) {
  const bool has_cursor = waiter.looked_at && std::holds_alternative<Events>(waiter.wanted);
  if (has_cursor) return time_is_up(std::move(waiter));
  return [waiter = std::move(waiter)]() mutable { refuse(waiter, stopping()); };
}

void Waiting::send_everybody_away() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    while (!waiters_.empty()) answers.push_back(engine_stops(take(waiters_.begin())));
  }
  for (const Answer& answer : answers) answer();
}

}  // namespace flowfabric
