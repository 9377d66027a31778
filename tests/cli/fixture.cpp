#include "cli/fixture.hpp"

#include <algorithm>
#include <stdexcept>

namespace flowfabric::cli_test {
namespace {

constexpr std::uint32_t hour_ms = 3600 * 1000;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

std::string create(Engine& engine, CreateRequest request) {
  return to_string(must(engine.create(std::move(request))).execution_id);
}

ClaimedExecution claim(Engine& engine, const std::string& instance) {
  ClaimRequest request;
  request.worker_id = "w";
  request.worker_instance_id = instance;
  request.lanes = {"work"};
  request.lease_ttl_ms = hour_ms;
  const auto claimed = must(engine.claim(request));
  if (claimed.empty()) throw std::runtime_error("nothing to claim");
  return claimed.front();
}

}  // namespace

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const test::StoreKind& kind : test::store_kinds()) {
    if (kind.id == test::StoreKindId::memory) continue;
    ways.push_back({kind, false});
    ways.push_back({kind, true});
  }
  return ways;
}

std::string way_name(const testing::TestParamInfo<Way>& info) {
  return info.param.store.name + (info.param.served ? "_served" : "");
}

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string text(const boost::json::value& value) {
  const auto& string = value.as_string();
  return {string.data(), string.size()};
}

OnAStore::OnAStore() : database_(test::make_database(GetParam().store.id)) {
  database_->open();
  if (served()) server_ = std::make_unique<RunningServer>(url());
}

std::unique_ptr<Engine> OnAStore::open_engine() const { return must(Engine::open(url())); }

void OnAStore::populate() {
  const auto engine = open_engine();
  for (int i = 0; i < 3; ++i) {
    CreateRequest request{.lane = "mail", .kind = "send", .payload = "hi"};
    if (i == 0) request.tags = {{"app.team", "billing"}};
    people.waiting.push_back(create(*engine, std::move(request)));
  }
  people.failed = create(*engine, {.lane = "work", .kind = "count"});
  must(engine->fail(claim(*engine, "w-1").handle, {.category = "broken", .message = "no luck"}));
  people.completed = create(*engine, {.lane = "work", .kind = "count", .payload = "\xff\xfe"});
  if (const auto done = engine->complete(claim(*engine, "w-1").handle, {.result = "grüße"}); !done) {
    throw std::runtime_error(done.error().message);
  }
  people.active = create(*engine, {.lane = "work", .kind = "count", .payload = "hello"});
  claim(*engine, "w-1");
  people.delayed = create(*engine, {.lane = "work", .kind = "count", .delay_until = must(engine->now()) + hour_ms});
}

void OnAStore::create_many(const std::string& lane, std::size_t count) const {
  const auto engine = open_engine();
  std::vector<CreateRequest> requests(count, CreateRequest{.lane = lane, .kind = "count"});
  for (const auto& created : engine->create_many(std::move(requests))) ASSERT_TRUE(created);
}

Finished OnAStore::run(const Words& words) const { return run_program(words, {"FLOWFABRIC_STORE=" + place()}); }

boost::json::value OnAStore::run_json(Words words) const {
  words.push_back("--json");
  const Finished finished = run(words);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(lines(finished.out), 1u) << finished.out;
  return boost::json::parse(finished.out);
}

std::set<std::string> OnAStore::states_of(const std::vector<std::string>& ids) const {
  std::set<std::string> states;
  for (const std::string& id : ids) {
    states.insert(text(run_json({"executions", "show", id}).at("summary").at("public_state")));
  }
  return states;
}

}  // namespace flowfabric::cli_test
