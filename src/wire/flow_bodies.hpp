// Bodies of the routes for flows.
#pragma once

#include "wire/bodies.hpp"
#include "wire/flow_shapes.hpp"

namespace flowfabric::bodies {

struct FlowCancelBody {
  FlowCancelPolicy policy = FlowCancelPolicy::cancel_all;
  bool run_cleanup = false;
  std::string reason{};
};
struct FlowReplayBody {
  std::string node{};
  bool descendants = true;
  std::string reason{};
};
struct ExtendBody : FlowAddition {
  Handle handle{};
};
struct JoinBody {
  Handle handle{};
  std::vector<std::string> names{};
};
struct GraphReply {
  std::optional<FlowGraph> graph{};
  std::optional<std::string> drawing{};
};

}  // namespace flowfabric::bodies

namespace flowfabric::wire {

template <>
struct Shape<bodies::FlowCancelBody> {
  using T = bodies::FlowCancelBody;
  static constexpr std::string_view name = "FlowCancelBody";
  static constexpr auto fields = std::tuple{
      field("policy", &T::policy,
            "flow_only: only the flow ends. cancel_pending: what has not started is cancelled. cancel_all: everything "
            "that has not ended is (default)."),
      field("run_cleanup", &T::run_cleanup, "Nodes behind an on_finish edge are kept and run (false)."),
      field("reason", &T::reason, "Why, for the event log.").up_to(limits::max_reason_bytes),
  };
};

template <>
struct Shape<bodies::FlowReplayBody> {
  using T = bodies::FlowReplayBody;
  static constexpr std::string_view name = "FlowReplayBody";
  static constexpr auto fields = std::tuple{
      field("node", &T::node,
            "The node that runs again. Without it: all that have not succeeded, and those behind them."),
      field(
          "descendants", &T::descendants,
          "All nodes behind it run again too (true). false: only the node itself, and the others keep their outcomes."),
      field("reason", &T::reason, "Why, for the event log.").up_to(limits::max_reason_bytes),
  };
};

template <>
struct Shape<bodies::ExtendBody> {
  using T = bodies::ExtendBody;
  static constexpr std::string_view name = "ExtendBody";
  static constexpr auto fields =
      std::tuple_cat(std::tuple{required("handle", &T::handle, about_handle)}, Shape<FlowAddition>::fields);
};

template <>
struct Shape<bodies::JoinBody> {
  using T = bodies::JoinBody;
  static constexpr std::string_view name = "JoinBody";
  static constexpr auto fields = std::tuple{
      required("handle", &T::handle, about_handle),
      required("names", &T::names, "Nodes that were added with an edge of kind `join` to this one.")
          .within(1, limits::max_added_edges),
  };
};

template <>
struct Shape<bodies::GraphReply> {
  using T = bodies::GraphReply;
  static constexpr std::string_view name = "FlowGraphReply";
  static constexpr auto fields = std::tuple{
      field("graph", &T::graph, "The graph, with `format=json`."),
      field("drawing", &T::drawing, "The text of the drawing, with the other formats."),
  };
};

}  // namespace flowfabric::wire
