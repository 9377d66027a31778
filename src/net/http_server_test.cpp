#include "net/http_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "support/http_server.hpp"
#include "support/raw_socket.hpp"

namespace flowfabric::net {
namespace {

using std::chrono::milliseconds;
using test::echo;
using test::eventually;
using test::get;
using test::post;
using test::RawSocket;
using test::serve;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Keeps exchanges until the test answers them.
class Parking {
 public:
  Handler handler() {
    return [this](std::shared_ptr<Exchange> exchange) {
      const std::lock_guard lock(mutex_);
      parked_.push_back(std::move(exchange));
    };
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return parked_.size();
  }
  std::shared_ptr<Exchange> wait(std::size_t number) {
    EXPECT_TRUE(eventually([&] { return size() > number; }));
    const std::lock_guard lock(mutex_);
    return parked_.at(number);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    parked_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> parked_;
};

std::string status_line_of(const std::string& response) { return response.substr(0, 12); }

// ---------------------------------------------------------------- requests and answers

TEST(HttpServer, AnswersWithWhatTheHandlerSays) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.status = 201, .headers = {{"X-Mine", "yes"}}, .body = "{}"});
  });
  RawSocket client(server->port());
  client.send(get("/"));
  const std::string response = client.read_response();
  EXPECT_THAT(response, StartsWith("HTTP/1.1 201 Created\r\nDate: "));
  EXPECT_THAT(response, HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\nX-Mine: yes\r\n"));
  EXPECT_THAT(response, EndsWith("\r\nContent-Length: 2\r\n\r\n{}"));
}

TEST(HttpServer, HandsOverTheRequest) {
  Request seen;
  const auto server = serve([&](const std::shared_ptr<Exchange>& exchange) {
    seen = exchange->request();
    echo(exchange);
  });
  RawSocket client(server->port());
  client.send(post("http://elsewhere/a%20b/c?x=1&y=%2B", "body", "X-Header: value\r\n"));
  client.read_response();
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.segments, (std::vector<std::string>{"a b", "c"}));
  EXPECT_EQ(seen.query_value("y"), "+");
  EXPECT_EQ(seen.headers.find("x-header"), "value");
  EXPECT_EQ(seen.body, "body");
  EXPECT_EQ(seen.remote_address, "127.0.0.1");
  EXPECT_FALSE(seen.secure);
}

TEST(HttpServer, KeepsAConnectionUntilItIsToldNotTo) {
  const auto server = serve(echo);
  RawSocket client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send(get("/" + std::to_string(i)));
    EXPECT_THAT(client.read_response(), EndsWith("GET /" + std::to_string(i) + " "));
  }
  client.send(get("/last", "Connection: close\r\n"));
  EXPECT_THAT(client.read_all(), HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(server->statistics().accepted_connections, 1u);
  EXPECT_EQ(server->statistics().requests, 4u);
}

TEST(HttpServer, Http10ClosesUnlessAskedToStay) {
  const auto server = serve(echo);
  RawSocket brief(server->port());
  brief.send("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_THAT(brief.read_all(), EndsWith("GET /a "));
  RawSocket staying(server->port());
  staying.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(staying.read_response(), HasSubstr("Connection: keep-alive\r\n"));
  staying.send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_THAT(staying.read_all(), EndsWith("GET /b "));
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  Parking parking;
  const auto server = serve(parking.handler());
  RawSocket client(server->port());
  client.send(get("/0") + post("/1", "one") + get("/2"));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto exchange = parking.wait(i);
    EXPECT_EQ(parking.size(), i + 1);  // the next one waits for its turn
    std::thread([&] { echo(exchange); }).join();
  }
  EXPECT_THAT(client.read_response(), EndsWith("GET /0 "));
  EXPECT_THAT(client.read_response(), EndsWith("POST /1 one"));
  EXPECT_THAT(client.read_response(), EndsWith("GET /2 "));
}

TEST(HttpServer, ManyPipelinedRequestsNeedNoDeepStack) {
  const auto server = serve(echo);
  RawSocket client(server->port());
  constexpr int count = 3000;
  std::thread sender([&] {
    std::string all;
    for (int i = 0; i < count; ++i) all += get("/" + std::to_string(i));
    client.send(all);
  });
  for (int i = 0; i < count; ++i) ASSERT_THAT(client.read_response(), EndsWith("GET /" + std::to_string(i) + " "));
  sender.join();
}

TEST(HttpServer, HeadHasALengthAndNoBody) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) { exchange->respond({.body = "12345"}); });
  RawSocket client(server->port());
  client.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n" + get("/"));
  EXPECT_THAT(client.read_response(true), HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\n12345"));
}

TEST(HttpServer, StatusesWithoutBodyHaveNone) {
  const auto server = serve(
      [](const std::shared_ptr<Exchange>& exchange) { exchange->respond({.status = 204, .body = "not to be seen"}); });
  RawSocket client(server->port());
  client.send(get("/", "Connection: close\r\n"));
  const std::string response = client.read_all();
  EXPECT_THAT(response, EndsWith("\r\n\r\n"));
  EXPECT_THAT(response, Not(HasSubstr("Content-")));
}

TEST(HttpServer, LineEndsBetweenRequestsAreForgiven) {
  const auto server = serve(echo);
  RawSocket client(server->port());
  client.send("\r\n" + post("/a", "x") + "\r\n" + get("/b"));
  EXPECT_THAT(client.read_response(), EndsWith("POST /a x"));
  EXPECT_THAT(client.read_response(), EndsWith("GET /b "));
}

TEST(HttpServer, ReadsChunkedBodiesHoweverTheyAreSplit) {
  const auto server = serve(echo);
  RawSocket client(server->port());
  const std::string request =
      "POST /c HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;ext=1\r\nhello\r\n7\r\n, world\r\n0\r\nTrailer: x\r\n\r\n";
  for (const char byte : request) client.send({&byte, 1});
  EXPECT_THAT(client.read_response(), EndsWith("POST /c hello, world"));
  client.send(request + get("/next"));
  EXPECT_THAT(client.read_response(), EndsWith("POST /c hello, world"));
  EXPECT_THAT(client.read_response(), EndsWith("GET /next "));
}

TEST(HttpServer, LargeBodiesGoBothWays) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = std::move(exchange->request().body), .content_type = "application/octet-stream"});
  });
  std::string body(5 * 1024 * 1024, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 31 + i / 4096);
  RawSocket client(server->port());
  client.send(post("/", body));
  const std::string response = client.read_response();
  EXPECT_TRUE(response.ends_with(body));
}

TEST(HttpServer, InvitesABodyThatWaitsForIt) {
  const auto server = serve(echo, {.max_body_bytes = 100});
  RawSocket client(server->port());
  client.send("POST /e HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_THAT(client.read_response(), EndsWith("POST /e body"));
  // A body that is too large is refused without 100 Continue.
  client.send("POST /e HTTP/1.1\r\nHost: test\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_line_of(client.read_all()), "HTTP/1.1 413");
}

TEST(HttpServer, AnswersFromAnotherThreadAndOnlyOnce) {
  Parking parking;
  const auto server = serve(parking.handler());
  RawSocket client(server->port());
  client.send(get("/"));
  const auto exchange = parking.wait(0);
  std::atomic<int> accepted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { accepted += exchange->respond({.body = "answer"}) ? 1 : 0; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(accepted, 1);
  EXPECT_EQ(exchange->begin_stream({}), nullptr);
  EXPECT_THAT(client.read_response(), EndsWith("answer"));
}

TEST(HttpServer, SeveralThreadsServeManyClients) {
  const auto server = serve(echo, {.threads = 3});
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      RawSocket client(server->port());
      for (int n = 0; n < 50; ++n) {
        const std::string target = "/" + std::to_string(i) + "/" + std::to_string(n);
        client.send(get(target));
        good += client.read_response().ends_with("GET " + target + " ") ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 400);
}

// ---------------------------------------------------------------- what goes wrong

TEST(HttpServer, RefusesABodyBeforeItIsSent) {
  const auto server = serve(echo, {.max_body_bytes = 10, .body_limit = [](const Request& head) {
                                     return head.path == "/big" ? 1000u : 10u;
                                   }});
  RawSocket refused(server->port());
  refused.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 11\r\n\r\n");
  const std::string response = refused.read_all();
  EXPECT_EQ(status_line_of(response), "HTTP/1.1 413");
  EXPECT_THAT(response, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(response, HasSubstr(R"({"error":{"code":"payload_too_large",)"));
  RawSocket chunked(server->port());
  chunked.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\n");
  EXPECT_EQ(status_line_of(chunked.read_all()), "HTTP/1.1 413");
  RawSocket allowed(server->port());
  allowed.send(post("/big", std::string(1000, 'x')));
  EXPECT_EQ(status_line_of(allowed.read_response()), "HTTP/1.1 200");
}

TEST(HttpServer, ARefusalReachesAClientThatIsStillSending) {
  const auto server = serve(echo, {.max_body_bytes = 10});
  RawSocket client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2000000\r\n\r\n");
  client.send(std::string(2000000, 'x'));
  EXPECT_EQ(status_line_of(client.read_all()), "HTTP/1.1 413");
}

TEST(HttpServer, AllBodiesTogetherAreBounded) {
  Parking parking;
  const auto server = serve(parking.handler(), {.max_total_body_bytes = 100});
  RawSocket first(server->port());
  first.send(post("/", std::string(80, 'x')));
  const auto exchange = parking.wait(0);
  RawSocket second(server->port());
  second.send(post("/", std::string(80, 'x')));
  EXPECT_EQ(status_line_of(second.read_all()), "HTTP/1.1 503");
  exchange->respond({});
  first.read_response();
  parking.clear();
}

TEST(HttpServer, RefusesLongHeads) {
  const auto server = serve(echo, {.max_header_bytes = 1000});
  RawSocket line(server->port());
  line.send("GET /" + std::string(2000, 'a'));
  EXPECT_EQ(status_line_of(line.read_all()), "HTTP/1.1 414");
  RawSocket fields(server->port());
  fields.send("GET / HTTP/1.1\r\nHost: test\r\nX: " + std::string(2000, 'a'));
  EXPECT_EQ(status_line_of(fields.read_all()), "HTTP/1.1 431");
  RawSocket whole(server->port());
  whole.send(get("/", "X: " + std::string(2000, 'a') + "\r\n"));
  EXPECT_EQ(status_line_of(whole.read_all()), "HTTP/1.1 431");
}

TEST(HttpServer, AHandlerThatThrowsIsAnswered500) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/odd") throw 42;
    throw std::runtime_error("secret");
  });
  for (const char* path : {"/", "/odd"}) {
    RawSocket client(server->port());
    client.send(get(path));
    const std::string response = client.read_all();
    EXPECT_EQ(status_line_of(response), "HTTP/1.1 500");
    EXPECT_THAT(response, HasSubstr(R"("code":"internal")"));
    EXPECT_THAT(response, Not(HasSubstr("secret")));
  }
  EXPECT_EQ(server->statistics().faults, 2u);
}

TEST(HttpServer, ADroppedRequestIsAnswered500) {
  const auto server = serve([](const std::shared_ptr<Exchange>&) {});
  RawSocket client(server->port());
  client.send(get("/"));
  EXPECT_EQ(status_line_of(client.read_all()), "HTTP/1.1 500");
}

TEST(HttpServer, AnImpossibleHeaderIsAnswered500) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.headers = {{"Location", "/a\r\nSet-Cookie: b"}}});
  });
  RawSocket client(server->port());
  client.send(get("/"));
  const std::string response = client.read_all();
  EXPECT_EQ(status_line_of(response), "HTTP/1.1 500");
  EXPECT_THAT(response, Not(HasSubstr("Cookie")));
}

TEST(HttpServer, ErrorsHaveTheShapeThatTheOptionsGive) {
  const auto server = serve(echo, {.error_body = [](int status, const Error& error) {
                              return std::to_string(status) + "/" + std::string(to_string(error.code));
                            }});
  RawSocket client(server->port());
  client.send("nonsense\r\n\r\n");
  EXPECT_THAT(client.read_all(), EndsWith("\r\n\r\n400/invalid_argument"));
}

TEST(HttpServer, StartSaysWhyItCannot) {
  const auto refusal = [](ServerOptions options) {
    const auto server = HttpServer::start(std::move(options), echo);
    return server ? Errc::internal : server.error().code;
  };
  EXPECT_EQ(refusal({.address = "nowhere"}), Errc::invalid_argument);
  EXPECT_EQ(refusal({.threads = 0}), Errc::invalid_argument);
  EXPECT_EQ(refusal({.certificate_file = "only-one"}), Errc::invalid_argument);
  EXPECT_EQ(refusal({.certificate_file = "/none", .private_key_file = "/none"}), Errc::invalid_argument);
  const auto server = serve(echo);
  EXPECT_EQ(refusal({.port = server->port()}), Errc::unavailable);
}

// ---------------------------------------------------------------- slow clients

TEST(HttpServer, AHeadThatTricklesIsCutOff) {
  const auto server = serve(echo, {.header_timeout = milliseconds(50)});
  RawSocket client(server->port());
  client.send("GET / HT");
  EXPECT_EQ(status_line_of(client.read_all()), "HTTP/1.1 408");
  // Further bytes do not extend it.
  RawSocket slow(server->port());
  EXPECT_TRUE(eventually([&] { return !slow.send("G"); }));
}

TEST(HttpServer, ABodyThatDoesNotComeIsCutOff) {
  const auto server = serve(echo, {.body_timeout = milliseconds(50)});
  RawSocket client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc");
  const std::string response = client.read_all();
  EXPECT_EQ(status_line_of(response), "HTTP/1.1 408");
  EXPECT_THAT(response, HasSubstr(R"("code":"timed_out")"));
}

TEST(HttpServer, AnIdleConnectionIsClosedWithoutAWord) {
  const auto server = serve(echo, {.idle_timeout = milliseconds(50)});
  RawSocket silent(server->port());
  EXPECT_EQ(silent.read_all(), "");
  RawSocket used(server->port());
  used.send(get("/"));
  EXPECT_THAT(used.read_all(), EndsWith("GET / "));
}

TEST(HttpServer, AParkedRequestIsNotIdle) {
  Parking parking;
  const auto server = serve(parking.handler(), {.header_timeout = milliseconds(20), .idle_timeout = milliseconds(20)});
  RawSocket client(server->port());
  client.send(get("/"));
  const auto exchange = parking.wait(0);
  RawSocket other(server->port());
  other.read_all();  // idle longer than the other one has been parked
  exchange->respond({.body = "late"});
  EXPECT_THAT(client.read_response(), EndsWith("late"));
}

TEST(HttpServer, AClientThatDoesNotReadIsCutOff) {
  const auto server = serve(
      [](const std::shared_ptr<Exchange>& exchange) {
        exchange->respond({.body = std::string(32 * 1024 * 1024, 'x'), .content_type = "application/octet-stream"});
      },
      {.write_timeout = milliseconds(50)});
  RawSocket client(server->port(), 4096);
  client.send(get("/"));
  EXPECT_TRUE(eventually([&] { return server->statistics().requests == 1; }));
  EXPECT_TRUE(eventually([&] { return server->statistics().open_connections == 0; }));
  EXPECT_LT(server->statistics().sent_bytes, 32u * 1024 * 1024);
}

// ---------------------------------------------------------------- clients that leave

TEST(HttpServer, AHalfClosedClientIsStillAnswered) {
  Parking parking;
  const auto server = serve(parking.handler());
  RawSocket client(server->port());
  client.send(get("/1") + get("/2"));
  client.finish_sending();
  for (std::size_t i = 0; i < 2; ++i) echo(parking.wait(i));
  const std::string all = client.read_all();
  EXPECT_THAT(all, HasSubstr("GET /1 "));
  EXPECT_THAT(all, EndsWith("GET /2 "));
  EXPECT_TRUE(eventually([&] { return server->statistics().open_connections == 0; }));
}

TEST(HttpServer, TheHandlerHearsThatTheClientLeft) {
  for (const bool abruptly : {false, true}) {
    Parking parking;
    const auto server = serve(parking.handler());
    RawSocket client(server->port());
    client.send(get("/"));
    const auto exchange = parking.wait(0);
    std::promise<void> left;
    exchange->on_abandoned([&] { left.set_value(); });
    abruptly ? client.reset() : client.close();
    left.get_future().get();
    std::promise<void> at_once;
    exchange->on_abandoned([&] { at_once.set_value(); });
    at_once.get_future().get();
    exchange->respond({.body = "to nobody"});
    EXPECT_TRUE(eventually([&] { return server->statistics().open_connections == 0; }));
  }
}

TEST(HttpServer, AnAnsweredRequestIsNotAbandoned) {
  Parking parking;
  const auto server = serve(parking.handler());
  std::atomic<bool> called = false;
  {
    RawSocket client(server->port());
    client.send(get("/"));
    const auto exchange = parking.wait(0);
    exchange->on_abandoned([&] { called = true; });
    exchange->respond({});
    client.read_response();
  }
  EXPECT_TRUE(eventually([&] { return server->statistics().open_connections == 0; }));
  EXPECT_FALSE(called);
}

TEST(HttpServer, AnIncompleteRequestIsRefusedWhenTheClientEnds) {
  const auto server = serve(echo);
  RawSocket client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc");
  client.finish_sending();
  EXPECT_EQ(status_line_of(client.read_all()), "HTTP/1.1 400");
}

// ---------------------------------------------------------------- streams

TEST(HttpServer, StreamsInChunksAndKeepsTheConnection) {
  Parking parking;
  const auto server = serve(parking.handler());
  RawSocket client(server->port());
  client.send(get("/events"));
  const auto stream = parking.wait(0)->begin_stream({.content_type = "text/event-stream"});
  ASSERT_NE(stream, nullptr);
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(stream->write("data: 1\n\n"));
  EXPECT_EQ(client.read_until("\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
  EXPECT_TRUE(stream->write(""));
  std::thread([&] { EXPECT_TRUE(stream->write("second")); }).join();
  EXPECT_EQ(client.read_until("second\r\n"), "6\r\nsecond\r\n");
  stream->end();
  EXPECT_FALSE(stream->write("after"));
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  client.send(get("/next"));
  parking.wait(1)->respond({.body = "next"});
  EXPECT_THAT(client.read_response(), EndsWith("next"));
}

TEST(HttpServer, PipelinedStreamsLoseNothing) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    const auto stream = exchange->begin_stream({});
    stream->write("body of " + exchange->request().path);
    stream->end();
  });
  RawSocket client(server->port());
  std::string all;
  for (int i = 0; i < 200; ++i) all += get("/" + std::to_string(i));
  client.send(all);
  for (int i = 0; i < 200; ++i) {
    const std::string end = "body of /" + std::to_string(i) + "\r\n0\r\n\r\n";
    client.read_until("\r\n\r\n");
    ASSERT_THAT(client.read_until("0\r\n\r\n"), EndsWith(end));
  }
}

TEST(HttpServer, AStreamOnHttp10EndsWithTheConnection) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    const auto stream = exchange->begin_stream({.content_type = "text/plain"});
    stream->write("one ");
    stream->write("two");
    stream->end();
  });
  RawSocket client(server->port());
  client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const std::string response = client.read_all();
  EXPECT_THAT(response, EndsWith("\r\n\r\none two"));
  EXPECT_THAT(response, Not(HasSubstr("chunked")));
}

TEST(HttpServer, AStreamForHeadIsOverAtOnce) {
  Parking parking;
  const auto server = serve(parking.handler());
  RawSocket client(server->port());
  client.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n");
  const auto stream = parking.wait(0)->begin_stream({});
  std::promise<void> closed;
  stream->on_closed([&] { closed.set_value(); });
  closed.get_future().get();
  EXPECT_FALSE(stream->write("x"));
  client.read_until("\r\n\r\n");
  client.send(get("/next"));
  parking.wait(1)->respond({.body = "next"});
  EXPECT_THAT(client.read_response(), EndsWith("next"));
}

TEST(HttpServer, AStreamHearsThatItsReaderLeft) {
  for (const bool abruptly : {false, true}) {
    Parking parking;
    const auto server = serve(parking.handler());
    RawSocket client(server->port());
    client.send(get("/"));
    const auto stream = parking.wait(0)->begin_stream({});
    std::promise<void> closed;
    stream->on_closed([&] { closed.set_value(); });
    client.read_until("\r\n\r\n");
    abruptly ? client.reset() : client.close();
    closed.get_future().get();
    EXPECT_FALSE(stream->write("x"));
    stream->end();
  }
}

TEST(HttpServer, ASlowReaderOfAStreamIsCutOff) {
  Parking parking;
  const auto server = serve(parking.handler(), {.max_stream_buffer_bytes = 100'000});
  RawSocket client(server->port(), 4096);
  client.send(get("/"));
  const auto stream = parking.wait(0)->begin_stream({});
  std::promise<void> closed;
  stream->on_closed([&] { closed.set_value(); });
  const std::string event(10'000, 'e');
  EXPECT_TRUE(eventually([&] { return !stream->write(event); }));
  closed.get_future().get();
  EXPECT_TRUE(eventually([&] { return server->statistics().open_connections == 0; }));
}

TEST(HttpServer, AReaderThatKeepsUpMayGetMoreThanTheBuffer) {
  Parking parking;
  const auto server = serve(parking.handler(), {.max_stream_buffer_bytes = 10'000});
  RawSocket client(server->port());
  client.send(get("/"));
  const auto stream = parking.wait(0)->begin_stream({});
  client.read_until("\r\n\r\n");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(stream->write(std::string(999, 'e') + "\n"));
    client.read_until("\n\r\n");
  }
  stream->end();
}

TEST(HttpServer, AStreamThatStallsIsCutOff) {
  Parking parking;
  const auto server =
      serve(parking.handler(), {.max_stream_buffer_bytes = 64 * 1024 * 1024, .write_timeout = milliseconds(50)});
  RawSocket client(server->port(), 4096);
  client.send(get("/"));
  const auto stream = parking.wait(0)->begin_stream({});
  stream->write(std::string(32 * 1024 * 1024, 'e'));
  EXPECT_TRUE(eventually([&] { return !stream->write("x"); }));
}

TEST(HttpServer, AWriterIsToldWhenItsStreamHasDrained) {
  Parking parking;
  const auto server = serve(parking.handler(), {.max_stream_buffer_bytes = 64 * 1024 * 1024});
  RawSocket client(server->port(), 4096);
  client.send(get("/"));
  const auto stream = parking.wait(0)->begin_stream({});
  std::atomic<int> drained = 0, late = 0;
  const auto count = [&](bool in_time) { ++(in_time ? drained : late); };
  stream->on_drained(std::chrono::minutes(1), count);
  EXPECT_EQ(drained, 1) << "nothing was written yet";
  stream->write(std::string(32 * 1024 * 1024, 'e'));
  stream->on_drained(milliseconds(20), count);
  ASSERT_TRUE(eventually([&] { return late == 1; })) << "the client takes nothing";
  stream->on_drained(std::chrono::hours(1), count);
  stream->write("mark");
  client.read_until("mark");
  EXPECT_TRUE(eventually([&] { return drained == 2; }));
  EXPECT_EQ(late, 1);
  stream->end();
}

TEST(HttpServer, AWriterWhoseClientLeavesIsNotTold) {
  Parking parking;
  const auto server = serve(parking.handler(), {.max_stream_buffer_bytes = 64 * 1024 * 1024});
  RawSocket client(server->port(), 4096);
  client.send(get("/"));
  const auto stream = parking.wait(0)->begin_stream({});
  stream->write(std::string(32 * 1024 * 1024, 'e'));
  auto owned = std::make_shared<int>(0);
  stream->on_drained(std::chrono::minutes(1), [owned](bool) { ++*owned; });
  client.reset();
  EXPECT_TRUE(eventually([&] { return owned.use_count() == 1; })) << "what waits for a drained stream is let go";
  EXPECT_EQ(*owned, 0);
}

TEST(HttpServer, ADroppedStreamLooksBroken) {
  const auto server =
      serve([](const std::shared_ptr<Exchange>& exchange) { exchange->begin_stream({})->write("half"); });
  RawSocket client(server->port());
  client.send(get("/"));
  EXPECT_THAT(client.read_all(), Not(HasSubstr("0\r\n\r\n")));
}

// ---------------------------------------------------------------- compression

TEST(HttpServer, CompressesForWhoAsks) {
  const std::string body(10'000, 'j');
  const auto server = serve([&](const std::shared_ptr<Exchange>& exchange) { exchange->respond({.body = body}); },
                            {.gzip_min_bytes = 1000});
  RawSocket client(server->port());
  client.send(get("/", "Accept-Encoding: gzip\r\n"));
  const std::string packed = client.read_response();
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(packed, HasSubstr("Vary: Accept-Encoding\r\n"));
  EXPECT_LT(packed.size(), 1000u);
  client.send(get("/"));
  const std::string plain = client.read_response();
  EXPECT_THAT(plain, Not(HasSubstr("Content-Encoding")));
  EXPECT_THAT(plain, HasSubstr("Vary: Accept-Encoding\r\n"));
  EXPECT_THAT(plain, EndsWith(body));
}

TEST(HttpServer, LeavesAloneWhatIsNotWorthIt) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    const std::string& path = exchange->request().path;
    if (path == "/small") return void(exchange->respond({.body = "small"}));
    if (path == "/image") {
      return void(exchange->respond({.body = std::string(9000, 'i'), .content_type = "image/png"}));
    }
    exchange->respond({.headers = {{"Content-Encoding", "br"}}, .body = std::string(9000, 'b')});
  });
  RawSocket client(server->port());
  for (const char* path : {"/small", "/image", "/done"}) {
    client.send(get(path, "Accept-Encoding: gzip\r\n"));
    EXPECT_THAT(client.read_response(), Not(HasSubstr("gzip"))) << path;
  }
}

// ---------------------------------------------------------------- reports of delivery

struct Reports {
  std::atomic<int> delivered{0};
  std::atomic<int> lost{0};
  std::function<void(bool)> one() {
    return [this](bool arrived) { ++(arrived ? delivered : lost); };
  }
};

TEST(HttpServer, SaysThatAnAnswerWasDelivered) {
  Parking parking;
  Reports reports;
  const auto server = serve(parking.handler());
  RawSocket client(server->port());
  client.send(get("/"));
  const auto exchange = parking.wait(0);
  EXPECT_FALSE(exchange->is_abandoned());
  exchange->respond_and_report({.body = "{}"}, reports.one());
  EXPECT_THAT(client.read_response(), EndsWith("{}"));
  EXPECT_TRUE(eventually([&] { return reports.delivered == 1; }));
  exchange->respond_and_report({.body = "{}"}, reports.one());
  EXPECT_EQ(reports.lost, 1) << "a second answer goes nowhere";
}

TEST(HttpServer, SaysThatAnAnswerWasNotDelivered) {
  Parking parking;
  Reports reports;
  const auto server = serve(parking.handler());
  RawSocket closed(server->port()), half_closed(server->port()), reset(server->port());
  for (RawSocket* client : {&closed, &half_closed, &reset}) client->send(get("/"));
  for (std::size_t i = 0; i < 3; ++i) parking.wait(i);
  closed.close();
  half_closed.finish_sending();
  reset.reset();
  // Whether the server has noticed that they have gone makes no difference.
  for (std::size_t i = 0; i < 3; ++i) parking.wait(i)->respond_and_report({.body = "{}"}, reports.one());
  EXPECT_TRUE(eventually([&] { return reports.lost == 3; }));
  EXPECT_EQ(reports.delivered, 0);
}

TEST(HttpServer, SaysThatAnAnswerWasNotDeliveredWhenItsClientLeavesInTheMiddle) {
  Parking parking;
  Reports reports;
  const auto server = serve(parking.handler());
  RawSocket client(server->port(), 4096);
  client.send(get("/"));
  parking.wait(0)->respond_and_report({.body = std::string(std::size_t{64} * 1024 * 1024, 'x')}, reports.one());
  client.read_until("xx");
  client.reset();
  EXPECT_TRUE(eventually([&] { return reports.lost == 1; }));
  EXPECT_EQ(reports.delivered, 0);
}

TEST(HttpServer, AnswersThatAStopOvertakesWereNotDelivered) {
  Parking parking;
  Reports reports;
  auto server = serve(parking.handler());
  RawSocket client(server->port());
  client.send(get("/"));
  const auto exchange = parking.wait(0);
  server->stop();
  exchange->respond_and_report({.body = "{}"}, reports.one());
  EXPECT_TRUE(eventually([&] { return reports.lost == 1; }));
}

// ---------------------------------------------------------------- many connections, and the end

TEST(HttpServer, TooManyConnectionsAreToldSo) {
  const auto server = serve(echo, {.max_connections = 2});
  RawSocket first(server->port());
  RawSocket second(server->port());
  EXPECT_TRUE(eventually([&] { return server->statistics().open_connections == 2; }));
  RawSocket third(server->port());
  third.send(get("/"));
  const std::string response = third.read_all();
  EXPECT_EQ(status_line_of(response), "HTTP/1.1 503");
  EXPECT_THAT(response, HasSubstr("Retry-After: "));
  EXPECT_THAT(response, HasSubstr(R"("code":"overloaded")"));
  third.close();
  first.send(get("/"));
  EXPECT_EQ(status_line_of(first.read_response()), "HTTP/1.1 200");
  first.close();
  EXPECT_TRUE(eventually([&] { return server->statistics().open_connections == 1; }));
  RawSocket fourth(server->port());
  fourth.send(get("/"));
  EXPECT_EQ(status_line_of(fourth.read_response()), "HTTP/1.1 200");
  EXPECT_EQ(server->statistics().refused_connections, 1u);
}

TEST(HttpServer, AnIdleConnectionHoldsLittleMemory) {
  const auto server = serve(echo);
  std::vector<RawSocket> clients;
  constexpr std::size_t count = 400;
  clients.reserve(count);
  const std::string request = post("/", std::string(100'000, 'x'), "X: " + std::string(8000, 'y') + "\r\n");
  const auto use_one = [&] {
    clients.emplace_back(server->port());
    clients.back().send(request);
    EXPECT_EQ(status_line_of(clients.back().read_response()), "HTTP/1.1 200");
  };
  use_one();  // first-time allocations
  // The allocator of a sanitizer reports 0 both times; then only the requests are tested.
  const std::size_t before = mallinfo2().uordblks;
  while (clients.size() < count) use_one();
  const std::size_t after = mallinfo2().uordblks;
  EXPECT_LT(after, before + count * 4096);
  for (RawSocket& client : clients) {
    client.send(get("/again"));
    EXPECT_THAT(client.read_response(), EndsWith("GET /again "));
  }
}

TEST(HttpServer, DrainLetsRunningRequestsFinish) {
  Parking parking;
  const auto server = serve(parking.handler());
  RawSocket idle(server->port());
  RawSocket busy(server->port());
  busy.send(get("/"));
  const auto exchange = parking.wait(0);
  EXPECT_TRUE(eventually([&] { return server->statistics().open_connections == 2; }));
  std::thread drainer([&] { server->drain(std::chrono::minutes(5)); });
  EXPECT_EQ(idle.read_all(), "");
  exchange->respond({.body = "finished"});
  const std::string response = busy.read_all();
  EXPECT_THAT(response, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(response, EndsWith("finished"));
  busy.close();
  drainer.join();
  EXPECT_EQ(server->statistics().open_connections, 0u);
}

TEST(HttpServer, DrainCutsWhatDoesNotFinish) {
  Parking parking;
  const auto server = serve(parking.handler());
  RawSocket waiting(server->port());
  waiting.send(get("/"));
  const auto exchange = parking.wait(0);
  RawSocket streaming(server->port());
  streaming.send(get("/"));
  const auto stream = parking.wait(1)->begin_stream({});
  streaming.read_until("\r\n\r\n");
  std::atomic<int> told = 0;
  exchange->on_abandoned([&] { ++told; });
  stream->on_closed([&] { ++told; });
  server->drain(milliseconds(20));
  EXPECT_EQ(told, 2);
  EXPECT_EQ(waiting.read_all(), "");
  EXPECT_FALSE(exchange->respond({}));
  EXPECT_FALSE(stream->write("x"));
}

TEST(HttpServer, AfterStopNobodyListens) {
  const auto server = serve(echo);
  const std::uint16_t port = server->port();
  server->stop();
  server->stop();
  EXPECT_TRUE(HttpServer::start({.port = port}, echo));
}

TEST(HttpServer, ExchangesMayOutliveTheServer) {
  Parking parking;
  auto server = serve(parking.handler(), {.threads = 2});
  std::vector<RawSocket> clients;
  for (std::size_t i = 0; i < 8; ++i) {
    clients.emplace_back(server->port());
    clients.back().send(get("/"));
    parking.wait(i);
  }
  const auto stream = parking.wait(7)->begin_stream({});
  std::thread late([exchange = parking.wait(0)] { exchange->respond({.body = "perhaps"}); });
  server.reset();
  late.join();
  for (std::size_t i = 1; i < 7; ++i) EXPECT_FALSE(parking.wait(i)->respond({}));
  stream->end();
  parking.clear();
}

TEST(HttpServer, CountsWhatItDoes) {
  const auto server = serve(echo);
  RawSocket client(server->port());
  client.send(get("/"));
  const std::string response = client.read_response();
  const ServerStatistics seen = server->statistics();
  EXPECT_EQ(seen.open_connections, 1u);
  EXPECT_EQ(seen.accepted_connections, 1u);
  EXPECT_EQ(seen.requests, 1u);
  EXPECT_EQ(seen.faults, 0u);
  EXPECT_EQ(seen.received_bytes, get("/").size());
  EXPECT_TRUE(eventually([&] { return server->statistics().sent_bytes == response.size(); }));
}

}  // namespace
}  // namespace flowfabric::net
