#include "base/log.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/text.hpp"

namespace flowfabric {
namespace {

LogLevel level_from_environment() {
  const char* text = std::getenv("FLOWFABRIC_LOG");
  const std::string_view name = text == nullptr ? "warn" : text;
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "error") return LogLevel::error;
  if (name == "off") return LogLevel::off;
  return LogLevel::warn;
}

constexpr std::string_view level_names[] = {"debug", "info", "warn", "error", "off"};

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return format_utc(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

// A record is one line, whatever others put into their messages.
void append_flat(std::string& line, std::string_view text) {
  for (const char c : text) line += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
}

}  // namespace

bool log_enabled(LogLevel level) {
  static const LogLevel threshold = level_from_environment();
  return level >= threshold && level != LogLevel::off;
}

void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (!log_enabled(level)) return;
  std::string line = utc_now();
  line += ' ';
  line += level_names[static_cast<int>(level)];
  line += ' ';
  append_flat(line, message);
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    append_flat(line, value);
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace flowfabric
