// Keys at submission: one live job per key, one job for many changes, so many jobs a period.
//
//   submit_keys [STORE]      the store defaults to sqlite:submit_keys.db
#include <chrono>
#include <cstdio>
#include <string>

#include <flowfabric/worker.hpp>

using namespace std::chrono_literals;

namespace {

using flowfabric::Client;
using flowfabric::CreateOutcome;

int complain(const flowfabric::Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; }

// [submit_keys]
flowfabric::Result<flowfabric::Created> sync_account(Client& client, const std::string& account) {
  // While one runs, a second one for the same account would only get in its way.
  flowfabric::SubmitOptions options;
  options.unique = {account, flowfabric::OnConflict::reuse};
  return client.submit("sync", account, options);
}

flowfabric::Result<flowfabric::Created> index_document(Client& client, const std::string& document, int revision) {
  // Somebody types. Index the newest revision when there was a pause, after 60 seconds at the latest.
  flowfabric::SubmitOptions options;
  options.debounce = {document, 300, 60'000};
  return client.submit("index", revision, options);
}

flowfabric::Result<flowfabric::Created> send_reminder(Client& client, const std::string& user) {
  // One a day, however many reasons there are.
  flowfabric::SubmitOptions options;
  options.throttle = {user, 1, 24 * 3600 * 1000};
  return client.submit("remind", user, options);
}
// [submit_keys]

int run(const std::string& store) {
  auto client = Client::open(store);
  if (!client) return complain(client.error());
  flowfabric::Worker worker(*client, {.worker_id = "keys"});
  worker.on("sync", [](const std::string& account) { return account; });
  worker.on("index", [](int revision) { return revision; });
  worker.on("remind", [](const std::string& user) { return user; });

  const auto first = sync_account(*client, "ada");
  const auto second = sync_account(*client, "ada");
  if (!first || !second) return complain(first ? second.error() : first.error());
  const bool same = first->execution_id == second->execution_id && second->outcome == CreateOutcome::returned;
  std::printf("two syncs of one account: %s\n", same ? "one job" : "two jobs");

  flowfabric::ExecutionId indexing;
  for (int revision = 1; revision <= 3; ++revision) {
    const auto created = index_document(*client, "letter", revision);
    if (!created) return complain(created.error());
    indexing = created->execution_id;
  }
  if (auto started = worker.start(); !started) return complain(started.error());
  const auto indexed = client->result<int>(indexing, 60s);
  if (!indexed) return complain(indexed.error());
  std::printf("three revisions of one document: indexed revision %d\n", *indexed);

  (void)send_reminder(*client, "ada");
  const auto reminded = send_reminder(*client, "ada");
  const bool refused = !reminded && reminded.error().code == flowfabric::Errc::throttled;
  std::printf("a second reminder on the same day: %s\n", refused ? "refused" : "sent");
  return same && *indexed == 3 && refused ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:submit_keys.db"); }
