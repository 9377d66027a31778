// Structured log lines on stderr, for people or for programs:
//
//   2026-01-02T03:04:05.678Z warn message key=value
//   {"time":"2026-01-02T03:04:05.678Z","level":"warn","message":"message","key":"value"}
//
// Thread-safe; one write per line. Until it is configured, the level comes from FLOWFABRIC_LOG (debug, info, warn,
// error, off; default warn) and lines are text.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace flowfabric {

enum class LogLevel { debug, info, warn, error, off };
enum class LogFormat { automatic, text, json };  // automatic: text on a terminal, JSON elsewhere

using LogField = std::pair<std::string_view, std::string>;

void configure_log(LogLevel level, LogFormat format);
bool log_enabled(LogLevel level);
void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

// One line without the line end. Pure, for tests.
std::string log_line(LogFormat format, std::string_view time, LogLevel level, std::string_view message,
                     std::initializer_list<LogField> fields);

}  // namespace flowfabric
