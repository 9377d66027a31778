// Profiles: the file ~/.config/flowfabric/config.toml (or in XDG_CONFIG_HOME).
//
//   [profiles.default]
//   store = "sqlite:/var/lib/flowfabric/jobs.db"
//
//   [profiles.production]
//   server = "https://flow.example.org"
//   api_key_file = "production.key"          # or api_key = "..."
//   ca_file = "ca.pem"
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <flowfabric/result.hpp>

namespace flowfabric::cli {

struct Profile {
  std::string url{};      // of a store or a server
  std::string api_key{};  // for the server
  std::string ca_file{};  // CA certificates to verify the server with; empty: those of the system
};

using Profiles = std::map<std::string, Profile>;

// Nothing if neither XDG_CONFIG_HOME nor HOME is set.
std::optional<std::filesystem::path> profiles_file();
// File names in the text are relative to `folder`. Key files are read.
Result<Profiles> parse_profiles(const std::string& text, const std::filesystem::path& folder);
// Empty if there is no such file.
Result<Profiles> read_profiles(const std::filesystem::path& file);

}  // namespace flowfabric::cli
