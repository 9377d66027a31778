// Bytes that come back from a database: records, satellites, pages of the log, and what other processes tell through it.
// They may be damaged. Then they are refused as corruption; what is accepted is equal after writing and reading it again.
// The first byte of an input chooses the decoder.
#include <array>

#include "base/check.hpp"
#include "core/cron.hpp"
#include "core/expected.hpp"
#include "core/hooks.hpp"
#include "core/records.hpp"
#include "core/schedule_records.hpp"
#include "core/steps.hpp"
#include "core/waits.hpp"
#include "store/postgres/log_pages.hpp"
#include "store/postgres/wakeup.hpp"
#include "store/sqlite/batch.hpp"
#include "store/sqlite/log_pages.hpp"

namespace flowfabric {
namespace {

// Numbers have several encodings, so the bytes may differ from the input, but not twice.
template <class T>
void check_record(std::string_view bytes, Result<T> (*decode)(std::string_view)) {
  const auto value = decode(bytes);
  if (!value) return FF_CHECK(value.error().code == Errc::corruption);
  const std::string written = encode(*value);
  const auto again = decode(written);
  FF_CHECK(again.has_value());
  FF_CHECK(encode(*again) == written);
}

// The second byte is the length of the part that never changes.
void check_execution(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t fixed = std::min<std::size_t>(static_cast<std::uint8_t>(bytes.front()), bytes.size() - 1);
  Record record;
  record.key = execution_key(ExecutionId{});
  record.version = 1;
  record.fixed = bytes.substr(1, fixed);
  record.body = bytes.substr(1 + fixed);
  const auto execution = decode_execution(record);
  if (!execution) return FF_CHECK(execution.error().code == Errc::corruption);
  FF_CHECK(expected_entries(record).has_value());
}

// The second byte is the number of entries that the row says the page has.
void check_sqlite_page(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::int64_t count = static_cast<std::uint8_t>(bytes.front());
  const auto entries = sqlite::decode_page(bytes.substr(1), count);
  if (!entries) return FF_CHECK(entries.error().code == Errc::corruption);
  const std::string written = sqlite::empty_entries(*entries, {});
  const auto again = sqlite::decode_page(written, count);
  FF_CHECK(again.has_value());
  FF_CHECK(sqlite::empty_entries(*again, {}) == written);
  if (entries->empty()) return;
  FF_CHECK(sqlite::decode_page(sqlite::empty_entries(*entries, {0}), count).has_value());
}

void check_postgres_entry(std::string_view bytes) {
  const LogEntry entry = postgres::unpack(bytes);
  const std::string written = postgres::pack(entry);
  FF_CHECK(postgres::pack(postgres::unpack(written)) == written);
}

void check_places(std::string_view bytes) {
  if (const auto place = sqlite::decode_position(bytes); place && place->log_id) {
    FF_CHECK(sqlite::encode_position(*place->log_id, place->seq) == bytes);
  }
  if (const auto cursor = postgres::decode_cursor(std::string(bytes)); cursor && cursor->incarnation != 0) {
    FF_CHECK(postgres::encode(*cursor) == bytes);
  }
}

void check_wakeup(std::string_view text) {
  const auto wakeup = postgres::decode_wakeup(text, "me");
  if (!wakeup) return FF_CHECK(text == "me" || text.starts_with("me "));
  const std::string written = postgres::encode_wakeup(*wakeup, "other");
  const auto again = postgres::decode_wakeup(written, "me");
  FF_CHECK(again.has_value());
  FF_CHECK(postgres::encode_wakeup(*again, "other") == written);
}

void check_capabilities(std::string_view bytes) {
  const auto capabilities = sqlite::decode_capabilities(bytes);
  if (!capabilities) return FF_CHECK(capabilities.error().code == Errc::corruption);
  FF_CHECK(sqlite::decode_capabilities(sqlite::encode_capabilities(*capabilities)) == capabilities);
}

void check_schedule(std::string_view bytes) {
  ScheduleRecord named;
  named.name_space = "n";
  named.name = "s";
  Record record;
  record.key = schedule_key(named.name_space, named.name);
  record.version = 1;
  record.fixed = encode_fixed(named);
  record.body = bytes;
  const auto schedule = decode_schedule(record);
  if (!schedule) return FF_CHECK(schedule.error().code == Errc::corruption);
  const std::string written = encode(*schedule);
  record.body = written;
  FF_CHECK(encode(*decode_schedule(record)) == written);
  FF_CHECK(expected_entries(record).has_value());
}

void check_schedule_flow(std::string_view bytes) {
  Record record;
  record.key = schedule_flow_key("n", "s");
  record.version = 1;
  record.body = bytes;
  const auto flow = decode_schedule_flow(record);
  if (!flow) return FF_CHECK(flow.error().code == Errc::corruption);
  record.body = encode(*flow);
  FF_CHECK(encode(*decode_schedule_flow(record)) == record.body);
  (void)scheduled_flow(flow->request);
}

// Not stored bytes, but a spec has the text too.
void check_cron(std::string_view text) {
  const auto cron = parse_cron(text);
  if (!cron) return FF_CHECK(cron.error().code == Errc::invalid_argument && cron.error().field == "cron");
  constexpr std::int64_t from = 1'767'225'600;
  const auto next = next_local(*cron, {}, from);
  if (!next) return;
  FF_CHECK(*next >= from);
  FF_CHECK(next_local(*cron, {}, *next) == next);
}

constexpr std::array<void (*)(std::string_view), 25> decoders = {
    [](std::string_view bytes) { check_record(bytes, decode_spec); },
    [](std::string_view bytes) { check_record(bytes, decode_facts); },
    [](std::string_view bytes) { check_record(bytes, decode_attempt); },
    [](std::string_view bytes) { check_record(bytes, decode_lane); },
    [](std::string_view bytes) { check_record(bytes, decode_namespace); },
    [](std::string_view bytes) { check_record(bytes, decode_idempotency); },
    [](std::string_view bytes) { check_record(bytes, decode_keyring); },
    [](std::string_view bytes) { check_record(bytes, decode_api_keys); },
    [](std::string_view bytes) { check_record(bytes, decode_worker); },
    [](std::string_view bytes) { check_record(bytes, decode_event); },
    check_execution,
    check_sqlite_page,
    check_postgres_entry,
    check_places,
    check_wakeup,
    check_capabilities,
    [](std::string_view bytes) { check_record(bytes, decode_step); },
    [](std::string_view bytes) { check_record(bytes, decode_checkpoint); },
    [](std::string_view bytes) { check_record(bytes, decode_flow_name); },
    check_schedule,
    check_cron,
    [](std::string_view bytes) { check_record(bytes, decode_ended_wait); },
    [](std::string_view bytes) { check_record(bytes, decode_approval_context); },
    [](std::string_view bytes) { check_record(bytes, decode_hooks); },
    check_schedule_flow,
};

}  // namespace
}  // namespace flowfabric

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  flowfabric::decoders[data[0] % flowfabric::decoders.size()](bytes);
  return 0;
}
