#include <flowfabric/flow_builder.hpp>

#include <algorithm>

namespace flowfabric {
namespace {

// "any", then "any 2": names of groups are unique within their node.
std::string free_group_name(const FlowRequest& request, const std::string& node, const std::string& policy) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(request.groups.begin(), request.groups.end(),
                       [&](const FlowGroup& group) { return group.node == node && group.name == name; });
  };
  std::string name = policy;
  for (int number = 2; taken(name); ++number) name = policy + " " + std::to_string(number);
  return name;
}

}  // namespace

const std::string& NodeBuilder::name() const { return flow_->request_.nodes[ordinal_].name; }

NodeBuilder NodeBuilder::edges(const std::vector<std::string>& upstream, EdgeKind kind) {
  for (const std::string& from : upstream) flow_->request_.edges.push_back({from, name(), kind, {}});
  return *this;
}

NodeBuilder NodeBuilder::group(FlowGroup group, const std::vector<std::string>& upstream, EdgeKind kind) {
  FlowRequest& request = flow_->request_;
  group.node = name();
  if (group.name.empty()) group.name = free_group_name(request, group.node, std::string(to_string(group.policy)));
  for (const std::string& from : upstream) request.edges.push_back({from, group.node, kind, group.name});
  request.groups.push_back(std::move(group));
  return *this;
}

NodeBuilder NodeBuilder::any_of(const std::vector<std::string>& upstream, GroupOptions options) {
  return group({{}, std::move(options.name), GroupPolicy::any, 0, options.rest}, upstream, options.kind);
}

NodeBuilder NodeBuilder::quorum(std::uint32_t k, const std::vector<std::string>& upstream, GroupOptions options) {
  return group({{}, std::move(options.name), GroupPolicy::quorum, k, options.rest}, upstream, options.kind);
}

NodeBuilder NodeBuilder::all_of(const std::vector<std::string>& upstream, GroupOptions options) {
  return group({{}, std::move(options.name), GroupPolicy::all, 0, options.rest}, upstream, options.kind);
}

NodeBuilder FlowBuilder::node(std::string name, CreateRequest request) {
  request_.nodes.push_back({std::move(name), std::move(request), {}});
  return {*this, request_.nodes.size() - 1};
}

NodeBuilder FlowBuilder::node(std::string name, const FlowBuilder& inner) {
  const FlowRequest& flow = inner.request_;
  FlowNode node;
  node.name = std::move(name);
  node.request.tags = flow.tags;
  node.request.deadline_at = flow.deadline_at;
  node.request.deadline_ms = flow.deadline_ms;
  node.flow = InnerFlow{flow.nodes, flow.edges, flow.groups, flow.failure_policy};
  request_.nodes.push_back(std::move(node));
  return {*this, request_.nodes.size() - 1};
}

NodeBuilder FlowBuilder::node(std::string name, std::string kind, SubmitOptions options) {
  return node(std::move(name), Client::make_request(std::move(kind), {}, std::move(options)));
}

FlowBuilder& FlowBuilder::name_space(std::string name) {
  request_.name_space = std::move(name);
  return *this;
}
FlowBuilder& FlowBuilder::continue_after_failure() { return failure_policy(FailurePolicy::continue_others); }
FlowBuilder& FlowBuilder::failure_policy(FailurePolicy policy) {
  request_.failure_policy = policy;
  return *this;
}
FlowBuilder& FlowBuilder::deadline(std::chrono::milliseconds from_submission) {
  request_.deadline_ms = from_submission.count();
  request_.deadline_at = 0;
  return *this;
}
FlowBuilder& FlowBuilder::deadline_at(TimestampMs at) {
  request_.deadline_at = at;
  request_.deadline_ms.reset();
  return *this;
}
FlowBuilder& FlowBuilder::tag(std::string key, std::string value) {
  request_.tags[std::move(key)] = std::move(value);
  return *this;
}
FlowBuilder& FlowBuilder::idempotency_key(std::string key) {
  request_.idempotency_key = std::move(key);
  return *this;
}
FlowBuilder& FlowBuilder::id(const Uuid& id) {
  request_.id = id;
  return *this;
}
FlowBuilder& FlowBuilder::creator(std::string name) {
  request_.creator = std::move(name);
  return *this;
}
FlowBuilder& FlowBuilder::retention(RetentionPolicy policy) {
  request_.retention = std::move(policy);
  return *this;
}
FlowBuilder& FlowBuilder::traceparent(std::string value) {
  request_.traceparent = std::move(value);
  return *this;
}

FlowRequest FlowBuilder::build() const { return request_; }

}  // namespace flowfabric
