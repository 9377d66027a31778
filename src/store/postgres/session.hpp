// One writer's session with PostgreSQL. See store/store.hpp for its guarantees.
//
// A session owns a row of `writer`. Every commit first stores its number there, so that after a lost connection the
// session can read whether the commit happened.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "store/postgres/batch.hpp"
#include "store/postgres/connection.hpp"
#include "store/store.hpp"

namespace flowfabric::postgres {

class WriterSession final : public Session {
 public:
  // `clock` is empty for the server's clock.
  static Result<std::unique_ptr<Session>> open(Address address, std::function<std::int64_t()> clock);
  ~WriterSession() override;

  Result<ReadReply> read(const ReadRequest& request) override;
  Result<std::vector<Satellite>> read_satellites(const std::vector<SatelliteName>& names) override;
  Result<std::vector<SequenceEntry>> read_sequence(const SequenceName& name, std::uint64_t from,
                                                   std::uint32_t limit) override;
  Result<std::vector<Verdict>> commit(const std::vector<ChangeSet>& sets) override;
  const std::vector<std::uint64_t>& appended() const override { return appended_; }
  void release() override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class Outcome : std::uint8_t { committed, conflict };

  WriterSession(Address address, std::function<std::int64_t()> clock);

  Result<void> connect();
  Result<void> register_writer();
  Result<void> reconnect(Time deadline);
  template <class Work>
  auto repeated(Work work) -> decltype(work());

  Reply<ReadReply> read_once(const ReadRequest& request);
  void queue_reads(const ReadRequest& request, std::int64_t now_us);

  Result<Outcome> commit_group(const std::vector<ChangeSet>& sets, const std::vector<std::size_t>& chosen,
                               bool patiently);
  Reply<std::vector<std::uint64_t>> send_group(const Batch& batch, bool patiently);
  void note_numbers(const std::vector<ChangeSet>& sets, const std::vector<std::size_t>& chosen,
                    const std::vector<std::uint64_t>& numbers);
  Result<bool> find_out(Time deadline);
  Result<void> judge(const std::vector<ChangeSet>& sets, std::vector<std::size_t>& pending,
                     std::vector<Verdict>& verdicts);
  Result<Verdict> commit_alone(const std::vector<ChangeSet>& sets, std::size_t index);
  Result<void> commit_one_by_one(const std::vector<ChangeSet>& sets, const std::vector<std::size_t>& pending,
                                 std::vector<Verdict>& verdicts);

  const Address address_;
  const std::function<std::int64_t()> clock_;
  std::unique_ptr<Connection> connection_;
  std::uint64_t connection_number_ = 0;  // how many this session has had
  bool in_transaction_ = false;          // a search holds its candidates
  ReadyPlaces held_;                     // their positions, if they are ready entries
  std::int64_t shift_ = 0;               // of the incarnation that the connection writes to
  std::int64_t part_ = 0;                // of counters
  std::int64_t writer_ = 0;
  std::int64_t generation_ = 0;
  std::int64_t batch_ = 0;  // number of the last commit that was sent
  std::vector<std::uint64_t> appended_;
};

}  // namespace flowfabric::postgres
