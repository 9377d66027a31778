#include "model/wait_evaluator.hpp"

#include <algorithm>
#include <map>

#include <boost/json.hpp>

namespace flowfabric::test {
namespace {

// "~1" stands for "/", and "~0" for "~".
std::string unescaped(std::string_view token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      text += token[++i] == '1' ? '/' : '~';
    } else {
      text += token[i];
    }
  }
  return text;
}

bool is_index(const std::string& text) {
  const bool digits = !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string::npos;
  return digits && (text.size() == 1 || text.front() != '0');
}

// One step of a pointer.
const boost::json::value* child_of(const boost::json::value& value, const std::string& token) {
  if (value.is_object()) return value.get_object().if_contains(token);
  if (!value.is_array() || !is_index(token)) return nullptr;
  return value.get_array().if_contains(std::stoul(token));
}

const boost::json::value* at_pointer(const boost::json::value& root, std::string_view pointer) {
  const boost::json::value* here = &root;
  while (here != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    here = child_of(*here, unescaped(token));
    pointer.remove_prefix(token.size());
  }
  return here;
}

std::optional<boost::json::value> json_of(const std::string& text) {
  boost::system::error_code failed;
  boost::json::value value = boost::json::parse(text, failed);
  if (failed) return std::nullopt;
  return value;
}

bool has(const std::string& payload, const SignalField& field) {
  const auto document = json_of(payload);
  const auto wanted = json_of(field.equals);
  if (!document || !wanted) return false;
  const boost::json::value* found = at_pointer(*document, field.pointer);
  return found != nullptr && *found == *wanted;
}

bool is_one_of(const std::vector<std::string>& allowed, const std::string& text) {
  for (const std::string& one : allowed) {
    if (one == text) return true;
  }
  return false;
}

bool counts_for(const SignalMatch& match, const Signal& signal) {
  const bool right_place = match.waitpoint.empty() || match.waitpoint == signal.waitpoint;
  const bool right_name = match.name.empty() || match.name == signal.name;
  const bool right_source = match.sources.empty() || is_one_of(match.sources, signal.source);
  if (!right_place || !right_name || !right_source) return false;
  for (const SignalField& field : match.fields) {
    if (!has(signal.payload, field)) return false;
  }
  return true;
}

std::size_t distinct(const SignalCount& count, const std::vector<Signal>& signals) {
  std::map<std::string, int> things;
  for (const Signal& signal : signals) {
    bool counts = false;
    for (const SignalMatch& match : count.of) counts = counts || counts_for(match, signal);
    if (!counts) continue;
    switch (count.by) {
      case CountBy::signals: ++things[std::to_string(signal.number)]; break;
      case CountBy::waitpoints: ++things[signal.waitpoint]; break;
      case CountBy::sources: ++things[signal.source]; break;
    }
  }
  return things.size();
}

}  // namespace

bool fulfils(const WaitCondition& condition, const std::vector<Signal>& signals) {
  if (condition.signal) {
    std::size_t found = 0;
    for (const Signal& signal : signals) found += counts_for(*condition.signal, signal) ? 1 : 0;
    return found > 0;
  }
  if (condition.count) return distinct(*condition.count, signals) >= condition.count->n;
  std::size_t fulfilled = 0;
  const auto& members = condition.all_of ? *condition.all_of : *condition.any_of;
  for (const WaitCondition& member : members) fulfilled += fulfils(member, signals) ? 1 : 0;
  return condition.all_of ? fulfilled == members.size() : fulfilled > 0;
}

std::optional<WaitCause> end_of_wait(const WaitCondition& condition, const std::optional<WaitCondition>& veto,
                                     const std::vector<Signal>& signals) {
  if (veto && fulfils(*veto, signals)) return WaitCause::veto;
  if (fulfils(condition, signals)) return WaitCause::signals;
  return std::nullopt;
}

std::vector<Signal> decisions_among(const ApprovalRequest& approval, const std::vector<Signal>& signals) {
  std::vector<Signal> decisions;
  std::map<std::string, int> people;
  for (const Signal& signal : signals) {
    if (signal.name != "approve" && signal.name != "reject") continue;
    if (signal.source.empty()) continue;
    if (!approval.approvers.empty() && !is_one_of(approval.approvers, signal.source)) continue;
    if (++people[signal.source] == 1) decisions.push_back(signal);
  }
  return decisions;
}

}  // namespace flowfabric::test
