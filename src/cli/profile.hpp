// Places that have a name: the file ~/.config/flowfabric/config.toml (or below XDG_CONFIG_HOME).
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
  std::string ca_file{};  // what the server's certificate is checked against; empty: what the system trusts
};

using Profiles = std::map<std::string, Profile>;

// Nothing when there is neither XDG_CONFIG_HOME nor HOME.
std::optional<std::filesystem::path> profiles_file();
// Names of files in the text are relative to `folder`. Key files are read.
Result<Profiles> parse_profiles(const std::string& text, const std::filesystem::path& folder);
// None when there is no such file.
Result<Profiles> read_profiles(const std::filesystem::path& file);

}  // namespace flowfabric::cli
