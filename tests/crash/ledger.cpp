#include "crash/ledger.hpp"

#include <cstdio>
#include <sstream>

#include <gtest/gtest.h>

#include "crash/load.hpp"

namespace flowfabric::crash {
namespace {

constexpr std::chrono::seconds patience{60};
constexpr std::int64_t drain_limit_ms = 60000;

}  // namespace

void Ledger::note(const std::string& line) {
  std::istringstream words(line);
  std::string what, id, rest;
  words >> what >> id >> rest;
  const std::lock_guard lock(mutex_);
  ++lines_;
  if (what == "created") {
    EXPECT_TRUE(created_.emplace(id, rest).second) << id << " was created twice, the second time for " << rest;
  } else if (what == "completed") {
    const auto [entry, fresh] = completed_.emplace(id, rest);
    EXPECT_TRUE(fresh) << id << " was completed twice: " << entry->second << " and " << rest;
  } else if (what == "held") {
    held_.insert(id);
  } else {
    ADD_FAILURE() << "a torn line: " << line;
  }
  changed_.notify_all();
}

bool Ledger::wait(const std::function<bool()>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, condition);
}

bool Ledger::wait_for_acknowledgements(std::size_t count) {
  return wait([&] { return lines_ >= count; });
}

bool Ledger::wait_for_held(std::size_t count) {
  return wait([&] { return held_.size() >= count; });
}

bool Ledger::wait_until_completed(const std::set<std::string>& ids) {
  return wait([&] {
    for (const std::string& id : ids) {
      if (!completed_.contains(id)) return false;
    }
    return true;
  });
}

std::size_t Ledger::acknowledgements() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::set<std::string> Ledger::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

bool Ledger::is_completed(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return completed_.contains(id);
}

void Ledger::hand_over_to(Ledger& other) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, key] : created_) other.note("created " + id + " " + key);
  for (const auto& [id, result] : completed_) other.note("completed " + id + " " + result);
  for (const auto& id : held_) other.note("held " + id);
}

void Ledger::settle_and_verify(Engine& engine) {
  EXPECT_TRUE(drain(
      engine, [this](const std::string& line) { note(line); }, drain_limit_ms))
      << "some executions do not end";
  const Listing listing = list_everything(engine);
  const std::lock_guard lock(mutex_);
  verify_listing(listing);
  verify_results(engine);
  verify_events(engine, listing);
  const auto findings = engine.check_integrity();
  ASSERT_TRUE(findings) << findings.error().message;
  for (const std::string& finding : *findings) ADD_FAILURE() << "integrity: " << finding;
  std::printf("%zu executions, %zu completions\n", listing.size(), completed_.size());
}

Ledger::Listing Ledger::list_everything(Engine& engine) const {
  Listing listing;
  ListRequest request;
  request.limit = 1000;
  for (;;) {
    const auto page = engine.list_executions(request);
    if (!page) {
      ADD_FAILURE() << page.error().message;
      return listing;
    }
    for (const ExecutionSummary& summary : page->executions) {
      const std::string id = to_string(summary.execution_id);
      EXPECT_TRUE(listing.emplace(id, summary).second) << id << " is listed twice";
    }
    if (page->next_cursor.empty()) return listing;
    request.cursor = page->next_cursor;
  }
}

// Nothing acknowledged is missing, everything has ended, and no key created two executions.
void Ledger::verify_listing(const Listing& listing) const {
  for (const auto& [id, key] : created_) {
    const auto found = listing.find(id);
    if (found == listing.end()) {
      ADD_FAILURE() << "lost: " << id << ", acknowledged for " << key;
      continue;
    }
    EXPECT_EQ(found->second.tags.at("crash.key"), key) << id;
  }
  std::map<std::string, std::string> id_of_key;
  for (const auto& [id, summary] : listing) {
    EXPECT_EQ(to_string(summary.public_state), to_string(PublicState::completed)) << id;
    const auto [entry, fresh] = id_of_key.emplace(summary.tags.at("crash.key"), id);
    EXPECT_TRUE(fresh) << "one key, two executions: " << entry->first << " made " << entry->second << " and " << id;
  }
}

void Ledger::verify_results(Engine& engine) const {
  for (const auto& [id, result] : completed_) {
    const auto parsed = parse_execution_id(id);
    ASSERT_TRUE(parsed) << id;
    const auto stored = engine.get_execution_result(*parsed);
    if (!stored) {
      ADD_FAILURE() << id << " was completed but has no result: " << stored.error().message;
      continue;
    }
    EXPECT_EQ(to_string(stored->outcome), to_string(Outcome::success)) << id;
    EXPECT_EQ(stored->result, result) << id;
  }
}

// The log has one creation and one end of each.
void Ledger::verify_events(Engine& engine, const Listing& listing) const {
  std::map<std::string, int> creations, ends;
  std::string cursor = "earliest";
  for (;;) {
    const auto page = engine.read_events({}, cursor, 1000, 0);
    ASSERT_TRUE(page) << page.error().message;
    if (page->events.empty()) break;
    for (const Event& event : page->events) {
      if (!event.execution_id) continue;
      if (event.type == EventType::created) ++creations[to_string(*event.execution_id)];
      if (!is_terminal(event.type)) continue;
      EXPECT_EQ(to_string(event.type), to_string(EventType::completed));
      ++ends[to_string(*event.execution_id)];
    }
    cursor = page->next_cursor;
  }
  EXPECT_EQ(ends.size(), listing.size());
  for (const auto& [id, summary] : listing) {
    EXPECT_EQ(creations[id], 1) << id;
    EXPECT_EQ(ends[id], 1) << id;
  }
}

}  // namespace flowfabric::crash
