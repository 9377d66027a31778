// The steps that a worker declares for a kind, and whether recorded steps fit them.
//
// A plan is the list of step names in the order in which the handler comes to them. "name?" may be left out, "name*" may come
// any number of times, also never. Repeats are recorded with a number ("part#2"); the plan names them without.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <flowfabric/operations.hpp>

namespace flowfabric::sdk {

class StepPlan {
 public:
  // Refuses empty and overlong names.
  static Result<StepPlan> create(const std::vector<std::string>& steps);

  // Goes through the plan with one step after another.
  class Walk {
   public:
    explicit Walk(const StepPlan& plan);
    // False when the plan has no place for this step here. Absent: any one step.
    bool take(const std::optional<std::string>& name);

   private:
    void enter(std::size_t at, std::vector<bool>& places) const;

    const StepPlan* plan_;
    std::vector<bool> places_;  // the entries that may come next; the last one is the end
  };

  // Names by position, from 1 on. A position without a name fits any one step: of steps that ran side by side some may be
  // recorded before those in front of them.
  using Names = std::vector<std::optional<std::string>>;
  // The first position whose step the plan has no place for; absent when all fit.
  std::optional<std::uint32_t> misfit(const Names& names) const;

  // "reserve, part*, ship"
  std::string text() const;

 private:
  struct Entry {
    std::string name;
    bool optional = false;
    bool repeats = false;
  };
  std::vector<Entry> entries_;
};

// "part" for "part#2".
std::string name_without_number(const std::string& name);
StepPlan::Names names_by_position(const std::vector<Step>& steps);

// The declared plans of a worker by kind, as the document that Worker::declared_steps writes and check-deploy reads:
// {"kinds": {"order": ["reserve", "charge", "ship"]}}
using StepPlans = std::map<std::string, StepPlan>;
Result<StepPlans> parse_step_plans(const std::string& document);
std::string to_document(const std::map<std::string, std::vector<std::string>>& steps_by_kind);

}  // namespace flowfabric::sdk
