#include "store/sqlite/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/schema.hpp"

namespace flowfabric::sqlite {
namespace {

constexpr mode_t owner_only = S_IRUSR | S_IWUSR;

std::string text_of(int error) { return std::generic_category().message(error); }

bool exists(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

// The mode is set apart from the creation, because the umask takes bits away only there.
Result<void> create_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, owner_only);
  const int failed = descriptor < 0 || ::fchmod(descriptor, owner_only) != 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (failed != 0) return fail(Errc::unavailable, "cannot create " + path + ": " + text_of(failed));
  return {};
}

void remove_files(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
}

// A file system without hard links gets the file by its name; another process that creates one in the same moment loses.
int publish(const std::string& made, const std::string& path) {
  if (::link(made.c_str(), path.c_str()) == 0) return 0;
  if (errno == EEXIST) return 0;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK) return errno;
  return ::rename(made.c_str(), path.c_str()) == 0 ? 0 : errno;
}

// The name of a new file survives a power cut only once its folder is flushed.
void flush_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// SQLite leaves one file when the last connection is closed.
Result<void> fill(const std::string& path) {
  FF_TRY(database, Database::open(path, OpenMode::existing));
  if (auto version = prepare_schema(database, path); !version) return Unexpected(std::move(version).error());
  return {};
}

}  // namespace

Result<bool> find_database(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode) || status.st_size > 0) return true;
    return fail(Errc::unavailable, path +
                                       " is empty: a database was there, or a copy of one has failed. Put the database "
                                       "back, or remove the file to begin with a new one");
  }
  if (errno != ENOENT) return fail(Errc::unavailable, "cannot look at " + path + ": " + text_of(errno));
  for (const char* suffix : {"-wal", "-journal"}) {
    const std::string leftover = path + suffix;
    if (!exists(leftover)) continue;
    return fail(Errc::unavailable,
                path + " is missing, but " + leftover +
                    " is there and may hold commits of a database that was moved or removed. Put the "
                    "database back, or remove " +
                    leftover + " to begin with a new one");
  }
  return false;
}

Result<void> create_database(const std::string& path) {
  std::random_device random;
  const std::string made = path + ".new-" + std::to_string(random()) + std::to_string(random());
  FF_TRY_VOID(create_file(made));
  if (auto filled = fill(made); !filled) {
    remove_files(made);
    return filled;
  }
  const int failed = publish(made, path);
  remove_files(made);
  if (failed != 0) return fail(Errc::unavailable, "cannot create " + path + ": " + text_of(failed));
  flush_folder(path);
  return {};
}

void warn_of_loose_modes(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat status{};
    const std::string file = path + suffix;
    if (::stat(file.c_str(), &status) != 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) == 0) continue;
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(status.st_mode & 07777U));
    log(LogLevel::warn, "other users can read this database file, which holds payloads and signing keys; use mode 0600",
        {{"file", file}, {"mode", mode}});
  }
}

Result<FileIdentity> FileIdentity::of(std::string path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return fail(Errc::unavailable, "cannot look at " + path + ": " + text_of(errno));
  }
  FileIdentity identity;
  identity.path_ = std::move(path);
  identity.device_ = status.st_dev;
  identity.inode_ = status.st_ino;
  return identity;
}

Result<void> FileIdentity::check() const {
  struct stat status{};
  if (::stat(path_.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return {};  // the path cannot be looked at, which says nothing of the file
    return fail(Errc::unavailable, path_ +
                                       " was removed or moved while it was in use; nothing more is written. Put it "
                                       "back together with its -wal file and start again");
  }
  if (status.st_dev == device_ && status.st_ino == inode_) return {};
  return fail(Errc::unavailable, path_ + " was replaced by another file while it was in use; nothing more is written");
}

}  // namespace flowfabric::sqlite
