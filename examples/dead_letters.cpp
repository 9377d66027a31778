// Dead letters: what failed is grouped by its cause, and replayed at a rate once the cause is gone.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include <flowfabric/worker.hpp>

using namespace std::chrono_literals;

namespace {

int complain(const flowfabric::Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; }

int run() {
  auto client = flowfabric::Client::open("memory:");
  if (!client) return complain(client.error());
  std::atomic<bool> mail_server_is_up = false;
  flowfabric::Worker worker(*client, {.worker_id = "mailer"});
  worker.on("mail", [&](int number) {
    if (!mail_server_is_up) throw std::runtime_error("no answer from 10.0.0.5 for mail " + std::to_string(number));
  });
  if (auto started = worker.start(); !started) return complain(started.error());
  flowfabric::ExecutionId last;
  for (int i = 0; i < 20; ++i) {
    auto made = client->submit("mail", i);
    if (!made) return complain(made.error());
    last = made->execution_id;
    if (auto ended = client->wait(last, 30s); !ended) return complain(ended.error());
  }

  // [redrive]
  auto dead = client->list_dead_letters();
  if (!dead) return complain(dead.error());
  for (const auto& group : dead->groups) {
    std::printf("%s  %d of kind %s: %s\n", group.fingerprint.c_str(), static_cast<int>(group.count), group.kind.c_str(),
                group.message.c_str());
  }
  mail_server_is_up = true;
  flowfabric::RedriveRequest request;
  request.fingerprints = {dead->groups.at(0).fingerprint};
  request.rate = "1000/1m";
  auto redrive = client->create_redrive(request, "the mail server is back");
  // [redrive]
  if (!redrive) return complain(redrive.error());
  for (int i = 0; i < 600 && redrive->state == flowfabric::RedriveState::running; ++i) {
    std::this_thread::sleep_for(100ms);
    redrive = client->get_redrive(redrive->redrive_id);
    if (!redrive) return complain(redrive.error());
  }
  std::printf("%d replayed, %d refused\n", static_cast<int>(redrive->replayed), static_cast<int>(redrive->refused));
  if (auto ended = client->wait(last, 30s); !ended) return complain(ended.error());
  worker.stop();
  if (auto ended = worker.join(); !ended) return complain(ended.error());
  return redrive->replayed == 20 ? 0 : 1;
}

}  // namespace

int main() { return run(); }
