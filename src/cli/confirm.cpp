#include "cli/confirm.hpp"

#include <unistd.h>

#include <fmt/core.h>

#include "base/check.hpp"

namespace flowfabric::cli {
namespace {

std::string read_answer(std::FILE* in) {
  std::string line;
  for (int c = std::fgetc(in); c != EOF && c != '\n'; c = std::fgetc(in)) line.push_back(static_cast<char>(c));
  return line;
}

}  // namespace

Result<bool> confirm(const std::string& question, bool yes, const Asked& asked) {
  if (yes) return true;
  if (!asked.terminal) {
    return fail(Errc::invalid_argument,
                "not a terminal, cannot ask \"" + question + "\"; pass --yes to confirm. Nothing was changed", "--yes");
  }
  fmt::print(asked.out, "{} [y/N] ", question);
  std::fflush(asked.out);
  const std::string answer = read_answer(asked.in);
  return answer == "y" || answer == "Y" || answer == "yes" || answer == "Yes" || answer == "YES";
}

Result<bool> confirm(const std::string& question, const Arguments& arguments) {
  std::fflush(stdout);
  FF_TRY(agreed, confirm(question, arguments.has("--yes"), Asked{stdin, stderr, isatty(STDIN_FILENO) != 0}));
  if (!agreed) fmt::print(stderr, "nothing was changed\n");
  return agreed;
}

}  // namespace flowfabric::cli
