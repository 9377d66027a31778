#include "store/sqlite/log_pages.hpp"

#include <utility>

#include "base/check.hpp"

namespace flowfabric::sqlite {
namespace {

// A page of this size, with the rest of its row, fits into one page of the file (4096 bytes), so it is written and read
// at once, without overflow pages.
constexpr std::size_t max_page_bytes = 3900;
// The size of an entry without its strings: their lengths, the type, a current time, a number.
constexpr std::size_t entry_overhead = 20;

constexpr std::size_t max_kept_pages = 64;
constexpr std::size_t log_id_bytes = 4;
constexpr std::size_t seq_bytes = 8;

constexpr char insert_page_sql[] = "INSERT INTO log(seq, entries, live, body) VALUES(?1, ?2, ?2, ?3)";
// The page that contains the entry ?1, if any.
constexpr char find_page_sql[] = "SELECT seq, entries, live, body FROM log WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1";

std::string encode_number(std::int64_t number, std::size_t size) {
  std::string bytes(size, '\0');
  auto rest = static_cast<std::uint64_t>(number);
  for (std::size_t i = size; i-- > 0; rest >>= 8) bytes[i] = static_cast<char>(rest & 0xff);
  return bytes;
}

std::uint64_t decode_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = (number << 8) | static_cast<std::uint8_t>(byte);
  return number;
}

void encode_entry(Encoder& out, const PageEntry& entry) {
  out.text(entry.root);
  out.u8(entry.type);
  out.number(entry.at);
  out.text(entry.name_space);
  out.text(entry.lane);
  out.text(entry.body);
  out.unsigned_number(static_cast<std::uint64_t>(entry.previous));
}

PageEntry decode_entry(Decoder& in) {
  PageEntry entry;
  entry.root = in.text_view();
  entry.type = in.u8();
  entry.at = in.number();
  entry.name_space = in.text_view();
  entry.lane = in.text_view();
  entry.body = in.text_view();
  entry.previous = static_cast<std::int64_t>(in.unsigned_number());
  return entry;
}

}  // namespace

std::string encode_position(std::int64_t log_id, std::int64_t seq) {
  return encode_number(log_id, log_id_bytes) + encode_number(seq, seq_bytes);
}

std::optional<LogPosition> decode_position(std::string_view bytes) {
  LogPosition position;
  if (bytes.size() == log_id_bytes + seq_bytes) {
    position.log_id = static_cast<std::int64_t>(decode_number(bytes.substr(0, log_id_bytes)));
    bytes.remove_prefix(log_id_bytes);
  }
  const std::uint64_t seq = decode_number(bytes);
  if (bytes.size() != seq_bytes || seq > INT64_MAX) return std::nullopt;
  position.seq = static_cast<std::int64_t>(seq);
  return position;
}

std::string encode_last_entry(std::int64_t seq) { return seq == 0 ? std::string() : encode_number(seq, seq_bytes); }

std::int64_t decode_last_entry(std::string_view bytes) {
  if (bytes.empty()) return 0;
  FF_CHECK(bytes.size() == seq_bytes);  // it is what we said when the record was loaded
  return static_cast<std::int64_t>(decode_number(bytes));
}

Result<std::vector<PageEntry>> decode_page(std::string_view bytes, std::int64_t count) {
  Decoder decoder(bytes);
  std::vector<PageEntry> entries;
  while (decoder.ok() && !decoder.at_end()) entries.push_back(decode_entry(decoder));
  if (!decoder.ok() || entries.size() != static_cast<std::size_t>(count)) {
    return fail(Errc::corruption, "a page of the log cannot be decoded");
  }
  return entries;
}

std::string empty_entries(std::vector<PageEntry> entries, const std::vector<std::size_t>& places) {
  for (const std::size_t place : places) entries[place] = PageEntry{};
  Encoder bytes;
  for (const PageEntry& entry : entries) encode_entry(bytes, entry);
  return bytes.take();
}

void PageWriter::add(std::int64_t seq, const LogEntry& entry, std::int64_t previous) {
  const std::size_t size =
      entry_overhead + entry.root.bytes.size() + entry.name_space.size() + entry.lane.size() + entry.body.size();
  NewPage& page = page_for(seq, size);
  encode_entry(page.bytes,
               {entry.root.bytes, entry.type, entry.at, entry.name_space, entry.lane, entry.body, previous});
  page.size += size;
  ++page.count;
}

PageWriter::NewPage& PageWriter::page_for(std::int64_t seq, std::size_t size) {
  if (!pages_.empty()) {
    NewPage& last = pages_.back();
    if (last.first + last.count == seq && last.size + size <= max_page_bytes) return last;
  }
  NewPage& page = pages_.emplace_back();
  page.first = seq;
  return page;
}

Result<void> PageWriter::flush(Database& database) {
  if (pages_.empty()) return {};
  FF_TRY(insert, database.cached(insert_page_sql));
  for (NewPage& page : pages_) {
    const std::string bytes = page.bytes.take();
    insert->bind(1, page.first);
    insert->bind(2, page.count);
    insert->bind_blob(3, bytes);
    FF_TRY_VOID(insert->run());
  }
  pages_.clear();
  return {};
}

Result<PageReader::Found> PageReader::find(std::int64_t seq, std::string_view root) {
  FF_TRY(page, page_of(seq));
  if (page == nullptr) return Found{};
  const auto index = static_cast<std::size_t>(seq - page->first);
  if (index >= page->entries.size()) return Found{};
  const PageEntry& entry = page->entries[index];
  const bool sound = entry.root == root && entry.previous >= 0 && entry.previous < seq;
  return sound ? Found{page, &entry} : Found{};
}

const PageReader::Page* PageReader::kept_page(std::int64_t seq) const {
  auto next = pages_.upper_bound(seq);
  if (next == pages_.begin()) return nullptr;
  const Page& page = (--next)->second;
  return seq < page.first + static_cast<std::int64_t>(page.entries.size()) ? &page : nullptr;
}

Result<const PageReader::Page*> PageReader::page_of(std::int64_t seq) {
  if (const Page* kept = kept_page(seq)) return kept;
  FF_TRY(find, database_->cached(find_page_sql));
  find->bind(1, seq);
  FF_TRY(row, find->step());
  if (!row) return nullptr;
  if (pages_.size() >= max_kept_pages) pages_.clear();
  Page& page = pages_[find->integer(0)];
  page = Page{find->integer(0), find->integer(2), find->bytes(3), {}};
  const std::int64_t count = find->integer(1);
  find->reset();
  if (auto entries = decode_page(page.bytes, count)) page.entries = std::move(*entries);
  return &page;
}

}  // namespace flowfabric::sqlite
