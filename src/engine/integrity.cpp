#include "engine/integrity.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/counts.hpp"
#include "core/expected.hpp"
#include "core/route.hpp"
#include "engine/letter_audit.hpp"
#include "engine/slot_audit.hpp"

namespace flowfabric {
namespace {

constexpr std::uint32_t page_size = limits::inspection_page;

std::string satellite_text(const SatelliteName& name) {
  const std::string n = std::to_string(name.n);
  switch (static_cast<SatelliteKind>(name.kind)) {
    case SatelliteKind::payload: return "payload";
    case SatelliteKind::result: return "result of attempt " + n;
    case SatelliteKind::attempt: return "record of attempt " + n;
    case SatelliteKind::step: return "step " + n;
    case SatelliteKind::checkpoint: return "checkpoint";
    case SatelliteKind::wait_outcome: return "outcome of the last wait";
    case SatelliteKind::approval_context: return "context of the approval at waitpoint " + n;
  }
  return "satellite " + std::to_string(name.kind) + "/" + n;
}

std::string due_text(TimestampMs due_at) { return due_at == never_due ? "for its group" : "at " + format_utc(due_at); }

bool same_name(const ReadyEntry& a, const ReadyEntry& b) {
  return a.route == b.route && a.priority == b.priority && a.sequence == b.sequence;
}
bool same_name(const DueEntry& a, const DueEntry& b) { return a.due_at == b.due_at; }

// A record with what it asks for.
struct Checked {
  const InspectedRecord* inspected = nullptr;
  ExpectedEntries expected;
  std::vector<std::string> complaints;  // about what cannot be repaired

  const Record& record() const { return inspected->record; }
};

// What is wrong with one record, and the change set that puts it right.
struct Case {
  ChangeSet repair;
  std::vector<IntegrityFinding> findings;  // with the repair that is intended
};

class IntegrityCheck {
 public:
  IntegrityCheck(Store& store, bool repair, const std::function<void(const IntegrityFinding&)>& found)
      : store_(store), inspection_(store.inspect()), repair_(repair), found_(found) {}

  Result<IntegritySummary> run();

 private:
  Result<void> check_routes();
  Result<void> check_ready();
  Result<void> check_due();
  Result<void> check_records();
  Result<void> check_page(const std::vector<InspectedRecord>& page);
  Result<void> check_satellites();
  Result<void> check_sequences();
  Result<void> check_counts();
  Result<void> check_slots();
  Result<void> check_letters(const std::vector<Checked>& page);

  template <class Entry>
  void check_entry(const Entry& entry, const std::optional<Record>& record, const std::string& text);
  Result<bool> is_stored(RouteNo route);
  Result<void> expect_results(Checked& checked);
  Result<void> check_route(const Checked& checked, const PresentEntries& present);
  void check_armed(Checked& checked);
  void check_listing(const Checked& checked);
  void check_present(const Checked& checked, const PresentEntries& present);

  Case& case_of(const Key& key, std::uint64_t version);
  static void note(Case& one, std::string problem, std::string repair) {
    one.findings.push_back({std::move(problem), std::move(repair)});
  }
  void report(IntegrityFinding finding);
  Result<std::vector<Verdict>> commit(const std::vector<ChangeSet>& sets);
  Result<void> finish_page();

  Store& store_;
  const std::unique_ptr<Inspection> inspection_;
  const bool repair_;
  const std::function<void(const IntegrityFinding&)>& found_;
  std::unique_ptr<Session> session_;  // opened for the first repair
  std::map<Key, Case> cases_;         // of the page at hand
  std::set<RouteNo> routes_;          // those that are stored
  SlotAudit slots_;
  IntegritySummary summary_;
};

// Entries come before records: what stands in the place of a missing entry is removed before that is put.
Result<IntegritySummary> IntegrityCheck::run() {
  FF_TRY(own, store_.check_integrity());
  for (std::string& sentence : own) report({std::move(sentence), {}});
  FF_TRY_VOID(check_routes());
  FF_TRY_VOID(check_ready());
  FF_TRY_VOID(check_due());
  FF_TRY_VOID(check_records());
  FF_TRY_VOID(check_satellites());
  FF_TRY_VOID(check_sequences());
  FF_TRY_VOID(check_counts());
  FF_TRY_VOID(check_slots());
  if (summary_.repaired > 0) {
    Wakeup wakeup;
    wakeup.everything = true;
    store_.announce(wakeup);
  }
  return summary_;
}

// A route whose number belongs to another lane or other capabilities would hand work to workers that cannot do it.
Result<void> IntegrityCheck::check_routes() {
  FF_TRY(stored, inspection_->routes());
  for (const Route& route : stored) {
    routes_.insert(route.number);
    if (route.number == route_of(route.lane, route.capabilities)) continue;
    report({"the route of lane \"" + route.lane + "\" has the number " + std::to_string(route.number) +
                ", which is that of another lane or other capabilities",
            {}});
  }
  return {};
}

// Claims search the stored routes only. Routes are stored and forgotten all the time, so the store is asked again before one
// is called missing.
Result<bool> IntegrityCheck::is_stored(RouteNo route) {
  if (routes_.contains(route)) return true;
  FF_TRY(stored, inspection_->routes());
  for (const Route& one : stored) routes_.insert(one.number);
  return routes_.contains(route);
}

void IntegrityCheck::report(IntegrityFinding finding) {
  ++summary_.problems;
  if (!finding.repair.empty()) ++summary_.repaired;
  found_(finding);
}

// The guard of a repair is the version that the record was read at, 0 where it does not exist.
Case& IntegrityCheck::case_of(const Key& key, std::uint64_t version) {
  const auto [place, is_new] = cases_.try_emplace(key);
  if (is_new) {
    RootChange guard;
    guard.key = key;
    guard.expected_version = version;
    guard.action = RootChange::Action::check;
    place->second.repair.roots.push_back(std::move(guard));
  }
  return place->second;
}

Result<std::vector<Verdict>> IntegrityCheck::commit(const std::vector<ChangeSet>& sets) {
  if (!session_) {
    FF_TRY(session, store_.open_session());
    session_ = std::move(session);
  }
  FF_TRY(verdicts, session_->commit(sets));
  FF_TRY_VOID(session_->settle());
  return verdicts;
}

// Commits the repairs of the page and tells what was found in it. A repair that turns out stale is left: the record has
// changed since it was read, and the next check sees it as it is then.
Result<void> IntegrityCheck::finish_page() {
  std::vector<ChangeSet> sets;
  std::vector<const Case*> repaired;
  for (auto& [key, one] : cases_) {
    const bool repairable = std::any_of(one.findings.begin(), one.findings.end(),
                                        [](const IntegrityFinding& finding) { return !finding.repair.empty(); });
    if (!repair_ || !repairable) continue;
    sets.push_back(std::move(one.repair));
    repaired.push_back(&one);
  }
  std::vector<Verdict> verdicts;
  if (!sets.empty()) {
    FF_TRY(committed, commit(sets));
    verdicts = std::move(committed);
  }
  std::set<const Case*> done;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i] == Verdict::committed) done.insert(repaired[i]);
  }
  for (auto& [key, one] : cases_) {
    for (IntegrityFinding& finding : one.findings) {
      if (!done.contains(&one)) finding.repair.clear();
      report(std::move(finding));
    }
  }
  cases_.clear();
  return {};
}

void drop(ChangeSet& set, const ReadyEntry& entry) { set.ready_drop.push_back(entry); }
void drop(ChangeSet& set, const DueEntry& entry) { set.due_drop.push_back(entry); }
void put(ChangeSet& set, const ReadyEntry& entry, const ExpectedEntries& expected) {
  set.routes.push_back(*expected.route);
  set.ready_put.push_back(entry);
}
void put(ChangeSet& set, const DueEntry& entry, const ExpectedEntries&) { set.due_put.push_back(entry); }
const std::optional<ReadyEntry>& wanted(const ExpectedEntries& expected, const ReadyEntry&) { return expected.ready; }
const std::optional<DueEntry>& wanted(const ExpectedEntries& expected, const DueEntry&) { return expected.due; }

template <class Entry>
void IntegrityCheck::check_entry(const Entry& entry, const std::optional<Record>& record, const std::string& text) {
  if (!record) {
    Case& orphan = case_of(entry.key, 0);
    drop(orphan.repair, entry);
    return note(orphan, text + ", which does not exist", "removed the entry");
  }
  const auto expected = expected_entries(*record);
  if (!expected) return;  // check_records names the record; nobody knows what it asks for
  const std::optional<Entry>& asked = wanted(*expected, entry);
  if (asked && *asked == entry) return;
  Case& wrong = case_of(entry.key, record->version);
  drop(wrong.repair, entry);
  if (asked && same_name(*asked, entry)) {
    put(wrong.repair, *asked, *expected);
    return note(wrong, text + ", which asks for another one in its place", "replaced the entry");
  }
  note(wrong, text + ", which does not ask for it", "removed the entry");
}

Result<void> IntegrityCheck::check_ready() {
  std::optional<ReadyEntry> after;
  for (;;) {
    FF_TRY(page, inspection_->ready(after, page_size));
    for (const InspectedReady& one : page) {
      check_entry(one.entry, one.record, "the ready index has an entry of " + name_of_record(one.entry.key));
    }
    if (!page.empty()) after = page.back().entry;
    FF_TRY_VOID(finish_page());
    if (page.size() < page_size) return {};
  }
}

Result<void> IntegrityCheck::check_due() {
  std::optional<DueEntry> after;
  for (;;) {
    FF_TRY(page, inspection_->due(after, page_size));
    for (const InspectedDue& one : page) {
      const std::string when = due_text(one.entry.due_at);
      check_entry(one.entry, one.record, "the due index has an entry " + when + " of " + name_of_record(one.entry.key));
    }
    if (!page.empty()) after = page.back().entry;
    FF_TRY_VOID(finish_page());
    if (page.size() < page_size) return {};
  }
}

Result<void> IntegrityCheck::check_records() {
  std::string after;
  for (;;) {
    FF_TRY(page, inspection_->records(after, page_size));
    FF_TRY_VOID(check_page(page));
    FF_TRY_VOID(finish_page());
    if (page.size() < page_size) return {};
    after = page.back().record.key.bytes;
  }
}

Result<void> IntegrityCheck::check_page(const std::vector<InspectedRecord>& page) {
  summary_.records += page.size();
  std::vector<Checked> all;
  std::vector<WantedEntries> questions;
  for (const InspectedRecord& inspected : page) {
    const Record& record = inspected.record;
    auto expected = expected_entries(record);
    if (!expected) {
      note(case_of(record.key, record.version),
           name_of_record(record.key) + " cannot be decoded: " + expected.error().message, {});
      continue;
    }
    Checked& checked = all.emplace_back(Checked{&inspected, std::move(*expected), {}});
    slots_.note(*checked.expected.slot);
    FF_TRY_VOID(expect_results(checked));
    const ExpectedEntries& asked = checked.expected;
    questions.push_back({record.key, asked.ready, asked.due, asked.satellites});
  }
  FF_TRY_VOID(check_letters(all));
  FF_TRY(answers, inspection_->present(questions));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (answers[i].version != all[i].record().version) continue;  // changed since, with everything that belongs to it
    check_armed(all[i]);
    check_listing(all[i]);
    check_present(all[i], answers[i]);
    FF_TRY_VOID(check_route(all[i], answers[i]));
  }
  return {};
}

// Failed executions and their letters.
Result<void> IntegrityCheck::check_letters(const std::vector<Checked>& page) {
  std::vector<const Slot*> slots;
  for (const Checked& checked : page) slots.push_back(checked.expected.slot.get());
  FF_TRY(wrong, wrong_letters(store_, slots));
  for (WrongLetter& one : wrong) {
    IntegrityFinding finding{std::move(one.problem), {}};
    if (repair_) {
      FF_TRY(verdicts, commit({one.repair}));
      if (verdicts.front() == Verdict::committed) finding.repair = one.is_missing ? "wrote it again" : "removed it";
    }
    report(std::move(finding));
  }
  return {};
}

// Slots of limits and the leases to which they belong.
Result<void> IntegrityCheck::check_slots() {
  FF_TRY(wrong, slots_.disagreements(store_));
  for (WrongSlots& one : wrong) {
    IntegrityFinding finding{std::move(one.problem), {}};
    if (repair_) {
      FF_TRY(verdicts, commit({one.repair}));
      if (verdicts.front() == Verdict::committed) finding.repair = "counted the slots anew";
    }
    report(std::move(finding));
  }
  return {};
}

// Ended attempts are decoded too: what they say was their result must be there.
Result<void> IntegrityCheck::expect_results(Checked& checked) {
  constexpr auto attempt_kind = static_cast<std::uint8_t>(SatelliteKind::attempt);
  constexpr auto result_kind = static_cast<std::uint8_t>(SatelliteKind::result);
  const Key& key = checked.record().key;
  for (std::uint32_t from = 0; from < checked.expected.ended_attempts;) {
    FF_TRY(ended, store_.load_satellites(key, attempt_kind, from, page_size));
    for (const Satellite& satellite : ended) {
      const auto attempt = decode_attempt(satellite.body);
      if (!attempt) {
        checked.complaints.push_back("the " + satellite_text(satellite.name) + " of " + name_of_record(key) +
                                     " cannot be decoded: " + attempt.error().message);
      } else if (attempt->has_result) {
        checked.expected.satellites.push_back({key, result_kind, satellite.name.n});
      }
    }
    if (ended.size() < page_size) return {};
    from = ended.back().name.n + 1;
  }
  return {};
}

// Goes through the workspace, which knows how a record says what it is armed for.
void IntegrityCheck::check_armed(Checked& checked) {
  if (!checked.expected.armed_wrongly) return;
  Case& one = case_of(checked.record().key, checked.record().version);
  Workspace workspace;
  workspace.admit(std::move(checked.expected.slot)).changed = true;
  one.repair = std::move(workspace.plan().sets.front());
  note(one, name_of_record(checked.record().key) + " is armed too late or not at all", "armed it again");
}

void IntegrityCheck::check_listing(const Checked& checked) {
  const ExpectedEntries& expected = checked.expected;
  if (!expected.listing || checked.inspected->listing == expected.listing) return;
  const Record& record = checked.record();
  Case& one = case_of(record.key, record.version);
  RootChange& change = one.repair.roots.front();
  if (change.action == RootChange::Action::check) change.body = record.body;
  change.action = RootChange::Action::put;
  change.listing = expected.listing;
  change.relist = true;
  change.last_entry = record.last_entry;
  change.place = record.place;
  note(one, "the listing of " + name_of_record(record.key) + " differs from the record", "wrote the listing again");
}

void IntegrityCheck::check_present(const Checked& checked, const PresentEntries& present) {
  const ExpectedEntries& expected = checked.expected;
  const Key& key = checked.record().key;
  const std::string name = name_of_record(key);
  const auto one = [&]() -> Case& { return case_of(key, checked.record().version); };
  if (expected.ready && !present.ready) {
    put(one().repair, *expected.ready, expected);
    note(one(), name + " can be claimed, but is missing from the ready index", "added the entry");
  }
  // What is armed again gets its entry that way.
  if (expected.due && !present.due && !expected.armed_wrongly) {
    put(one().repair, *expected.due, expected);
    note(one(), name + " has no entry " + due_text(expected.due->due_at) + " in the due index", "added the entry");
  }
  for (std::size_t i = 0; i < expected.satellites.size(); ++i) {
    if (!present.satellites[i]) {
      note(one(), "the " + satellite_text(expected.satellites[i]) + " of " + name + " is missing", {});
    }
  }
  for (const std::string& complaint : checked.complaints) note(one(), complaint, {});
}

Result<void> IntegrityCheck::check_route(const Checked& checked, const PresentEntries& present) {
  const ExpectedEntries& expected = checked.expected;
  if (!expected.ready || !present.ready) return {};  // an entry that is added brings its route along
  FF_TRY(stored, is_stored(expected.ready->route));
  if (stored) return {};
  Case& one = case_of(checked.record().key, checked.record().version);
  one.repair.routes.push_back(*expected.route);
  note(one, name_of_record(checked.record().key) + " can be claimed, but its route is not stored", "stored the route");
  return {};
}

Result<void> IntegrityCheck::check_satellites() {
  std::optional<SatelliteName> after;
  for (;;) {
    FF_TRY(page, inspection_->orphaned_satellites(after, page_size));
    for (const SatelliteName& name : page) {
      Case& orphan = case_of(name.root, 0);
      orphan.repair.satellites_drop.push_back(name);
      note(orphan, "there is a " + satellite_text(name) + " of " + name_of_record(name.root) + ", which does not exist",
           "removed it");
    }
    if (!page.empty()) after = page.back();
    FF_TRY_VOID(finish_page());
    if (page.size() < page_size) return {};
  }
}

Result<void> IntegrityCheck::check_sequences() {
  std::optional<SequenceName> after;
  for (;;) {
    FF_TRY(page, inspection_->orphaned_sequences(after, page_size));
    for (const SequenceName& name : page) {
      Case& orphan = case_of(name.root, 0);
      orphan.repair.sequence_drops.push_back({name, whole_sequence});
      note(orphan,
           "there is a sequence " + std::to_string(name.kind) + " of " + name_of_record(name.root) +
               ", which does not exist",
           "removed it");
    }
    if (!page.empty()) after = page.back();
    FF_TRY_VOID(finish_page());
    if (page.size() < page_size) return {};
  }
}

// After the records, whose repairs write listings. A repair adds the difference, so it is right whatever others add
// meanwhile.
Result<void> IntegrityCheck::check_counts() {
  FF_TRY(counts, inspection_->counts());
  std::map<std::string, std::int64_t> missing;
  for (const ListedCount& one : counts.listed) {
    missing[counter_name(one.record_kind, one.name_space, one.lane, one.state)] = static_cast<std::int64_t>(one.count);
  }
  for (const Counter& counter : counts.counters) {
    if (decode_counter(counter.name)) missing[counter.name] -= counter.value;
  }
  std::erase_if(missing, [](const auto& one) { return one.second == 0; });
  if (missing.empty()) return {};
  ChangeSet repair;
  for (const auto& [name, delta] : missing) repair.counters.push_back({name, delta});
  if (repair_) {
    FF_TRY(verdicts, commit({repair}));
    FF_CHECK(verdicts.front() == Verdict::committed);
  }
  for (const auto& [name, delta] : missing) {
    const Counted counted = *decode_counter(name);
    report({"the counter of records \"" + std::string(1, static_cast<char>(counted.record_kind)) +
                "\" in namespace \"" + counted.name_space + "\", lane \"" + counted.lane + "\", state " +
                std::to_string(counted.state) + " is wrong by " + std::to_string(-delta),
            repair_ ? "corrected it" : ""});
  }
  return {};
}

}  // namespace

Result<IntegritySummary> check_integrity(Store& store, bool repair,
                                         const std::function<void(const IntegrityFinding&)>& found) {
  return IntegrityCheck(store, repair, found).run();
}

Result<std::vector<std::string>> integrity_findings(Store& store) {
  std::vector<std::string> sentences;
  const auto keep = [&](const IntegrityFinding& finding) {
    if (sentences.size() < limits::max_findings) sentences.push_back(finding.problem);
  };
  FF_TRY(summary, check_integrity(store, false, keep));
  const std::uint64_t more = summary.problems - sentences.size();
  if (more > 0) sentences.push_back("and " + std::to_string(more) + " more");
  return sentences;
}

}  // namespace flowfabric
