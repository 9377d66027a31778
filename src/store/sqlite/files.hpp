// The files of a database: who may read them, how a new one comes into being, and whether they are still where they were.
//
// A database is PATH, PATH-wal (commits that are not in PATH yet) and PATH-shm. PATH without PATH-wal is an older state, and
// PATH-wal beside another PATH damages it: so files that were removed, moved or replaced stop the store.
#pragma once

#include <sys/types.h>

#include <string>

#include <flowfabric/result.hpp>

namespace flowfabric::sqlite {

// Whether a database is at `path`: false when there is nothing, an error when what is there, or beside it, was one.
Result<bool> find_database(const std::string& path);

// Makes a new database with the current schema, readable by its owner only. It appears whole or not at all; when another
// process was faster, that one's stays.
Result<void> create_database(const std::string& path);

// Says in the log which of the files can be read by others than their owner. They hold payloads and signing keys.
void warn_of_loose_modes(const std::string& path);

// Which file a path led to.
class FileIdentity {
 public:
  static Result<FileIdentity> of(std::string path);
  // `unavailable` when the path leads to another file now, or to none.
  Result<void> check() const;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace flowfabric::sqlite
