// Copies the write-ahead log into the database whenever it has grown, as SQLite does by itself; and says so when that does
// not succeed, which SQLite does not: then the log grows until the disk is full.
//
// Belongs to the writer, except for the figures, which anybody may ask for.
#pragma once

#include <atomic>
#include <cstdint>

#include "store/sqlite/database.hpp"

namespace flowfabric::sqlite {

struct CheckpointLimits {
  int checkpoint_frames = 8000;  // about 32 MiB of log between two checkpoints
  int warning_frames = 32000;    // a log that has grown to this although a checkpoint was tried with every commit since
};

class Checkpointer {
 public:
  // Both must outlive it; it must stay at its address.
  explicit Checkpointer(Database& database, CheckpointLimits limits = {});
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Commits whose pages are only in the log, in bytes of it.
  std::uint64_t log_bytes() const;
  // Checkpoints that ended with an error or left a part of the log uncopied.
  std::uint64_t unfinished() const { return unfinished_; }

 private:
  void after_commit(int frames);
  void warn(int frames, const Result<Checkpoint>& tried);

  Database& database_;
  const CheckpointLimits limits_;
  int warn_at_;
  std::atomic<int> frames_{0};
  std::atomic<std::uint64_t> unfinished_{0};
};

}  // namespace flowfabric::sqlite
