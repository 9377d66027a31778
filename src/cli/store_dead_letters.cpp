#include "cli/store_dead_letters.hpp"

#include "base/check.hpp"
#include "core/dead_letter_ingress.hpp"
#include "engine/dead_letter_reads.hpp"

namespace flowfabric::cli {
namespace {

class StoreDeadLetters final : public sdk::DeadLetterCalls {
 public:
  StoreDeadLetters(std::function<Result<Store*>()> opened_store, std::function<Result<Engine*>()> opened_engine)
      : opened_store_(std::move(opened_store)), opened_engine_(std::move(opened_engine)) {}

  Result<ListDeadLettersReply> list(const ListDeadLettersRequest& request) override {
    FF_TRY(store, opened_store_());
    return reads::dead_letters(*store, request);
  }
  Result<DeadLetterDetails> get(const GetDeadLettersRequest& request) override {
    FF_TRY(store, opened_store_());
    return reads::dead_letter_group(*store, request);
  }
  Result<RedriveInfo> create_redrive(RedriveRequest request, const Operator& by) override {
    FF_TRY(engine, opened_engine_());
    return engine->create_redrive(std::move(request), by);
  }
  Result<RedriveInfo> change_redrive(const std::string& redrive_id, RedriveAction action, const Operator& by) override {
    FF_TRY(engine, opened_engine_());
    return engine->change_redrive(redrive_id, action, by);
  }
  Result<RedriveInfo> get_redrive(const std::string& redrive_id) override {
    FF_TRY(store, opened_store_());
    FF_TRY(id, parse_redrive_id(redrive_id));
    return reads::redrive(*store, id);
  }
  Result<ListRedrivesReply> list_redrives(const ListRedrivesRequest& request) override {
    FF_TRY(store, opened_store_());
    return reads::redrives(*store, request);
  }

 private:
  std::function<Result<Store*>()> opened_store_;
  std::function<Result<Engine*>()> opened_engine_;
};

}  // namespace

std::unique_ptr<sdk::DeadLetterCalls> store_dead_letters(std::function<Result<Store*>()> opened_store,
                                                         std::function<Result<Engine*>()> opened_engine) {
  return std::make_unique<StoreDeadLetters>(std::move(opened_store), std::move(opened_engine));
}

}  // namespace flowfabric::cli
