// Configuration files: those of a server, and those with profiles. Every refusal names a line or a setting, and accepted
// settings are equal after they were printed and read again.
#include "base/check.hpp"
#include "base/text.hpp"
#include "base/toml.hpp"
#include "cli/profile.hpp"
#include "cli/settings.hpp"

namespace flowfabric {
namespace {

void check_names(std::string_view text) {
  const auto document = read_toml(text);
  if (!document) {
    FF_CHECK(document.error().code == Errc::invalid_argument);
    return FF_CHECK(document.error().message.starts_with("line "));
  }
  std::size_t line = 1;
  for (const TomlEntry& entry : *document) {
    FF_CHECK(!entry.path.empty() && entry.line >= line);
    line = entry.line;
    const auto again = read_toml(name_of(entry) + " = " + toml_string(name_of(entry)) + "\n");
    FF_CHECK(again && again->size() == 1);
    FF_CHECK(again->front().path == entry.path);
    FF_CHECK(to_text(again->front().value) == name_of(entry));
  }
}

// What is hidden in the printed text cannot be equal after reading it again.
bool may_have_secrets(std::string_view name) { return name == "store" || name == "otlp_headers"; }

void check_settings(std::string_view text) {
  const auto found = cli::settings_of_text(text);
  if (!found) return FF_CHECK(found.error().message.starts_with("line "));
  auto settings = cli::gather_settings({}, [](const char*) { return nullptr; });
  FF_CHECK(settings);
  for (const auto& [name, setting] : *found) settings->at(name) = setting;

  const auto again = cli::settings_of_text(cli::print_settings(*settings));
  FF_CHECK(again && again->size() == settings->size());
  for (const auto& [name, setting] : *settings) {
    FF_CHECK(may_have_secrets(name) || again->at(name).value == setting.value);
  }
  const auto config = cli::read_settings(*settings);
  if (config) return;
  FF_CHECK(settings->contains(config.error().field));
  FF_CHECK(config.error().message.starts_with(config.error().field));
}

void check_profiles(std::string_view text) {
  if (text.find("_file") != std::string_view::npos) return;  // reading any file would not always end
  const auto profiles = cli::parse_profiles(std::string(text), "/nowhere");
  if (!profiles) return FF_CHECK(profiles.error().message.starts_with("line "));
  for (const auto& [name, profile] : *profiles) FF_CHECK(!(profile.url + profile.api_key + profile.ca_file).empty());
}

}  // namespace
}  // namespace flowfabric

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  flowfabric::check_names(text);
  flowfabric::check_settings(text);
  flowfabric::check_profiles(text);
  return 0;
}
