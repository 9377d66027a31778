// The settings of `serve`: one table defines them, and every value has a known origin.
//
// A value comes from the command line, else the environment, else the config file, else the table. If other programs
// have an environment variable for the same setting, it is used too, after ours.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flowfabric/engine.hpp>

#include "api/api.hpp"
#include "base/log.hpp"
#include "cli/arguments.hpp"
#include "otlp/exporter.hpp"

namespace flowfabric::cli {

struct SettingSpec {
  std::string_view name;       // as in the config file: "max_connections"
  std::string_view value;      // the name of its value
  std::string_view otherwise;  // its default
  std::string_view about;
  std::string_view shared{};  // the environment variable of other programs for it: "OTEL_SERVICE_NAME"

  std::string option() const;       // --max-connections
  std::string environment() const;  // FLOWFABRIC_MAX_CONNECTIONS
};

const std::vector<SettingSpec>& setting_specs();
std::vector<OptionSpec> setting_options();

struct Setting {
  std::string value;
  std::string origin;  // "--listen", "FLOWFABRIC_LISTEN", "file ff.toml, line 3", "default"
};
using Settings = std::map<std::string, Setting, std::less<>>;
using Environment = std::function<const char*(const char*)>;

// Refuses variables of the environment that begin like ours and that nothing reads: mostly they are misspelt.
Result<void> check_variables(const std::vector<std::string>& names);

// Those in the text of a config file, with their lines as origins. Errors name the line.
Result<Settings> settings_of_text(std::string_view text);
// Reads all of them, including the file; refuses unknown settings in the file.
Result<Settings> gather_settings(const Arguments& arguments, const Environment& environment);
// As a config file, with a comment about the origin of each value.
std::string print_settings(const Settings& settings);

// Where the default store lies: a folder of its own in XDG_DATA_HOME, or in ~/.local/share when that is empty or not set.
Result<std::filesystem::path> data_folder(const Environment& environment);

// The parsed values.
struct ServeConfig {
  std::string store;  // empty: the user's own file
  EngineOptions engine;
  api::ApiOptions api;
  std::chrono::milliseconds drain_timeout{10000};
  struct Tracing {
    otlp::ExporterOptions exporter;
    observe::TracerOptions tracer;
  };
  std::optional<Tracing> tracing;
  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::automatic;
};
Result<ServeConfig> read_settings(const Settings& settings);

}  // namespace flowfabric::cli
