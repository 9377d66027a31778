#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <random>

#include "e2e/chaos/caller.hpp"
#include "e2e/chaos/clients.hpp"
#include "e2e/chaos/journal.hpp"
#include "wire/bodies.hpp"

namespace flowfabric::chaos {
namespace {

constexpr std::uint32_t max_claim = 24;
constexpr std::uint32_t claim_wait_ms = 400;
// Some leases are longer than the restart of a server. Others expire while their worker still uses them, and several
// workers end the same execution.
constexpr std::uint32_t min_lease_ttl_ms = 300;
constexpr std::uint32_t max_lease_ttl_ms = 4000;

// The allowed responses about a lease that took too long. Any other final response is a fault.
bool is_loss_of_lease(Errc code) {
  constexpr std::array losses = {Errc::lease_expired, Errc::stale_lease, Errc::no_active_lease, Errc::already_terminal,
                                 Errc::not_active};
  for (const Errc loss : losses) {
    if (loss == code) return true;
  }
  return false;
}

TimestampMs now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// The end of one attempt as it is sent, repeatedly if needed.
struct Ending {
  std::string execution_id{};
  std::uint32_t attempt_index = 0;
  std::string text{};  // unique
  bodies::Completion completion{};
};

class Worker {
 public:
  explicit Worker(const ClientOptions& options)
      : name_(options.name),
        caller_(options.urls, options.seed),
        journal_(options.journal),
        random_(options.seed + 1) {}

  [[noreturn]] void run() {
    for (;;) work_on(claim());
  }

 private:
  bool chance(std::uint64_t in) { return random_() % in == 0; }

  void perhaps_die() {
    if (chance(400)) kill(getpid(), SIGKILL);
  }

  std::vector<ClaimedExecution> claim() {
    ClaimRequest request;
    request.worker_id = "chaos";
    request.worker_instance_id = name_;
    request.max_executions = static_cast<std::uint32_t>(random_() % max_claim + 1);
    request.lease_ttl_ms = std::uniform_int_distribution(min_lease_ttl_ms, max_lease_ttl_ms)(random_);
    request.wait_ms = claim_wait_ms;
    auto reply = persist([&] { return caller_.post<bodies::ClaimReply>("/v1/claims", request); });
    if (!reply) give_up("claiming", reply.error());
    std::vector<Note> notes;
    for (const ClaimedExecution& claimed : reply->executions) {
      notes.push_back({Note::What::claimed, to_string(claimed.execution_id), claimed.lease.lease_epoch, name_});
    }
    journal_.write(notes);
    return std::move(reply->executions);
  }

  void work_on(const std::vector<ClaimedExecution>& executions) {
    perhaps_die();
    if (chance(6)) renew(executions);
    std::vector<Ending> endings;
    for (const ClaimedExecution& execution : executions) {
      const std::uint64_t dice = random_() % 100;
      if (dice < 2) continue;  // abandoned; the lease expires
      if (dice < 6) {
        delay(execution);
      } else {
        endings.push_back(ending_of(execution, dice < 20));
      }
    }
    announce(endings);
    while (!endings.empty()) endings = chance(3) ? end_one_by_one(endings) : end_together(endings);
    perhaps_die();
  }

  Ending ending_of(const ClaimedExecution& execution, bool fails) {
    Ending ending{
        to_string(execution.execution_id), execution.attempt.attempt_index, name_ + "-" + std::to_string(++sent_), {}};
    ending.completion.handle = execution.handle;
    if (fails) {
      ending.completion.fail.emplace();
      ending.completion.fail->message = ending.text;
    } else {
      ending.completion.complete = CompleteRequest{"\"" + ending.text + "\"", "json"};
    }
    return ending;
  }

  void announce(const std::vector<Ending>& endings) {
    std::vector<Note> notes;
    for (const Ending& one : endings) {
      notes.push_back({Note::What::sending, one.execution_id, one.attempt_index, one.text});
    }
    journal_.write(notes);
  }

  void renew(const std::vector<ClaimedExecution>& executions) {
    bodies::HandlesBody body;
    for (const ClaimedExecution& execution : executions) body.handles.push_back(execution.handle);
    const auto reply = persist([&] { return caller_.post<bodies::Verdicts>("/v1/leases/renew", body); });
    if (!reply) give_up("renewing", reply.error());
    for (const auto& one : reply->results) {
      if (one.error && !is_worth_repeating(*one.error)) check_is_loss("renewing", *one.error);
    }
  }

  void delay(const ClaimedExecution& execution) {
    const bodies::DelayBody body{execution.handle, now_ms() + 20 + static_cast<TimestampMs>(random_() % 500)};
    const auto reply = persist([&] { return caller_.post<DelayReply>("/v1/leases/delay", body); });
    if (!reply) return check_is_loss("delaying", reply.error());
    journal_.write({{Note::What::delayed, to_string(execution.execution_id), execution.attempt.attempt_index, name_}});
  }

  // Both return what must be sent again, unchanged.

  std::vector<Ending> end_together(const std::vector<Ending>& endings) {
    bodies::CompletionsBody body;
    for (const Ending& one : endings) body.completions.push_back(one.completion);
    const auto reply = persist([&] { return caller_.post<bodies::CompletionsReply>("/v1/completions", body); });
    if (!reply) give_up("completing", reply.error());
    if (reply->results.size() != endings.size()) give_up("completing", {Errc::internal, "other size", {}, {}});
    perhaps_die();
    std::vector<Ending> again;
    std::vector<Note> notes;
    for (std::size_t i = 0; i < endings.size(); ++i) {
      const auto& [done, error] = reply->results[i];
      if (done) notes.push_back(note_of(endings[i], done->fail));
      if (error && is_worth_repeating(*error)) again.push_back(endings[i]);
      if (error && !is_worth_repeating(*error)) check_is_loss("completing", *error);
    }
    journal_.write(notes);
    if (!again.empty()) pause_before_repeating();
    return again;
  }

  std::vector<Ending> end_one_by_one(const std::vector<Ending>& endings) {
    for (const Ending& one : endings) {
      const auto done = persist([&] { return end(one.completion); });
      if (done) {
        journal_.write({note_of(one, *done)});
      } else {
        check_is_loss("completing", done.error());
      }
    }
    return {};
  }

  Result<std::optional<FailReply>> end(const bodies::Completion& completion) {
    if (completion.complete) {
      FF_TRY_VOID(caller_.post<bodies::CompletionDone>("/v1/leases/complete",
                                                       bodies::CompleteBody{*completion.complete, completion.handle}));
      return std::nullopt;
    }
    FF_TRY(reply, caller_.post<FailReply>("/v1/leases/fail", bodies::FailBody{*completion.fail, completion.handle}));
    return reply;
  }

  static Note note_of(const Ending& ending, const std::optional<FailReply>& failure) {
    auto what = Note::What::completed;
    if (failure) {
      what = failure->decision == FailReply::Decision::failed ? Note::What::failed : Note::What::retried;
    }
    return {what, ending.execution_id, ending.attempt_index, ending.text};
  }

  static void check_is_loss(const std::string& doing, const Error& error) {
    if (!is_loss_of_lease(error.code)) give_up(doing, error);
  }

  const std::string name_;
  Caller caller_;
  Journal journal_;
  std::mt19937_64 random_;
  std::uint64_t sent_ = 0;
};

}  // namespace

void run_worker(const ClientOptions& options) { Worker(options).run(); }

}  // namespace flowfabric::chaos
