#include "testing/virtual_engine.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "store/memory/memory_store.hpp"

namespace flowfabric::testing {
namespace {

constexpr std::int64_t start_us = 1'767'225'600'000'000;  // 2026-01-01, so that times in failures read well

}  // namespace

VirtualEngine::VirtualEngine(std::uint64_t seed) : now_us_(std::make_shared<std::atomic<std::int64_t>>(start_us)) {
  StoreOptions store;
  store.now_us = [now = now_us_] { return now->load(); };
  RuntimeOptions options;
  options.steady_ms = [now = now_us_] { return now->load() / 1000; };
  options.entropy = seeded_entropy(seed);
  auto opened = Runtime::open(open_memory_store(make_memory_database(), std::move(store)), std::move(options));
  FF_CHECK(opened.has_value());
  runtime_ = std::move(*opened);
}

void VirtualEngine::settle() {
  for (bool moved = true; moved;) {
    moved = false;
    runtime_->tick();
    while (runtime_->look()) moved = true;
    for (std::size_t i = 0; i < runtime_->writers(); ++i) {
      while (runtime_->pump(i)) moved = true;
    }
  }
}

std::int64_t VirtualEngine::step(std::int64_t most_ms) {
  settle();
  const std::int64_t passed = std::clamp<std::int64_t>(runtime_->tick(), 1, std::max<std::int64_t>(most_ms, 1));
  *now_us_ += passed * 1000;
  settle();
  return passed;
}

Result<Reply> VirtualEngine::call(Command command) {
  return answer_of<Reply>([&](auto done) { runtime_->submit(std::move(command), std::move(done)); });
}

}  // namespace flowfabric::testing
