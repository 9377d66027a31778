#include "cli/store_access.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/check.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/profile.hpp"
#include "cli/secrets.hpp"
#include "open/open.hpp"

namespace flowfabric::cli {
namespace {

constexpr const char* store_variable = "FLOWFABRIC_STORE";

// Opening a store must not create an empty file because of a misspelt path.
Result<void> refuse_missing_file(const std::string& url) {
  constexpr std::string_view scheme = "sqlite:";
  if (!url.starts_with(scheme)) return {};
  const std::string path = url.substr(scheme.size(), url.find('?') - scheme.size());
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return {};
  return fail(Errc::not_found, "no such file: " + path, "URL");
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::string> setting(const Arguments& arguments, const char* option, const char* variable_name) {
  const auto given = arguments.maybe(option);
  return given ? given : variable(variable_name);
}

Result<std::optional<std::string>> given_url(const Arguments& arguments, bool operand_is_url) {
  const bool operand = operand_is_url && !arguments.operands.empty();
  if (operand && arguments.has("--store")) return fail(Errc::invalid_argument, "the store is given twice", "--store");
  if (operand) return arguments.operands.front();
  return setting(arguments, "--store", store_variable);
}

std::string names_of(const Profiles& profiles) {
  std::vector<std::string> names;
  for (const auto& [name, profile] : profiles) names.push_back(name);
  return names.empty() ? "the file has no profiles" : "the profiles are " + join(names, ", ");
}

// The profile that is named; else the profile `default`, if it is needed and exists.
Result<Profile> chosen_profile(const Arguments& arguments, bool matters) {
  const auto named = setting(arguments, "--profile", "FLOWFABRIC_PROFILE");
  if (!named && !matters) return Profile{};
  const auto file = profiles_file();
  Profiles profiles;
  if (file) {
    FF_TRY(read, read_profiles(*file));
    profiles = std::move(read);
  }
  const auto found = profiles.find(named.value_or("default"));
  if (found != profiles.end()) return found->second;
  if (!named) return Profile{};
  return fail(Errc::invalid_argument,
              "no profile \"" + *named + "\" in " +
                  (file ? file->string() + "; " + names_of(profiles) : std::string("any file: HOME is not set")),
              "--profile");
}

// Refuses options that would have no effect.
Result<void> refuse_what_does_not_fit(const Arguments& arguments, const Place& place) {
  const auto refuse = [](const std::string& option, const std::string& why) {
    return fail(Errc::invalid_argument, option + ": " + why, option);
  };
  if (place.is_server() && arguments.has("--by")) {
    return refuse("--by", "applies to stores only; a server writes the name of your API key into the event log");
  }
  for (const char* option : {"--api-key", "--api-key-file", "--ca-file"}) {
    if (!place.is_server() && arguments.has(option))
      return refuse(option, "applies to servers only, and the target is a store");
  }
  return {};
}

// A key on the command line is visible to every user of the machine, one in a file or in the environment is not.
Result<std::optional<std::string>> given_api_key(const Arguments& arguments) {
  const auto from_file = [](const std::string& option, const std::string& path) -> Result<std::optional<std::string>> {
    auto key = read_secret_file(path);
    if (!key) return fail(Errc::invalid_argument, option + ": " + key.error().message, option);
    return std::move(*key);
  };
  const auto key = arguments.maybe("--api-key");
  const auto file = arguments.maybe("--api-key-file");
  if (key && file) return fail(Errc::invalid_argument, "pass --api-key or --api-key-file, not both", "--api-key-file");
  if (key) return key;
  if (file) return from_file("--api-key-file", *file);
  if (const auto in_environment = variable("FLOWFABRIC_API_KEY")) return in_environment;
  if (const auto named = variable("FLOWFABRIC_API_KEY_FILE")) return from_file("FLOWFABRIC_API_KEY_FILE", *named);
  return std::optional<std::string>{};
}

std::string user_name() {
  const passwd* user = getpwuid(geteuid());
  return user == nullptr ? Operator{}.name : user->pw_name;
}

void append(std::vector<OptionSpec>& to, std::vector<OptionSpec> more) {
  for (OptionSpec& option : more) to.push_back(std::move(option));
}

}  // namespace

Result<std::string> store_url(const Arguments& arguments, bool operand_is_url) {
  FF_TRY(url, given_url(arguments, operand_is_url));
  if (url) return std::move(*url);
  return fail(Errc::invalid_argument,
              "no store given; pass --store URL or set " + std::string(store_variable) +
                  "; a store is sqlite:PATH, postgres://USER@HOST/DATABASE or memory:",
              "--store");
}

Result<Place> chosen_place(const Arguments& arguments, bool operand_is_url) {
  FF_TRY(url, given_url(arguments, operand_is_url));
  Place place;
  if (url) place.url = std::move(*url);
  FF_TRY(profile, chosen_profile(arguments, !url || place.is_server()));
  if (place.url.empty() && profile.url.empty()) {
    return fail(Errc::invalid_argument,
                "no store or server given; pass --store URL, set " + std::string(store_variable) +
                    " or define a profile; a URL is sqlite:PATH, postgres://USER@HOST/DATABASE, http://HOST:PORT, "
                    "https://HOST or memory:",
                "--store");
  }
  if (place.url.empty()) place.url = profile.url;
  // The key of a profile is sent only to the server of that profile.
  if (place.url != profile.url) profile = {};
  FF_TRY(api_key, given_api_key(arguments));
  place.api_key = api_key.value_or(profile.api_key);
  place.ca_file = setting(arguments, "--ca-file", "FLOWFABRIC_CA_FILE").value_or(profile.ca_file);
  FF_TRY_VOID(refuse_what_does_not_fit(arguments, place));
  return place;
}

Result<std::unique_ptr<Store>> open_for_reading(const std::string& url) {
  FF_TRY_VOID(refuse_missing_file(url));
  StoreOptions options;
  options.access = StoreAccess::read;
  return open_store(url, std::move(options));
}

Result<std::unique_ptr<Store>> open_for_repair(const std::string& url) {
  FF_TRY_VOID(refuse_missing_file(url));
  return open_store(url, {});
}

Result<std::unique_ptr<Engine>> open_for_acting(const std::string& url) {
  FF_TRY_VOID(refuse_missing_file(url));
  return Engine::open(url);
}

Operator acting_operator(const Arguments& arguments) {
  return {arguments.text("--by", user_name()), arguments.text("--reason", "")};
}

OptionSpec store_option() { return {"--store", "URL", "the store (FLOWFABRIC_STORE)"}; }

std::vector<OptionSpec> place_options() {
  return {{"--store", "URL", "the store, or a server's http(s)://HOST:PORT (FLOWFABRIC_STORE)"},
          {"--profile", "NAME", "a profile from your config.toml (FLOWFABRIC_PROFILE, else the profile `default`)"},
          {"--api-key", "KEY", "API key for a server (FLOWFABRIC_API_KEY)"},
          {"--api-key-file", "FILE", "file that contains the API key (FLOWFABRIC_API_KEY_FILE)"},
          {"--ca-file", "FILE", "CA certificates to verify a server with, PEM (FLOWFABRIC_CA_FILE)"}};
}

OptionSpec json_option() { return {"--json", "", "print one JSON document instead of text"}; }
OptionSpec yes_option() { return {"--yes", "", "do not ask for confirmation"}; }

std::vector<OptionSpec> operator_options() {
  return {{"--by", "NAME", "actor for the event log (your user name)"},
          {"--reason", "TEXT", "reason for the event log"}};
}

std::vector<OptionSpec> options_of_reading(std::vector<OptionSpec> own) {
  append(own, place_options());
  append(own, {json_option()});
  return own;
}

std::vector<OptionSpec> options_of_acting(std::vector<OptionSpec> own) {
  append(own, operator_options());
  return options_of_reading(std::move(own));
}

}  // namespace flowfabric::cli
