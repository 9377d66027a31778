// Steps, checkpoints and signals as JSON. A part of shapes.hpp, which has the names of the enums; include that one.
#pragma once

#include <cstdint>

#include <flowfabric/operations.hpp>

#include "base/limits.hpp"
#include "wire/bytes_shape.hpp"
#include "wire/shape.hpp"

namespace flowfabric::wire {

template <>
struct Shape<Signal> {
  using S = Signal;
  static constexpr std::string_view name = "Signal";
  static constexpr auto fields = std::tuple{
      field("number", &S::number, "Within its execution, in the order of delivery."),
      field("waitpoint", &S::waitpoint, "Where it arrived."),
      field("name", &S::name, "Its name."),
      LabelledJson<&S::payload, &S::payload_encoding>{"payload", about_json_out},
      LabelledBase64<&S::payload, &S::payload_encoding>{"payload_base64", about_base64_out},
      if_set("payload_encoding", &S::payload_encoding, "The label of the payload."),
      if_set("source", &S::source, "The sender."),
      moment("delivered_at", &S::delivered_at, "When it was delivered."),
  };
};

template <>
struct Shape<WaitOutcome> {
  using O = WaitOutcome;
  static constexpr std::string_view name = "WaitOutcome";
  static constexpr auto fields = std::tuple{
      field("number", &O::number, "Of the wait, within its execution."),
      field("cause", &O::cause, "Why it ended."),
      moment("ended_at", &O::ended_at, "When it ended."),
      if_set("by", &O::by, "The operator who ended it."),
      if_set("reason", &O::reason, "The reason of the operator."),
      field("escalated", &O::escalated, "Whether it had escalated before."),
      field("signals", &O::signals, "The signals that counted, in the order of their delivery."),
  };
};

template <>
struct Shape<Step> {
  using S = Step;
  static constexpr std::string_view name = "Step";
  static constexpr auto fields = std::tuple{
      field("position", &S::position, "Counts from 1, in the order in which the handler comes to its steps."),
      field("name", &S::name, "Its name."),
      field("state", &S::state, "How it ended."),
      LabelledJson<&S::result, &S::result_encoding>{"result", about_json_out},
      LabelledBase64<&S::result, &S::result_encoding>{"result_base64", about_base64_out},
      field("result_encoding", &S::result_encoding, "The label of the result."),
      field("failure", &S::failure, "Why it failed."),
      field("permanent", &S::permanent, "Whether the failure is not to be retried."),
      field("tries", &S::tries, "How often it was tried before it was recorded."),
      field("duration_ms", &S::duration_ms, "How long it took, as its worker has measured it."),
      moment("recorded_at", &S::recorded_at, "When it was recorded."),
      moment("wake_at", &S::wake_at, "Of a sleep: when it ends."),
      field("wait", &S::wait, "Of a wait: how it ended."),
      field("attempt_index", &S::attempt_index, "The attempt that recorded it."),
      field("replay_count", &S::replay_count, "The life that it was recorded in."),
      field("worker_instance_id", &S::worker_instance_id, "The worker that recorded it."),
  };
};

template <>
struct Shape<StepRequest> {
  using R = StepRequest;
  static constexpr std::string_view name = "StepRequest";
  static constexpr auto fields = std::tuple{
      required("position", &R::position, "Counts from 1, in the order in which the handler comes to its steps.")
          .within(1, limits::max_steps),
      required("name", &R::name, "For people, and for the check that the handler has not changed.")
          .within(1, limits::max_step_name_bytes),
      LabelledJson<&R::result, &R::result_encoding>{"result", about_json_in},
      LabelledBase64<&R::result, &R::result_encoding>{"result_base64", about_base64_in},
      field("result_encoding", &R::result_encoding, "The label of the result."),
      field("failure", &R::failure, "Present: the step failed."),
      field("permanent", &R::permanent, "Whether the failure is not to be retried (false)."),
      field("sleep_ms", &R::sleep_ms, "Present: the step is a sleep of this length, from now on.")
          .up_to(limits::max_duration_ms),
      field("tries", &R::tries, "How often it was tried (1).").within(1, UINT32_MAX),
      field("duration_ms", &R::duration_ms, "How long it took.").up_to(limits::max_duration_ms),
      field("group_end", &R::group_end,
            "The last position of the steps that run side by side with it; 0: it runs alone.")
          .up_to(limits::max_steps),
  };
};

template <>
struct Shape<StepReply> {
  using R = StepReply;
  static constexpr std::string_view name = "StepReply";
  static constexpr auto fields = std::tuple{
      moment("recorded_at", &R::recorded_at, "When it was recorded."),
      moment("wake_at", &R::wake_at, "Of a sleep: when it ends."),
      field("duplicate", &R::duplicate, "The position was recorded before; read the steps to see what stands there."),
  };
};

template <>
struct Shape<Checkpoint> {
  using C = Checkpoint;
  static constexpr std::string_view name = "Checkpoint";
  static constexpr auto fields = std::tuple{
      LabelledJson<&C::bytes, &C::encoding>{"checkpoint", about_json_out},
      LabelledBase64<&C::bytes, &C::encoding>{"checkpoint_base64", about_base64_out},
      field("encoding", &C::encoding, "Its label."),
      moment("recorded_at", &C::recorded_at, "When it was stored."),
  };
};

}  // namespace flowfabric::wire
