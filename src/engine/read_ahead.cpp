#include "engine/read_ahead.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "base/check.hpp"

namespace flowfabric {
namespace {

constexpr TimestampMs never = std::numeric_limits<TimestampMs>::max();

TimestampMs due_time(const std::unique_ptr<Slot>& slot) { return slot->indexed_due->due_at; }

}  // namespace

Result<void> ReadAhead::start() {
  FF_TRY(entries, store_.due_entries({}, never_due - 1, options_.page));
  entries_ = static_cast<std::int64_t>(entries.size());
  return {};
}

bool ReadAhead::note_entries(std::int64_t more) {
  const std::int64_t before = entries_.fetch_add(more);
  return before < options_.page && before + more >= options_.page;
}

// The range already read may have some single due entries; a look beyond it is still in time.
TimestampMs ReadAhead::next_look(TimestampMs next_due) const {
  if (next_due == never || entries_ < options_.page) return never;
  return std::max({next_due - options_.lead_ms, looked_until_ - options_.lead_ms, distrust_until_.load()});
}

bool ReadAhead::look(TimestampMs next_due, TimestampMs now) {
  // The clock was set back.
  looked_until_ = std::min(looked_until_, now + options_.lead_ms + options_.stride_ms);
  distrust_until_ = std::min(distrust_until_.load(), now + options_.distrust_ms);
  if (!place_) {
    if (next_look(next_due) > now) return false;
    // Entries that are already due belong to the sweeps.
    const TimestampMs from = std::max({next_due, looked_until_ + 1, now + 1});
    looked_until_ = now + options_.lead_ms + options_.stride_ms;
    if (from > looked_until_) return false;
    place_ = DuePosition{from, Key{}};
    last_was_dense_ = false;
  }
  // At the due time, pages that are not here yet are not waited for.
  if (has_due(now) || !read_page()) place_.reset();
  return place_.has_value();
}

// A whole page within a short time, or the rest after such a page.
bool ReadAhead::is_dense(const std::vector<DueEntry>& entries) const {
  if (entries.empty() || (entries.size() < options_.page && !last_was_dense_)) return false;
  return entries.back().due_at - entries.front().due_at <= options_.dense_ms;
}

bool ReadAhead::is_full() const {
  const std::lock_guard lock(mutex_);
  return kept_ >= options_.most || bytes_ >= options_.most_bytes;
}

bool ReadAhead::read_page() {
  if (is_full()) return false;
  const auto entries = store_.due_entries(place_, looked_until_, options_.page);
  if (!entries) return false;  // other users of the store report the error
  last_was_dense_ = is_dense(*entries);
  if (last_was_dense_) {
    auto page = load(*entries);
    if (!page) return false;
    keep(std::move(*page));
  }
  if (entries->size() < options_.page) return false;
  place_ = DuePosition{entries->back().due_at, entries->back().key};
  return true;
}

Result<ReadAhead::Page> ReadAhead::load(const std::vector<DueEntry>& entries) {
  std::vector<Key> keys;
  keys.reserve(entries.size());
  for (const DueEntry& entry : entries) keys.push_back(entry.key);
  FF_TRY(records, store_.load(keys));
  std::unordered_map<std::string_view, const Record*> by_key;
  by_key.reserve(records.size());
  for (const Record& record : records) by_key.emplace(record.key.bytes, &record);
  Page page;
  page.slots.reserve(records.size());
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto found = by_key.find(entry->key.bytes);
    if (found == by_key.end()) continue;
    auto slot = decode_slot(*found->second);
    // Entry and record were read one after the other. Entries that have moved in between and invalid records are left
    // to a sweep that searches.
    if (!slot || (*slot)->indexed_due != *entry) continue;
    page.slots.push_back(std::move(*slot));
    page.bytes += found->second->fixed.size() + found->second->body.size();
  }
  return page;
}

// Several engines read the same pages ahead. Each starts with another one, so that they collide late.
void ReadAhead::keep(Page page) {
  if (page.slots.empty()) return;
  const std::lock_guard lock(mutex_);
  kept_ += page.slots.size();
  bytes_ += page.bytes;
  pages_.push_back(std::move(page));
  turn_ = entropy_() % pages_.size();
}

bool ReadAhead::has_due(TimestampMs now) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(pages_.begin(), pages_.end(),
                     [&](const Page& page) { return due_time(page.slots.back()) <= now; });
}

std::vector<std::unique_ptr<Slot>> ReadAhead::take(TimestampMs now, std::uint32_t limit) {
  std::vector<std::unique_ptr<Slot>> taken;
  const std::lock_guard lock(mutex_);
  for (std::size_t tried = 0; tried < pages_.size() && taken.empty(); ++tried) {
    if (turn_ >= pages_.size()) turn_ = 0;
    auto& slots = pages_[turn_].slots;
    while (!slots.empty() && taken.size() < limit && due_time(slots.back()) <= now) {
      taken.push_back(std::move(slots.back()));
      slots.pop_back();
    }
    if (taken.empty()) {
      ++turn_;
    } else if (slots.empty()) {
      remove(turn_);
    }
  }
  kept_ -= taken.size();
  return taken;
}

void ReadAhead::remove(std::size_t index) {
  bytes_ -= pages_[index].bytes;
  pages_.erase(pages_.begin() + static_cast<std::ptrdiff_t>(index));
}

void ReadAhead::distrust(TimestampMs now) {
  distrust_until_ = now + options_.distrust_ms;
  const std::lock_guard lock(mutex_);
  pages_.clear();
  kept_ = 0;
  bytes_ = 0;
}

}  // namespace flowfabric
