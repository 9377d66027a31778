// Which steps of an execution are recorded, and how one is stored.
//
// The facts of an execution hold only the positions; each step lies in a satellite of its own, so recording the thousandth
// step writes no more than recording the first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <flowfabric/operations.hpp>

namespace flowfabric {

// The positions that count. What failed counts until the attempt fails because of it: see forget_last_failures.
struct StepIndex {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> good{};  // from, to; ascending, with gaps between them
  struct FailedStep {
    std::uint32_t position = 0;
    std::uint32_t group_end = 0;  // the last position of those that ran side by side with it; its own if none did

    friend bool operator==(const FailedStep&, const FailedStep&) = default;
  };
  std::vector<FailedStep> failed{};  // ascending by position

  bool empty() const { return good.empty() && failed.empty(); }
  bool contains(std::uint32_t position) const;
  void add(std::uint32_t position);
  void add_failed(std::uint32_t position, std::uint32_t group_end);
  // A retry runs again what has failed, unless the handler went on after the failure: then later steps rest on it.
  void forget_last_failures();
  // Forgets this position and all behind it.
  void forget_from(std::uint32_t position);
  // Ascending from `from` on, at most `limit`.
  std::vector<std::uint32_t> positions(std::uint32_t from, std::uint32_t limit) const;

  friend bool operator==(const StepIndex&, const StepIndex&) = default;
};

std::string encode(const Step& step);
Result<Step> decode_step(std::string_view bytes);
std::string encode(const Checkpoint& checkpoint);
Result<Checkpoint> decode_checkpoint(std::string_view bytes);

}  // namespace flowfabric
