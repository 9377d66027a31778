#include "e2e/chaos/signal_worker.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <random>

#include "e2e/chaos/caller.hpp"
#include "wire/wait_shapes.hpp"

namespace flowfabric::chaos {
namespace {

const std::string signal_worker_marker = "--chaos-signal-worker";

class SignalWorker {
 public:
  explicit SignalWorker(const SignalWorkerOptions& options)
      : name_(options.name), caller_(options.urls, options.seed), random_(options.seed + 1) {}

  [[noreturn]] void run() {
    for (;;) {
      for (const ClaimedExecution& claimed : claim()) work_on(claimed);
    }
  }

 private:
  void perhaps_die() {
    if (random_() % 2000 == 0) kill(getpid(), SIGKILL);
  }

  std::vector<ClaimedExecution> claim() {
    ClaimRequest request;
    request.worker_id = "signals";
    request.worker_instance_id = name_;
    request.max_executions = 10;
    request.lease_ttl_ms = 3000;
    request.wait_ms = 200;
    auto reply = persist([&] { return caller_.post<bodies::ClaimReply>("/v1/claims", request); });
    if (!reply) give_up("claiming", reply.error());
    return std::move(reply->executions);
  }

  void work_on(const ClaimedExecution& claimed) {
    perhaps_die();
    std::optional<WaitOutcome> outcome = claimed.last_wait;
    if (!outcome) outcome = wait_for_signals(claimed);
    perhaps_die();
    if (!outcome) return;  // it is suspended, or another worker has it
    std::string all;
    for (const Signal& signal : outcome->signals) all += (all.empty() ? "" : " ") + signal.payload;
    const bodies::CompleteBody body{{all, "text/plain"}, claimed.handle};
    const auto done = persist([&] { return caller_.post<bodies::CompletionDone>("/v1/leases/complete", body); });
    if (!done) check_is_loss("completing", done.error());
  }

  std::optional<WaitOutcome> wait_for_signals(const ClaimedExecution& claimed) {
    bodies::SuspendBody body;
    body.handle = claimed.handle;
    body.waitpoints.resize(1);
    body.waitpoints.front().name = awaited_waitpoint;
    SignalMatch match;
    match.waitpoint = awaited_waitpoint;
    body.condition.emplace().count = SignalCount{awaited_signals, CountBy::signals, {match}};
    body.reason = "for the signals of the test";
    const auto reply = persist([&] { return caller_.post<SuspendReply>("/v1/leases/suspend", body); });
    if (reply) return reply->outcome;
    check_is_loss("suspending", reply.error());
    return std::nullopt;
  }

  static void check_is_loss(const std::string& doing, const Error& error) {
    switch (error.code) {
      case Errc::lease_expired:
      case Errc::lease_revoked:
      case Errc::stale_lease:
      case Errc::already_terminal: return;
      default: give_up(doing, error);
    }
  }

  const std::string name_;
  Caller caller_;
  std::mt19937_64 random_;
};

}  // namespace

std::vector<std::string> signal_worker_words(const SignalWorkerOptions& options) {
  std::vector<std::string> words = {"/proc/self/exe", signal_worker_marker, options.name, std::to_string(options.seed)};
  words.insert(words.end(), options.urls.begin(), options.urls.end());
  return words;
}

bool is_signal_worker(int argc, char** argv) { return argc >= 5 && argv[1] == signal_worker_marker; }

int run_signal_worker(int argc, char** argv) {
  SignalWorkerOptions options{argv[2], std::strtoull(argv[3], nullptr, 10), {}};
  for (int i = 4; i < argc; ++i) options.urls.emplace_back(argv[i]);
  SignalWorker(options).run();
}

}  // namespace flowfabric::chaos
