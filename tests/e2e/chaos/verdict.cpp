#include "e2e/chaos/verdict.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "e2e/chaos/caller.hpp"
#include "net/target.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::chaos {
namespace {

constexpr int readers = 4;
constexpr std::uint32_t page_size = 1000;

std::string path_of(const std::string& id) { return "/v1/executions/" + net::percent_encode(id); }

template <class Reply>
Reply must_get(Caller& caller, const std::string& target) {
  auto reply = persist([&] { return caller.get<Reply>(target); });
  if (reply) return std::move(*reply);
  ADD_FAILURE() << target << ": " << reply.error().message;
  return {};
}

std::vector<ExecutionSummary> list_all(Caller& caller) {
  std::vector<ExecutionSummary> all;
  std::string cursor;
  do {
    const std::string from = cursor.empty() ? "" : "&cursor=" + net::percent_encode(cursor);
    auto page = must_get<ListReply>(caller, "/v1/executions?limit=" + std::to_string(page_size) + from);
    all.insert(all.end(), page.executions.begin(), page.executions.end());
    cursor = page.next_cursor;
  } while (!cursor.empty());
  return all;
}

// Nothing acknowledged is missing, and nothing exists that was not requested, or twice.
void verify_listing(const Notes& notes, const std::vector<ExecutionSummary>& listing, std::uint64_t executions) {
  EXPECT_EQ(listing.size(), executions);
  std::set<std::string> ids, keys;
  for (const ExecutionSummary& summary : listing) {
    const std::string id = to_string(summary.execution_id);
    EXPECT_TRUE(ids.insert(id).second) << id << " is listed twice";
    const auto key = summary.tags.find("chaos.key");
    ASSERT_NE(key, summary.tags.end()) << id << " is not of this test";
    EXPECT_TRUE(keys.insert(key->second).second) << key->second << " made more than one execution, one is " << id;
    const auto found = notes.find(id);
    EXPECT_TRUE(
        found != notes.end() &&
        std::any_of(found->second.begin(), found->second.end(),
                    [&](const Note& note) { return note.what == Note::What::created && note.text == key->second; }))
        << id << " is there, but was not acknowledged for " << key->second;
  }
  for (const auto& [id, of_one] : notes) EXPECT_TRUE(ids.contains(id)) << id << " is lost";
}

// One execution: its notes compared with its result and its history.
class Case {
 public:
  Case(const ExecutionSummary& summary, const std::vector<Note>& notes, Caller& caller)
      : id_(to_string(summary.execution_id)), summary_(summary), notes_(notes) {
    result_ = must_get<ExecutionResult>(caller, path_of(id_) + "/result");
    read_history(caller);
  }

  void verify() {
    verify_order();
    verify_end();
    for (const Note& note : notes_) verify_note(note);
  }

  bool succeeded() const { return result_.outcome == Outcome::success; }
  std::uint64_t acknowledged_ends() const { return count(Note::What::completed) + count(Note::What::failed); }
  std::uint64_t events() const { return history_.size(); }

 private:
  void read_history(Caller& caller) {
    std::string cursor;
    for (;;) {
      const std::string from = cursor.empty() ? "" : "&cursor=" + net::percent_encode(cursor);
      auto page = must_get<EventPage>(caller, path_of(id_) + "/history?limit=" + std::to_string(page_size) + from);
      history_.insert(history_.end(), page.events.begin(), page.events.end());
      if (page.events.size() < page_size) return;
      cursor = page.next_cursor;
    }
  }

  std::uint64_t count(Note::What what) const {
    return static_cast<std::uint64_t>(
        std::count_if(notes_.begin(), notes_.end(), [what](const Note& note) { return note.what == what; }));
  }

  // It is created once, first, and ends once, last; its lease epoch never decreases.
  void verify_order() const {
    ASSERT_FALSE(history_.empty()) << id_;
    for (std::size_t i = 0; i < history_.size(); ++i) {
      const Event& event = history_[i];
      EXPECT_EQ(event.type == EventType::created, i == 0) << id_ << ", event " << i;
      EXPECT_EQ(is_terminal(event.type), i + 1 == history_.size()) << id_ << ", event " << i;
      EXPECT_GE(event.lease_epoch, history_[i == 0 ? 0 : i - 1].lease_epoch) << id_ << ", event " << i;
    }
    EXPECT_EQ(to_string(history_.back().state_after), to_string(summary_.public_state)) << id_;
  }

  // It ended as some worker requested, and as the worker that was told of its end was told.
  void verify_end() const {
    EXPECT_EQ(history_.back().type, succeeded() ? EventType::completed : EventType::failed) << id_;
    EXPECT_EQ(count(Note::What::created), 1u) << id_;
    EXPECT_LE(acknowledged_ends(), 1u) << id_ << " ended for more than one worker";
    const std::string text = text_of_end();
    const bool was_sent = std::any_of(notes_.begin(), notes_.end(), [&](const Note& note) {
      return note.what == Note::What::sending && note.number == result_.attempt_index && note.text == text;
    });
    EXPECT_TRUE(was_sent) << id_ << " ended with \"" << text << "\", which nobody sent";
  }

  std::string text_of_end() const {
    if (!succeeded()) return result_.failure ? result_.failure->message : "";
    const bool quoted = result_.result.size() >= 2 && result_.result.front() == '"';
    return quoted ? result_.result.substr(1, result_.result.size() - 2) : result_.result;
  }

  void verify_note(const Note& note) const {
    switch (note.what) {
      case Note::What::created:
      case Note::What::sending: return;
      case Note::What::claimed: return verify_claim(note);
      case Note::What::retried: return expect_event(note, EventType::retry_scheduled);
      case Note::What::delayed: return expect_event(note, EventType::delayed);
      case Note::What::completed:
      case Note::What::failed: break;
    }
    EXPECT_EQ(succeeded(), note.what == Note::What::completed) << id_ << ", " << note.text;
    EXPECT_EQ(text_of_end(), note.text) << id_;
    EXPECT_EQ(result_.attempt_index, note.number) << id_;
  }

  // An epoch belongs to one worker.
  void verify_claim(const Note& note) const {
    const auto same_epoch = [&](const Note& other) {
      return other.what == Note::What::claimed && other.number == note.number;
    };
    EXPECT_EQ(std::count_if(notes_.begin(), notes_.end(), same_epoch), 1) << id_ << ", epoch " << note.number;
    const bool is_there = std::any_of(history_.begin(), history_.end(), [&](const Event& event) {
      const bool begins = event.type == EventType::claimed || event.type == EventType::resumed;
      return begins && event.lease_epoch == note.number && event.actor == note.text;
    });
    EXPECT_TRUE(is_there) << id_ << ": " << note.text << " was given epoch " << note.number << ", no event tells of it";
  }

  void expect_event(const Note& note, EventType type) const {
    const bool is_there = std::any_of(history_.begin(), history_.end(), [&](const Event& event) {
      return event.type == type && event.attempt_index == note.number;
    });
    EXPECT_TRUE(is_there) << id_ << ": no event tells of " << note.text << ", attempt " << note.number;
  }

  const std::string id_;
  const ExecutionSummary& summary_;
  const std::vector<Note>& notes_;
  ExecutionResult result_;
  std::vector<Event> history_;
};

}  // namespace

Figures verify(const Notes& notes, const std::vector<std::string>& urls, std::uint64_t executions) {
  Caller first(urls, 0);
  const std::vector<ExecutionSummary> listing = list_all(first);
  verify_listing(notes, listing, executions);
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> completed{0}, acknowledged{0}, events{0};
  const auto read = [&](std::uint64_t seed) {
    Caller caller(urls, seed);
    for (std::size_t i; (i = next++) < listing.size();) {
      const auto found = notes.find(to_string(listing[i].execution_id));
      if (found == notes.end()) continue;  // reported by verify_listing
      Case one(listing[i], found->second, caller);
      one.verify();
      if (one.succeeded()) ++completed;
      acknowledged += one.acknowledged_ends();
      events += one.events();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < readers; ++i) threads.emplace_back(read, i);
  for (std::thread& thread : threads) thread.join();
  return {listing.size(), completed, listing.size() - completed, acknowledged, events};
}

}  // namespace flowfabric::chaos
