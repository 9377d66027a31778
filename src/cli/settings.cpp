#include "cli/settings.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "base/toml.hpp"
#include "cli/secrets.hpp"
#include "cli/times.hpp"
#include "net/target.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::int64_t second_ms = 1000;
constexpr std::int64_t hour_ms = 3600 * second_ms;

const std::vector<SettingSpec> specs = {
    {"store", "URL", "", "The store: sqlite:PATH, postgres://...; empty: a SQLite file in your data directory."},
    {"listen", "ADDRESS:PORT", "127.0.0.1:7070", "Port 0 selects a free port. Non-loopback addresses require auth."},
    {"auth", "none|keys", "none", "`keys`: every request needs an API key (flowfabric api-keys create)."},
    {"tls_certificate", "FILE", "", "Certificate with its chain, PEM. Reloaded on SIGHUP."},
    {"tls_private_key", "FILE", "", "Private key, PEM. Reloaded on SIGHUP."},
    {"cors_origins", "LIST", "", "Origins of web pages that may use the API, separated by commas; * for all."},
    {"dashboard", "true|false", "true", "Serve the dashboard at /, and let browsers sign in with an API key."},
    {"io_threads", "N", "1", "Threads that read and write sockets, 1 to 64."},
    {"pool_threads", "N", "8", "Threads for requests that read the store, 1 to 256."},
    {"max_connections", "N", "10000", "Further connections are answered 503."},
    {"max_header_bytes", "N", "16384", "Of a request header, 1024 to 1048576."},
    {"max_body_bytes", "N", "8388608", "Of a request body, 1024 to 1073741824."},
    {"header_timeout", "DURATION", "10s", "Time limit from the first byte of a request to the end of its header."},
    {"body_timeout", "DURATION", "60s", "Time limit from there to the end of its body."},
    {"idle_timeout", "DURATION", "75s", "Time limit between two requests of a connection."},
    {"write_timeout", "DURATION", "30s", "Time limit for a client that receives nothing of its response."},
    {"max_event_streams", "N", "1000", "Concurrent streams of `GET /v1/events`; further ones are answered 429."},
    {"event_heartbeat", "DURATION", "15s", "Interval of heartbeats on an event stream without events, at most 60s."},
    {"event_patience", "DURATION", "10s", "An event stream whose client receives nothing for this long is ended."},
    {"drain_timeout", "DURATION", "10s", "Time limit for requests in progress after SIGTERM."},
    {"max_payload_bytes", "N", "1048576", "Of an execution's payload."},
    {"max_result_bytes", "N", "1048576", "Of an execution's result."},
    {"writers", "N", "0", "Connections that write; 0: the store's default."},
    {"max_queued_commands", "N", "65536", "At this limit, calls fail with overloaded."},
    {"read_timeout", "DURATION", "30s", "Time limit for listings and other reads of the store, at most 1h."},
    {"default_retention", "DURATION", "7d",
     "How long ended executions are kept, unless their policy or namespace sets it."},
    {"on_worker_death", "release_now|wait_for_lease", "release_now", "When the leases of a dead worker are released."},
    {"migrate", "true|false", "false",
     "Migrate the schema of a PostgreSQL database at start; SQLite files always are."},
    {"log_level", "LEVEL", "info", "debug, info, warn, error or off."},
    {"log_format", "auto|text|json", "auto", "auto: text on a terminal, JSON elsewhere."},
    {"otlp_endpoint", "URL", "", "Collector that receives spans over OTLP/HTTP: http(s)://HOST:4318; empty: none.",
     "OTEL_EXPORTER_OTLP_ENDPOINT"},
    {"otlp_headers", "LIST", "", "Headers for the collector: NAME=VALUE, separated by commas, values percent-encoded.",
     "OTEL_EXPORTER_OTLP_HEADERS"},
    {"otlp_ca_file", "FILE", "", "CA certificates for the collector, PEM; empty: those of the system.",
     "OTEL_EXPORTER_OTLP_CERTIFICATE"},
    {"trace_ratio", "RATIO", "1", "Share of the traces started by this server that is recorded, 0 to 1."},
    {"service_name", "NAME", "flowfabric", "The name of the server in traces.", "OTEL_SERVICE_NAME"},
};

std::string replaced(std::string_view text, char from, char to) {
  std::string out(text);
  std::replace(out.begin(), out.end(), from, to);
  return out;
}

Result<Settings> settings_of_file(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return fail(Errc::invalid_argument, "--config: " + text.error().message, "--config");
  auto found = settings_of_text(*text);
  if (!found) {
    const std::string& field = found.error().field;
    return fail(Errc::invalid_argument, path + ": " + found.error().message, field.empty() ? "--config" : field);
  }
  for (auto& [name, setting] : *found) setting.origin = "file " + path + ", " + setting.origin;
  return found;
}

// What may be shown of a value. The names of headers are no secret, their values may be.
std::string printable_value(std::string_view name, const std::string& value) {
  if (name == "store") return without_secrets(value);
  if (name != "otlp_headers") return value;
  std::string shown;
  std::stringstream list(value);
  for (std::string entry; std::getline(list, entry, ',');) {
    const std::size_t equals = entry.find('=');
    shown += (shown.empty() ? "" : ",") + (equals == std::string::npos ? "***" : entry.substr(0, equals) + "=***");
  }
  return shown;
}

// Reads settings; every error names the setting and its origin.
class Reader {
 public:
  explicit Reader(const Settings& settings) : settings_(settings) {}

  const std::string& text(std::string_view name) const { return settings_.find(name)->second.value; }

  Unexpected<Error> refuse(std::string_view name, const std::string& problem) const {
    const Setting& setting = settings_.find(name)->second;
    const std::string where = setting.origin == "default" ? "" : " (" + setting.origin + ")";
    return fail(Errc::invalid_argument,
                std::string(name) + where + ": is \"" + printable_value(name, setting.value) + "\"; " + problem,
                std::string(name));
  }

  template <class T>
  Result<void> number(std::string_view name, T& out, std::uint64_t min, std::uint64_t max) const {
    const std::string& value = text(name);
    std::uint64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [stopped, problem] = std::from_chars(value.data(), end, number);
    if (problem != std::errc{} || stopped != end || number < min || number > max) {
      return refuse(name, fmt::format("must be a whole number from {} to {}", min, max));
    }
    out = static_cast<T>(number);
    return {};
  }

  Result<void> duration(std::string_view name, std::chrono::milliseconds& out, std::int64_t max_ms = hour_ms) const {
    const auto parsed = parse_duration(text(name), std::string(name));
    if (!parsed || *parsed < 1 || *parsed > max_ms) {
      return refuse(name, "must be a duration like 500ms, 30s or 2h, at most " + format_duration(max_ms));
    }
    out = std::chrono::milliseconds(*parsed);
    return {};
  }

  // The index of the value among the allowed ones.
  Result<std::size_t> choice(std::string_view name, const std::vector<std::string>& allowed) const {
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      if (allowed[i] == text(name)) return i;
    }
    std::string list;
    for (const std::string& one : allowed) list += (list.empty() ? "" : ", ") + one;
    return refuse(name, "must be one of " + list);
  }

 private:
  const Settings& settings_;
};

bool is_loopback(const std::string& address) { return address == "::1" || address.starts_with("127."); }

// ADDRESS:PORT, [ADDRESS]:PORT or PORT.
Result<void> read_listen(const Reader& read, api::ApiOptions& options) {
  const std::string& listen = read.text("listen");
  const std::size_t colon = listen.rfind(':');
  std::string address = colon == std::string::npos ? "127.0.0.1" : listen.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  if (address == "localhost") address = "127.0.0.1";
  const std::string port = listen.substr(colon == std::string::npos ? 0 : colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoul(port) > 65535) return read.refuse("listen", "must be ADDRESS:PORT or PORT");
  if (!is_loopback(address) && !options.api_keys) {
    return read.refuse("listen",
                       "non-loopback addresses require authentication: set auth to keys, or listen on 127.0.0.1");
  }
  options.address = std::move(address);
  options.port = static_cast<std::uint16_t>(std::stoul(port));
  return {};
}

Result<void> read_tls(const Reader& read, net::ServerOptions& http) {
  http.certificate_file = read.text("tls_certificate");
  http.private_key_file = read.text("tls_private_key");
  if (http.certificate_file.empty() == http.private_key_file.empty()) return {};
  return read.refuse(http.certificate_file.empty() ? "tls_certificate" : "tls_private_key",
                     "TLS needs both tls_certificate and tls_private_key");
}

Result<void> read_http(const Reader& read, api::ApiOptions& options) {
  FF_TRY(auth, read.choice("auth", {"none", "keys"}));
  options.api_keys = auth == 1;
  FF_TRY_VOID(read_listen(read, options));
  FF_TRY_VOID(read_tls(read, options.http));
  FF_TRY_VOID(read.number("io_threads", options.io_threads, 1, 64));
  FF_TRY_VOID(read.number("pool_threads", options.pool_threads, 1, 256));
  FF_TRY_VOID(read.number("max_connections", options.http.max_connections, 1, 1000000));
  FF_TRY_VOID(read.number("max_header_bytes", options.http.max_header_bytes, 1024, 1048576));
  FF_TRY_VOID(read.number("max_body_bytes", options.http.max_body_bytes, 1024, 1073741824));
  FF_TRY_VOID(read.duration("header_timeout", options.http.header_timeout));
  FF_TRY_VOID(read.duration("body_timeout", options.http.body_timeout));
  FF_TRY_VOID(read.duration("idle_timeout", options.http.idle_timeout));
  FF_TRY_VOID(read.duration("write_timeout", options.http.write_timeout));
  FF_TRY_VOID(read.number("max_event_streams", options.streams.max_streams, 0, 1000000));
  FF_TRY_VOID(read.duration("event_heartbeat", options.streams.heartbeat, 60 * second_ms));
  FF_TRY_VOID(read.duration("event_patience", options.streams.patience));
  FF_TRY(dashboard, read.choice("dashboard", {"false", "true"}));
  options.dashboard.enabled = dashboard == 1;
  std::stringstream origins(read.text("cors_origins"));
  for (std::string origin; std::getline(origins, origin, ',');) {
    if (origin != "*" && !origin.starts_with("http://") && !origin.starts_with("https://")) {
      return read.refuse("cors_origins", "each must be * or begin with http:// or https://");
    }
    options.cors_origins.push_back(origin);
  }
  return {};
}

Result<void> read_engine(const Reader& read, EngineOptions& options) {
  FF_TRY_VOID(read.number("max_payload_bytes", options.max_payload_bytes, 1, 1073741824));
  FF_TRY_VOID(read.number("max_result_bytes", options.max_result_bytes, 1, 1073741824));
  FF_TRY_VOID(read.number("writers", options.writers, 0, 64));
  FF_TRY_VOID(read.number("max_queued_commands", options.max_queued_commands, 1, 10000000));
  std::chrono::milliseconds read_timeout{};
  FF_TRY_VOID(read.duration("read_timeout", read_timeout, hour_ms));
  options.read_timeout_ms = static_cast<std::uint32_t>(read_timeout.count());
  std::chrono::milliseconds retention{};
  FF_TRY_VOID(read.duration("default_retention", retention, 3650LL * 24 * hour_ms));
  options.default_retention_ms = retention.count();
  FF_TRY(death, read.choice("on_worker_death", {"release_now", "wait_for_lease"}));
  options.on_worker_death = death == 0 ? OnWorkerDeath::release_now : OnWorkerDeath::wait_for_lease;
  FF_TRY(migrate, read.choice("migrate", {"false", "true"}));
  options.migrate = migrate == 1;
  return {};
}

// NAME=VALUE,NAME=VALUE. The values may be secrets, so an error message does not repeat them.
Result<void> read_otlp_headers(const Reader& read, net::Headers& headers) {
  const auto trimmed = [](std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return std::string(text);
  };
  std::stringstream list(read.text("otlp_headers"));
  for (std::string entry; std::getline(list, entry, ',');) {
    if (trimmed(entry).empty()) continue;
    const std::size_t equals = entry.find('=');
    const std::string name = trimmed(entry.substr(0, equals));
    std::string value;
    const bool decoded = equals != std::string::npos &&
                         net::percent_decode(trimmed(std::string_view(entry).substr(equals + 1)), false, value);
    if (!decoded || !net::is_safe_field(name, value)) {
      return fail(Errc::invalid_argument,
                  "otlp_headers: must be NAME=VALUE, separated by commas, with values percent-encoded", "otlp_headers");
    }
    headers.add(name, value);
  }
  return {};
}

Result<void> read_ratio(const Reader& read, double& ratio) {
  const std::string& text = read.text("trace_ratio");
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, ratio);
  const bool good = problem == std::errc{} && stopped == end && ratio >= 0 && ratio <= 1;
  return good ? Result<void>() : read.refuse("trace_ratio", "must be a number from 0 to 1, like 0.1");
}

Result<void> read_tracing(const Reader& read, std::optional<ServeConfig::Tracing>& out) {
  ServeConfig::Tracing tracing;
  FF_TRY_VOID(read_otlp_headers(read, tracing.exporter.headers));
  FF_TRY_VOID(read_ratio(read, tracing.tracer.ratio));
  tracing.exporter.ca_file = read.text("otlp_ca_file");
  if (!tracing.exporter.ca_file.empty() && !std::ifstream(tracing.exporter.ca_file)) {
    return read.refuse("otlp_ca_file",
                       "cannot be read; give a PEM file, or leave it empty to use the CA certificates of the system");
  }
  const std::string& name = read.text("service_name");
  if (name.empty() || !is_valid_utf8(name) || has_control_characters(name)) {
    return read.refuse("service_name", "must be valid UTF-8, not empty and without control characters");
  }
  tracing.exporter.resource = {name, FLOWFABRIC_VERSION, {}};
  if (read.text("otlp_endpoint").empty()) return {};
  auto endpoint = otlp::read_endpoint(read.text("otlp_endpoint"));
  if (!endpoint) return read.refuse("otlp_endpoint", endpoint.error().message);
  tracing.exporter.endpoint = std::move(*endpoint);
  out = std::move(tracing);
  return {};
}

// Kubernetes gives every container variables that describe the services around it. Those of a service whose name begins
// with "flowfabric" look like ours.
bool is_of_kubernetes(std::string_view name) {
  const std::size_t port = name.find("_PORT");
  const bool is_port = port != std::string_view::npos && (port + 5 == name.size() || name[port + 5] == '_');
  return name.ends_with("_SERVICE_HOST") || is_port;
}

}  // namespace

std::string SettingSpec::option() const { return "--" + replaced(name, '_', '-'); }

std::string SettingSpec::environment() const {
  std::string upper = "FLOWFABRIC_";
  for (const char c : name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

const std::vector<SettingSpec>& setting_specs() { return specs; }

std::vector<OptionSpec> setting_options() {
  std::vector<OptionSpec> options = {
      {"--config", "FILE", "a TOML file with settings (FLOWFABRIC_CONFIG)"},
      {"--print-config", "", "print all settings with their origins, and exit"},
  };
  for (const SettingSpec& spec : specs) {
    std::string help(spec.about);
    if (!spec.otherwise.empty()) help += fmt::format(" ({})", spec.otherwise);
    options.push_back({spec.option(), std::string(spec.value), std::move(help)});
  }
  return options;
}

Result<void> check_variables(const std::vector<std::string>& names) {
  std::set<std::string> known = {"FLOWFABRIC_CONFIG",       "FLOWFABRIC_PROFILE", "FLOWFABRIC_API_KEY",
                                 "FLOWFABRIC_API_KEY_FILE", "FLOWFABRIC_CA_FILE", "FLOWFABRIC_LOG"};
  for (const SettingSpec& spec : specs) known.insert(spec.environment());
  for (const std::string& name : names) {
    if (!name.starts_with("FLOWFABRIC_") || known.contains(name) || is_of_kubernetes(name)) continue;
    return fail(
        Errc::invalid_argument,
        name + ": unknown environment variable; settings are FLOWFABRIC_NAME, and --print-config lists all names",
        name);
  }
  return {};
}

Result<Settings> settings_of_text(std::string_view text) {
  FF_TRY(document, read_toml(text));
  Settings found;
  for (const TomlEntry& entry : document) {
    const std::string name = name_of(entry);
    const bool known = std::any_of(specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == name; });
    if (!known) return refuse(entry, "unknown setting; --print-config lists all");
    found[name] = {to_text(entry.value), "line " + std::to_string(entry.line)};
  }
  return found;
}

Result<Settings> gather_settings(const Arguments& arguments, const Environment& environment) {
  const char* named = environment("FLOWFABRIC_CONFIG");
  const std::string path = arguments.text("--config", named == nullptr ? "" : named);
  Settings in_file;
  if (!path.empty()) {
    FF_TRY(found, settings_of_file(path));
    in_file = std::move(found);
  }
  Settings settings;
  for (const SettingSpec& spec : specs) {
    const std::string name(spec.name);
    Setting& setting = settings[name] = {std::string(spec.otherwise), "default"};
    if (const auto found = in_file.find(name); found != in_file.end()) setting = found->second;
    for (const std::string& variable : {std::string(spec.shared), spec.environment()}) {
      if (variable.empty()) continue;
      if (const char* value = environment(variable.c_str())) setting = {value, variable};
    }
    if (const auto value = arguments.maybe(spec.option())) setting = {*value, spec.option()};
  }
  return settings;
}

Result<std::filesystem::path> data_folder(const Environment& environment) {
  const auto value = [&](const char* name) {
    const char* text = environment(name);
    return std::filesystem::path(text == nullptr ? "" : text);
  };
  const std::filesystem::path data = value("XDG_DATA_HOME");
  const std::filesystem::path home = value("HOME");
  if (data.empty() && home.empty()) {
    return fail(Errc::invalid_argument, "store: is not set, and there is no default because HOME is not set either",
                "store");
  }
  const std::filesystem::path folder = (data.empty() ? home / ".local/share" : data) / "flowfabric";
  if (folder.is_absolute()) return folder;
  const std::string name = data.empty() ? "HOME" : "XDG_DATA_HOME";
  return fail(Errc::invalid_argument,
              name + ": must be an absolute path; it is \"" + (data.empty() ? home : data).string() + "\"", name);
}

std::string print_settings(const Settings& settings) {
  std::string text;
  for (const SettingSpec& spec : specs) {
    const Setting& setting = settings.find(spec.name)->second;
    text += fmt::format("# {}\n{} = {}", spec.about, spec.name, toml_string(printable_value(spec.name, setting.value)));
    text += setting.origin == "default" ? "\n" : "  # from " + setting.origin + "\n";
  }
  return text;
}

Result<ServeConfig> read_settings(const Settings& settings) {
  const Reader read(settings);
  ServeConfig config;
  config.store = read.text("store");
  FF_TRY_VOID(read_http(read, config.api));
  FF_TRY_VOID(read_engine(read, config.engine));
  FF_TRY_VOID(read.duration("drain_timeout", config.drain_timeout));
  FF_TRY_VOID(read_tracing(read, config.tracing));
  FF_TRY(level, read.choice("log_level", {"debug", "info", "warn", "error", "off"}));
  config.log_level = static_cast<LogLevel>(level);
  FF_TRY(format, read.choice("log_format", {"auto", "text", "json"}));
  config.log_format = static_cast<LogFormat>(format);
  return config;
}

}  // namespace flowfabric::cli
