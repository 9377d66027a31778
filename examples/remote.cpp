// A worker that knows nothing but the URL of a server: no database, no files.
//
// usage: remote http://HOST:PORT   (the API key, if the server asks for one, is taken from FLOWFABRIC_API_KEY)
//
// It serves the lane "mail" until SIGTERM or SIGINT; then it finishes what it runs and ends.
#include <cstdio>
#include <string>

#include <flowfabric/worker.hpp>

namespace mail {

struct Mail {
  std::string to{};
};
FLOWFABRIC_JSON(Mail, to);

}  // namespace mail

int main(int argc, char** argv) {
  if (argc < 2) return std::printf("usage: remote http://HOST:PORT\n"), 0;
  // [remote]
  auto client = flowfabric::Client::open(argv[1]);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;
  flowfabric::Worker worker(*client, {.worker_id = "mailer", .lanes = {"mail"}});
  worker.on("send", [](flowfabric::Task& task, mail::Mail mail) {
    task.step("send", [&] { std::printf("mail to %s\n", mail.to.c_str()); });
    std::fflush(stdout);
    return "sent to " + mail.to;
  });
  auto ended = worker.run();  // until SIGTERM or SIGINT
  if (!ended) return std::fprintf(stderr, "%s\n", ended.error().message.c_str()), 1;
  // [remote]
  return 0;
}
