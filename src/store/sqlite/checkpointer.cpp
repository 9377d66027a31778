#include "store/sqlite/checkpointer.hpp"

#include "base/log.hpp"

namespace flowfabric::sqlite {
namespace {

constexpr std::uint64_t frame_bytes = 4096 + 24;  // a page and its header

std::string mebibytes(int frames) { return std::to_string(static_cast<std::uint64_t>(frames) * frame_bytes >> 20); }

}  // namespace

Checkpointer::Checkpointer(Database& database, CheckpointLimits limits)
    : database_(database), limits_(limits), warn_at_(limits.warning_frames) {
  database_.on_commit([](void* self, int frames) { static_cast<Checkpointer*>(self)->after_commit(frames); }, this);
}

std::uint64_t Checkpointer::log_bytes() const { return static_cast<std::uint64_t>(frames_.load()) * frame_bytes; }

void Checkpointer::after_commit(int frames) {
  frames_ = frames;
  if (frames < limits_.checkpoint_frames) {
    if (warn_at_ > limits_.warning_frames) {
      log(LogLevel::info, "the write-ahead log is copied into the database again");
      warn_at_ = limits_.warning_frames;
    }
    return;
  }
  const auto tried = database_.checkpoint();
  if (tried && tried->copied == tried->frames) return;
  ++unfinished_;
  if (frames >= warn_at_) warn(frames, tried);
}

// Again whenever it has doubled.
void Checkpointer::warn(int frames, const Result<Checkpoint>& tried) {
  const std::string cause = tried
                                ? std::string("a reader keeps an old state: a long query, a backup, a stopped process")
                                : tried.error().message;
  log(LogLevel::warn, "the write-ahead log grows, because it cannot be copied into the database",
      {{"mebibytes", mebibytes(frames)}, {"cause", cause}});
  warn_at_ = frames * 2;
}

}  // namespace flowfabric::sqlite
