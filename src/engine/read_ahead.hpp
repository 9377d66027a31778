// Reads many records in advance that will be due at the same time, so that only the writes remain.
//
// The clock looks a little ahead in the due index. Where there are many entries within a short time, it loads them with
// their records, without locks; a sweep then takes them from here instead of searching. This costs nothing if it is
// outdated: a change in the meantime is detected as stale at the commit, like any conflict, and the entry is found
// again by a sweep that searches. Single entries are never read ahead: a sweep finds them soon enough.
//
// Threads: `look` and `next_look` by the clock thread, the others by any thread after `start`.
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
  std::int64_t lead_ms = 300;    // how long before its time an entry is read, at least
  std::int64_t stride_ms = 200;  // how much further a look goes, so that looks are less frequent
  std::int64_t dense_ms = 50;    // a page of entries within this time is worth reading ahead
  std::uint32_t page = limits::read_ahead_page;
  std::uint32_t most = limits::max_read_ahead;  // in total
  std::size_t most_bytes = limits::max_read_ahead_bytes;
  std::int64_t distrust_ms = 10000;  // how long nothing is read ahead after stale entries
};

class ReadAhead {
 public:
  ReadAhead(Store& store, ReadAheadOptions options, std::function<std::uint64_t()> entropy)
      : store_(store), options_(options), entropy_(std::move(entropy)) {}

  // Counts the entries of the due index, as far as it matters.
  Result<void> start();
  // A commit of this engine has added this many entries to the due index. With fewer entries than a page, nothing is
  // dense, and no look is needed. Returns whether that has just changed, so that the clock should schedule a look.
  bool note_entries(std::int64_t more);

  // The store time of the next look, given the next due time.
  TimestampMs next_look(TimestampMs next_due) const;
  // Reads a page if it is time to. Returns whether another one should be read at once.
  bool look(TimestampMs next_due, TimestampMs now);

  // Whether it has due entries.
  bool has_due(TimestampMs now) const;
  // Up to this many due entries, earliest first, each with its record. They are removed.
  std::vector<std::unique_ptr<Slot>> take(TimestampMs now, std::uint32_t limit);
  // Others had changed some of the entries taken: the rest is discarded, and nothing is read ahead for some time.
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

  // Of the clock thread. A look goes from `place_` to `looked_until_`.
  std::optional<DuePosition> place_;  // where it continues; none: it has ended
  TimestampMs looked_until_ = 0;
  bool last_was_dense_ = false;

  std::atomic<std::int64_t> entries_{0};  // in the due index, as far as known
  std::atomic<TimestampMs> distrust_until_{0};
  mutable std::mutex mutex_;
  std::vector<Page> pages_;  // none of them is empty
  std::size_t kept_ = 0;     // in all of them
  std::size_t bytes_ = 0;    // of pages that were not taken completely
  std::size_t turn_ = 0;     // the next page to take from
};

}  // namespace flowfabric
