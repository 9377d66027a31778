#include "core/steps.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "core/waits.hpp"

namespace flowfabric {
namespace {

constexpr std::uint8_t step_layout = 1;
constexpr std::uint8_t wait_step_layout = 2;  // with the outcome of a wait behind it
constexpr std::uint8_t checkpoint_layout = 1;

Result<void> ended(const Decoder& in, const char* what) {
  if (!in.at_end()) return fail(Errc::corruption, std::string("stored bytes of ") + what + " cannot be decoded");
  return {};
}

bool before(const StepIndex::FailedStep& step, std::uint32_t position) { return step.position < position; }
bool begins_behind(std::uint32_t position, const std::pair<std::uint32_t, std::uint32_t>& range) {
  return position < range.first;
}

}  // namespace

bool StepIndex::contains(std::uint32_t position) const {
  const auto bad = std::lower_bound(failed.begin(), failed.end(), position, before);
  if (bad != failed.end() && bad->position == position) return true;
  const auto after = std::upper_bound(good.begin(), good.end(), position, begins_behind);
  return after != good.begin() && std::prev(after)->second >= position;
}

void StepIndex::add_failed(std::uint32_t position, std::uint32_t group_end) {
  FF_CHECK(!contains(position));
  const auto place = std::lower_bound(failed.begin(), failed.end(), position, before);
  failed.insert(place, {position, std::max(position, group_end)});
}

void StepIndex::add(std::uint32_t position) {
  FF_CHECK(!contains(position));
  const auto after = std::upper_bound(good.begin(), good.end(), position, begins_behind);
  const bool joins_before = after != good.begin() && std::prev(after)->second + 1 == position;
  const bool joins_after = after != good.end() && after->first == position + 1;
  if (joins_before && joins_after) {
    std::prev(after)->second = after->second;
    good.erase(after);
  } else if (joins_before) {
    std::prev(after)->second = position;
  } else if (joins_after) {
    after->first = position;
  } else {
    good.insert(after, {position, position});
  }
}

void StepIndex::forget_last_failures() {
  const std::uint32_t last_good = good.empty() ? 0 : good.back().second;
  std::erase_if(failed, [&](const FailedStep& step) { return step.group_end >= last_good; });
}

void StepIndex::forget_from(std::uint32_t position) {
  std::erase_if(failed, [&](const FailedStep& step) { return step.position >= position; });
  std::erase_if(good, [&](const auto& range) { return range.first >= position; });
  if (!good.empty() && good.back().second >= position) good.back().second = position - 1;
}

std::vector<std::uint32_t> StepIndex::positions(std::uint32_t from, std::uint32_t limit) const {
  std::vector<std::uint32_t> all;
  auto bad = std::lower_bound(failed.begin(), failed.end(), from, before);
  const auto add_bad_before = [&](std::uint32_t end) {
    for (; bad != failed.end() && bad->position < end && all.size() < limit; ++bad) all.push_back(bad->position);
  };
  for (const auto& [first, last] : good) {
    if (last < from) continue;
    add_bad_before(first);
    for (std::uint32_t position = std::max(first, from); position <= last && all.size() < limit; ++position) {
      all.push_back(position);
    }
  }
  add_bad_before(UINT32_MAX);
  return all;
}

std::string encode(const Step& step) {
  Encoder out;
  out.u8(step.wait ? wait_step_layout : step_layout);
  out.unsigned_number(step.position);
  out.text(step.name);
  out.enumerator(step.state);
  out.text(step.result_encoding);
  out.boolean(step.failure.has_value());
  if (step.failure) {
    out.text(step.failure->category);
    out.text(step.failure->message);
    out.text(step.failure->detail);
    out.boolean(step.permanent);
  }
  out.unsigned_number(step.tries);
  out.number(step.duration_ms);
  out.number(step.recorded_at);
  out.number(step.wake_at);
  out.unsigned_number(step.attempt_index);
  out.unsigned_number(step.replay_count);
  out.text(step.worker_instance_id);
  out.text(step.result);
  if (step.wait) encode_into(out, *step.wait);
  return out.take();
}

Result<Step> decode_step(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t layout = in.u8();
  if (layout != step_layout && layout != wait_step_layout) {
    return fail(Errc::corruption, "stored bytes of a step have an unknown layout");
  }
  Step step;
  step.position = in.u32();
  step.name = in.text();
  step.state = in.enumerator(StepState::wait);
  step.result_encoding = in.text();
  if (in.boolean()) {
    Failure& failure = step.failure.emplace();
    failure.category = in.text();
    failure.message = in.text();
    failure.detail = in.text();
    step.permanent = in.boolean();
  }
  step.tries = in.u32();
  step.duration_ms = in.number();
  step.recorded_at = in.number();
  step.wake_at = in.number();
  step.attempt_index = in.u32();
  step.replay_count = in.u32();
  step.worker_instance_id = in.text();
  step.result = in.text();
  if (layout == wait_step_layout) step.wait = decode_outcome(in);
  FF_TRY_VOID(ended(in, "a step"));
  return step;
}

std::string encode(const Checkpoint& checkpoint) {
  Encoder out;
  out.u8(checkpoint_layout);
  out.text(checkpoint.encoding);
  out.number(checkpoint.recorded_at);
  out.text(checkpoint.bytes);
  return out.take();
}

Result<Checkpoint> decode_checkpoint(std::string_view bytes) {
  Decoder in(bytes);
  if (in.u8() != checkpoint_layout) {
    return fail(Errc::corruption, "stored bytes of a checkpoint have an unknown layout");
  }
  Checkpoint checkpoint;
  checkpoint.encoding = in.text();
  checkpoint.recorded_at = in.number();
  checkpoint.bytes = in.text();
  FF_TRY_VOID(ended(in, "a checkpoint"));
  return checkpoint;
}

}  // namespace flowfabric
