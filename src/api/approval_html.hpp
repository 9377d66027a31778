// What a person sees at a signed link. Pure functions of values.
#pragma once

#include <string>
#include <string_view>

#include <flowfabric/signals.hpp>

namespace flowfabric::api {

// The Content-Security-Policy of these pages: no script, no picture, nothing from elsewhere.
const std::string& approval_page_policy();

// What was written into the form, to be shown again with what is wrong.
struct ApprovalForm {
  std::string name{};
  std::string comment{};
};

struct ApprovalView {
  TokenInfo token{};
  TimestampMs since = 0;       // when the wait began
  TimestampMs timeout_at = 0;  // 0: none
  std::string problem{};       // with the decision that was sent
  ApprovalForm form{};
};

// An approval that takes decisions, with a form.
std::string open_approval_page(const ApprovalView& view);
// One that takes no more, with the decisions if they are known.
std::string closed_approval_page(const TokenInfo& token);
// A decision was recorded.
std::string decided_page(const TokenInfo& token, ApprovalDecision decision, const std::string& actor,
                         SignalEffect effect);
// No link of this store, or no longer: the same page for every cause.
std::string refused_link_page();
// Anything else, such as a server that has no time.
std::string plain_approval_page(std::string_view title, std::string_view text);

}  // namespace flowfabric::api
