#include <algorithm>
#include <chrono>
#include <thread>

#include "e2e/chaos/caller.hpp"
#include "e2e/chaos/clients.hpp"
#include "e2e/chaos/journal.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::chaos {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t max_batch = 60;

class Submitter {
 public:
  Submitter(const ClientOptions& options, std::uint64_t executions, std::uint64_t seconds)
      : caller_(options.urls, options.seed),
        journal_(options.journal),
        random_(options.seed + 1),
        executions_(executions),
        span_(std::chrono::seconds(seconds)) {}

  void run() {
    for (std::uint64_t made = 0; made < executions_;) {
      wait_for_turn_of(made);
      const std::uint64_t count = random_() % 4 == 0 ? random_() % max_batch + 1 : 1;
      std::vector<CreateRequest> batch;
      for (; batch.size() < count && made < executions_; ++made) batch.push_back(request(made));
      if (batch.size() == 1) {
        create_one(batch.front());
      } else {
        create_many(std::move(batch));
      }
    }
  }

 private:
  void wait_for_turn_of(std::uint64_t n) {
    const auto part = static_cast<double>(n) / static_cast<double>(executions_);
    std::this_thread::sleep_until(begin_ + std::chrono::duration_cast<milliseconds>(span_ * part));
  }

  // Most survive any number of failures; the fragile ones end with their first.
  CreateRequest request(std::uint64_t n) {
    CreateRequest made;
    const bool fragile = random_() % 10 == 0;
    made.kind = fragile ? "fragile" : "sturdy";
    made.idempotency_key = "key-" + std::to_string(n);
    made.tags = {{"chaos.key", made.idempotency_key}};
    made.payload = std::to_string(n);
    made.payload_encoding = "json";
    made.priority = static_cast<std::int32_t>(random_() % 3);
    if (!fragile) {
      RetryPolicy retry;
      retry.max_retries = 100000;
      retry.backoff = RetryPolicy::Backoff::fixed;
      retry.initial_delay_ms = 50;
      made.policy.retry = retry;
    }
    made.policy.max_reclaims = 100000;
    return made;
  }

  static Note note_of(const CreateRequest& request, const Created& created) {
    return {Note::What::created, to_string(created.execution_id), 0, request.idempotency_key};
  }

  void create_one(const CreateRequest& request) {
    const auto created = persist([&] { return caller_.post<Created>("/v1/executions", request); });
    if (!created) give_up("creating " + request.idempotency_key, created.error());
    journal_.write({note_of(request, *created)});
  }

  // Repeats the part of the batch that may have been refused temporarily.
  void create_many(std::vector<CreateRequest> batch) {
    while (!batch.empty()) {
      const auto reply = persist(
          [&] { return caller_.post<bodies::CreatedMany>("/v1/executions/batch", bodies::CreateManyBody{batch}); });
      if (!reply) give_up("creating a batch", reply.error());
      if (reply->results.size() != batch.size()) give_up("creating a batch", {Errc::internal, "other size", {}, {}});
      std::vector<Note> notes;
      std::vector<CreateRequest> again;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto& [created, error] = reply->results[i];
        if (created) notes.push_back(note_of(batch[i], *created));
        if (error && !is_worth_repeating(*error)) give_up("creating " + batch[i].idempotency_key, *error);
        if (error) again.push_back(batch[i]);
      }
      journal_.write(notes);
      if (!again.empty()) pause_before_repeating();
      batch = std::move(again);
    }
  }

  Caller caller_;
  Journal journal_;
  std::mt19937_64 random_;
  const std::uint64_t executions_;
  const std::chrono::duration<double> span_;
  const steady_clock::time_point begin_ = steady_clock::now();
};

}  // namespace

void run_submitter(const ClientOptions& options, std::uint64_t executions, std::uint64_t seconds) {
  Submitter(options, executions, seconds).run();
}

}  // namespace flowfabric::chaos
