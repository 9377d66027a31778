#include "core/expected.hpp"

#include "base/check.hpp"
#include "core/state.hpp"

namespace flowfabric {
namespace {

void expect_satellites(const Execution& execution, const Key& key, ExpectedEntries& expected) {
  const auto expect = [&](SatelliteKind kind, std::uint32_t n) {
    expected.satellites.push_back({key, static_cast<std::uint8_t>(kind), n});
  };
  const Facts& facts = execution.facts;
  if (!execution.payload_is_inline()) expect(SatelliteKind::payload, 0);
  // An attempt becomes a satellite when the next one starts.
  expected.ended_attempts = facts.attempt ? facts.attempt->attempt_index : facts.attempt_count;
  for (std::uint32_t n = 0; n < expected.ended_attempts; ++n) expect(SatelliteKind::attempt, n);
  if (facts.has_result && !facts.result_is_inline && facts.attempt) {
    expect(SatelliteKind::result, facts.attempt->attempt_index);
  }
  for (const std::uint32_t n : facts.steps.positions(1, UINT32_MAX)) expect(SatelliteKind::step, n);
  if (facts.has_checkpoint) expect(SatelliteKind::checkpoint, 0);
  if (!facts.waits) return;
  if (facts.waits->has_outcome) expect(SatelliteKind::wait_outcome, 0);
  for (const WaitpointFacts& waitpoint : facts.waits->open) {
    if (waitpoint.approval) expect(SatelliteKind::approval_context, waitpoint.number);
  }
}

// The entry may stand earlier than what is due (decision 0007), but neither later nor nowhere.
bool comes_too_late(Slot& slot) {
  slot.rearm_exactly = true;
  const std::optional<DueEntry> latest = wanted_due(slot);
  if (!latest) return false;
  return !slot.indexed_due || slot.indexed_due->due_at > latest->due_at;
}

}  // namespace

Result<ExpectedEntries> expected_entries(const Record& record) {
  FF_TRY(slot, decode_slot(record));
  ExpectedEntries expected;
  expected.ready = slot->indexed_ready;
  expected.due = slot->indexed_due;
  if (const Execution* execution = slot->execution()) {
    expected.listing = listing_of(*execution);
    expected.route = route_of(execution->spec);
    expect_satellites(*execution, record.key, expected);
  }
  if (const FlowRecord* flow = slot->flow()) expected.listing = listing_of(*flow);
  if (const ScheduleRecord* schedule = slot->schedule()) expected.listing = listing_of(*schedule);
  if (const RedriveRecord* redrive = slot->redrive()) expected.listing = listing_of(*redrive);
  if (const auto* letter = std::get_if<LetterRecord>(&slot->record)) expected.listing = listing_of(*letter);
  expected.armed_wrongly = comes_too_late(*slot);
  expected.slot = std::move(slot);
  return expected;
}

}  // namespace flowfabric
