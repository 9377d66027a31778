// The clock: turns due times into commands, and ends waits whose time is over.
//
// It sleeps until the earliest due time it knows of. It learns due times from this engine's own commits, from
// notifications of others, and by asking the store after a sweep and once per keep-alive period.
#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.hpp"
#include "base/log.hpp"
#include "core/records.hpp"
#include "engine/runtime.hpp"

namespace flowfabric {
namespace {

constexpr TimestampMs never = std::numeric_limits<TimestampMs>::max();
// After a sweep that could do nothing. The pause doubles with each further one.
constexpr std::int64_t stalled_sweep_pause_ms = 50;
constexpr std::int64_t longest_sweep_pause_ms = 1000;
constexpr std::int64_t store_retry_pause_ms = 1000;

std::int64_t lag(const DueEntry& entry, TimestampMs now) { return std::max<std::int64_t>(now - entry.due_at, 0); }

}  // namespace

void Runtime::ring() {
  if (options_.alarm) options_.alarm();
}

// Wakes the clock only if it would sleep beyond that time.
void Runtime::ring_before(std::int64_t steady_ms) {
  if (steady_ms < next_tick_ms_) ring();
}

// `asked_ms` is the time of the request. The reply may have taken long. A clock that seems to be ahead only sweeps too
// early and corrects itself, while one that seems to be behind delays due entries.
void Runtime::note_store_time(TimestampMs now, std::int64_t asked_ms) { store_offset_ms_ = now - asked_ms; }

TimestampMs Runtime::store_now() const { return steady_ms() + store_offset_ms_; }

void Runtime::note_due(TimestampMs due_at) {
  {
    const std::lock_guard lock(clock_mutex_);
    noted_due_ = std::min(noted_due_, due_at);
    if (due_at >= next_due_) return;
    next_due_ = due_at;
  }
  ring();
}

// Whether something is due that a sweep, which is then in the queue, will process.
bool Runtime::sweep_if_due() {
  const std::lock_guard lock(clock_mutex_);
  if (sweeps_ > 0) return true;
  if (next_due_ > store_now() || refusing_ || steady_ms() < sweep_not_before_ms_) return false;
  ++sweeps_;
  next_due_ = never;
  enqueue_sweep();
  return true;
}

std::optional<DuePosition> Runtime::sweep_place() {
  const std::lock_guard lock(clock_mutex_);
  return sweep_place_;
}

// Sweeps work in rounds: each continues where the last one ended, until everything that was due at the start of the
// round has been processed. An entry that is still due after its visit is processed again in the next round, after all
// others had their first visit.
void Runtime::note_sweep(bool full, const ReadReply& reply) {
  due_lag_ms_ = reply.due.empty() ? 0 : lag(reply.due.front().entry, reply.now_ms());
  const std::lock_guard lock(clock_mutex_);
  if (!sweep_place_) round_began_ = reply.now_ms();
  sweep_place_.reset();
  if (!full) return;
  const DueEntry& last = reply.due.back().entry;
  if (last.due_at <= round_began_) sweep_place_ = DuePosition{last.due_at, last.key};
}

// The same for a sweep with entries that were read ahead: the next sweep that searches continues after all of them.
void Runtime::note_sweep_ahead(const DueEntry& first, const DueEntry& last, TimestampMs now) {
  due_lag_ms_ = lag(first, now);
  const std::lock_guard lock(clock_mutex_);
  if (!sweep_place_) round_began_ = now;
  if (last.due_at > round_began_) return;
  if (sweep_place_ && std::tie(last.due_at, last.key) < std::tie(sweep_place_->due_at, sweep_place_->key)) return;
  sweep_place_ = DuePosition{last.due_at, last.key};
}

// A sweep has found as many entries as it may take. If no commands need the writers, the next sweep need not wait until
// this one is durable: the entries found are reserved, so another sweep finds the rest. False: no sweep was started,
// the end of this one handles it.
bool Runtime::sweep_on() {
  {
    const std::lock_guard lock(queue_mutex_);
    if (commands_since_sweep_ || !queue_.empty()) return false;
  }
  const std::lock_guard lock(clock_mutex_);
  if (refusing_ || steady_ms() < sweep_not_before_ms_) return false;
  ++sweeps_;
  enqueue_sweep();
  return true;
}

void Runtime::sweep_finished(bool more, bool barren) {
  statistics_.sweeps += 1;
  {
    const std::lock_guard lock(clock_mutex_);
    --sweeps_;
    // Others were faster, or the store cannot be reached, or records are invalid: avoid a busy loop.
    sweep_pause_ms_ = barren ? std::clamp(2 * sweep_pause_ms_, stalled_sweep_pause_ms, longest_sweep_pause_ms) : 0;
    if (barren) sweep_not_before_ms_ = steady_ms() + sweep_pause_ms_;
    if (more) {
      next_due_ = 0;
    } else {
      ask_next_due_ = true;
    }
  }
  ring();
}

void Runtime::on_foreign_wakeup(const Wakeup& wakeup) {
  {
    const std::lock_guard lock(clock_mutex_);
    if (!foreign_) foreign_ = Wakeup{};
    foreign_->earliest_due = std::min(foreign_->earliest_due, wakeup.earliest_due);
    foreign_->log_advanced |= wakeup.log_advanced;
    foreign_->everything |= wakeup.everything;
    merge_ready(foreign_->ready, wakeup.ready);
    for (const auto& lane : wakeup.lanes_changed) foreign_->lanes_changed.push_back(lane);
  }
  ring();
}

// A batch has failed. Claims in it used wake-ups that others could have used, and if the outcome is unknown, there may
// be work and due times that were not announced. All waiting callers check again as soon as the store answers.
void Runtime::batch_failed(const Error& error, Wakeup reserved) {
  note_store_error(error);
  {
    const std::lock_guard lock(clock_mutex_);
    look_again_ = true;
    ask_next_due_ = true;
    ask_not_before_ms_ = steady_ms() + store_retry_pause_ms;
  }
  ring();
  reserved.everything = error.code == Errc::outcome_unknown;
  if (reserved.everything || !reserved.ready.empty()) store_->announce(reserved);
}

// What damages the whole database, and what the store itself calls final, does not pass: nothing is tried any more.
void Runtime::note_store_error(const Error& error) {
  if (error.code == Errc::shutting_down) return;
  const std::optional<Error> of_store = store_->failure();
  const Error& cause = of_store ? *of_store : error;
  const bool lasting = of_store.has_value() || error.code == Errc::corruption;
  health_.note_failure(cause, lasting, steady_ms());
  if (lasting && !failure_told_.exchange(true) && options_.on_failure) options_.on_failure(cause);
}

// A record that cannot be decoded fails those who need it. The log names it once.
void Runtime::note_damaged(const Record& record, const Error& error) {
  {
    const std::lock_guard lock(damaged_mutex_);
    if (damaged_.size() >= limits::max_damaged_named || !damaged_.insert(record.key).second) return;
  }
  log(LogLevel::error, "a stored record is damaged; `flowfabric integrity` lists all of them",
      {{"record", name_of_record(record.key)}, {"cause", error.message}});
}

// While writes fail, somebody has to find out when they succeed again: a sweep writes something harmless then.
void Runtime::probe_if_due() {
  if (refusing_ || !health_.probe_is_due(steady_ms())) return;
  const std::lock_guard lock(clock_mutex_);
  if (sweeps_ > 0) return;  // that one takes it along
  ++sweeps_;
  enqueue_sweep();
}

void Runtime::handle_foreign_news() {
  std::optional<Wakeup> news;
  {
    const std::lock_guard lock(clock_mutex_);
    news.swap(foreign_);
    if (news && news->everything) ask_next_due_ = true;
  }
  if (!news) return;
  if (news->earliest_due != never) note_due(news->earliest_due);
  const bool unknown_route = std::any_of(news->ready.begin(), news->ready.end(),
                                         [&](const auto& item) { return !routes_.knows(item.first.route); });
  if (news->everything) {
    if (const auto reloaded = reload_keyring(); !reloaded) {
      log(LogLevel::warn, "the signing keys cannot be reloaded", {{"error", reloaded.error().message}});
    }
  }
  if (news->everything || unknown_route) {
    enqueue_claims(parking_.wake_all());
  } else {
    // As many as there is work: the others would search for nothing.
    for (const auto& [line, count] : news->ready) {
      enqueue_claims(parking_.wake(line, count != 0 ? count : std::numeric_limits<std::uint32_t>::max()));
    }
    for (const auto& lane : news->lanes_changed) enqueue_claims(parking_.wake_lane(lane));
  }
  if (news->log_advanced || news->everything) waiting_.note_anything();
}

bool Runtime::ask_store_for_next_due() {
  {
    const std::lock_guard lock(clock_mutex_);
    ask_next_due_ = false;
    noted_due_ = never;
  }
  const auto due = store_->next_due();
  if (!due && store_->failure()) note_store_error(due.error());
  const std::lock_guard lock(clock_mutex_);
  if (!due) {
    log(LogLevel::warn, "the clock cannot reach the store", {{"error", due.error().message}});
    ask_next_due_ = true;
    ask_not_before_ms_ = steady_ms() + store_retry_pause_ms;
    return false;
  }
  // A commit during the request may or may not be included in the reply; it was noted separately.
  next_due_ = std::min(due->value_or(never), noted_due_);
  return true;
}

// In case notifications were lost.
void Runtime::look_at_everything() {
  waiting_.want_health();
  enqueue_claims(parking_.wake_all());
  waiting_.note_anything();
}

// A route that nothing has been put on for long, and that nothing waits on, is only kept in memory for nothing.
void Runtime::forget_idle_routes(std::int64_t now) {
  const std::int64_t before = now - limits::idle_route_ms;
  const auto idle = routes_.idle_since(before, options_.quiet_namespace_routes, limits::max_forgotten_routes);
  if (idle.empty()) return;
  const auto forgotten = store_->forget_routes(idle);
  if (!forgotten) {
    log(LogLevel::debug, "unused routes cannot be removed now", {{"error", forgotten.error().message}});
    return;
  }
  routes_.drop(*forgotten, before);
  routes_.keep(idle, now);  // what is left of them
}

std::int64_t Runtime::tick() {
  next_tick_ms_ = never;  // claims that park from now on ring: they may have been checked already
  handle_foreign_news();
  const std::int64_t now = steady_ms();
  read_keys_again();
  for (const ClaimPtr& claim : parking_.take_expired_claims(now)) claim->done(std::vector<ClaimedExecution>{});
  waiting_.on_time(now);
  if (patience_ends_ms_ <= now) end_patience();

  bool ask = false;
  bool look = false;
  {
    const std::lock_guard lock(clock_mutex_);
    // Sweeps also ask for the next due time, but that does not show the changes of others: a busy engine needs both.
    const bool keep_alive = now - last_look_ms_ >= options_.keep_alive_ms;
    ask = (ask_next_due_ || keep_alive) && sweeps_ == 0 && now >= ask_not_before_ms_;
    look = ask && (keep_alive || look_again_);
    if (look) {
      look_again_ = false;
      last_look_ms_ = now;
    }
  }
  const bool answered = ask && ask_store_for_next_due();
  if (look && answered) {
    look_at_everything();
    forget_idle_routes(now);
  }
  if (look && !answered) look_again_ = true;

  const bool more_to_read = read_ahead();
  sweep_if_due();
  probe_if_due();
  const std::int64_t slow_batch_ms = start_beside_slow_batch();
  const std::lock_guard lock(clock_mutex_);
  std::int64_t wait = more_to_read ? 0 : time_to_next_tick(now);
  if (slow_batch_ms != 0) wait = std::min(wait, std::max<std::int64_t>(slow_batch_ms - now, 1));
  next_tick_ms_ = now + wait;
  return wait;
}

// Reads entries that will be due soon, while nothing is due. Returns whether it should continue at once.
bool Runtime::read_ahead() {
  TimestampMs next_due = never;
  {
    const std::lock_guard lock(clock_mutex_);
    if (sweeps_ > 0 || refusing_ || steady_ms() < ask_not_before_ms_) return false;
    next_due = next_due_;
  }
  return ahead_.look(next_due, store_now());
}

// Called with clock_mutex_ held.
std::int64_t Runtime::time_to_next_tick(std::int64_t now) {
  const std::int64_t next_look_ms = std::max(last_look_ms_ + options_.keep_alive_ms, ask_not_before_ms_);
  std::int64_t wait = std::max<std::int64_t>(next_look_ms - now, 1);
  const auto consider = [&](std::int64_t at_ms) { wait = std::min(wait, std::max<std::int64_t>(at_ms - now, 0)); };
  if (const std::int64_t parked = parking_.next_deadline_ms(); parked != 0) consider(parked);
  if (const std::int64_t waiting = waiting_.next_time_ms(); waiting != 0) consider(waiting);
  if (const std::int64_t patience = patience_ends_ms_; patience != never) consider(patience);
  if (sweeps_ > 0) return wait;  // its end rings the alarm
  if (const auto probe = health_.next_probe_ms()) consider(*probe);
  if (ask_next_due_) consider(ask_not_before_ms_);
  if (next_due_ == never) return wait;
  consider(std::max(now + (next_due_ - store_now()), sweep_not_before_ms_));
  const TimestampMs look = ahead_.next_look(next_due_);
  if (look != never) consider(std::max(now + (look - store_now()), ask_not_before_ms_));
  return wait;
}

}  // namespace flowfabric
