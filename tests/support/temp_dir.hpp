// A directory that exists as long as its object.
//
// Invariant: path() is a fresh directory that only its owner can enter; the destructor removes it
// with everything in it. A moved-from TempDir owns nothing. Not shared between threads.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace flowfabric::test {

class TempDir {
 public:
  explicit TempDir(std::string_view prefix = "flowfabric") {
    std::string name = (std::filesystem::temp_directory_path() / prefix).string() + ".XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "cannot create directory " + name);
    }
    path_ = std::move(name);
  }

  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  ~TempDir() {
    if (path_.empty()) return;
    std::error_code ignored;  // A leftover in the temporary directory must not fail a test.
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  // The text form of a file in the directory, for example for a store URL.
  std::string file(std::string_view name) const { return (path_ / name).string(); }

  // Gives up ownership: the directory is kept.
  void keep() { path_.clear(); }

 private:
  std::filesystem::path path_;
};

}  // namespace flowfabric::test
