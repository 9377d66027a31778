#include "sdk/step_plan.hpp"

#include <flowfabric/json.hpp>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric::sdk {

Result<StepPlan> StepPlan::create(const std::vector<std::string>& steps) {
  StepPlan plan;
  for (const std::string& step : steps) {
    Entry entry{step};
    if (step.ends_with('?')) entry.optional = true;
    if (step.ends_with('*')) entry.optional = entry.repeats = true;
    if (entry.optional) entry.name.pop_back();
    const bool good = !entry.name.empty() && entry.name.size() <= limits::max_step_name_bytes &&
                      is_valid_utf8(entry.name) && !has_control_characters(entry.name);
    if (!good) {
      return fail(Errc::invalid_argument,
                  "steps: \"" + step + "\" is not a name of a step: 1 to " +
                      std::to_string(limits::max_step_name_bytes) + " bytes of UTF-8 without control characters",
                  "steps");
    }
    plan.entries_.push_back(std::move(entry));
  }
  return plan;
}

StepPlan::Walk::Walk(const StepPlan& plan) : plan_(&plan), places_(plan.entries_.size() + 1) { enter(0, places_); }

// What may be left out does not hide what comes after it.
void StepPlan::Walk::enter(std::size_t at, std::vector<bool>& places) const {
  places[at] = true;
  while (at < plan_->entries_.size() && plan_->entries_[at].optional) places[++at] = true;
}

bool StepPlan::Walk::take(const std::optional<std::string>& name) {
  const auto plain = name ? std::optional(name_without_number(*name)) : std::nullopt;
  std::vector<bool> next(places_.size());
  bool fits = false;
  for (std::size_t at = 0; at < plan_->entries_.size(); ++at) {
    const Entry& entry = plan_->entries_[at];
    if (!places_[at] || (plain && entry.name != *plain)) continue;
    enter(entry.repeats ? at : at + 1, next);
    fits = true;
  }
  places_ = std::move(next);
  return fits;
}

std::optional<std::uint32_t> StepPlan::misfit(const Names& names) const {
  Walk walk(*this);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!walk.take(names[i])) return static_cast<std::uint32_t>(i + 1);
  }
  return std::nullopt;
}

std::string StepPlan::text() const {
  std::string text;
  for (const Entry& entry : entries_) {
    text += (text.empty() ? "" : ", ") + entry.name + (entry.repeats ? "*" : entry.optional ? "?" : "");
  }
  return text.empty() ? "no steps" : text;
}

std::string name_without_number(const std::string& name) {
  const std::size_t sign = name.rfind('#');
  if (sign == std::string::npos || sign == 0 || sign + 1 == name.size()) return name;
  return name.find_first_not_of("0123456789", sign + 1) == std::string::npos ? name.substr(0, sign) : name;
}

StepPlan::Names names_by_position(const std::vector<Step>& steps) {
  StepPlan::Names names;
  for (const Step& step : steps) {
    if (names.size() < step.position) names.resize(step.position);
    names[step.position - 1] = step.name;
  }
  return names;
}

Result<StepPlans> parse_step_plans(const std::string& document) {
  const std::string example = R"(; expected is {"kinds": {"order": ["charge", "ship"]}})";
  auto json = Json::parse(document);
  if (!json) return fail(Errc::invalid_argument, json.error().message + example);
  StepPlans plans;
  try {
    for (const auto& [kind, steps] : json->at("kinds").as_object()) {
      std::vector<std::string> names;
      for (const Json& step : steps.as_array()) names.push_back(step.as_text());
      auto plan = StepPlan::create(names);
      if (!plan) return fail(Errc::invalid_argument, "kind \"" + kind + "\": " + plan.error().message, "steps");
      plans.insert_or_assign(kind, std::move(*plan));
    }
  } catch (const JsonError& problem) {
    return fail(Errc::invalid_argument, problem.what() + example);
  }
  return plans;
}

std::string to_document(const std::map<std::string, std::vector<std::string>>& steps_by_kind) {
  Json::Object kinds;
  for (const auto& [kind, steps] : steps_by_kind) {
    Json::Array names;
    for (const std::string& step : steps) names.emplace_back(step);
    kinds.emplace_back(kind, Json(std::move(names)));
  }
  return Json{{"kinds", Json(std::move(kinds))}}.dump();
}

}  // namespace flowfabric::sdk
