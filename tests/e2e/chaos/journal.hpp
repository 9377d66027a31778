// The requests and responses of a client, line by line in a file that outlives it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace flowfabric::chaos {

struct Note {
  enum class What : std::uint8_t {
    created,    // acknowledged; `text` is the key
    claimed,    // acknowledged; `number` is the lease's epoch, `text` the worker
    sending,    // a worker is about to end attempt `number` and sends `text`
    completed,  // acknowledged, with the result `text`
    failed,     // acknowledged as the end of the execution
    retried,    // a failure was acknowledged, and there will be another attempt
    delayed,    // acknowledged
  };
  What what = What::created;
  std::string execution_id{};
  std::uint64_t number = 0;  // of the attempt, unless stated otherwise
  std::string text{};
};

// Notes are in the file when write() returns: a process that is killed afterwards has recorded them.
class Journal {
 public:
  explicit Journal(const std::string& path);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  void write(const std::vector<Note>& notes);

 private:
  int file_;
};

using Notes = std::map<std::string, std::vector<Note>>;  // by execution id

// Of all journals in the directory. An incomplete last line does not count: its writer died before it could continue.
Notes read_journals(const std::filesystem::path& folder);

}  // namespace flowfabric::chaos
