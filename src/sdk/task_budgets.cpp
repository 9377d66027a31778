// What a task spends.
#include <charconv>

#include <flowfabric/task.hpp>

#include "base/entropy.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "sdk/running_task.hpp"
#include "sdk/steps.hpp"

namespace flowfabric {
namespace {

constexpr std::chrono::milliseconds first_spend_pause{50};
constexpr std::chrono::milliseconds longest_spend_pause{2'000};

std::string detail_of(const Error& error, const std::string& name) {
  for (const auto& [key, value] : error.details) {
    if (key == name) return value;
  }
  return {};
}

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

BudgetExceeded exceeded(const Error& error) {
  return BudgetExceeded(error.message, detail_of(error, "budget"), detail_of(error, "dimension"),
                        number_of(detail_of(error, "spent")), number_of(detail_of(error, "limit")));
}

// Names of steps may be long: a key that would be is replaced by its digest.
std::string fitting(std::string key) {
  if (key.size() <= limits::max_spend_key_bytes) return key;
  const Sha256 digest = sha256(key);
  return "sha256 " + to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace

SpendReply Task::spend(Amounts amounts, SpendOptions options) {
  check_stopped();
  SpendRequest request{std::move(amounts), std::move(options.key), options.force};
  if (request.key.empty()) {
    const std::string step = steps_->next_report_key();
    // A call that is repeated because its answer was lost counts once.
    request.key =
        step.empty() ? "call " + to_string(random_uuid(system_entropy())) : fitting(to_string(id()) + " " + step);
  }
  for (auto wait = first_spend_pause;; wait = std::min(wait * 2, longest_spend_pause)) {
    auto reply = running_.gateway().spend(running_.handle(), request);
    if (reply) return std::move(*reply);
    const Error& error = reply.error();
    if (error.code == Errc::budget_exceeded) throw exceeded(error);
    if (error.code == Errc::invalid_argument) throw std::invalid_argument(error.message);
    if (!sdk::is_passing(error)) running_.lose("the lease is lost: " + error.message);
    check_stopped();
    running_.gateway().pause(wait, stop_token());
    check_stopped();
  }
}

}  // namespace flowfabric
