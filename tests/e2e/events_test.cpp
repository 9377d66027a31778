// Waiting over HTTP: results, long polls and event streams, through real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "api/api.hpp"
#include "engine/engine_impl.hpp"
#include "net/http_client.hpp"
#include "support/http_server.hpp"
#include "support/raw_socket.hpp"
#include "support/stores.hpp"

namespace flowfabric::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// One event of a stream. A block without data, as heartbeats are, has an id at most.
struct Sent {
  std::string id{};
  std::string event{};
  std::string data{};
};

std::vector<Sent> parse_stream(const std::string& text) {
  std::vector<Sent> all;
  std::size_t at = 0;
  for (std::size_t end = text.find("\n\n"); end != std::string::npos; end = text.find("\n\n", at)) {
    Sent sent;
    while (at < end) {
      const std::size_t line_end = text.find('\n', at);
      const std::string line = text.substr(at, line_end - at);
      if (line.starts_with("id: ")) sent.id = line.substr(4);
      if (line.starts_with("event: ")) sent.event = line.substr(7);
      if (line.starts_with("data: ")) sent.data = line.substr(6);
      at = line_end + 1;
    }
    at = end + 2;
    all.push_back(std::move(sent));
  }
  return all;
}

// Those that a client gets to see.
std::vector<Sent> events_of(const std::string& text) {
  std::vector<Sent> all = parse_stream(text);
  std::erase_if(all, [](const Sent& sent) { return sent.data.empty(); });
  return all;
}

// Reads a stream on a thread of its own, until it ends or `leave` is called.
class Listener {
 public:
  Listener(const std::string& url, std::string target, net::Headers more = {}) {
    net::ClientRequest request;
    request.target = std::move(target);
    request.headers = std::move(more);
    request.headers.add("Accept", "text/event-stream");
    thread_ = std::thread([this, url, request] {
      auto client = net::HttpClient::create({.url = url});
      auto response = client->stream(request, [this](std::string_view bytes) {
        const std::lock_guard lock(mutex_);
        text_ += bytes;
        return !leaving_;
      });
      const std::lock_guard lock(mutex_);
      response_ = std::move(response);
    });
  }
  ~Listener() { leave(); }

  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  std::vector<Sent> events() { return events_of(text()); }
  bool has_events(std::size_t count) {
    return eventually([&] { return events().size() >= count; });
  }
  bool is_open() {
    return eventually([&] { return !parse_stream(text()).empty(); });
  }
  // Heartbeats let it notice.
  void leave() {
    leaving_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // How the server ended it.
  Result<net::Response> ended() {
    if (thread_.joinable()) thread_.join();
    return response_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
  std::atomic<bool> leaving_{false};
  Result<net::Response> response_ = fail(Errc::internal, "not answered yet");
  std::thread thread_;
};

class Waits : public testing::TestWithParam<StoreKind> {
 protected:
  Waits() : database_(make_database(GetParam().id)), engine_(open_engine()) {
    options_.port = 0;
    options_.streams.heartbeat = milliseconds(50);
  }

  std::unique_ptr<Engine> open_engine() {
    auto engine = start_engine(database_->open(), {});
    if (!engine) throw std::runtime_error(engine.error().message);
    return std::move(*engine);
  }
  api::ApiServer& server() {
    if (!server_) server_ = std::move(api::ApiServer::start(*engine_, options_).value());
    return *server_;
  }
  std::uint16_t port() {
    const std::string url = server().url();
    return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }
  net::Response get(const std::string& target, const net::Headers& headers = {}) {
    auto client = net::HttpClient::create({.url = server().url()});
    net::ClientRequest request;
    request.target = target;
    request.headers = headers;
    request.timeout = std::chrono::seconds(90);
    auto response = client->request(request);
    if (!response) throw std::runtime_error(response.error().message);
    return std::move(*response);
  }
  boost::json::value get_json(const std::string& target) {
    const net::Response response = get(target);
    EXPECT_EQ(response.status, 200) << response.body;
    return boost::json::parse(response.body);
  }
  // Status and field of a refusal.
  std::pair<int, std::string> refused(const std::string& target, const std::string& accept) {
    const net::Response response = get(target, {{"Accept", accept}});
    const auto body = boost::json::parse(response.body);
    const auto* field = body.at("error").as_object().if_contains("field");
    return {response.status, field == nullptr ? "" : std::string(field->as_string())};
  }

  static std::vector<ExecutionId> make(Engine& engine, std::size_t count, const std::string& lane = "default") {
    CreateRequest request;
    request.kind = "job";
    request.lane = lane;
    std::vector<ExecutionId> ids;
    for (auto& created : engine.create_many(std::vector<CreateRequest>(count, request))) {
      ids.push_back(created.value().execution_id);
    }
    return ids;
  }
  std::vector<ExecutionId> make(std::size_t count, const std::string& lane = "default") {
    return make(*engine_, count, lane);
  }
  void complete_all(const std::string& lane = "default") {
    ClaimRequest request;
    request.worker_id = request.worker_instance_id = "w";
    request.lanes = {lane};
    request.max_executions = 500;
    for (;;) {
      const auto claimed = engine_->claim(request).value();
      if (claimed.empty()) return;
      for (const auto& one : claimed) ASSERT_TRUE(engine_->complete(one.handle, {"\"done\"", "json"}));
    }
  }
  // The cursors of all events in the log, in order.
  std::vector<std::string> logged() {
    std::vector<std::string> cursors;
    std::string cursor = "earliest";
    for (;;) {
      const EventPage page = engine_->read_events({}, cursor, 1000, 200).value();
      if (page.events.empty()) return cursors;
      for (const Event& event : page.events) cursors.push_back(event.cursor);
      cursor = page.next_cursor;
    }
  }
  static std::vector<std::string> ids_of(const std::vector<Sent>& events) {
    std::vector<std::string> ids;
    for (const Sent& sent : events) ids.push_back(sent.id);
    return ids;
  }

  api::ApiOptions options_;
  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<api::ApiServer> server_;  // goes before its engine
};

class OnEveryStore : public Waits {};
INSTANTIATE_TEST_SUITE_P(Stores, OnEveryStore, testing::ValuesIn(store_kinds()),
                         [](const testing::TestParamInfo<StoreKind>& each) { return each.param.name; });
// What does not depend on the store.
class OnMemory : public Waits {};
INSTANTIATE_TEST_SUITE_P(Stores, OnMemory, testing::Values(StoreKind{StoreKindId::memory, "memory"}),
                         [](const testing::TestParamInfo<StoreKind>& each) { return each.param.name; });
class OnPostgres : public Waits {};
INSTANTIATE_TEST_SUITE_P(Stores, OnPostgres, testing::Values(StoreKind{StoreKindId::postgres, "postgres"}),
                         [](const testing::TestParamInfo<StoreKind>& each) { return each.param.name; });

// ---------------------------------------------------------------- results

TEST_P(OnEveryStore, AResultIsWaitedFor) {
  const ExecutionId id = make(1).front();
  const std::string target = "/v1/executions/" + to_string(id) + "/result";
  for (const char* wait : {"", "?wait_ms=20"}) {
    const net::Response early = get(target + wait);
    EXPECT_EQ(early.status, 202);
    EXPECT_THAT(early.body, HasSubstr(R"("outcome":"none")"));
  }
  std::thread worker([&] { complete_all(); });
  const net::Response response = get(target + "?wait_ms=60000");
  worker.join();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(boost::json::parse(response.body).at("result").as_string(), "done");
  EXPECT_EQ(get(target).status, 200);
  EXPECT_EQ(get("/v1/executions/" + to_string(ExecutionId{1, Uuid{{1}}}) + "/result?wait_ms=1000").status, 404);
  EXPECT_EQ(refused(target + "?wait_ms=61000", "*/*"), (std::pair{400, std::string("wait_ms")}));
  EXPECT_EQ(refused(target + "?wait_ms=soon", "*/*"), (std::pair{400, std::string("wait_ms")}));
}

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_P(OnEveryStore, TwoThousandResultsAreWaitedForWithoutAThread) {
  constexpr std::size_t count = 2000;
  server();
  const std::size_t threads = threads_of_this_process();
  std::vector<RawSocket> clients;
  for (const ExecutionId& id : make(count)) {
    clients.emplace_back(port());
    clients.back().send(test::get("/v1/executions/" + to_string(id) + "/result?wait_ms=60000"));
  }
  EXPECT_LE(threads_of_this_process(), threads + 2);  // PostgreSQL's notifier starts with the first commit
  complete_all();
  for (RawSocket& client : clients) {
    const std::string response = client.read_response();
    ASSERT_THAT(response, HasSubstr(" 200 "));
    ASSERT_THAT(response, HasSubstr(R"("outcome":"success")"));
  }
}

// ---------------------------------------------------------------- long polls

TEST_P(OnEveryStore, APageHasACursorForTheNext) {
  const auto start = get_json("/v1/events");
  EXPECT_TRUE(start.at("events").as_array().empty());
  make(5, "a");
  make(5, "b");
  std::string cursor(start.at("next_cursor").as_string());
  std::vector<std::string> seen;
  while (seen.size() < 10) {
    const auto page = get_json("/v1/events?limit=3&wait_ms=30000&cursor=" + cursor);
    ASSERT_FALSE(page.at("events").as_array().empty());
    for (const auto& event : page.at("events").as_array()) seen.emplace_back(event.at("cursor").as_string());
    cursor = std::string(page.at("next_cursor").as_string());
  }
  EXPECT_EQ(seen, logged());
  const auto of_b = get_json("/v1/events?cursor=earliest&lane=b&type=created,completed&type=failed&wait_ms=30000");
  EXPECT_EQ(of_b.at("events").as_array().size(), 5u);
  EXPECT_TRUE(get_json("/v1/events?cursor=earliest&type=failed").at("events").as_array().empty());
}

TEST_P(OnPostgres, ALongPollIsWokenByACreateOfAnotherEngine) {
  const std::string cursor(get_json("/v1/events").at("next_cursor").as_string());
  const auto other = open_engine();
  std::atomic<bool> asked{false};
  ExecutionId made;
  std::thread creator([&] {
    while (!asked) std::this_thread::yield();
    std::this_thread::sleep_for(
        milliseconds(100));  // most likely it is parked by then; if not, the test is only weaker
    made = make(*other, 1).front();
  });
  asked = true;
  const auto page = get_json("/v1/events?wait_ms=30000&cursor=" + cursor);
  creator.join();
  ASSERT_EQ(page.at("events").as_array().size(), 1u) << "nobody woke it";
  EXPECT_EQ(page.at("events").at(0).at("execution_id").as_string(), to_string(made));
}

TEST_P(OnMemory, BadQuestionsAreRefusedInBothForms) {
  using Refusal = std::pair<int, std::string>;
  for (const char* accept : {"application/json", "text/event-stream"}) {
    EXPECT_EQ(refused("/v1/events?cursor=nonsense!", accept), (Refusal{400, "cursor"}));
    EXPECT_EQ(refused("/v1/events?type=created,exploded", accept), (Refusal{400, "type"}));
    EXPECT_EQ(refused("/v1/events?type=", accept), (Refusal{400, "type"}));
    EXPECT_EQ(refused("/v1/events?lane=", accept), (Refusal{400, "lane"}));
    EXPECT_EQ(refused("/v1/events?namespace=", accept), (Refusal{400, "namespace"}));
    EXPECT_EQ(refused("/v1/events?execution_id=7", accept).first, 400);
    EXPECT_EQ(refused("/v1/events?colour=red", accept), (Refusal{400, "colour"}));
    EXPECT_EQ(refused("/v1/events?limit=0", accept), (Refusal{400, "limit"}));
    EXPECT_EQ(refused("/v1/events?wait_ms=61000", accept), (Refusal{400, "wait_ms"}));
  }
  EXPECT_EQ(refused("/v1/events?wait_ms=1000", "text/event-stream"), (Refusal{400, "wait_ms"}))
      << "a stream does not end";
}

TEST_P(OnMemory, BothFormsStandInTheDescription) {
  const auto document = get_json("/openapi.json");
  const auto& events = document.at("paths").at("/v1/events").at("get");
  EXPECT_TRUE(events.at("responses").at("200").at("content").as_object().contains("text/event-stream"));
  EXPECT_TRUE(events.at("responses").at("200").at("content").as_object().contains("application/json"));
  const auto& result = document.at("paths").at("/v1/executions/{execution_id}/result").at("get");
  EXPECT_TRUE(result.at("responses").as_object().contains("202"));
}

// ---------------------------------------------------------------- streams

TEST_P(OnEveryStore, AStreamIsResumedWithoutGapOrRepetition) {
  Listener first(server().url(), "/v1/events");
  ASSERT_TRUE(first.is_open());
  EXPECT_THAT(first.text(), testing::StartsWith("retry: "));
  make(250);
  ASSERT_TRUE(first.has_events(120));
  first.leave();
  std::vector<Sent> seen = first.events();
  seen.resize(std::min<std::size_t>(seen.size(), 150));
  make(50);
  complete_all();
  Listener second(server().url(), "/v1/events?cursor=earliest", {{"Last-Event-ID", seen.back().id}});
  const std::vector<std::string> all = logged();
  ASSERT_EQ(all.size(), 900u);
  ASSERT_TRUE(second.has_events(all.size() - seen.size()));
  const std::vector<Sent> rest = second.events();
  seen.insert(seen.end(), rest.begin(), rest.end());
  EXPECT_EQ(ids_of(seen), all);
  EXPECT_EQ(seen.front().event, "created");
  EXPECT_EQ(boost::json::parse(seen.front().data).at("type").as_string(), "created");
}

TEST_P(OnEveryStore, AQuietStreamBeatsAndCarriesItsCursorOn) {
  Listener listener(server().url(), "/v1/events?lane=quiet");
  ASSERT_TRUE(eventually([&] { return listener.text().find(": heartbeat\n") != std::string::npos; }));
  make(1, "noise");
  const auto has_passed_the_noise = [&] {
    const std::string cursor = parse_stream(listener.text()).back().id;
    return !cursor.empty() && engine_->read_events({}, cursor, 10, 0).value().events.empty();
  };
  EXPECT_TRUE(eventually(has_passed_the_noise)) << "what is not for it need not be read again";
  EXPECT_TRUE(listener.events().empty());
  make(1, "quiet");
  EXPECT_TRUE(listener.has_events(1));
}

TEST_P(OnMemory, ASlowReaderIsCutOffWithACursorWhileTheEngineGoesOn) {
  options_.streams.max_streams = 1;
  options_.streams.patience = milliseconds(100);
  RawSocket slow(port(), 4096);
  slow.send(test::get("/v1/events?cursor=earliest", "Accept: text/event-stream\r\n"));
  slow.read_until("retry: ");
  // There is room for another one as soon as the slow one has been cut.
  std::size_t made = 0;
  const auto is_cut = [&] {
    made += make(1000).size();
    const net::Response response = get("/v1/events?limit=1", {{"Accept", "application/json"}});
    EXPECT_EQ(response.status, 200);
    Listener next(server().url(), "/v1/events");
    eventually([&] { return !next.text().empty(); });
    return next.text().starts_with("retry: ");
  };
  ASSERT_TRUE(eventually(is_cut));
  const std::string raw = slow.read_until("event: cut");
  const std::string tail = slow.read_until("\n\n");
  const std::size_t mark = tail.find("data: ") + 6;
  const auto cut = boost::json::parse(tail.substr(mark, tail.find('\n', mark) - mark));
  EXPECT_EQ(cut.at("reason").as_string(), "overloaded");
  std::size_t seen = 0;
  for (std::size_t at = raw.find("event: created"); at != std::string::npos; at = raw.find("event: created", at + 1)) {
    ++seen;
  }
  EXPECT_GT(seen, 0u);
  EXPECT_LT(seen, made);
  std::string cursor(cut.at("cursor").as_string());
  while (seen < made) {
    const auto page = get_json("/v1/events?limit=1000&cursor=" + cursor);
    ASSERT_FALSE(page.at("events").as_array().empty());
    seen += page.at("events").as_array().size();
    cursor = std::string(page.at("next_cursor").as_string());
  }
  EXPECT_EQ(seen, made) << "the cursor goes on where the stream was cut";
}

TEST_P(OnEveryStore, AStreamEndsWhenItsKeyIsRevoked) {
  options_.api_keys = true;
  const auto key = engine_->create_api_key({"reader", ApiRole::viewer, {}, 0}).value();
  Listener listener(server().url(), "/v1/events", {{"Authorization", "Bearer " + key.secret}});
  ASSERT_TRUE(listener.is_open());
  make(1);
  ASSERT_TRUE(listener.has_events(1)) << "a key that is good stays good";
  ASSERT_TRUE(engine_->revoke_api_key("reader"));
  ASSERT_TRUE(listener.ended());
  const auto events = listener.events();
  EXPECT_EQ(events.back().event, "cut");
  EXPECT_NE(events.back().data.find("unauthenticated"), std::string::npos) << events.back().data;
}

TEST_P(OnMemory, ThereAreOnlySoManyStreams) {
  options_.streams.max_streams = 2;
  Listener one(server().url(), "/v1/events");
  ASSERT_TRUE(one.is_open());
  {
    Listener two(server().url(), "/v1/events");
    ASSERT_TRUE(two.is_open());
    const net::Response refusal = get("/v1/events", {{"Accept", "text/event-stream"}});
    EXPECT_EQ(refusal.status, 429);
    EXPECT_TRUE(refusal.headers.find("Retry-After"));
  }
  Listener* third = nullptr;
  std::unique_ptr<Listener> kept;
  EXPECT_TRUE(eventually([&] {
    kept = std::make_unique<Listener>(server().url(), "/v1/events");
    third = kept.get();
    eventually([&] { return !third->text().empty(); });
    return third->text().starts_with("retry: ");
  })) << "who leaves makes room";
}

// As after a restore: the cursor is of a log that is no more.
TEST_P(OnEveryStore, AnExpiredCursorIsAnsweredWithOneThatWorks) {
  const auto other = make_database(GetParam().id);
  const std::string old = start_engine(other->open(), {}).value()->read_events({}, "", 1, 0).value().next_cursor;
  const net::Response gone = get("/v1/events?cursor=" + old);
  EXPECT_EQ(gone.status, 410);
  const auto error = boost::json::parse(gone.body).at("error");
  const std::string earliest(error.at("details").at("earliest").as_string());
  get_json("/v1/events?cursor=" + earliest);
  Listener listener(server().url(), "/v1/events?cursor=" + old);
  const auto ended = listener.ended();
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->status, 200);
  ASSERT_EQ(listener.events().size(), 1u);
  EXPECT_EQ(listener.events()[0].event, "cut");
  EXPECT_EQ(listener.events()[0].id, earliest);
}

TEST_P(OnEveryStore, AServerThatDrainsEndsStreamsAndPolls) {
  Listener listener(server().url(), "/v1/events");
  ASSERT_TRUE(listener.is_open());
  const std::string cursor(get_json("/v1/events").at("next_cursor").as_string());
  make(3);
  ASSERT_TRUE(listener.has_events(3));
  const std::string end = listener.events().back().id;
  RawSocket poll(port());
  poll.send(test::get("/v1/events?wait_ms=60000&lane=nobody&cursor=" + end));
  RawSocket result(port());
  result.send(test::get("/v1/executions/" + to_string(make(1, "later").front()) + "/result?wait_ms=60000"));
  ASSERT_TRUE(listener.has_events(4));
  for (int i = 0; i < 2; ++i) get("/healthz");  // the one I/O thread has come by
  engine_->stop();
  server().drain(std::chrono::seconds(60));
  const auto ended = listener.ended();
  ASSERT_TRUE(ended) << "the stream was broken off: " << ended.error().message;
  ASSERT_EQ(listener.events().back().event, "cut");
  EXPECT_EQ(boost::json::parse(listener.events().back().data).at("reason").as_string(), "shutting_down");
  const auto restarted = open_engine();
  const ExecutionId next = make(*restarted, 1).front();
  const EventPage page = restarted->read_events({}, listener.events().back().id, 10, 60000).value();
  ASSERT_EQ(page.events.size(), 1u) << "it says where to come back";
  EXPECT_EQ(page.events[0].execution_id, next);
  EXPECT_THAT(poll.read_response(), HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(result.read_response(), HasSubstr("HTTP/1.1 503"));
}

}  // namespace
}  // namespace flowfabric::test
