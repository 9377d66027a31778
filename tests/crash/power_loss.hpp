// What a disk has after a power failure. While a PowerLoss exists, this program notes what each file of one folder
// contained when it was last flushed; a copy of the folder can be made in which later writes are lost.
//
// It replaces `fdatasync` and `pwrite64` of the C library for the whole program, so it sees what SQLite flushes and writes
// and what the store flushes itself. One at a time; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace flowfabric::crash {

// Which writes that were not flushed the copy contains.
struct Surviving {
  enum class What : std::uint8_t {
    none,  // the power failed before any of them reached the disk
    some,  // by sectors, chosen by the seed: a disk writes in any order
    all,   // the process died and the system went on
  };
  What what = What::none;
  std::uint32_t seed = 0;
};

class PowerLoss {
 public:
  explicit PowerLoss(std::string folder);
  ~PowerLoss();
  PowerLoss(const PowerLoss&) = delete;
  PowerLoss& operator=(const PowerLoss&) = delete;

  // Copies what is left into an existing folder. Files that were never flushed are missing, and SQLite's shared memory
  // always is. Names are taken as durable: whether the folder was flushed is not checked.
  void copy_to(const std::string& folder, Surviving surviving = {}) const;
  int flushes() const;

  // The `number`-th write from now on to the file of that name is carried out but reported as failed; 0: none.
  void fail_write(std::string name, int number);
  bool write_has_failed() const;

  // For the replaced functions.
  bool note_flush(int descriptor);
  bool takes_failure(int descriptor);

 private:
  std::string name_of(int descriptor) const;  // empty: not a file of the folder

  const std::string folder_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::string> flushed_;  // contents by inode: a file may be renamed after its flush
  int flushes_ = 0;
  std::string failing_name_;
  int writes_to_failure_ = 0;
  bool failed_ = false;
};

}  // namespace flowfabric::crash
