#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
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

struct Configuration {
  std::atomic<LogLevel> threshold = level_from_environment();
  std::atomic<LogFormat> format = LogFormat::text;
};

Configuration& configuration() {
  static Configuration one;
  return one;
}

constexpr std::string_view level_names[] = {"debug", "info", "warn", "error", "off"};

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return format_utc(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

// A record is one line, even if a message contains line breaks.
void append_flat(std::string& line, std::string_view text) {
  for (const char c : text) line += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
}

void append_quoted(std::string& line, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  line += '"';
  for (const char c : is_valid_utf8(text) ? text : std::string_view("(not UTF-8)")) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (byte < 0x20) {
      line += "\\u00";
      line += digits[byte >> 4];
      line += digits[byte & 15];
    } else {
      line += c;
    }
  }
  line += '"';
}

void append_member(std::string& line, std::string_view key, std::string_view value) {
  line += line.empty() ? '{' : ',';
  append_quoted(line, key);
  line += ':';
  append_quoted(line, value);
}

}  // namespace

void configure_log(LogLevel level, LogFormat format) {
  if (format == LogFormat::automatic) format = isatty(STDERR_FILENO) == 1 ? LogFormat::text : LogFormat::json;
  configuration().threshold = level;
  configuration().format = format;
}

bool log_enabled(LogLevel level) { return level >= configuration().threshold && level != LogLevel::off; }

std::string log_line(LogFormat format, std::string_view time, LogLevel level, std::string_view message,
                     std::initializer_list<LogField> fields) {
  const std::string_view level_name = level_names[static_cast<int>(level)];
  std::string line;
  if (format == LogFormat::json) {
    append_member(line, "time", time);
    append_member(line, "level", level_name);
    append_member(line, "message", message);
    for (const auto& [key, value] : fields) append_member(line, key, value);
    return line + "}";
  }
  line += time;
  line += ' ';
  line += level_name;
  line += ' ';
  append_flat(line, message);
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    append_flat(line, value);
  }
  return line;
}

void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (!log_enabled(level)) return;
  const std::string line = log_line(configuration().format, utc_now(), level, message, fields) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace flowfabric
