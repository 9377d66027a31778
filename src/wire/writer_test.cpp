#include "wire/writer.hpp"

#include <gtest/gtest.h>

#include "wire/document.hpp"

namespace flowfabric::wire {
namespace {

std::string as_json(std::string_view text) {
  Writer writer;
  writer.text(text);
  return writer.take();
}

TEST(Writer, PutsCommasWhereTheyBelong) {
  Writer writer;
  writer.begin_object();
  writer.key("a");
  writer.begin_array();
  writer.number(-1);
  writer.begin_object();
  writer.end_object();
  writer.null();
  writer.end_array();
  writer.key("b");
  writer.unsigned_number(UINT64_MAX);
  writer.key("c");
  writer.raw("[1]");
  writer.key("d");
  writer.boolean(false);
  writer.end_object();
  EXPECT_EQ(writer.take(), R"({"a":[-1,{},null],"b":18446744073709551615,"c":[1],"d":false})");
}

TEST(Writer, WhatItQuotesReadsBackTheSame) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "\u00e4\u20ac\U0001F600";
  const std::string text = as_json(all);
  const auto read = parse_document(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text(), all);
}

TEST(Writer, WhatNeedsEscapingIsEscapedAtEveryPlace) {
  for (std::size_t size = 1; size <= 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const auto& [special, escaped] :
           {std::pair{'"', "\\\""}, std::pair{'\\', "\\\\"}, std::pair{'\x1f', "\\u001f"}}) {
        std::string text(size, 'a');
        text[at] = special;
        const std::string behind(size - at - 1, 'a');
        EXPECT_EQ(as_json(text), '"' + std::string(at, 'a') + escaped + behind + '"');
      }
    }
  }
}

TEST(Writer, BrokenUtf8BecomesLegible) {
  EXPECT_EQ(as_json("a\xff\xfe z"), "\"a\uFFFD\uFFFD z\"");
  EXPECT_TRUE(parse_document(as_json("\xc3(")));
}

}  // namespace
}  // namespace flowfabric::wire
