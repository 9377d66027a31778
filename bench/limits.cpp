#include "limits.hpp"

#include <atomic>
#include <chrono>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "figures.hpp"

namespace flowfabric::bench {
namespace {

constexpr std::uint32_t never_reached = 10'000;
constexpr int many_keys = 10'000;
constexpr const char* key_name = "tags.bench.key";

LimitRequest concurrency_limit(const char* name) {
  LimitRequest limit;
  limit.name = name;
  limit.concurrency = never_reached;
  return limit;
}

std::vector<LimitRequest> no_limit() { return {}; }
std::vector<LimitRequest> one_limit() { return {concurrency_limit("one")}; }
std::vector<LimitRequest> two_limits() { return {concurrency_limit("one"), concurrency_limit("two")}; }
std::vector<LimitRequest> limit_by_key() {
  LimitRequest limit = concurrency_limit("each");
  limit.per = {key_name};
  return {limit};
}
std::vector<LimitRequest> share_by_key() {
  LimitRequest limit;
  limit.name = "share";
  limit.lane = "default";
  limit.per = {key_name};
  limit.share.emplace();
  return {limit};
}
std::vector<LimitRequest> rate_limit() {
  LimitRequest limit;
  limit.name = "rate";
  limit.rate = RateLimit{1'000'000, 1000, {}};
  return {limit};
}

struct Variant {
  const char* name;
  std::vector<LimitRequest> (*limits)();
  int keys;            // different values of the tag; 0: no tag
  std::size_t beside;  // the variant with which it is compared
};

constexpr Variant variants[] = {
    {"no limit", no_limit, 0, 0},
    {"one concurrency limit", one_limit, 0, 0},
    {"two concurrency limits", two_limits, 0, 0},
    {"a rate", rate_limit, 0, 0},
    {"no limit, 10,000 tags", no_limit, many_keys, 4},
    {"one for each of 10,000 tags", limit_by_key, many_keys, 4},
    {"a share of 10,000 tags", share_by_key, many_keys, 4},
    {"a share of one key", share_by_key, 0, 0},
};

LoadFigures measure(const std::string& url, const Variant& variant, LoadOptions load) {
  EngineOptions engine_options;
  engine_options.migrate = true;
  const auto engine = Engine::open(url, engine_options);
  if (!engine) give_up(engine.error().message);
  for (const LimitRequest& limit : variant.limits()) {
    if (auto saved = (*engine)->set_limit(limit); !saved) give_up(saved.error().message);
  }
  load.keys = variant.keys;
  load.threads = false;
  return run_load(**engine, load);
}

// ---- Shares

constexpr int small_tenant = 10;
constexpr int large_tenant = 100'000;
constexpr int beside_without_share = 10'000;  // it is served before the small one, which takes long enough
constexpr int bulk = 1000;
constexpr int serving = 4;  // workers
constexpr std::chrono::milliseconds service_time{1};
constexpr const char* tenant_tag = "bench.tenant";

std::vector<CreateRequest> work_of(const char* tenant, int count) {
  CreateRequest request;
  request.kind = "job";
  request.tags[tenant_tag] = tenant;
  return std::vector<CreateRequest>(static_cast<std::size_t>(count), request);
}

void submit(Engine& engine, std::vector<CreateRequest> requests) {
  for (const auto& created : engine.create_many(std::move(requests))) {
    if (!created) give_up(created.error().message);
  }
}

// Serves until all executions of the small tenant are done.
void serve_small_tenant(Engine& engine, std::atomic<int>& left, int worker) {
  ClaimRequest claim;
  claim.worker_id = "bench";
  claim.worker_instance_id = fmt::format("bench-{}", worker);
  while (left > 0) {
    auto claimed = engine.claim(claim);
    if (!claimed) give_up(claimed.error().message);
    for (const ClaimedExecution& one : *claimed) {
      std::this_thread::sleep_for(service_time);
      if (auto done = engine.complete(one.handle); !done) give_up(done.error().message);
      if (one.tags.at(tenant_tag) == "small") --left;
    }
  }
}

// How long the small tenant waits for all of its executions.
double small_tenant_waits_ms(const std::string& url, bool share, int beside) {
  EngineOptions engine_options;
  engine_options.migrate = true;
  const auto engine = Engine::open(url, engine_options);
  if (!engine) give_up(engine.error().message);
  LimitRequest limit;
  limit.name = "turns";
  limit.lane = "default";
  limit.per = {std::string("tags.") + tenant_tag};
  limit.share.emplace();
  if (share) {
    if (auto saved = (*engine)->set_limit(limit); !saved) give_up(saved.error().message);
  }
  for (int made = 0; made < beside; made += bulk) submit(**engine, work_of("large", bulk));
  std::atomic<int> left = small_tenant;
  const auto began = Clock::now();
  submit(**engine, work_of("small", small_tenant));
  std::vector<std::thread> workers;
  for (int i = 0; i < serving; ++i) workers.emplace_back([&, i] { serve_small_tenant(**engine, left, i); });
  for (std::thread& worker : workers) worker.join();
  return seconds_since(began) * 1000;
}

void bench_shares(const std::function<std::string(const std::string&)>& store_url, int rounds) {
  std::vector<double> alone, shared, unshared;
  for (int round = 0; round < rounds; ++round) {
    const auto url = [&](const char* what) { return store_url(fmt::format("shares_{}_{}", what, round)); };
    alone.push_back(small_tenant_waits_ms(url("alone"), true, 0));
    shared.push_back(small_tenant_waits_ms(url("shared"), true, large_tenant));
    if (round == 0) unshared.push_back(small_tenant_waits_ms(url("unshared"), false, beside_without_share));
  }
  fmt::print("A tenant with {} executions, {} workers, 1 ms each\n", small_tenant, serving);
  print_line("  alone", median(alone), "ms", fmt::format("[{}]", listed(alone)));
  print_line(fmt::format("  beside one with {}, with a share", large_tenant), median(shared), "ms",
             fmt::format("{:.1f} x alone; target at most 3 [{}]", median(shared) / median(alone), listed(shared)));
  print_line(fmt::format("  beside one with {}, without", beside_without_share), median(unshared), "ms",
             fmt::format("{:.0f} x alone", median(unshared) / median(alone)));
  fmt::print("\n");
}

}  // namespace

void bench_limits(const std::string& title, const std::function<std::string(const std::string&)>& store_url,
                  const LimitsOptions& options) {
  std::vector<double> cycles[std::size(variants)];
  std::vector<double> cpu[std::size(variants)];
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < std::size(variants); ++i) {
      const std::string name = fmt::format("limits_{}_{}", round, i);
      const LoadFigures figures = measure(store_url(name), variants[i], options.load);
      cycles[i].push_back(figures.cycles_per_second);
      cpu[i].push_back(figures.cpu_us_per_cycle);
    }
  }
  fmt::print("Limits that hold nothing back: {}\n", title);
  for (std::size_t i = 0; i < std::size(variants); ++i) {
    const double ratio = median(cycles[i]) / median(cycles[variants[i].beside]);
    const std::string beside = variants[i].beside == i ? "" : fmt::format("{:.2f} of without; target 0.8, ", ratio);
    print_line(fmt::format("  {}", variants[i].name), median(cycles[i]), "cycles/s",
               fmt::format("{}{:.0f} us of CPU [{}]", beside, median(cpu[i]), listed(cycles[i])));
  }
  fmt::print("\n");
  bench_shares(store_url, options.rounds);
}

}  // namespace flowfabric::bench
