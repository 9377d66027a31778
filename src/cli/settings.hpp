// The settings of `serve`: one table says what there is, and where each value came from is never a riddle.
//
// A value comes from the command line, else the environment, else the config file, else the table. Where other programs
// have a variable for the same thing, that one counts in the environment too, after ours.
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
  std::string_view value;      // what its value is called
  std::string_view otherwise;  // what it is when nobody says anything
  std::string_view about;
  std::string_view shared{};  // the variable of the environment that other programs have for it: "OTEL_SERVICE_NAME"

  std::string option() const;       // --max-connections
  std::string environment() const;  // FLOWFABRIC_MAX_CONNECTIONS
};

const std::vector<SettingSpec>& setting_specs();
std::vector<OptionSpec> setting_options();

struct Setting {
  std::string value;
  std::string origin;  // "--listen", "FLOWFABRIC_LISTEN", "the file ff.toml", "default"
};
using Settings = std::map<std::string, Setting, std::less<>>;
using Environment = std::function<const char*(const char*)>;

// Refuses variables of the environment that begin like ours and that nothing reads: mostly they are misspelt.
Result<void> check_variables(const std::vector<std::string>& names);

// Reads them all, the file among them; refuses settings in the file that do not exist.
Result<Settings> gather_settings(const Arguments& arguments, const Environment& environment);
// As a config file, with a comment that says where each value came from.
std::string print_settings(const Settings& settings);

// Where the default store lies: a folder of its own in XDG_DATA_HOME, or in ~/.local/share when that is empty or not set.
Result<std::filesystem::path> data_folder(const Environment& environment);

// What the values mean.
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
