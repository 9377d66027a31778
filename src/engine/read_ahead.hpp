// What many records will be due at once is read before its time, so that when the time comes only the writing is left.
//
// The clock looks a little ahead in the due index. Where the entries lie dense, it loads them with their records, without
// locking anything; a sweep then takes them from here instead of searching. All of it is a guess that costs nothing when
// it is wrong: what has changed since is stale at the commit, like everything that two have seen at once, and is found
// again by a sweep that searches. Sparse entries are never read ahead: a sweep finds them soon enough.
//
// Threads: `look` and `next_look` by the thread of the clock, the rest by any after `start`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/limits.hpp"
#include "core/workspace.hpp"
#include "store/store.hpp"

namespace flowfabric {

struct ReadAheadOptions {
  std::int64_t lead_ms = 300;    // how long before its time something is read, at least
  std::int64_t stride_ms = 200;  // how much further a look goes, so that there need not be one all the time
  std::int64_t dense_ms = 50;    // a page of entries within so short a time is worth it
  std::uint32_t page = limits::read_ahead_page;
  std::uint32_t most = limits::max_read_ahead;  // in all
  std::size_t most_bytes = limits::max_read_ahead_bytes;
  std::int64_t distrust_ms = 10000;  // so long nothing is read ahead after some of it was stale
};

class ReadAhead {
 public:
  ReadAhead(Store& store, ReadAheadOptions options, std::function<std::uint64_t()> entropy)
      : store_(store), options_(options), entropy_(std::move(entropy)) {}

  // Counts what the due index holds, as far as it matters.
  Result<void> start();
  // A commit of this engine has made the due index so much longer. Where there are fewer entries than a page, nothing is
  // dense, and nobody needs to look. Returns whether that has just changed, so that the clock should ask for the next look.
  bool note_entries(std::int64_t more);

  // When the clock should look next, by the store's time, if the next that is due is due then.
  TimestampMs next_look(TimestampMs next_due) const;
  // Reads a page if it is time to. Returns whether there is another one to be read at once.
  bool look(TimestampMs next_due, TimestampMs now);

  // Whether something is here that is due.
  bool has_due(TimestampMs now) const;
  // Up to so many that are due, earliest first, each with its due entry. Nobody else gets them from here.
  std::vector<std::unique_ptr<Slot>> take(TimestampMs now, std::uint32_t limit);
  // Some of what was taken had been changed by others: the rest is forgotten, and it is no time to read ahead.
  void distrust(TimestampMs now);

 private:
  struct Page {
    std::vector<std::unique_ptr<Slot>> slots;  // earliest last
    std::size_t bytes = 0;                     // as stored
  };

  bool is_dense(const std::vector<DueEntry>& entries) const;
  bool is_full() const;
  bool read_page();
  Result<Page> load(const std::vector<DueEntry>& entries);
  void keep(Page page);
  void remove(std::size_t index);

  Store& store_;
  const ReadAheadOptions options_;
  const std::function<std::uint64_t()> entropy_;

  // Of the clock's thread. A look goes from `place_` to `looked_until_`.
  std::optional<DuePosition> place_;  // where it goes on; none: it is over
  TimestampMs looked_until_ = 0;
  bool last_was_dense_ = false;

  std::atomic<std::int64_t> entries_{0};  // in the due index, as far as we know
  std::atomic<TimestampMs> distrust_until_{0};
  mutable std::mutex mutex_;
  std::vector<Page> pages_;  // none is empty
  std::size_t kept_ = 0;     // in all of them
  std::size_t bytes_ = 0;    // of those that were not taken whole
  std::size_t turn_ = 0;     // which page is the next to be taken from
};

}  // namespace flowfabric
