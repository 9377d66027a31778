// serve: the engine behind HTTP.
#include "cli/serve.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>

#include <fmt/core.h>

#include "api/api.hpp"
#include "base/check.hpp"
#include "base/entropy.hpp"
#include "base/log.hpp"
#include "cli/secrets.hpp"
#include "cli/settings.hpp"
#include "open/open.hpp"

namespace flowfabric::cli {
namespace {

// Waits for signals. Created before any thread, so that all threads block these signals.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int wait() {
    int signal = 0;
    sigwait(&set_, &signal);
    return signal;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

std::vector<std::string> variable_names() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

// The default store: a file in the data directory of the user.
Result<std::string> own_store() {
  FF_TRY(folder, data_folder([](const char* name) { return std::getenv(name); }));
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(folder, error);
  if (!error && is_new) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error) return fail(Errc::unavailable, "cannot create the directory " + folder.string() + ": " + error.message());
  return "sqlite:" + (folder / "flowfabric.db").string();
}

// Every connection is an open file, and the default limit of most systems is low.
void allow_connections(std::size_t connections) {
  constexpr rlim_t others = 200;  // the store, its connections, the log
  const rlim_t needed = connections + others;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur == needed) return;
  log(LogLevel::warn, "max_connections needs more open files than the system allows; raise the hard limit (ulimit -Hn)",
      {{"needed", std::to_string(needed)}, {"allowed", std::to_string(limit.rlim_max)}});
}

void reload(api::ApiServer& server) {
  if (const auto reloaded = server.reload_tls(); reloaded) {
    log(LogLevel::info, "the certificate was reloaded");
  } else {
    log(LogLevel::error, "the certificate could not be reloaded; the old one stays in use",
        {{"error", reloaded.error().message}});
  }
}

// A server that requires API keys and has none refuses every request. That may be intended, so it is only a warning.
void warn_without_keys(Engine& engine) {
  const auto keys = engine.list_api_keys();
  if (!keys || !keys->empty()) return;
  log(LogLevel::warn, "there is no API key yet; create one: flowfabric api-keys create --role admin NAME --store URL");
}

// The error that ended the store, if there was one. The server exits then, so that its supervisor starts it again.
class StoreFailure {
 public:
  // A damaged database stays open for reading; nothing is written to it, and /readyz reports it.
  void note(const Error& error) {
    if (error.code == Errc::corruption) return;
    {
      const std::lock_guard lock(mutex_);
      error_ = error;
    }
    kill(getpid(), SIGTERM);  // run_serve waits for signals
  }
  std::optional<Error> error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

// The queue of spans and the exporter that sends them; both null when tracing is off.
struct Tracing {
  std::shared_ptr<observe::Tracer> tracer;
  std::unique_ptr<otlp::Exporter> exporter;

  // Called after everything that records spans has stopped.
  void finish() {
    constexpr std::chrono::seconds patience{5};
    if (exporter) exporter->finish(patience);
  }
};

Result<Tracing> start_tracing(std::optional<ServeConfig::Tracing> config) {
  if (!config) return Tracing{};
  config->exporter.resource.service_instance_id = to_string(random_uuid(system_entropy()));
  Tracing tracing{std::make_shared<observe::Tracer>(config->tracer), nullptr};
  FF_TRY(exporter, otlp::Exporter::start(std::move(config->exporter), tracing.tracer));
  tracing.exporter = std::move(exporter);
  return tracing;
}

}  // namespace

Result<int> run_serve(const Arguments& arguments) {
  FF_TRY_VOID(check_variables(variable_names()));
  FF_TRY(settings, gather_settings(arguments, [](const char* name) { return std::getenv(name); }));
  FF_TRY(config, read_settings(settings));
  if (arguments.has("--print-config")) {
    fmt::print("{}", print_settings(settings));
    return 0;
  }
  if (config.store.empty()) {
    FF_TRY(own, own_store());
    config.store = std::move(own);
  }
  configure_log(config.log_level, config.log_format);
  if (settings.find("store")->second.origin == "--store" && has_secrets(config.store)) {
    log(LogLevel::warn,
        "the password in --store is visible in the process list; use a password file (PGPASSFILE), FLOWFABRIC_STORE or "
        "the config file");
  }
  allow_connections(config.api.http.max_connections);
  Signals signals;
  FF_TRY(tracing, start_tracing(std::move(config.tracing)));
  config.api.tracer = tracing.tracer;
  StoreFailure failure;
  config.engine.on_failure = [&failure](const Error& error) { failure.note(error); };
  FF_TRY(engine, open_engine(config.store, config.engine, tracing.tracer));
  if (config.api.api_keys) warn_without_keys(*engine);
  config.api.dashboard.store_kind = config.store.substr(0, config.store.find(':'));
  FF_TRY(server, api::ApiServer::start(*engine, config.api));
  fmt::print("FlowFabric serves {} at {}\n", config.api.dashboard.store_kind, server->url());
  if (const auto page = server->dashboard_url()) fmt::print("The dashboard is at {}\n", *page);
  std::fflush(stdout);
  for (int signal = signals.wait(); signal == SIGHUP; signal = signals.wait()) reload(*server);
  fmt::print("stopping: finishing requests in progress\n");
  std::fflush(stdout);
  server->begin_drain();
  // The engine first: it answers parked claims, and requests in progress end. Then the connections are closed.
  engine->stop();
  server->drain(config.drain_timeout);
  tracing.finish();
  if (auto error = failure.error()) return Unexpected(std::move(*error));
  return 0;
}

}  // namespace flowfabric::cli
