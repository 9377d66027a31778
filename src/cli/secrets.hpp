// Passwords and keys: where they are read from, and how they are kept out of what is printed.
#pragma once

#include <filesystem>
#include <string>

#include <flowfabric/result.hpp>

namespace flowfabric::cli {

// The URL of a store or server with "***" for its password, wherever it stands: before the host or in a parameter.
std::string without_secrets(const std::string& url);
// Whether the URL contains a password.
bool has_secrets(const std::string& url);

// The text of a file. A directory is refused by name.
Result<std::string> read_text_file(const std::filesystem::path& path);
// The same without blanks and line ends at the end: a file that holds one secret. An empty one is refused.
Result<std::string> read_secret_file(const std::filesystem::path& path);

}  // namespace flowfabric::cli
