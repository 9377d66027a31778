// Builds the request for a flow node by node.
//
//   flowfabric::FlowBuilder flow("media");
//   flow.node("fetch", "fetch", Video{"https://..."});
//   flow.node("small", "resize", Size{320}).after("fetch");
//   flow.node("large", "resize", Size{1280}).after("fetch");
//   flow.node("publish", "publish").after("small", "large");
//   auto created = client->submit_flow(flow.build());
//
// It checks nothing: the graph is validated as a whole when it is submitted, and the error names the nodes. A node may be
// named as upstream before it is added. docs/flows.md has the rules of edges and groups.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <flowfabric/client.hpp>
#include <flowfabric/convert.hpp>
#include <flowfabric/flows.hpp>

namespace flowfabric {

class FlowBuilder;

// A group of incoming edges, besides its upstream nodes.
struct GroupOptions {
  std::string name{};                    // empty: `any`, `quorum` or `all` with a number, unique within the node
  EdgeKind kind = EdgeKind::on_success;  // of its edges
  GroupRest rest = GroupRest::let_run;   // what happens to the other upstream nodes
};

// One node of a builder, which must outlive it.
class NodeBuilder {
 public:
  // Edges of the default group: the node runs when all of them are satisfied.
  template <std::convertible_to<std::string>... Names>
  NodeBuilder after(Names&&... upstream) {
    return edges({std::string(std::forward<Names>(upstream))...}, EdgeKind::on_success);
  }
  NodeBuilder after(const std::vector<std::string>& upstream) { return edges(upstream, EdgeKind::on_success); }
  // When it has failed, expired or been cancelled by somebody other than the flow.
  template <std::convertible_to<std::string>... Names>
  NodeBuilder after_failure_of(Names&&... upstream) {
    return edges({std::string(std::forward<Names>(upstream))...}, EdgeKind::on_failure);
  }
  // However it has ended. This makes the node a cleanup node.
  template <std::convertible_to<std::string>... Names>
  NodeBuilder after_end_of(Names&&... upstream) {
    return edges({std::string(std::forward<Names>(upstream))...}, EdgeKind::on_finish);
  }
  NodeBuilder after_end_of(const std::vector<std::string>& upstream) { return edges(upstream, EdgeKind::on_finish); }
  // However it has ended; an input comes only from a success.
  template <std::convertible_to<std::string>... Names>
  NodeBuilder optionally_after(Names&&... upstream) {
    return edges({std::string(std::forward<Names>(upstream))...}, EdgeKind::optional);
  }

  // Groups of their own. The node runs when all its groups have fired.
  NodeBuilder any_of(const std::vector<std::string>& upstream, GroupOptions options = {});
  NodeBuilder quorum(std::uint32_t k, const std::vector<std::string>& upstream, GroupOptions options = {});
  NodeBuilder all_of(const std::vector<std::string>& upstream, GroupOptions options = {});

  const std::string& name() const;

 private:
  friend class FlowBuilder;
  NodeBuilder(FlowBuilder& flow, std::size_t ordinal) : flow_(&flow), ordinal_(ordinal) {}
  NodeBuilder edges(const std::vector<std::string>& upstream, EdgeKind kind);
  NodeBuilder group(FlowGroup group, const std::vector<std::string>& upstream, EdgeKind kind);

  FlowBuilder* flow_;
  std::size_t ordinal_;
};

class FlowBuilder {
 public:
  explicit FlowBuilder(std::string kind) { request_.kind = std::move(kind); }

  // ---- Nodes. They are in the namespace of the flow.
  NodeBuilder node(std::string name, CreateRequest request);
  // Without an input.
  NodeBuilder node(std::string name, std::string kind, SubmitOptions options = {});
  template <class T>
    requires(!std::same_as<T, SubmitOptions>)
  NodeBuilder node(std::string name, std::string kind, const T& input, SubmitOptions options = {}) {
    return node(std::move(name), Client::make_request(std::move(kind), encode_value(input), std::move(options)));
  }

  // A node that is a flow: the nodes of the other builder, which are named `name/...` in this one. Of the builder its nodes, edges,
  // groups and failure policy count, and its deadline and tags, which become those of the node.
  NodeBuilder node(std::string name, const FlowBuilder& inner);

  // ---- The flow itself
  FlowBuilder& name_space(std::string name);
  // The other branches go on after a failure that no edge takes up; without it nodes that have not started are cancelled.
  FlowBuilder& continue_after_failure();
  FlowBuilder& failure_policy(FailurePolicy policy);
  // What has not ended by then expires: from the submission, by the clock of the store, or at a time.
  FlowBuilder& deadline(std::chrono::milliseconds from_submission);
  FlowBuilder& deadline_at(TimestampMs at);
  FlowBuilder& tag(std::string key, std::string value);
  FlowBuilder& idempotency_key(std::string key);
  FlowBuilder& id(const Uuid& id);
  FlowBuilder& creator(std::string name);
  FlowBuilder& retention(RetentionPolicy policy);
  FlowBuilder& traceparent(std::string value);

  // What has been built so far. The builder can go on.
  FlowRequest build() const;

 private:
  friend class NodeBuilder;
  FlowRequest request_;
};

}  // namespace flowfabric
