#include "core/dead_letters.hpp"

#include <charconv>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/counts.hpp"
#include "core/fingerprint.hpp"
#include "core/record_codec.hpp"
#include "core/records.hpp"

namespace flowfabric {

using namespace record_codec;

namespace {

constexpr char line_separator = '\x1e';  // no name contains it
constexpr std::size_t letter_key_bytes = 1 + 16 + 4 + 2;
constexpr std::size_t redrive_key_bytes = 1 + 16 + 2;

std::string_view bytes_of(const Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()};
}

Uuid uuid_of(std::string_view bytes) {
  Uuid uuid;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) uuid.bytes[i] = static_cast<std::uint8_t>(bytes[i]);
  return uuid;
}

void put_word(Encoder& out, const std::string& text) { out.text(text); }
std::string get_word(Decoder& in) { return in.text(); }

void put_selection(Encoder& out, const RedriveSelection& selection) {
  out.boolean(selection.all);
  put_strings(out, selection.fingerprints);
  out.unsigned_number(selection.execution_ids.size());
  for (const ExecutionId& id : selection.execution_ids) put_id(out, id);
  put_optional(out, selection.lane, put_word);
  put_optional(out, selection.kind, put_word);
  put_optional(out, selection.category, put_word);
  put_optional(out, selection.tag, [](Encoder& o, const auto& tag) {
    o.text(tag.first);
    o.text(tag.second);
  });
  put_optional(out, selection.failed_from, put_number);
  put_optional(out, selection.failed_before, put_number);
}

RedriveSelection get_selection(Decoder& in) {
  RedriveSelection selection;
  selection.all = in.boolean();
  selection.fingerprints = get_strings(in);
  selection.execution_ids.resize(in.count());
  for (ExecutionId& id : selection.execution_ids) id = get_id(in);
  selection.lane = get_optional(in, get_word);
  selection.kind = get_optional(in, get_word);
  selection.category = get_optional(in, get_word);
  selection.tag = get_optional(in, [](Decoder& i) {
    std::string name = i.text();
    return std::pair<std::string, std::string>(std::move(name), i.text());
  });
  selection.failed_from = get_optional(in, get_number);
  selection.failed_before = get_optional(in, get_number);
  return selection;
}

void put_rate(Encoder& out, const RateLimit& rate) {
  out.unsigned_number(rate.count);
  out.number(rate.period_ms);
  put_optional(out, rate.burst, put_u32);
}

RateLimit get_rate(Decoder& in) {
  RateLimit rate;
  rate.count = in.u32();
  rate.period_ms = in.number();
  rate.burst = get_optional(in, get_u32);
  return rate;
}

}  // namespace

// ---- Letters

std::optional<Letter> letter_of(const Execution& execution) {
  const Facts& facts = execution.facts;
  if (facts.phase != Phase::terminal || facts.outcome != Outcome::failed || facts.letter.fingerprint == 0) {
    return std::nullopt;
  }
  const Spec& spec = execution.spec;
  return Letter{letter_key(execution.id, facts.replay_count),
                {spec.name_space, spec.lane, spec.kind, facts.letter.fingerprint, facts.finished_at},
                facts.letter.version};
}

Key letter_key(const ExecutionId& id, std::uint32_t replay_count) {
  std::string bytes(bytes_of(id.uuid));
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(replay_count >> shift);
  return make_key(RecordKind::dead_letter, bytes, id.partition);
}

ExecutionId execution_of_letter(const Key& key) {
  FF_CHECK(key.kind() == RecordKind::dead_letter && key.bytes.size() == letter_key_bytes);
  return {key.partition(), uuid_of(key.id())};
}

// Between the groups of pools, whose numbers are small, and those of executions that pools hold back (core/limit_records.cpp).
std::uint64_t group_of_letters(std::string_view name_space, std::uint64_t fingerprint) {
  constexpr std::uint64_t first = (std::uint64_t{1} << 62) + (std::uint64_t{1} << 60);
  std::string name(name_space);
  name += '\0';
  name += fingerprint_text(fingerprint);
  return first + (fnv1a64(name) >> 4);
}

DueEntry due_entry_of(const Key& key, const LetterRecord& letter) {
  return {never_due, key, group_of_letters(letter.name_space, letter.fingerprint), letter.failed_at};
}

std::string text_of(const LetterLine& line) {
  return fingerprint_text(line.fingerprint) + line_separator + line.lane + line_separator + line.kind;
}

std::optional<LetterLine> decode_letter_line(std::string_view text) {
  const std::size_t first = text.find(line_separator);
  const std::size_t second = first == std::string_view::npos ? first : text.find(line_separator, first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  LetterLine line;
  const std::string_view digits = text.substr(0, first);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), line.fingerprint, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  line.lane = text.substr(first + 1, second - first - 1);
  line.kind = text.substr(second + 1);
  return line;
}

Listing listing_of(const LetterRecord& letter) {
  Listing listing;
  listing.name_space = letter.name_space;
  listing.lane = text_of(LetterLine{letter.fingerprint, letter.lane, letter.kind});
  listing.kind = letter.kind;
  listing.created_at = letter.failed_at;
  listing.finished_at = letter.failed_at;
  return listing;
}

std::string encode(const LetterRecord& letter) {
  Encoder out;
  out.u8(layout_1);
  out.text(letter.name_space);
  out.text(letter.lane);
  out.text(letter.kind);
  out.unsigned_number(letter.fingerprint);
  out.number(letter.failed_at);
  return out.take();
}

Result<LetterRecord> decode_letter(const Record& record) {
  if (record.key.bytes.size() != letter_key_bytes) {
    return fail(Errc::corruption, "the stored key of a dead letter has a wrong length");
  }
  Decoder in(record.fixed);
  if (!known_layout(in)) return Unexpected(unknown_layout("a dead letter"));
  LetterRecord letter;
  letter.name_space = in.text();
  letter.lane = in.text();
  letter.kind = in.text();
  letter.fingerprint = in.unsigned_number();
  letter.failed_at = in.number();
  return finished(in, std::move(letter), "a dead letter");
}

void erase_letter(const Letter& letter, ChangeSet& set) {
  RootChange& change = set.roots.emplace_back();
  change.key = letter.key;
  change.expected_version = letter.version;
  change.action = RootChange::Action::erase;
  set.due_drop.push_back(due_entry_of(letter.key, letter.record));
  const Listing listing = listing_of(letter.record);
  set.counters.push_back({counter_name(RecordKind::dead_letter, listing.name_space, listing.lane, listing.state), -1});
}

void put_letter(const Letter& letter, ChangeSet& set) {
  RootChange& change = set.roots.emplace_back();
  change.key = letter.key;
  change.first_version = letter.version;
  change.fixed = encode(letter.record);
  change.listing = listing_of(letter.record);
  set.due_put.push_back(due_entry_of(letter.key, letter.record));
  set.counters.push_back(
      {counter_name(RecordKind::dead_letter, change.listing->name_space, change.listing->lane, change.listing->state),
       1});
}

// The name of no counter of listed records begins like this (core/counts.hpp).
std::string failed_again_counter(const Uuid& redrive) { return "!redrive " + to_string(redrive); }

std::string failed_again_counter_of(const Execution& execution) {
  const Facts& facts = execution.facts;
  if (facts.phase != Phase::terminal || facts.outcome != Outcome::failed || !facts.letter.redriven_by) return {};
  return failed_again_counter(*facts.letter.redriven_by);
}

void encode_into(Encoder& out, const LetterFacts& facts) {
  out.unsigned_number(facts.fingerprint);
  out.unsigned_number(facts.version);
  put_optional(out, facts.redriven_by, [](Encoder& o, const Uuid& id) { o.uuid(id); });
}

LetterFacts decode_letter_facts(Decoder& in) {
  LetterFacts facts;
  facts.fingerprint = in.unsigned_number();
  facts.version = in.unsigned_number();
  facts.redriven_by = get_optional(in, [](Decoder& i) { return i.uuid(); });
  return facts;
}

// ---- Redrives

Key redrive_key(const Uuid& id) { return make_key(RecordKind::redrive, bytes_of(id), partition_of(id)); }

std::string redrive_id_of(const Key& key) {
  if (key.bytes.size() != redrive_key_bytes || key.kind() != RecordKind::redrive) return {};
  return to_string(uuid_of(key.id()));
}

Uuid redrive_id_for(std::string_view name_space, std::string_view idempotency_key) {
  std::string text("redrive");
  text += '\0';
  text += name_space;
  text += '\0';
  text += idempotency_key;
  const Sha256 digest = sha256(text);
  Uuid id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = digest[i];
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0f) | 0x80);  // version 8: an own scheme
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

Result<RateLimit> parse_redrive_rate(std::string_view text) {
  const auto refuse = [&](const std::string& what) {
    return fail(Errc::invalid_argument,
                "rate: " + what +
                    "; allowed: a number of replays and a period, like \"100/1m\"; the units are s, m, h "
                    "and d",
                "rate");
  };
  RateLimit rate;
  std::int64_t periods = 0;
  const char* const end = text.data() + text.size();
  const auto [after_count, bad_count] = std::from_chars(text.data(), end, rate.count);
  if (bad_count != std::errc() || after_count == end || *after_count != '/') return refuse("is not a rate");
  const char* period = after_count + 1;
  const bool has_number = period != end && *period >= '0' && *period <= '9';
  if (!has_number) periods = 1;
  if (has_number) {
    const auto [after_number, bad_number] = std::from_chars(period, end, periods);
    if (bad_number != std::errc()) return refuse("is not a rate");
    period = after_number;
  }
  const std::string_view unit(period, static_cast<std::size_t>(end - period));
  const std::int64_t unit_ms = unit == "s"   ? 1000
                               : unit == "m" ? 60000
                               : unit == "h" ? 3600000
                               : unit == "d" ? 86400000
                                             : 0;
  if (unit_ms == 0) return refuse("has no unit of time that is known");
  if (rate.count < 1 || rate.count > limits::max_rate_count) {
    return refuse("allows " + std::to_string(rate.count) + " replays, not 1 to " +
                  std::to_string(limits::max_rate_count));
  }
  if (periods < 1 || periods > limits::max_redrive_period_ms / unit_ms)
    return refuse("has a period that is not 1s to 31d");
  rate.period_ms = periods * unit_ms;
  // What is due in a quarter of a second may come at once.
  constexpr std::int64_t together_ms = 250;
  const std::int64_t burst = static_cast<std::int64_t>(rate.count) * together_ms / rate.period_ms;
  rate.burst = static_cast<std::uint32_t>(burst < 1 ? 1 : burst);
  return rate;
}

TimestampMs next_due(const RedriveRecord& redrive) {
  if (redrive.has_ended()) return redrive.finished_at + limits::redrive_retention_ms;
  return redrive.state == RedriveState::running ? redrive.next_at : 0;
}

Listing listing_of(const RedriveRecord& redrive) {
  Listing listing;
  listing.name_space = redrive.name_space;
  listing.state = static_cast<std::uint8_t>(redrive.state);
  listing.created_at = redrive.created_at;
  listing.finished_at = redrive.finished_at;
  return listing;
}

RedriveInfo info_of(const RedriveRecord& redrive) {
  RedriveInfo info;
  info.redrive_id = to_string(redrive.id);
  info.name_space = redrive.name_space;
  info.state = redrive.state;
  info.selection = redrive.selection;
  info.rate = redrive.rate_text;
  info.found = redrive.found;
  info.replayed = redrive.replayed;
  info.refused = redrive.refused;
  if (redrive.state != RedriveState::completed && redrive.found > redrive.passed)
    info.left = redrive.found - redrive.passed;
  info.refusals = redrive.refusals;
  info.created_at = redrive.created_at;
  info.changed_at = redrive.changed_at;
  info.finished_at = redrive.finished_at;
  if (redrive.state == RedriveState::running && redrive.rate) info.next_at = redrive.next_at;
  info.created_by = redrive.created_by;
  info.changed_by = redrive.changed_by;
  info.reason = redrive.reason;
  return info;
}

std::string encode_fixed(const RedriveRecord& redrive) {
  Encoder out;
  out.u8(layout_1);
  out.text(redrive.name_space);
  out.number(redrive.created_at);
  put_selection(out, redrive.selection);
  out.text(redrive.rate_text);
  put_optional(out, redrive.rate, put_rate);
  out.unsigned_number(redrive.fingerprints.size());
  for (const std::uint64_t fingerprint : redrive.fingerprints) out.unsigned_number(fingerprint);
  out.unsigned_number(redrive.found);
  out.text(redrive.created_by);
  out.text(redrive.reason);
  return out.take();
}

std::string encode(const RedriveRecord& redrive) {
  Encoder out;
  out.u8(layout_1);
  out.enumerator(redrive.state);
  out.unsigned_number(redrive.replayed);
  out.unsigned_number(redrive.refused);
  out.unsigned_number(redrive.passed);
  out.unsigned_number(redrive.refusals.size());
  for (const RefusedRedrive& one : redrive.refusals) {
    put_id(out, one.execution_id);
    out.enumerator(one.reason);
  }
  out.unsigned_number(redrive.next);
  put_optional(out, redrive.after, [](Encoder& o, const LetterPosition& position) {
    o.number(position.rank);
    o.text(position.key.bytes);
  });
  out.number(redrive.rate_state.full_at_us);
  out.number(redrive.changed_at);
  out.text(redrive.changed_by);
  out.number(redrive.finished_at);
  out.number(redrive.next_at);
  out.number(redrive.armed_due);
  return out.take();
}

namespace {

Result<void> get_redrive_fixed(const Record& record, RedriveRecord& redrive) {
  if (record.key.bytes.size() != redrive_key_bytes) {
    return fail(Errc::corruption, "the stored key of a redrive has a wrong length");
  }
  Decoder in(record.fixed);
  if (!known_layout(in)) return Unexpected(unknown_layout("a redrive"));
  redrive.id = uuid_of(record.key.id());
  redrive.name_space = in.text();
  redrive.created_at = in.number();
  redrive.selection = get_selection(in);
  redrive.rate_text = in.text();
  redrive.rate = get_optional(in, get_rate);
  // A rate without any room would never end, and one without a period has no meaning.
  if (redrive.rate && (redrive.rate->count == 0 || redrive.rate->period_ms <= 0 || !redrive.rate->burst)) in.refuse();
  redrive.fingerprints.resize(in.count());
  for (std::uint64_t& fingerprint : redrive.fingerprints) fingerprint = in.unsigned_number();
  redrive.found = in.unsigned_number();
  redrive.created_by = in.text();
  redrive.reason = in.text();
  return finished(in, "a redrive");
}

}  // namespace

Result<RedriveRecord> decode_redrive(const Record& record) {
  RedriveRecord redrive;
  FF_TRY_VOID(get_redrive_fixed(record, redrive));
  Decoder in(record.body);
  if (!known_layout(in)) return Unexpected(unknown_layout("a redrive"));
  redrive.state = in.enumerator(RedriveState::cancelled);
  redrive.replayed = in.unsigned_number();
  redrive.refused = in.unsigned_number();
  redrive.passed = in.unsigned_number();
  redrive.refusals.resize(in.count());
  for (RefusedRedrive& one : redrive.refusals) {
    one.execution_id = get_id(in);
    one.reason = in.enumerator(RedriveRefusal::unique_key);
  }
  redrive.next = in.u32();
  redrive.after = get_optional(in, [](Decoder& i) {
    LetterPosition position;
    position.rank = i.number();
    position.key.bytes = i.text();
    return position;
  });
  redrive.rate_state.full_at_us = in.number();
  redrive.changed_at = in.number();
  redrive.changed_by = in.text();
  redrive.finished_at = in.number();
  redrive.next_at = in.number();
  redrive.armed_due = in.number();
  return finished(in, std::move(redrive), "a redrive");
}

}  // namespace flowfabric
