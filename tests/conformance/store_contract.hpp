// The fixture and helpers of the store conformance suite: a fresh database, a handle on it, one session, a clock that
// the test moves, and short forms for writes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/route.hpp"
#include "store/store.hpp"
#include "support/manual_clock.hpp"
#include "support/stores.hpp"

namespace flowfabric::test {

// The value, or an exception that fails the test with the error's text.
template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(std::string(to_string(result.error().code)) + ": " + result.error().message);
  }
  return std::move(*result);
}

inline Key execution(std::string_view id, std::uint16_t partition = 7) {
  return make_key(RecordKind::execution, id, partition);
}

inline Listing listing(TimestampMs created_at = 1000, std::uint8_t state = 0) {
  Listing result;
  result.name_space = "ns";
  result.lane = "lane";
  result.kind = "kind";
  result.state = state;
  result.created_at = created_at;
  return result;
}

inline std::string tags(const std::vector<std::string>& tag_list) {
  std::string text;
  for (const auto& tag : tag_list) text += '\x1f' + tag;
  return text.empty() ? text : text + '\x1f';
}

// Executions are listed, so every put of one has listing columns.
inline RootChange put(const Key& key, std::uint64_t expected, std::string body = "body",
                      std::optional<Listing> listed = listing()) {
  RootChange change;
  change.key = key;
  change.expected_version = expected;
  change.fixed = "fixed";
  change.body = std::move(body);
  if (key.kind() == RecordKind::execution) change.listing = std::move(listed);
  return change;
}

inline RootChange act(RootChange::Action action, const Key& key, std::uint64_t expected) {
  RootChange change;
  change.key = key;
  change.expected_version = expected;
  change.action = action;
  return change;
}

inline RootChange erase(const Key& key, std::uint64_t expected) {
  return act(RootChange::Action::erase, key, expected);
}

inline RootChange check(const Key& key, std::uint64_t expected) {
  return act(RootChange::Action::check, key, expected);
}

inline ChangeSet set_of(std::vector<RootChange> roots) {
  ChangeSet set;
  set.roots = std::move(roots);
  return set;
}

inline LogEntry event(const Key& root, std::string body, std::uint8_t type = 1) {
  LogEntry entry;
  entry.root = root;
  entry.type = type;
  entry.at = 1000;
  entry.name_space = "ns";
  entry.lane = "lane";
  entry.body = std::move(body);
  return entry;
}

// Ids or bodies in order, which most expectations compare.
template <class Range, class Function>
auto each(const Range& range, Function function) {
  std::vector<std::decay_t<decltype(function(*range.begin()))>> values;
  for (const auto& item : range) values.push_back(function(item));
  return values;
}

inline std::vector<std::string> ids(const std::vector<Record>& records) {
  return each(records, [](const Record& record) { return std::string(record.key.id()); });
}
inline std::vector<std::string> ids(const std::vector<Candidate>& candidates) {
  return each(candidates, [](const Candidate& candidate) { return std::string(candidate.entry.key.id()); });
}
inline std::vector<std::string> ids(const std::vector<DueCandidate>& candidates) {
  return each(candidates, [](const DueCandidate& candidate) { return std::string(candidate.entry.key.id()); });
}
inline std::vector<std::string> ids(const std::vector<ListedRecord>& listed) {
  return each(listed, [](const ListedRecord& entry) { return std::string(entry.record.key.id()); });
}
inline std::vector<std::string> bodies(const std::vector<LoggedEntry>& entries) {
  return each(entries, [](const LoggedEntry& entry) { return entry.entry.body; });
}

// Like the engine: a changed record has been loaded, and its last log entry is passed back.
inline std::vector<ChangeSet> with_last_entries(Store& store, std::vector<ChangeSet> sets) {
  for (ChangeSet& set : sets) {
    for (RootChange& change : set.roots) {
      if (change.expected_version == 0) continue;
      const auto records = must(store.load({change.key}));
      if (!records.empty()) change.last_entry = records.at(0).last_entry;
    }
  }
  return sets;
}

// Index entries and satellites whose record does not exist.
inline std::vector<std::string> orphans(Store& store) {
  constexpr std::uint32_t all = 1000000;
  const auto inspection = store.inspect();
  std::vector<std::string> found;
  for (const auto& one : must(inspection->ready({}, all))) {
    if (!one.record) found.push_back("ready: " + one.entry.key.bytes);
  }
  for (const auto& one : must(inspection->due({}, all))) {
    if (!one.record) found.push_back("due: " + one.entry.key.bytes);
  }
  for (const auto& name : must(inspection->orphaned_satellites({}, all)))
    found.push_back("satellite: " + name.root.bytes);
  for (const auto& name : must(inspection->orphaned_sequences({}, all))) {
    found.push_back("sequence: " + name.root.bytes);
  }
  return found;
}

using Ids = std::vector<std::string>;
using Verdicts = std::vector<Verdict>;

class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    database_ = make_database(GetParam().id);
    store_ = open_store();
    session_ = must(store_->open_session());
  }

  void TearDown() override {
    session_.reset();
    if (store_) {
      EXPECT_EQ(must(store_->check_integrity()), std::vector<std::string>{});
      EXPECT_EQ(orphans(*store_), std::vector<std::string>{});
    }
    store_.reset();
    database_.reset();
  }

  std::unique_ptr<Store> open_store() {
    StoreOptions options;
    options.now_us = clock_.source();
    return database_->open(std::move(options));
  }

  void reopen() {
    session_.reset();
    store_.reset();
    store_ = open_store();
    session_ = must(store_->open_session());
  }

  Verdicts commit(const std::vector<ChangeSet>& sets) {
    return must(session_->commit(with_routes(with_last_entries(*store_, sets))));
  }
  Verdict commit_one(const ChangeSet& set) { return commit({set}).at(0); }
  void write(const ChangeSet& set) { ASSERT_EQ(commit_one(set), Verdict::committed); }

  std::optional<Record> load(const Key& key) {
    auto records = must(store_->load({key}));
    if (records.empty()) return std::nullopt;
    return records.at(0);
  }
  std::uint64_t version_of(const Key& key) {
    const auto record = load(key);
    return record ? record->version : 0;
  }

  std::vector<Record> read(Session& session, const std::vector<Key>& keys) {
    ReadRequest request;
    request.keys = keys;
    return must(session.read(request)).records;
  }

  // A page of executions; `narrow` changes the query, which otherwise matches all.
  template <class Narrow>
  std::vector<ListedRecord> list(Narrow narrow) {
    ListQuery query;
    query.limit = 1000;
    narrow(query);
    return must(store_->list(query));
  }
  std::vector<ListedRecord> list() {
    return list([](ListQuery&) {});
  }

  // The number of a route that test writes ready entries to; `commit` and `with_routes` put it with them.
  RouteNo intern(const std::string& lane, const std::vector<std::string>& capabilities) {
    const RouteNo number = route_of(lane, capabilities);
    routes_[number] = Route{number, lane, capabilities, "ns"};
    return number;
  }
  std::vector<ChangeSet> with_routes(std::vector<ChangeSet> sets) {
    for (ChangeSet& set : sets) {
      for (const ReadyEntry& entry : set.ready_put) {
        if (const auto found = routes_.find(entry.route); found != routes_.end()) set.routes.push_back(found->second);
      }
    }
    return sets;
  }

  // A record with one ready entry.
  ChangeSet ready_set(const ReadyEntry& entry) {
    ChangeSet set = set_of({put(entry.key, 0)});
    set.ready_put = {entry};
    return with_routes({set}).front();
  }
  ChangeSet due_set(const DueEntry& entry) {
    ChangeSet set = set_of({put(entry.key, 0)});
    set.due_put = {entry};
    return set;
  }
  std::vector<Candidate> ready(Session& session, RouteNo route, std::uint32_t limit = 100) {
    ReadRequest request;
    request.ready = {{route, limit}};
    return must(session.read(request)).ready;
  }
  std::vector<DueCandidate> due(Session& session, std::uint32_t limit = 100) {
    ReadRequest request;
    request.due_limit = limit;
    return must(session.read(request)).due;
  }

  // Reads until there is nothing more. Returns the entries; `cursor` is the position to continue from.
  std::vector<LoggedEntry> drain_log(LogQuery query, std::string& cursor) {
    std::vector<LoggedEntry> all;
    query.after = cursor;
    if (query.limit == 0) query.limit = 100;
    for (bool behind = true; behind;) {
      const LogPage page = must(store_->read_log(query));
      EXPECT_LE(page.entries.size(), query.limit);
      all.insert(all.end(), page.entries.begin(), page.entries.end());
      query.after = page.next;
      behind = page.behind;
    }
    cursor = query.after;
    return all;
  }
  std::vector<LoggedEntry> whole_log(LogQuery query = {}) {
    std::string cursor;
    return drain_log(std::move(query), cursor);
  }

  ManualClock clock_;
  std::map<RouteNo, Route> routes_;
  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Session> session_;
};

}  // namespace flowfabric::test
