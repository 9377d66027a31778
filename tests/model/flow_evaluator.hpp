// The rules of docs/flows.md, written a second time and only from that document. Tests compare the engine with it.
//
// An evaluator is told what happens to a flow from outside: nodes are claimed and end, operators cancel, deadlines pass. After each
// of these it knows how every node, edge and group must be once the engine has done everything that follows.
//
// Where the document leaves something open, the evaluator allows every answer: several things may follow from one event, and
// their order is not defined. Among the things that may happen next it chooses one that agrees with what the engine shows. So
// every outcome that some order gives is accepted, and no other.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <flowfabric/flows.hpp>

namespace flowfabric::test {

class FlowEvaluator {
 public:
  enum class Life : std::uint8_t {
    waiting,  // for its groups
    ready,    // has not started; a worker may claim it
    running,
    paused,  // has started; waits for a retry, a delay or another worker
    ended
  };
  enum class Role : std::uint8_t {
    work,   // a worker runs it
    begin,  // of a flow node
    flow
  };
  struct Node {
    std::string name{};
    Role role = Role::work;
    std::optional<std::size_t> inside{};  // the flow node around it
    std::size_t begin = 0;                // of a flow node
    FailurePolicy failure_policy{};       // of a flow node
    std::optional<std::int64_t> delay_ms{};
    std::optional<std::int64_t> deadline_ms{};
    Life life = Life::waiting;
    bool is_cleanup = false;
    bool handles_failure = false;  // has an outgoing on_failure edge
    bool was_unhandled = false;    // it has failed, and got such an edge only then
    bool has_outgoing = false;     // edges of the request
    bool has_started = false;
    bool ended_by_flow = false;          // or skipped
    std::optional<std::size_t> order{};  // the one that ended it
    bool is_swept_away = false;          // cancelled by an order, or with the flow node around it
    Outcome outcome = Outcome::none;     // of an ended node
    std::size_t ended_in = 0;            // the event after which it ended
    std::size_t armed_in = 0;            // the replay since which it waits or runs again; 0: it has run once at most
    std::vector<std::size_t> groups{};   // of its incoming edges; the begin of a flow node has those of the flow node
  };
  struct Edge {
    std::size_t from = 0;
    std::size_t to = 0;
    EdgeKind kind = EdgeKind::on_success;
    std::size_t group = 0;
    EdgeState state = EdgeState::waiting;
    std::size_t resolved_in = 0;
  };
  struct Group {
    std::size_t node = 0;
    std::string name{};
    GroupPolicy policy = GroupPolicy::all;
    GroupRest rest = GroupRest::let_run;
    std::size_t needed = 0;
    std::vector<std::size_t> edges{};
    std::size_t satisfied = 0;
    std::size_t unsatisfiable = 0;
    GroupState state = GroupState::waiting;
    std::size_t changed_in = 0;
    bool is_older = false;  // it has changed before the last run of one of its upstream nodes
  };
  // How the engine has ended this node, or none. Asked only where several answers are allowed.
  using Freedom = std::function<Outcome(std::size_t node)>;

  explicit FlowEvaluator(const FlowRequest& request, Freedom freedom = {});

  // ---- What happens
  void claim(std::size_t node);
  void pause(std::size_t node);  // its worker failed, delayed or lost it, and it will run again
  // By a worker, by an operator who cancels it, or because its own deadline has passed.
  void end(std::size_t node, Outcome outcome);
  void cancel_flow(const FlowCancelRequest& request);
  void pass_deadline();
  // An addition that the rules allow; `added` is called before anything follows from it.
  void add(const FlowAddition& addition, const std::function<void()>& added);
  void seal();
  // All nodes have ended. Without a node, those that have not succeeded run again.
  void replay(std::optional<std::size_t> node, bool descendants);

  // ---- What must be
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Edge>& edges() const { return edges_; }
  const std::vector<Group>& groups() const { return groups_; }
  std::size_t index_of(const std::string& name) const;
  bool all_ended() const;
  // It is open and takes more from outside.
  bool is_building() const { return is_open_; }
  // The addition may have this edge to a node that exists.
  bool may_get_edge(std::size_t node) const;
  // The states that are allowed, as they are shown for a single flow.
  std::set<FlowState> states() const;
  std::size_t unhandled_failures() const { return unhandled_failures_; }
  // The nodes of which one is the first unhandled failure.
  const std::set<std::size_t>& first_failures() const { return first_failures_; }
  bool has_cancelled_running() const { return has_cancelled_running_; }
  // Its outcome is part of the result of the flow.
  bool is_output_of_flow(std::size_t node) const;
  // An unhandled failure in its flow node or, at the top, in the flow.
  bool is_unhandled_failure(std::size_t node) const;
  // Upstream nodes, as a group of any or quorum that has fired may have them; empty: they may be like this.
  std::string difference_of_winners(const Group& group, const std::vector<std::string>& winners) const;
  // The names of the inputs of a node, given the winners of its groups.
  std::vector<std::string> inputs(std::size_t node,
                                  const std::function<std::vector<std::string>(const Group&)>& winners) const;

 private:
  // To end nodes: all of them, or those in one flow node.
  struct Order {
    std::size_t given_in = 0;  // the event
    std::optional<std::size_t> flow{};
    FlowCancelPolicy policy = FlowCancelPolicy::cancel_pending;
    bool keeps_cleanup = false;
    bool is_deadline = false;
  };
  struct End {
    Outcome outcome = Outcome::none;
    bool by_flow = true;  // or skipped
    std::optional<std::size_t> order{};
    bool is_swept_away = false;
  };

  void read(const std::string& prefix, std::optional<std::size_t> inside, const InnerFlow& flow);
  std::size_t add_node(const std::string& name, std::optional<std::size_t> inside, const FlowNode& node);
  void add_edges(const std::string& prefix, const InnerFlow& flow);
  std::size_t group_of(const std::string& prefix, const InnerFlow& flow, std::size_t node, const std::string& name);
  void count_needed();
  void spread_cleanup();
  bool is_in(std::size_t node, std::optional<std::size_t> flow) const;
  bool is_last_in(std::size_t node, std::optional<std::size_t> flow) const;
  std::optional<std::size_t> begin_before(const Node& node) const;

  bool is_behind(std::size_t node, std::size_t upstream) const;
  std::vector<bool> chosen_to_replay(std::optional<std::size_t> node, bool descendants) const;
  void arm(const std::vector<bool>& again);
  void settle();
  bool resolve_edges();
  bool change_groups();
  bool make_ready();
  bool count_failures();
  bool end_one(bool as_shown);
  std::vector<End> possible_ends(std::size_t node) const;
  std::optional<End> end_by_groups(const Node& node) const;
  std::optional<End> end_of_flow_node(std::size_t node) const;
  bool has_group(const Node& node, GroupState state) const;
  bool has_fired(const Node& node) const;
  bool is_covered(const Order& order, std::size_t node) const;
  bool is_in_ended_flow(std::size_t node) const;
  bool is_unneeded(std::size_t node) const;
  bool may_be_let_run(std::size_t node) const;
  Outcome shown(std::size_t node) const { return freedom_ ? freedom_(node) : Outcome::none; }
  void add_inputs_from(std::size_t from, std::vector<std::string>& names) const;

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Group> groups_;
  FailurePolicy failure_policy_;
  bool is_open_ = false;
  Freedom freedom_;
  std::vector<Order> orders_;
  std::size_t first_order_ = 0;  // since the last replay
  std::vector<bool> counted_;    // as a failure, by node
  std::set<std::size_t> first_failures_;
  std::size_t unhandled_failures_ = 0;
  std::size_t event_ = 0;
  std::optional<FlowCancelPolicy> cancelled_;  // by an operator
  bool deadline_has_passed_ = false;
  bool has_cancelled_running_ = false;
};

// A node of a flow that has ended. Only its worker, its flow and the cancellation of the flow may have ended it.
struct EndedNode {
  std::string name{};
  Outcome outcome = Outcome::none;
  std::uint32_t attempt_count = 0;
  Outcome planned = Outcome::success;  // how it ends if it runs
};
// What contradicts the document in any order of events; empty: nothing. With the cancellation by an operator, if there was one.
// For flows without flows in them.
std::string contradiction_of(const FlowRequest& request, const std::vector<EndedNode>& nodes,
                             const std::optional<FlowCancelRequest>& cancelled = {});

EdgeState resolved(EdgeKind kind, Outcome outcome, bool by_flow);

}  // namespace flowfabric::test
