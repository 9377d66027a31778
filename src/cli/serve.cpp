// serve: the engine behind HTTP.
#include "cli/serve.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>

#include "api/api.hpp"
#include "base/check.hpp"
#include "cli/store_access.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::chrono::milliseconds drain_patience{10000};

// Waits for SIGINT or SIGTERM. Made before any thread is, so that all of them leave the signals to it.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void wait() {
    int signal = 0;
    sigwait(&set_, &signal);
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

// A file of the user who runs it.
Result<std::string> default_store() {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  if (data == nullptr && home == nullptr) {
    return fail(Errc::invalid_argument, "--store: is missing, and without HOME there is no place for a file",
                "--store");
  }
  const std::filesystem::path folder =
      (data != nullptr ? std::filesystem::path(data) : std::filesystem::path(home) / ".local/share") / "flowfabric";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Errc::unavailable, "cannot make the folder " + folder.string() + ": " + error.message());
  return "sqlite:" + (folder / "flowfabric.db").string();
}

Result<std::string> store_to_serve(const Arguments& arguments) {
  auto url = store_url(arguments);
  if (url) return url;
  return default_store();
}

bool is_loopback(const std::string& address) { return address == "::1" || address.starts_with("127."); }

// ADDRESS:PORT, [ADDRESS]:PORT or PORT.
Result<api::ApiOptions> listen_options(const Arguments& arguments) {
  api::ApiOptions options;
  const std::string listen = arguments.text("--listen", "127.0.0.1:7070");
  const std::size_t colon = listen.rfind(':');
  std::string address = colon == std::string::npos ? "127.0.0.1" : listen.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  if (address == "localhost") address = "127.0.0.1";
  const std::string port = listen.substr(colon == std::string::npos ? 0 : colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoul(port) > 65535) {
    return fail(Errc::invalid_argument, "--listen: must be ADDRESS:PORT or PORT, not \"" + listen + "\"", "--listen");
  }
  if (!is_loopback(address)) {
    return fail(Errc::invalid_argument,
                "--listen: " + address +
                    " can be reached by others, and this server does not ask who is calling; listen on 127.0.0.1 and "
                    "put a proxy that does in front of it",
                "--listen");
  }
  options.address = std::move(address);
  options.port = static_cast<std::uint16_t>(std::stoul(port));
  return options;
}

}  // namespace

Result<int> run_serve(const Arguments& arguments) {
  FF_TRY(options, listen_options(arguments));
  FF_TRY(url, store_to_serve(arguments));
  Signals signals;
  FF_TRY(engine, Engine::open(url));
  FF_TRY(api, api::ApiServer::start(*engine, options));
  fmt::print("FlowFabric serves {} at {}\n", url.substr(0, url.find(':')), api->url());
  std::fflush(stdout);
  signals.wait();
  fmt::print("stopping: what has begun is finished\n");
  std::fflush(stdout);
  // The engine first: it answers parked claims, and what is in flight ends. Then the connections are closed.
  engine->stop();
  api->drain(drain_patience);
  return 0;
}

}  // namespace flowfabric::cli
