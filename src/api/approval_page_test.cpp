#include "api/approval_page.hpp"

#include <gtest/gtest.h>

#include "api/approval_html.hpp"
#include "api/browser_guard.hpp"

namespace flowfabric::api {
namespace {

net::Request form_request(net::Headers headers) {
  net::Request request;
  request.method = "POST";
  request.headers = std::move(headers);
  request.headers.add("Host", "127.0.0.1:7070");
  request.headers.add("Content-Type", "application/x-www-form-urlencoded");
  return request;
}

ApprovalView example_view() {
  ApprovalView view;
  view.token.kind = "deploy";
  view.token.open = true;
  view.token.waitpoint.name = "approve";
  view.token.waitpoint.approval.emplace().title = "Deploy 4.2";
  return view;
}

bool has(const std::string& html, std::string_view part) { return html.find(part) != std::string::npos; }

TEST(FormSender, OnlyThePageItself) {
  EXPECT_TRUE(check_form_sender(form_request({}))) << "a program";
  EXPECT_TRUE(check_form_sender(form_request({{"Origin", "http://127.0.0.1:7070"}})));
  EXPECT_TRUE(check_form_sender(form_request({{"Origin", "https://127.0.0.1:7070"}}))) << "TLS ends at a proxy";
  EXPECT_TRUE(check_form_sender(form_request({{"Origin", "null"}, {"Sec-Fetch-Site", "same-origin"}})));
  EXPECT_TRUE(check_form_sender(form_request({{"Origin", "null"}}))) << "over plain HTTP browsers say no more";
  EXPECT_FALSE(check_form_sender(form_request({{"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}})));
  EXPECT_FALSE(check_form_sender(form_request({{"Origin", "null"}, {"Sec-Fetch-Site", "same-site"}})));
  EXPECT_FALSE(check_form_sender(form_request({{"Sec-Fetch-Site", "cross-site"}})));
  EXPECT_FALSE(check_form_sender(form_request({{"Origin", "http://127.0.0.1:7071"}})));
  EXPECT_FALSE(check_form_sender(form_request({{"Origin", "http://127.0.0.1:7070.example.com"}})));
  EXPECT_FALSE(check_form_sender(form_request({{"Origin", ""}})));
}

TEST(FormSender, OnlyForms) {
  net::Request request;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
  EXPECT_TRUE(check_form_sender(request));
  for (const char* type : {"text/plain", "application/json", "multipart/form-data; boundary=x", ""}) {
    request.headers = {{"Content-Type", type}};
    EXPECT_FALSE(check_form_sender(request)) << type;
  }
  request.headers = {};
  EXPECT_FALSE(check_form_sender(request));
}

TEST(ReadForm, AsBrowsersSendIt) {
  const auto form = read_form("decision=approve&comment=a+b%26c%0D%0Ad&name=J%C3%BCrgen&empty=");
  ASSERT_TRUE(form);
  EXPECT_EQ(*form, (Form{{"decision", "approve"}, {"comment", "a b&c\r\nd"}, {"name", "Jürgen"}, {"empty", ""}}));
  EXPECT_EQ(*read_form(""), Form{});
  EXPECT_EQ(*read_form("&&alone"), (Form{{"alone", ""}}));
  for (const char* bad : {"a=%", "a=%zz", "a=%00", "a=%ff", "decision=approve&decision=reject", "%e0=1"}) {
    EXPECT_FALSE(read_form(bad)) << bad;
  }
}

TEST(ApprovalLink, HidesItsToken) {
  net::Request request;
  request.path = request.target = "/approve/secret";
  request.segments = {"approve", "secret"};
  EXPECT_TRUE(is_approval_link(request));
  hide_approval_token(request);
  EXPECT_EQ(request.path, "/approve/{token}");
  EXPECT_EQ(request.target, "/approve/{token}");
  request.path = "/approve/secret/more";
  request.segments = {"approve", "secret", "more"};
  EXPECT_FALSE(is_approval_link(request));
  hide_approval_token(request);
  EXPECT_EQ(request.path, "/approve/{token}") << "also in the path of no page";
  request.path = "/v1/lanes";
  request.segments = {"v1", "lanes"};
  hide_approval_token(request);
  EXPECT_EQ(request.path, "/v1/lanes");
}

TEST(ApprovalHtml, AsksForANameOnlyIfTheTokenHasNone) {
  ApprovalView view = example_view();
  EXPECT_TRUE(has(open_approval_page(view), "name=\"name\" required"));
  view.token.source = "anna";
  EXPECT_FALSE(has(open_approval_page(view), "name=\"name\""));
  EXPECT_TRUE(has(open_approval_page(view), "<b>anna</b>"));
}

TEST(ApprovalHtml, NoFormForThoseWhoCannotDecide) {
  ApprovalView view = example_view();
  view.token.source = "anna";
  view.token.waitpoint.approval->approvers = {"bob"};
  EXPECT_FALSE(has(open_approval_page(view), "<form"));
  view.token.waitpoint.approval->approvers = {"anna", "bob"};
  EXPECT_TRUE(has(open_approval_page(view), "<form"));
  view.token.waitpoint.approval->decisions = {{ApprovalDecision::reject, "anna", "too late", 1}};
  EXPECT_FALSE(has(open_approval_page(view), "<form"));
  EXPECT_TRUE(has(open_approval_page(view), "You have rejected already."));
}

TEST(ApprovalHtml, ShowsContextAsText) {
  ApprovalView view = example_view();
  ApprovalInfo& approval = *view.token.waitpoint.approval;
  approval.context = "\n<b>\"4\"</b>";
  for (const char* encoding : {"", "json", "text/plain", "text/plain; charset=utf-8", "application/json"}) {
    approval.context_encoding = encoding;
    EXPECT_TRUE(has(open_approval_page(view), "<pre>\n\n&lt;b&gt;&quot;4&quot;&lt;/b&gt;</pre>")) << encoding;
  }
  for (const char* encoding : {"text/html", "image/svg+xml", "msgpack"}) {
    approval.context_encoding = encoding;
    EXPECT_TRUE(has(open_approval_page(view), "11 bytes, labelled " + std::string(encoding))) << encoding;
    EXPECT_FALSE(has(open_approval_page(view), "<pre>")) << encoding;
  }
  approval.context_encoding = "text/plain";
  approval.context = "\xff\xfe";
  EXPECT_TRUE(has(open_approval_page(view), "2 bytes"));
}

TEST(ApprovalHtml, EscapesEverything) {
  const std::string markup = "</title></textarea><img src=x onerror=alert(1)>\"'";
  ApprovalView view = example_view();
  view.token.kind = view.problem = view.form.name = view.form.comment = markup;
  ApprovalInfo& approval = *view.token.waitpoint.approval;
  approval.title = approval.context = approval.context_encoding = markup;
  approval.decisions = {{ApprovalDecision::approve, markup, markup, 1}};
  std::string all = open_approval_page(view);
  approval.context_encoding = "json";
  all += open_approval_page(view);
  view.token.source = markup;
  all += open_approval_page(view) + closed_approval_page(view.token) + plain_approval_page(markup, markup);
  for (const SignalEffect effect :
       {SignalEffect::kept, SignalEffect::accepted, SignalEffect::resumed, SignalEffect::ignored}) {
    all += decided_page(view.token, ApprovalDecision::reject, markup, effect);
  }
  EXPECT_FALSE(has(all, "<img"));
  EXPECT_FALSE(has(all, "\"'"));
  EXPECT_FALSE(has(all, "<script"));
}

TEST(ApprovalHtml, EnterDoesNotApprove) {
  const std::string html = open_approval_page(example_view());
  EXPECT_LT(html.find("<button type=\"submit\" disabled hidden>"), html.find("value=\"approve\""));
}

TEST(ApprovalHtml, PolicyAllowsItsStyleOnly) {
  EXPECT_TRUE(approval_page_policy().starts_with("default-src 'none'; style-src 'sha256-"));
  EXPECT_FALSE(has(approval_page_policy(), "unsafe"));
  EXPECT_FALSE(has(open_approval_page(example_view()), "style="));
}

}  // namespace
}  // namespace flowfabric::api
