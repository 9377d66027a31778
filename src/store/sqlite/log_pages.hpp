// The storage of the log: in pages, each one row of table `log` with consecutive entries, and in chains, because every
// entry has the number of the previous entry of the same record. Numbers (`seq`) count from 1; 0 means none.
//
// `live` counts the entries of existing records. The others are emptied in place, so that numbers do not change; a page
// without live entries is deleted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/codec.hpp"
#include "core/changes.hpp"
#include "store/sqlite/database.hpp"

namespace flowfabric::sqlite {

// A position is the id of the log in four bytes and `seq` in eight, most significant first, so that positions order like
// numbers. Those that were handed out before logs had ids are `seq` alone.
struct LogPosition {
  std::optional<std::int64_t> log_id;
  std::int64_t seq = 0;
};
std::string encode_position(std::int64_t log_id, std::int64_t seq);
std::optional<LogPosition> decode_position(std::string_view bytes);  // nothing when it is no position

// `Record::last_entry` is `seq` alone, where 0 is empty.
std::string encode_last_entry(std::int64_t seq);
std::int64_t decode_last_entry(std::string_view bytes);

// An entry in a page. The views point into the page's bytes.
struct PageEntry {
  std::string_view root;
  std::uint8_t type = 0;
  TimestampMs at = 0;
  std::string_view name_space;
  std::string_view lane;
  std::string_view body;
  std::int64_t previous = 0;  // the previous entry of the same root
};

// Reads the bytes of a page with this many entries.
Result<std::vector<PageEntry>> decode_page(std::string_view bytes, std::int64_t count);

// The bytes of a page after some of its entries (by their indexes) were emptied.
std::string empty_entries(std::vector<PageEntry> entries, const std::vector<std::size_t>& places);

// Creates pages of new entries. An entry that is too large for a shared page gets its own.
class PageWriter {
 public:
  // Numbers come in ascending order; after a gap a new page begins.
  void add(std::int64_t seq, const LogEntry& entry, std::int64_t previous);
  // Inserts the added entries, and clears them.
  Result<void> flush(Database& database);
  void clear() { pages_.clear(); }
  std::size_t size() const { return pages_.size(); }

 private:
  struct NewPage {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::size_t size = 0;  // approximate number of bytes
    Encoder bytes;
  };
  NewPage& page_for(std::int64_t seq, std::size_t size);

  std::vector<NewPage> pages_;
};

// Finds entries by number, and keeps some of the pages that it has read: records that were created together are close
// to each other, so the pages of one chain are mostly those of the next. Use it within one transaction.
class PageReader {
 public:
  struct Page {
    std::int64_t first = 0;
    std::int64_t live = 0;
    std::string bytes;
    std::vector<PageEntry> entries;  // none if the bytes cannot be decoded
  };
  struct Found {
    const Page* page = nullptr;
    const PageEntry* entry = nullptr;
  };

  explicit PageReader(Database& database) : database_(&database) {}

  // A link of the root's chain; valid until the next call. Null if the chain is broken here: there is no such entry, it
  // belongs to another root, or it does not lead to a lower number.
  Result<Found> find(std::int64_t seq, std::string_view root);
  // The page that would contain the entry, null if there is none before it; valid until the next call.
  Result<const Page*> page_of(std::int64_t seq);
  void clear() { pages_.clear(); }

 private:
  const Page* kept_page(std::int64_t seq) const;

  Database* database_;
  std::map<std::int64_t, Page> pages_;  // by `first`; the views need stable addresses
};

}  // namespace flowfabric::sqlite
