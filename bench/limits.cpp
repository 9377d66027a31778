#include "limits.hpp"

#include <iterator>
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
}

}  // namespace flowfabric::bench
