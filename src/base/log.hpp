// Structured log lines on stderr: `2026-01-02T03:04:05.678Z level message key=value`. Thread-safe; one write a line.
// The level comes from FLOWFABRIC_LOG (debug, info, warn, error, off; default warn).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace flowfabric {

enum class LogLevel { debug, info, warn, error, off };

using LogField = std::pair<std::string_view, std::string>;

bool log_enabled(LogLevel level);
void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

}  // namespace flowfabric
