#include "cli/profile.hpp"

#include <cstdlib>

#include "base/check.hpp"
#include "base/toml.hpp"
#include "cli/secrets.hpp"

namespace flowfabric::cli {
namespace {

Result<void> set_once(const TomlEntry& entry, std::string& setting, std::string value) {
  if (!setting.empty())
    return refuse(entry, "conflicts with another setting of this profile, which has the same meaning");
  if (value.empty()) return refuse(entry, "is empty");
  setting = std::move(value);
  return {};
}

Result<void> take(const TomlEntry& entry, const std::filesystem::path& folder, Profile& profile) {
  const std::string& name = entry.path.back();
  FF_TRY(value, string_of(entry));
  if (name == "store" || name == "server") return set_once(entry, profile.url, std::move(value));
  if (name == "api_key") return set_once(entry, profile.api_key, std::move(value));
  if (name == "ca_file") return set_once(entry, profile.ca_file, (folder / value).string());
  if (name == "api_key_file") {
    auto key = read_secret_file(folder / value);
    if (!key) return refuse(entry, key.error().message);
    return set_once(entry, profile.api_key, std::move(*key));
  }
  return refuse(entry, "unknown setting; a profile has store or server, api_key or api_key_file, and ca_file");
}

}  // namespace

std::optional<std::filesystem::path> profiles_file() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (config != nullptr && *config != '\0') {
    folder = config;
  } else if (home != nullptr && *home != '\0') {
    folder = std::filesystem::path(home) / ".config";
  } else {
    return std::nullopt;
  }
  return folder / "flowfabric" / "config.toml";
}

Result<Profiles> parse_profiles(const std::string& text, const std::filesystem::path& folder) {
  FF_TRY(document, read_toml(text));
  Profiles profiles;
  for (const TomlEntry& entry : document) {
    if (entry.path.size() != 3 || entry.path.front() != "profiles") {
      return refuse(entry, "unknown setting; settings belong into tables like [profiles.default]");
    }
    FF_TRY_VOID(take(entry, folder, profiles[entry.path[1]]));
  }
  return profiles;
}

Result<Profiles> read_profiles(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return Profiles{};
  FF_TRY(text, read_text_file(file));
  auto profiles = parse_profiles(text, file.parent_path());
  if (!profiles) profiles.error().message = file.string() + ": " + profiles.error().message;
  return profiles;
}

}  // namespace flowfabric::cli
