#include "cli/limit_file.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/toml.hpp"
#include "cli/limit_text.hpp"
#include "core/limit_ingress.hpp"

namespace flowfabric::cli {
namespace {

constexpr const char* settings_of_limits = "name, namespace, lane, kind, per, concurrency, rate, burst, share";
// A weight is an entry of its own.
constexpr std::string_view weight_prefix = "share.";

// The settings of one limit, by name.
using LimitTable = std::map<std::string, const TomlEntry*>;

Result<std::uint32_t> count_of(const TomlEntry& entry, std::uint32_t max) {
  FF_TRY(number, number_of(entry));
  if (number >= 0 && number <= max) return static_cast<std::uint32_t>(number);
  return refuse(entry, "is " + std::to_string(number) + "; allowed: 1 to " + std::to_string(max));
}

// Without the name of the field in front: the file has its own.
std::string after_field(const Error& error, const std::string& field) {
  const std::string prefix = field + ": ";
  return error.message.starts_with(prefix) ? error.message.substr(prefix.size()) : error.message;
}

Result<void> take_rate(const LimitTable& table, LimitRequest& request) {
  const auto rate = table.find("rate");
  const auto burst = table.find("burst");
  if (burst != table.end() && rate == table.end()) return refuse(*burst->second, "is for a limit with a rate");
  if (rate == table.end()) return {};
  FF_TRY(text, string_of(*rate->second));
  const auto parsed = parse_rate(text, "rate");
  if (!parsed) return refuse(*rate->second, after_field(parsed.error(), "rate"));
  request.rate = *parsed;
  if (burst == table.end()) return {};
  FF_TRY(count, count_of(*burst->second, limits::max_rate_count));
  request.rate->burst = count;
  return {};
}

// `share = true`, or a table of weights.
Result<void> take_share(const LimitTable& table, LimitRequest& request) {
  for (const auto& [name, entry] : table) {
    if (name == "share") {
      FF_TRY(flag, flag_of(*entry));
      if (!flag) return refuse(*entry, "is false; allowed: true, or weights like { acme = 5 }");
      request.share.emplace();
    }
    if (!name.starts_with(weight_prefix)) continue;
    if (!request.share) request.share.emplace();
    FF_TRY(weight, count_of(*entry, limits::max_weight));
    request.share->weights[name.substr(weight_prefix.size())] = weight;
  }
  return {};
}

Result<void> take_texts(const LimitTable& table, LimitRequest& request) {
  for (const auto& [name, entry] : table) {
    if (name == "name") {
      FF_TRY(text, string_of(*entry));
      request.name = std::move(text);
    }
    for (const auto& [setting, into] :
         {std::pair<const char*, std::optional<std::string>*>{"namespace", &request.name_space},
          {"lane", &request.lane},
          {"kind", &request.kind}}) {
      if (name != setting) continue;
      FF_TRY(text, string_of(*entry));
      *into = std::move(text);
    }
  }
  return {};
}

// The setting of which an error speaks: "rate.count" is in `rate`, "per[0]" in `per`, "share.weights.acme" in `share.acme`.
const TomlEntry* entry_of(const LimitTable& table, const std::string& field) {
  constexpr std::string_view of_weight = "share.weights.";
  if (field.starts_with("share")) {
    const auto weight = table.find(std::string(weight_prefix) + field.substr(std::min(of_weight.size(), field.size())));
    const auto any = table.lower_bound("share");
    if (weight != table.end()) return weight->second;
    return any != table.end() && any->first.starts_with("share") ? any->second : nullptr;
  }
  const auto found = table.find(field == "rate.burst" ? "burst" : field.substr(0, field.find_first_of(".[")));
  return found == table.end() ? nullptr : found->second;
}

Result<FiledLimit> read_limit(const std::string& table_name, const LimitTable& table,
                              const std::optional<std::string>& name_space) {
  FiledLimit limit;
  LimitRequest& request = limit.request;
  request.name = table_name;
  FF_TRY_VOID(take_texts(table, request));
  if (name_space && !request.name_space) request.name_space = name_space;
  if (name_space && request.name_space != name_space) {
    return refuse(*table.at("namespace"), "is not \"" + *name_space + "\", for which the file is applied");
  }
  if (const auto per = table.find("per"); per != table.end()) {
    FF_TRY(names, strings_of(*per->second));
    request.per = std::move(names);
  }
  if (const auto concurrency = table.find("concurrency"); concurrency != table.end()) {
    FF_TRY(count, count_of(*concurrency->second, limits::max_concurrency));
    request.concurrency = count;
  }
  FF_TRY_VOID(take_rate(table, request));
  FF_TRY_VOID(take_share(table, request));
  const TomlEntry* first = std::min_element(table.begin(), table.end(), [](const auto& a, const auto& b) {
                             return a.second->line < b.second->line;
                           })->second;
  limit.line = first->line;
  const auto admitted = admit(request);
  if (admitted) return limit;
  const Error& error = admitted.error();
  if (const TomlEntry* entry = entry_of(table, error.field)) return refuse(*entry, after_field(error, error.field));
  return fail(error.code, "line " + std::to_string(limit.line) + ": limits." + table_name + ": " + error.message,
              error.field);
}

Result<void> check_setting(const TomlEntry& entry) {
  const bool is_weight = entry.path.size() == 4 && entry.path[2] == "share";
  if ((entry.path.size() != 3 && !is_weight) || entry.path.front() != "limits") {
    return refuse(entry, "unknown setting; limits are tables like [limits.api]");
  }
  static const std::set<std::string> known = {"name",        "namespace", "lane",  "kind", "per",
                                              "concurrency", "rate",      "burst", "share"};
  if (known.contains(entry.path[2])) return {};
  return refuse(entry, std::string("unknown setting; a limit has ") + settings_of_limits);
}

const LimitInfo* find_present(const std::vector<LimitInfo>& present, const LimitName& name) {
  const auto found = std::find_if(present.begin(), present.end(),
                                  [&](const LimitInfo& one) { return static_cast<const LimitName&>(one) == name; });
  return found == present.end() ? nullptr : &*found;
}

Unexpected<Error> refuse_line(const FiledLimit& limit, const Error& error) {
  return fail(error.code,
              "line " + std::to_string(limit.line) + ": limits." + limit_label(limit.request) + ": " + error.message,
              error.field);
}

Result<PlannedLimit> plan_one(const FiledLimit& wanted, const LimitInfo* present) {
  PlannedLimit planned{LimitChange::created, wanted.request};
  planned.request.expected_revision = present == nullptr ? 0 : present->revision;
  if (present == nullptr) return planned;
  planned.request.budget = present->budget;  // it stays
  const LimitSpec& spec = planned.request;
  planned.outcome = static_cast<const LimitSpec&>(*present) == spec ? LimitChange::unchanged : LimitChange::changed;
  if (const auto may = admit_change(*present, spec); !may) return refuse_line(wanted, may.error());
  return planned;
}

}  // namespace

Result<std::vector<FiledLimit>> read_limit_file(std::string_view text, const std::optional<std::string>& name_space) {
  FF_TRY(document, read_toml(text));
  std::vector<std::string> order;
  std::map<std::string, LimitTable> tables;
  for (const TomlEntry& entry : document) {
    FF_TRY_VOID(check_setting(entry));
    if (!tables.contains(entry.path[1])) order.push_back(entry.path[1]);
    const bool is_weight = entry.path.size() == 4;
    tables[entry.path[1]][is_weight ? std::string(weight_prefix) + entry.path[3] : entry.path[2]] = &entry;
  }
  std::vector<FiledLimit> limits;
  std::map<LimitName, std::size_t> lines;
  for (const std::string& name : order) {
    FF_TRY(limit, read_limit(name, tables[name], name_space));
    const auto [earlier, is_new] = lines.emplace(limit.request, limit.line);
    if (!is_new) {
      return refuse_line(limit, {Errc::invalid_argument,
                                 "is the same limit as the one of line " + std::to_string(earlier->second),
                                 "name",
                                 {}});
    }
    limits.push_back(std::move(limit));
  }
  return limits;
}

Result<std::vector<PlannedLimit>> plan_limits(const std::vector<FiledLimit>& wanted,
                                              const std::vector<LimitInfo>& present, const LimitPlan& plan) {
  std::vector<PlannedLimit> planned;
  std::set<LimitName> kept;
  for (const FiledLimit& limit : wanted) kept.insert(limit.request);
  for (const LimitInfo& limit : present) {
    // Files have no budgets, so what is only a budget is not theirs.
    const bool is_budget = limit.budget && !limit.concurrency && !limit.rate;
    const bool concerned = !is_budget && (!plan.name_space || limit.name_space == plan.name_space);
    if (!plan.prune || !concerned || kept.contains(limit)) continue;
    PlannedLimit& removal = planned.emplace_back();
    removal.outcome = LimitChange::removed;
    static_cast<LimitName&>(removal.request) = limit;
  }
  std::size_t count = present.size() - planned.size();
  for (const FiledLimit& limit : wanted) {
    FF_TRY(one, plan_one(limit, find_present(present, limit.request)));
    if (one.outcome == LimitChange::created && ++count > limits::max_limits) {
      return refuse_line(limit, {Errc::conflict,
                                 "a store has at most " + std::to_string(limits::max_limits) +
                                     " limits; remove some, or apply the file with --prune",
                                 "name",
                                 {}});
    }
    planned.push_back(std::move(one));
  }
  return planned;
}

}  // namespace flowfabric::cli
