#include "sdk/dead_letter_calls.hpp"

#include "wire/dead_letter_shapes.hpp"

namespace flowfabric::sdk {
namespace {

std::string redrive_path(const std::string& redrive_id) { return "/v1/redrives/" + in_path(redrive_id); }

class HttpDeadLetterCalls final : public DeadLetterCalls {
 public:
  explicit HttpDeadLetterCalls(HttpCaller& caller) : caller_(caller) {}

  Result<ListDeadLettersReply> list(const ListDeadLettersRequest& request) override {
    Url url("/v1/dead-letters");
    url.add("namespace", request.name_space);
    url.add("lane", request.lane);
    url.add("kind", request.kind);
    return caller_.get<ListDeadLettersReply>(url.page(request.cursor, request.limit));
  }
  Result<DeadLetterDetails> get(const GetDeadLettersRequest& request) override {
    Url url("/v1/dead-letters/" + in_path(request.fingerprint));
    url.add("namespace", request.name_space);
    return caller_.get<DeadLetterDetails>(url.page(request.cursor, request.limit));
  }
  Result<RedriveInfo> create_redrive(RedriveRequest request, const Operator& by) override {
    // Without a key a repetition would make another redrive.
    CallOptions options;
    options.repeat = !request.idempotency_key.empty();
    bodies::RedriveBody body;
    static_cast<RedriveRequest&>(body) = std::move(request);
    body.reason = by.reason;
    return caller_.send<RedriveInfo>("POST", "/v1/redrives", body, options);
  }
  Result<RedriveInfo> change_redrive(const std::string& redrive_id, RedriveAction action, const Operator& by) override {
    const char* verb = action == RedriveAction::pause    ? "/pause"
                       : action == RedriveAction::resume ? "/resume"
                                                         : "/cancel";
    return caller_.send<RedriveInfo>("POST", redrive_path(redrive_id) + verb, bodies::ReasonBody{by.reason});
  }
  Result<RedriveInfo> get_redrive(const std::string& redrive_id) override {
    return caller_.get<RedriveInfo>(Url(redrive_path(redrive_id)));
  }
  Result<ListRedrivesReply> list_redrives(const ListRedrivesRequest& request) override {
    Url url("/v1/redrives");
    url.add("namespace", request.name_space);
    std::string states;
    for (const RedriveState state : request.states) {
      states += (states.empty() ? "" : ",") + std::string(to_string(state));
    }
    if (!states.empty()) url.add("state", states);
    return caller_.get<ListRedrivesReply>(url.page(request.cursor, request.limit));
  }

 private:
  HttpCaller& caller_;
};

class EngineDeadLetterCalls final : public DeadLetterCalls {
 public:
  explicit EngineDeadLetterCalls(Engine& engine) : engine_(engine) {}

  Result<ListDeadLettersReply> list(const ListDeadLettersRequest& request) override {
    return engine_.list_dead_letters(request);
  }
  Result<DeadLetterDetails> get(const GetDeadLettersRequest& request) override {
    return engine_.get_dead_letters(request);
  }
  Result<RedriveInfo> create_redrive(RedriveRequest request, const Operator& by) override {
    return engine_.create_redrive(std::move(request), by);
  }
  Result<RedriveInfo> change_redrive(const std::string& redrive_id, RedriveAction action, const Operator& by) override {
    return engine_.change_redrive(redrive_id, action, by);
  }
  Result<RedriveInfo> get_redrive(const std::string& redrive_id) override { return engine_.get_redrive(redrive_id); }
  Result<ListRedrivesReply> list_redrives(const ListRedrivesRequest& request) override {
    return engine_.list_redrives(request);
  }

 private:
  Engine& engine_;
};

}  // namespace

std::unique_ptr<DeadLetterCalls> dead_letter_calls(HttpCaller& caller) {
  return std::make_unique<HttpDeadLetterCalls>(caller);
}
std::unique_ptr<DeadLetterCalls> dead_letter_calls(Engine& engine) {
  return std::make_unique<EngineDeadLetterCalls>(engine);
}

}  // namespace flowfabric::sdk
