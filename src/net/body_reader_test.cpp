#include "net/body_reader.hpp"

#include <gtest/gtest.h>

namespace flowfabric::net {
namespace {

using State = BodyReader::State;

struct Read {
  State state;
  std::string body;
  std::string rest;
};

constexpr Framing chunked{Framing::Kind::chunked, 0};

// Feeds `piece` bytes at a time.
Read read(Framing framing, std::string_view text, std::size_t piece, std::uint64_t limit = 1000) {
  BodyReader reader(framing, limit);
  Read result{reader.state(), {}, {}};
  while (result.state == State::reading && !text.empty()) {
    std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    result.state = reader.take(part, result.body);
    result.rest = std::string(part);
  }
  result.rest += text;
  return result;
}

State chunked_state(std::string_view text, std::uint64_t limit = 1000) {
  const Read whole = read(chunked, text, text.size(), limit);
  const Read bytewise = read(chunked, text, 1, limit);
  EXPECT_EQ(whole.state, bytewise.state) << text;
  return whole.state;
}

TEST(HttpBodyReader, TakesALengthAndLeavesTheRest) {
  for (const std::size_t piece : {1, 2, 3, 100}) {
    const Read result = read({Framing::Kind::length, 5}, "helloGET", piece);
    EXPECT_EQ(result.state, State::done);
    EXPECT_EQ(result.body, "hello");
    EXPECT_EQ(result.rest, "GET");
  }
  EXPECT_EQ(read({Framing::Kind::length, 5}, "hell", 1).state, State::reading);
  EXPECT_EQ(read({Framing::Kind::length, 5}, "", 1, 4).state, State::too_large);
  EXPECT_EQ(read({}, "GET", 1).rest, "GET");
}

TEST(HttpBodyReader, TakesChunksHoweverTheyAreSplit) {
  const std::string text = "5\r\nhello\r\n0A \t;a=\"b\"\r\n, world...\r\n0\r\nX: y\r\nZ:\r\n\r\nGET";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const Read result = read(chunked, text, piece);
    EXPECT_EQ(result.state, State::done) << piece;
    EXPECT_EQ(result.body, "hello, world...") << piece;
    EXPECT_EQ(result.rest, "GET") << piece;
  }
}

TEST(HttpBodyReader, RefusesBadChunks) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"\r\n"sv, "x\r\n"sv, "-5\r\n"sv, "+5\r\n"sv, "5\n"sv, "5\r\nhelloX"sv, "5\r\nhello\rX"sv, " 5\r\n"sv,
        "0x5\r\n"sv, "5 5\n"sv, "5 0\r\n"sv, "5 \r\n"sv, "5\t0;x\r\n"sv, "5;\0\r\n"sv, "0\r\n\rX"sv, "0\r\nA\nB"sv,
        "0\r\n\0"sv, "00000000000000005\r\n"sv, "5\rX"sv}) {
    EXPECT_EQ(chunked_state(text), State::malformed) << text;
  }
  EXPECT_EQ(chunked_state("5;" + std::string(300, 'e')), State::malformed);
  EXPECT_EQ(chunked_state("5" + std::string(300, ' ')), State::malformed);
  EXPECT_EQ(chunked_state("0\r\n" + std::string(9000, 't')), State::malformed);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 9000; ++i) trailers += "a\r\n";
  EXPECT_EQ(chunked_state(trailers), State::malformed);
}

TEST(HttpBodyReader, RefusesTooMuchWhenItIsAnnounced) {
  EXPECT_EQ(chunked_state("a\r\n", 9), State::too_large);
  EXPECT_EQ(chunked_state("5\r\nhello\r\n6\r\n", 10), State::too_large);
  EXPECT_EQ(chunked_state("5\r\nhello\r\n5\r\n", 10), State::reading);
  EXPECT_EQ(chunked_state("ffffffffffffffff\r\n"), State::too_large);
  EXPECT_EQ(read({Framing::Kind::until_close, 0}, "abc", 1, 2).state, State::too_large);
}

TEST(HttpBodyReader, OnlyAnOpenEndMayEndWithTheConnection) {
  BodyReader open_end({Framing::Kind::until_close, 0}, 10);
  EXPECT_EQ(open_end.finish(), State::done);
  BodyReader length({Framing::Kind::length, 3}, 10);
  EXPECT_EQ(length.finish(), State::malformed);
  BodyReader chunks(chunked, 10);
  EXPECT_EQ(chunks.finish(), State::malformed);
}

}  // namespace
}  // namespace flowfabric::net
