#include "otlp/encode.hpp"

#include <gtest/gtest.h>

namespace flowfabric::otlp {
namespace {

observe::Span example() {
  observe::Span span;
  span.trace_id[0] = 0xab;
  span.trace_id[15] = 0x01;
  span.span_id[7] = 0x0f;
  span.parent_id[0] = 0xf0;
  span.name = "GET /a \"b\"";
  span.kind = observe::SpanKind::server;
  span.start_ns = 1'700'000'000'000'000'001;
  span.end_ns = 1'700'000'000'000'000'002;
  span.add("text", "line\nbreak");
  span.add_number("number", -9'007'199'254'740'993);
  return span;
}

TEST(OtlpJson, ASpanIsWrittenAsTheProtocolSays) {
  const std::string written = encode({"shop", "1.2", "i-1"}, {example()});
  EXPECT_EQ(
      written,
      R"({"resourceSpans":[{"resource":{"attributes":[)"
      R"({"key":"service.name","value":{"stringValue":"shop"}},)"
      R"({"key":"service.version","value":{"stringValue":"1.2"}},)"
      R"({"key":"service.instance.id","value":{"stringValue":"i-1"}}]},)"
      R"("scopeSpans":[{"scope":{"name":"flowfabric","version":"1.2"},"spans":[)"
      R"({"traceId":"ab000000000000000000000000000001","spanId":"000000000000000f","parentSpanId":"f000000000000000",)"
      R"("name":"GET /a \"b\"","kind":2,)"
      R"("startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000002",)"
      R"("attributes":[{"key":"text","value":{"stringValue":"line\nbreak"}},)"
      R"({"key":"number","value":{"intValue":"-9007199254740993"}}],"status":{}}]}]}]})");
}

TEST(OtlpJson, TheFirstSpanOfATraceHasNoParentAndAFailedOneSaysWhy) {
  observe::Span span = example();
  span.parent_id = {};
  span.fail("it broke");
  span.end_ns = 0;  // clocks go back
  const std::string written = encode({}, {span});
  EXPECT_EQ(written.find("parentSpanId"), std::string::npos);
  EXPECT_NE(written.find(R"("status":{"code":2,"message":"it broke"})"), std::string::npos);
  EXPECT_NE(written.find(R"("endTimeUnixNano":"1700000000000000001")"), std::string::npos);
}

TEST(OtlpJson, TheAnswerSaysWhatWasRejected) {
  const Rejected text = read_answer(R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}})");
  EXPECT_EQ(text.spans, 3u);
  EXPECT_EQ(text.message, "too old");
  EXPECT_EQ(read_answer(R"({"partialSuccess":{"rejectedSpans":4}})").spans, 4u);
  for (const char* none :
       {"", "{}", "nonsense", "[]", R"({"partialSuccess":{}})", R"({"partialSuccess":7})",
        R"({"partialSuccess":{"rejectedSpans":"-1"}})", R"({"partialSuccess":{"rejectedSpans":[]}})"}) {
    EXPECT_EQ(read_answer(none).spans, 0u) << none;
  }
}

}  // namespace
}  // namespace flowfabric::otlp
