#include "api/html.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace flowfabric::api {
namespace {

TEST(EscapedHtml, LeavesNoMarkup) {
  EXPECT_EQ(escaped_html("<script>alert('x' + \"y\")</script>"),
            "&lt;script&gt;alert(&#39;x&#39; + &quot;y&quot;)&lt;/script&gt;");
  EXPECT_EQ(escaped_html("&lt;b&gt;"), "&amp;lt;b&amp;gt;") << "what is escaped already is text, too";
  EXPECT_EQ(escaped_html("</textarea><img src=x onerror=alert(1)>"),
            "&lt;/textarea&gt;&lt;img src=x onerror=alert(1)&gt;");
}

TEST(EscapedHtml, KeepsTextOfAllLanguages) {
  const std::string text = "größer 日本語 🙂\n\tsecond line";
  EXPECT_EQ(escaped_html(text), text);
  EXPECT_EQ(escaped_html(""), "");
}

TEST(EscapedHtml, ReplacesWhatIsNoText) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(escaped_html(std::string("a\0b", 3)), "a" + replaced + "b");
  EXPECT_EQ(escaped_html("a\x1b[31mb\r\n"), "a" + replaced + "[31mb" + replaced + "\n");
  EXPECT_EQ(escaped_html("\x7f\xc2\x85"), replaced + replaced);
  EXPECT_EQ(escaped_html("a\xe2\x80\xaetxt.exe\xe2\x81\xa6"), "a" + replaced + "txt.exe" + replaced) << "direction";
}

// A byte that begins a character must not hide the markup behind it.
TEST(EscapedHtml, IsValidUtf8WhateverItGets) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(escaped_html("\xf0<b>"), replaced + "&lt;b&gt;");
  EXPECT_EQ(escaped_html("\xc3"), replaced);
  EXPECT_EQ(escaped_html("\xc0\xbc"
                         "b>"),
            replaced + replaced + "b&gt;")
      << "an overlong <";
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second), '<'};
      const std::string html = escaped_html(text);
      EXPECT_TRUE(is_valid_utf8(html)) << first << ' ' << second;
      EXPECT_EQ(html.find('<'), std::string::npos) << first << ' ' << second;
    }
  }
}

}  // namespace
}  // namespace flowfabric::api
