#include "fleet.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "engine/engine_impl.hpp"
#include "figures.hpp"
#include "open/open.hpp"
#include "processes.hpp"

namespace flowfabric::bench {
namespace {

template <class T>
T must(Result<T> result, const char* what) {
  if (result) return std::move(*result);
  give_up(fmt::format("{}: {}", what, result.error().message));
}

// A clock for a store that can be stopped, so that many entries get the same due time.
class StoppableClock {
 public:
  std::int64_t now_us() const {
    const std::int64_t stopped = stopped_at_;
    return stopped != 0 ? stopped : real_us();
  }
  void stop() { stopped_at_ = real_us(); }
  void go_on() { stopped_at_ = 0; }
  std::int64_t stopped_ms() const { return stopped_at_ / 1000; }

 private:
  static std::int64_t real_us() {
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  }
  std::atomic<std::int64_t> stopped_at_{0};
};

std::unique_ptr<Engine> open_with(const std::string& url, const StoppableClock& clock) {
  StoreOptions options;
  options.now_us = [&clock] { return clock.now_us(); };
  options.migrate = true;
  return must(start_engine(must(open_store(url, options), "open"), {}), "start");
}

void in_threads(int threads, const std::function<void(int)>& run) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&run, i] { run(i); });
  for (std::thread& thread : all) thread.join();
}

std::string instance_name(int i) { return fmt::format("worker-{:05}", i); }

void register_workers(Engine& engine, int workers, std::uint32_t ttl_ms) {
  constexpr int threads = 64;
  in_threads(threads, [&](int first) {
    for (int i = first; i < workers; i += threads) {
      WorkerRegistration registration;
      registration.worker_id = "pool";
      registration.worker_instance_id = instance_name(i);
      registration.liveness_ttl_ms = ttl_ms;
      must(engine.register_worker(std::move(registration)), "register");
    }
  });
}

// ---- Heartbeats

// Sends heartbeats evenly; returns the latencies in milliseconds.
std::vector<float> send_heartbeats(Engine& engine, int workers, double seconds) {
  constexpr double period_s = 10;
  const auto start = Clock::now();
  std::mutex mutex;
  std::vector<float> latencies;
  std::atomic<int> out{0};
  int sent = 0;
  while (seconds_since(start) < seconds) {
    const int wanted = static_cast<int>(seconds_since(start) * workers / period_s);
    for (; sent < wanted; ++sent) {
      HeartbeatRequest request;
      request.worker_instance_id = instance_name(sent % workers);
      ++out;
      engine.heartbeat_async(std::move(request), [&, at = Clock::now()](const Result<HeartbeatReply>& reply) {
        if (!reply || reply->outcome != HeartbeatReply::Outcome::refreshed) std::exit(1);
        const std::lock_guard lock(mutex);
        latencies.push_back(static_cast<float>(seconds_since(at) * 1000));
        --out;
      });
    }
    // Our own wake-ups are not part of the cost of heartbeats but would be counted: they must be rare compared with a
    // batch's period.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  while (out > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return latencies;
}

// ---- Events

// Waits until there are this many events of a type; returns them.
std::vector<Event> wait_for_events(Engine& engine, EventType type, std::size_t count) {
  EventFilter filter;
  filter.types = {type};
  auto subscription = must(engine.subscribe(filter, "earliest"), "subscribe");
  std::vector<Event> events;
  events.reserve(count);
  while (events.size() < count) {
    auto page = must(subscription.next(1000, 1000), "events");
    std::move(page.begin(), page.end(), std::back_inserter(events));
  }
  return events;
}

// One caller of another lane, repeatedly.
void serve_other_lane(Engine& engine, int caller, const std::atomic<bool>& stop, std::atomic<std::uint64_t>& cycles) {
  const std::string lane = fmt::format("other-{}", caller);
  while (!stop) {
    CreateRequest request;
    request.kind = "other";
    request.lane = lane;
    must(engine.create(std::move(request)), "create");
    ClaimRequest claim;
    claim.worker_id = "other";
    claim.worker_instance_id = lane;
    claim.lanes = {lane};
    const auto claimed = must(engine.claim(std::move(claim)), "claim");
    for (const auto& one : claimed) {
      if (!engine.complete(one.handle)) std::exit(1);
      ++cycles;
    }
  }
}

void make_leases(Engine& engine, int leases, std::uint32_t ttl_ms) {
  constexpr int page = 1000;
  for (int made = 0; made < leases; made += page) {
    std::vector<CreateRequest> requests(page);
    for (CreateRequest& request : requests) {
      request.kind = "doomed";
      request.lane = "doomed";
    }
    for (const auto& created : engine.create_many(std::move(requests))) {
      if (!created) std::exit(1);
    }
    ClaimRequest claim;
    claim.worker_id = "doomed";
    claim.worker_instance_id = "doomed-1";
    claim.lanes = {"doomed"};
    claim.max_executions = page;
    claim.lease_ttl_ms = ttl_ms;
    // One call may return fewer than there are.
    for (std::size_t taken = 0; taken < page;) taken += must(engine.claim(claim), "claim").size();
  }
}

}  // namespace

void bench_heartbeats(const std::string& url, const std::string& postgres, int workers, double seconds) {
  const StoppableClock clock;
  const auto engine = open_with(url, clock);
  register_workers(*engine, workers, 30000);
  send_heartbeats(*engine, workers, 5);  // to settle
  const pid_t postmaster = postmaster_of(postgres);
  const double server_before = postgres_cpu_seconds(postmaster);
  const double ours_before = own_cpu_seconds();
  const auto batches_before = engine->statistics().batches;
  const auto start = Clock::now();
  auto latencies = send_heartbeats(*engine, workers, seconds);
  const double elapsed = seconds_since(start);
  const double ours = (own_cpu_seconds() - ours_before) / elapsed * 100;
  const double server = (postgres_cpu_seconds(postmaster) - server_before) / elapsed * 100;
  const double batches = static_cast<double>(engine->statistics().batches - batches_before);
  fmt::print("Heartbeats of {} workers every 10 s on PostgreSQL, {:.0f} s\n", workers, elapsed);
  fmt::print("  CPU of one core: engine {:.2f} % + server {:.2f} % = {:.2f} %, target below 5\n", ours, server,
             ours + server);
  fmt::print("  {:.0f} heartbeats/s in {:.1f} commits/s, answered after {:.0f}/{:.0f} ms (p50/p99)\n\n",
             static_cast<double>(latencies.size()) / elapsed, batches / elapsed, quantile(latencies, 0.5),
             quantile(latencies, 0.99));
}

Lapse bench_lapse(const std::string& url, pid_t postmaster, int workers) {
  StoppableClock clock;
  const auto engine = open_with(url, clock);
  constexpr std::uint32_t ttl_ms = 3000;
  clock.stop();
  const std::int64_t due = clock.stopped_ms() + ttl_ms;
  register_workers(*engine, workers, ttl_ms);
  clock.go_on();
  // The engine learns the time of its store from batches: without one it would use the stopped time.
  must(engine->set_namespace({"some", {}}), "namespace");
  if (clock.now_us() / 1000 >= due) give_up("registering took longer than the TTL: nothing to be seen of the lapse");

  const auto server_cpu = [&] { return postmaster == 0 ? 0 : postgres_cpu_seconds(postmaster); };
  const double ours_before = own_cpu_seconds(), server_before = server_cpu();
  // Commands are counted when their batch is durable, and deaths are the first of them.
  const std::uint64_t all_dead = engine->statistics().commands + static_cast<std::uint64_t>(workers);
  std::this_thread::sleep_for(std::chrono::milliseconds(due - 50 - clock.now_us() / 1000));
  while (engine->statistics().commands < all_dead) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Lapse lapse;
  lapse.committed_ms = static_cast<double>(clock.now_us() / 1000 - due);
  lapse.cpu_us = (own_cpu_seconds() - ours_before) / workers * 1e6;
  lapse.server_cpu_us = (server_cpu() - server_before) / workers * 1e6;
  const auto swept = wait_for_events(*engine, EventType::worker_ttl_swept, static_cast<std::size_t>(workers));
  for (const Event& event : swept) lapse.last_ms = std::max(lapse.last_ms, static_cast<double>(event.at - due));
  return lapse;
}

void print_lapses(const std::string& name, int workers, const std::vector<Lapse>& rounds) {
  const auto column = [&](double Lapse::* figure) {
    std::vector<double> values;
    for (const Lapse& lapse : rounds) values.push_back(lapse.*figure);
    return values;
  };
  const auto line = [&](const char* what, double Lapse::* figure, const char* target) {
    print_line(what, median(column(figure)), "ms", fmt::format("{}[{}]", target, listed(column(figure))));
  };
  fmt::print("{}: {} workers lapse at the same millisecond\n", name, workers);
  line("  the last is written off after", &Lapse::last_ms, "target below 100 ");
  line("    that is durable after", &Lapse::committed_ms, "");
  fmt::print("    CPU us a death: ours [{}], the server's [{}]\n\n", listed(column(&Lapse::cpu_us), 1),
             listed(column(&Lapse::server_cpu_us), 1));
}

void bench_expiry(const std::string& name, const std::string& url, int leases) {
  StoppableClock clock;
  const auto engine = open_with(url, clock);
  constexpr std::uint32_t ttl_ms = 10000;
  clock.stop();
  const std::int64_t due = clock.stopped_ms() + ttl_ms;
  make_leases(*engine, leases, ttl_ms);
  clock.go_on();

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> cycles{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) callers.emplace_back([&, i] { serve_other_lane(*engine, i, stop, cycles); });
  while (clock.now_us() / 1000 < due - 2000) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::uint64_t at_first = cycles;
  while (clock.now_us() / 1000 < due) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::uint64_t before = cycles;
  const auto start = Clock::now();
  // The remaining number is queried rarely, because it needs a scan.
  const auto waiting = [&] {
    ListExpiredLeasesRequest request;
    request.limit = 1;
    return !must(engine->list_expired_leases(request), "expired leases").leases.empty();
  };
  while (waiting()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double took = seconds_since(start);
  const std::uint64_t during = cycles - before;
  stop = true;
  for (std::thread& caller : callers) caller.join();
  const auto lost = wait_for_events(*engine, EventType::lease_expired, static_cast<std::size_t>(leases));
  std::int64_t last = 0;
  for (const Event& event : lost) last = std::max(last, event.at - due);
  fmt::print("{}: {} leases end at the same millisecond, 8 callers work on other lanes\n", name, leases);
  fmt::print("  {} taken back, the last after {:.1f} s, target 10\n", lost.size(), static_cast<double>(last) / 1000);
  fmt::print("  other lanes: {:.0f} cycles/s before, {:.0f} cycles/s meanwhile\n\n",
             static_cast<double>(before - at_first) / 2, static_cast<double>(during) / std::max(took, 0.001));
}

}  // namespace flowfabric::bench
