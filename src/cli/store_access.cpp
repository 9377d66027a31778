#include "cli/store_access.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "open/open.hpp"

namespace flowfabric::cli {
namespace {

constexpr const char* store_variable = "FLOWFABRIC_STORE";

// Looking at a file must not make one, and what is to be changed must be there.
Result<void> refuse_missing_file(const std::string& url) {
  constexpr std::string_view scheme = "sqlite:";
  if (!url.starts_with(scheme)) return {};
  const std::string path = url.substr(scheme.size(), url.find('?') - scheme.size());
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return {};
  return fail(Errc::not_found, "there is no file " + path, "URL");
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
  const bool operand = operand_is_url && !arguments.operands.empty();
  const auto option = arguments.maybe("--store");
  if (operand && option) return fail(Errc::invalid_argument, "the store is given twice", "--store");
  if (operand) return arguments.operands.front();
  if (option) return *option;
  const char* variable = std::getenv(store_variable);
  if (variable != nullptr && *variable != '\0') return std::string(variable);
  return fail(Errc::invalid_argument,
              "which store? Give --store URL or set " + std::string(store_variable) +
                  "; a store is sqlite:PATH, postgres://USER@HOST/DATABASE or memory:",
              "--store");
}

Result<std::unique_ptr<Store>> open_for_reading(const std::string& url) {
  FF_TRY_VOID(refuse_missing_file(url));
  return open_store(url, {});
}

Result<std::unique_ptr<Store>> open_for_reading(const Arguments& arguments) {
  FF_TRY(url, store_url(arguments));
  return open_for_reading(url);
}

Result<std::unique_ptr<Engine>> open_for_acting(const Arguments& arguments) {
  FF_TRY(url, store_url(arguments));
  FF_TRY_VOID(refuse_missing_file(url));
  return Engine::open(url);
}

Operator acting_operator(const Arguments& arguments) {
  return {arguments.text("--by", user_name()), arguments.text("--reason", "")};
}

OptionSpec store_option() { return {"--store", "URL", "the store (environment variable FLOWFABRIC_STORE)"}; }
OptionSpec json_option() { return {"--json", "", "print one JSON document instead of text"}; }
OptionSpec yes_option() { return {"--yes", "", "do not ask before acting on more than one execution"}; }

std::vector<OptionSpec> operator_options() {
  return {{"--by", "NAME", "who does this, for the event log (your user name)"},
          {"--reason", "TEXT", "why, for the event log"}};
}

std::vector<OptionSpec> options_of_reading(std::vector<OptionSpec> own) {
  append(own, {store_option(), json_option()});
  return own;
}

std::vector<OptionSpec> options_of_acting(std::vector<OptionSpec> own) {
  append(own, operator_options());
  return options_of_reading(std::move(own));
}

}  // namespace flowfabric::cli
