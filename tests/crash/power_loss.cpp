#include "crash/power_loss.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <utility>

namespace flowfabric::crash {
namespace {

constexpr std::size_t sector_bytes = 512;

std::atomic<PowerLoss*> watching{nullptr};

struct stat status_of(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) throw std::runtime_error("fstat failed");
  return status;
}

std::string contents_of(int descriptor) {
  std::string bytes(static_cast<std::size_t>(status_of(descriptor).st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got = pread(descriptor, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

// Closing the file here takes away the locks that SQLite has on it in this process. Nobody else uses it.
std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Sectors of either, as chance says.
std::string mixed(const std::string& flushed, const std::string& written, std::mt19937& chance) {
  std::string bytes = flushed;
  if (written.size() > bytes.size()) bytes.resize(written.size());
  for (std::size_t at = 0; at < written.size(); at += sector_bytes) {
    if (chance() % 2 == 0) continue;
    const std::size_t size = std::min(sector_bytes, written.size() - at);
    bytes.replace(at, size, written, at, size);
  }
  return bytes;
}

}  // namespace

PowerLoss::PowerLoss(std::string folder) : folder_(std::filesystem::canonical(folder).string() + "/") {
  if (watching.exchange(this) != nullptr) throw std::logic_error("one PowerLoss at a time");
}

PowerLoss::~PowerLoss() { watching = nullptr; }

std::string PowerLoss::name_of(int descriptor) const {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error).string();
  return !error && path.starts_with(folder_) ? path.substr(folder_.size()) : std::string();
}

bool PowerLoss::note_flush(int descriptor) {
  if (name_of(descriptor).empty()) return false;
  std::string contents = contents_of(descriptor);
  const std::lock_guard lock(mutex_);
  flushed_[status_of(descriptor).st_ino] = std::move(contents);
  ++flushes_;
  return true;
}

int PowerLoss::flushes() const {
  const std::lock_guard lock(mutex_);
  return flushes_;
}

void PowerLoss::fail_write(std::string name, int number) {
  const std::lock_guard lock(mutex_);
  failing_name_ = std::move(name);
  writes_to_failure_ = number;
  failed_ = false;
}

bool PowerLoss::write_has_failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

bool PowerLoss::takes_failure(int descriptor) {
  const std::string name = name_of(descriptor);
  const std::lock_guard lock(mutex_);
  if (writes_to_failure_ == 0 || name.empty() || name != failing_name_) return false;
  if (--writes_to_failure_ > 0) return false;
  return failed_ = true;
}

void PowerLoss::copy_to(const std::string& folder, Surviving surviving) const {
  const std::lock_guard lock(mutex_);
  std::mt19937 chance(surviving.seed);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("-shm")) continue;
    struct stat status{};
    if (stat(entry.path().c_str(), &status) != 0) continue;
    const auto flushed = flushed_.find(status.st_ino);
    const bool is_missing = flushed == flushed_.end();
    if (is_missing && surviving.what == Surviving::What::none) continue;
    const std::string durable = is_missing ? std::string() : flushed->second;
    std::string left = durable;
    if (surviving.what == Surviving::What::all) left = contents_of(entry.path());
    if (surviving.what == Surviving::What::some) left = mixed(durable, contents_of(entry.path()), chance);
    const std::filesystem::path copy = std::filesystem::path(folder) / name;
    std::ofstream(copy, std::ios::binary) << left;
    std::filesystem::permissions(copy, std::filesystem::status(entry.path()).permissions());
  }
}

}  // namespace flowfabric::crash

// In place of those of the C library.

extern "C" int fdatasync(int descriptor) {
  flowfabric::crash::PowerLoss* power = flowfabric::crash::watching;
  if (power != nullptr && power->note_flush(descriptor)) return 0;
  return static_cast<int>(syscall(SYS_fdatasync, descriptor));
}

extern "C" ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  const auto written = syscall(SYS_pwrite64, descriptor, bytes, size, offset);
  flowfabric::crash::PowerLoss* power = flowfabric::crash::watching;
  if (power == nullptr || !power->takes_failure(descriptor)) return written;
  errno = EIO;
  return -1;
}
