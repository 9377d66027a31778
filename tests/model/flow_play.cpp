#include "model/flow_play.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "base/check.hpp"
#include "core/ingress.hpp"
#include "engine/integrity.hpp"
#include "engine/reads.hpp"
#include "model/flow_evaluator.hpp"
#include "support/driver.hpp"

namespace flowfabric::test {
namespace {

using Life = FlowEvaluator::Life;
using Role = FlowEvaluator::Role;

constexpr std::uint32_t flow_page = 1000;
constexpr std::uint32_t long_lease_ms = 3600 * 1000;
constexpr int most_rounds = 1000;  // of the end of a play; each of them ends a node or passes a second

struct Difference : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Outcome outcome_of(PublicState state) {
  switch (state) {
    case PublicState::completed: return Outcome::success;
    case PublicState::failed: return Outcome::failed;
    case PublicState::cancelled: return Outcome::cancelled;
    case PublicState::expired: return Outcome::expired;
    case PublicState::skipped: return Outcome::skipped;
    default: return Outcome::none;
  }
}

bool is_claimable(PublicState state) { return state == PublicState::waiting || state == PublicState::resumable; }

std::string_view show(Life life) {
  constexpr std::string_view names[] = {"waiting", "ready", "running", "paused", "ended"};
  return names[static_cast<std::size_t>(life)];
}

template <class T>
std::string show_all(const std::set<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : " or ") + std::string(to_string(value));
  return text;
}

void add_times_to_node(FlowNode& node, std::size_t i, std::uint32_t number) {
  if (number % 10 == 1) node.request.deadline_ms = 2001 + 300 * static_cast<std::int64_t>(i);
  if (number / 10 % 10 == 1) node.request.delay_ms = 100 + number % 1900;
  if (number / 100 % 3 != 0) {
    node.request.policy.retry = RetryPolicy{};
    node.request.policy.retry->max_retries = number / 100 % 3;
    node.request.policy.retry->initial_delay_ms = 200;
  }
}

// No two nodes have the same deadline, and none has that of the flow. A flow node can have nothing but a deadline.
void add_times(std::vector<FlowNode>& nodes, const FlowNumbers& numbers) {
  for (FlowNode& node : nodes) {
    const std::size_t i = std::stoul(node.name.substr(1));
    if (node.flow) {
      if (numbers.flows[i] / 7 % 8 == 1) node.request.deadline_ms = 1502 + 710 * static_cast<std::int64_t>(i);
      add_times(node.flow->nodes, numbers);
    } else if (i < numbers.nodes.size()) {
      add_times_to_node(node, i, numbers.nodes[i] / (36 * 36));
    }
  }
}

class FlowPlay {
 public:
  FlowPlay(TestDatabase& database, const FlowNumbers& numbers, FlowPlayFigures& figures)
      : driver_(database.open({clock_.source(), true}), clock_),
        whole_(make(numbers)),
        part_size_(part_size_of(whole_, numbers)),
        request_(first_part(whole_, part_size_)),
        evaluator_(request_, [this](std::size_t node) { return shown(node); }),
        begun_at_(clock_.now_ms()),
        figures_(figures) {
    const auto created = driver_.submit_flow(request_);
    if (!created) throw Difference("the flow was refused: " + created.error().message);
    id_ = created->flow_id;
    next_part_ = request_.nodes.size();
    since_.resize(evaluator_.nodes().size(), begun_at_);
    deadline_is_due_ = request_.deadline_ms.has_value();
    figures_.opened += request_.open;
    compare("submitted");
  }

  void run(const std::vector<Step>& steps) {
    play(steps);
    for (std::size_t i = 0; i < steps.size() % 3; ++i) {
      replay(steps[i]);
      play({steps.rbegin(), steps.rend()});
    }
    count();
  }

 private:
  void play(const std::vector<Step>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (evaluator_.all_ended() && !evaluator_.is_building()) break;
      if (i % 4 == 3) add_part();
      perform(steps[i]);
    }
    while (evaluator_.is_building() && next_part_ < whole_.nodes.size()) add_part();
    if (evaluator_.is_building()) seal();
    end_all(steps.empty() ? 0 : steps.front().a);
    verify_end();
  }

  // ---- Building a flow step by step: each part has some nodes of the first level, and their edges from and to earlier ones.
  static std::size_t part_size_of(const FlowRequest& whole, const FlowNumbers& numbers) {
    const std::uint32_t number = numbers.rules / 17;
    if (number % 3 != 0) return whole.nodes.size();
    return 1 + number / 3 % std::max<std::size_t>(whole.nodes.size() / 2, 1);
  }
  static FlowRequest first_part(const FlowRequest& whole, std::size_t size) {
    FlowRequest request = whole;
    const FlowAddition part = part_of(whole, 0, size, [](const FlowEdge&) { return false; });
    request.nodes = part.nodes;
    request.edges = part.edges;
    request.groups = part.groups;
    request.open = part.nodes.size() < whole.nodes.size();
    return request;
  }
  // Nodes that exist get only edges that are allowed, without a group of their own.
  template <class Allowed>
  static FlowAddition part_of(const FlowRequest& whole, std::size_t first, std::size_t end, const Allowed& allowed) {
    FlowAddition part;
    std::set<std::string> earlier;
    std::set<std::string> added;
    for (std::size_t i = 0; i < end; ++i) {
      (i < first ? earlier : added).insert(whole.nodes[i].name);
      if (i >= first) part.nodes.push_back(whole.nodes[i]);
    }
    std::map<std::pair<std::string, std::string>, std::uint32_t> edges;  // of each group
    for (const FlowEdge& edge : whole.edges) {
      const bool is_new = added.contains(edge.to) && (added.contains(edge.from) || earlier.contains(edge.from));
      const bool is_late = added.contains(edge.from) && earlier.contains(edge.to) && edge.group.empty();
      if (!is_new && !(is_late && allowed(edge))) continue;
      part.edges.push_back(edge);
      ++edges[{edge.to, edge.group}];
    }
    for (FlowGroup group : whole.groups) {
      const auto found = edges.find({group.node, group.name});
      if (!added.contains(group.node) || found == edges.end()) continue;
      if (group.policy == GroupPolicy::quorum) group.k = std::min(group.k, found->second);
      part.groups.push_back(group);
    }
    return part;
  }

  void add_part() {
    if (!evaluator_.is_building() || next_part_ >= whole_.nodes.size()) return;
    const std::size_t end = std::min(next_part_ + part_size_, whole_.nodes.size());
    const FlowAddition part = part_of(whole_, next_part_, end, [&](const FlowEdge& edge) {
      const bool may = evaluator_.may_get_edge(evaluator_.index_of(edge.to));
      figures_.late_edges += may;
      return may;
    });
    FlowAddition admitted = part;
    FF_CHECK(admit(admitted, IngressLimits{}).has_value());
    must(driver_.call(GrowFlowCommand{id_, std::move(admitted), std::nullopt, {"builder", ""}}));
    driver_.settle();
    next_part_ = end;
    request_.nodes.insert(request_.nodes.end(), part.nodes.begin(), part.nodes.end());
    request_.edges.insert(request_.edges.end(), part.edges.begin(), part.edges.end());
    request_.groups.insert(request_.groups.end(), part.groups.begin(), part.groups.end());
    ++additions_;
    ++figures_.additions;
    evaluator_.add(part, [&] {
      since_.resize(evaluator_.nodes().size(), clock_.now_ms());
      read_nodes();
    });
    compare(fmt::format("addition of {} nodes and {} edges, from {} on", part.nodes.size(), part.edges.size(),
                        part.nodes.front().name));
  }

  void seal() {
    must(driver_.call(SealFlowCommand{id_, {"builder", ""}}));
    driver_.settle();
    read_nodes();
    evaluator_.seal();
    compare("sealed");
  }

  static FlowRequest make(const FlowNumbers& numbers) {
    FlowRequest request = flow_of(numbers);
    add_times(request.nodes, numbers);
    const std::uint32_t rules = numbers.rules / 64;
    if (rules % 5 == 1) request.deadline_ms = 1050 + 100 * (rules % 97);
    return request;
  }

  // ---- Steps
  void perform(const Step& step) {
    switch (step.verb) {
      case 0:
      case 1:
      case 2: return claim(1 + step.a % 4);
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
      case 8: return use(step);
      case 9:
        if (step.b % 4 == 0) cancel_node(step.a % evaluator_.nodes().size());
        return;
      case 10:
        if (step.b % 2 == 0) cancel_flow(step);
        return;
      case 11: return use_lost_leases();
      case 12:
      case 13: return advance(step.a % 1500);
      default: return use({step.verb, step.a, 0});
    }
  }

  void claim(std::uint32_t count) {
    ClaimRequest request;
    request.worker_id = "worker";
    request.worker_instance_id = "w-1";
    request.max_executions = count;
    request.lease_ttl_ms = long_lease_ms;
    const auto claims = driver_.claim(request);
    FF_CHECK(claims.has_value());
    for (const ClaimedExecution& claimed : *claims) {
      const std::size_t node = evaluator_.index_of(claimed.node);
      const Life life = evaluator_.nodes()[node].life;
      if (life != Life::ready && life != Life::paused) {
        throw Difference(fmt::format("{} was claimed, but is {}", claimed.node, show(life)));
      }
      evaluator_.claim(node);
      held_.insert_or_assign(node, claimed);
    }
    // Before the comparison, which reads the groups and their winners.
    compare(fmt::format("claim of {}", count));
    for (const ClaimedExecution& claimed : *claims) compare_inputs(claimed);
    if (claims->size() < count) expect_nothing_claimable();
  }

  void use(const Step& step) {
    if (held_.empty()) return claim(1 + step.a % 4);
    const auto chosen = std::next(held_.begin(), static_cast<std::ptrdiff_t>(step.a % held_.size()));
    const auto [node, claimed] = *chosen;
    held_.erase(chosen);
    const Fence fence = driver_.fence(claimed);
    switch (step.b % 12) {
      case 1:
      case 2:
      case 3: return fail(node, fence, step.b % 12 == 3);
      case 4:
        must(driver_.call(DelayCommand{fence, clock_.now_ms() + step.a % 700 + 1, {}}));
        evaluator_.pause(node);
        return compare("delay of " + claimed.node);
      case 5: must(driver_.call(CancelHeldCommand{fence, "enough"})); return end(node, Outcome::cancelled);
      default:
        must(driver_.call(CompleteCommand{fence, {"result of " + claimed.node, "text"}}));
        return end(node, Outcome::success);
    }
  }

  void fail(std::size_t node, const Fence& fence, bool is_last) {
    FailRequest request;
    request.message = "it broke";
    if (is_last) request.retryable = FailRequest::Retryable::never;
    const Reply reply = must(driver_.call(FailCommand{fence, request}));
    if (std::get<FailReply>(reply).decision == FailReply::Decision::failed) return end(node, Outcome::failed);
    evaluator_.pause(node);
    compare("retry of " + evaluator_.nodes()[node].name);
  }

  void end(std::size_t node, Outcome outcome) {
    read_nodes();
    evaluator_.end(node, outcome);
    compare(fmt::format("{} ended: {}", evaluator_.nodes()[node].name, to_string(outcome)));
  }

  void cancel_node(std::size_t node) {
    if (evaluator_.nodes()[node].life == Life::ended) return;
    must(driver_.call(CancelCommand{execution_of(node), {"operator", "wanted"}}));
    held_.erase(node);
    end(node, Outcome::cancelled);
  }

  void cancel_flow(const Step& step) {
    const FlowCancelRequest request{static_cast<FlowCancelPolicy>(step.a % 3), step.a / 3 % 2 == 0};
    // One that has ended may refuse it; what counts is what becomes of the nodes.
    const auto reply = driver_.call(CancelFlowCommand{id_, request, {"operator", ""}});
    if (!reply && reply.error().code != Errc::already_terminal) throw Difference("cancel: " + reply.error().message);
    read_nodes();
    evaluator_.cancel_flow(request);
    compare(fmt::format("flow cancelled: {}{}", to_string(request.policy), request.run_cleanup ? ", run_cleanup" : ""));
  }

  void replay(const Step& step) {
    const auto& nodes = evaluator_.nodes();
    const bool all_succeeded =
        std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.outcome == Outcome::success; });
    std::optional<std::size_t> node;
    if (all_succeeded || step.b % 3 != 0) node = step.a % nodes.size();
    // Only a node that a worker runs can be replayed alone; a begin is no node of the request.
    const bool descendants = !node || nodes[*node].role != Role::work || step.verb % 3 != 0;
    std::optional<std::uint32_t> ordinal;
    if (node) ordinal = infos_[*node].ordinal;
    must(driver_.call(ReplayFlowCommand{id_, ordinal, descendants, {"operator", "mended"}}));
    driver_.settle();
    read_nodes();
    evaluator_.replay(node, descendants);
    begun_at_ = clock_.now_ms();
    std::fill(since_.begin(), since_.end(), begun_at_);
    deadline_is_due_ = request_.deadline_ms.has_value();
    ++replays_;
    ++figures_.replays;
    const auto again = static_cast<std::size_t>(std::count_if(
        nodes.begin(), nodes.end(), [](const auto& one) { return one.life != Life::ended || one.armed_in != 0; }));
    figures_.replayed += again;
    figures_.kept += nodes.size() - again;
    compare(fmt::format("replay of {}{}", node ? nodes[*node].name : "what has not succeeded",
                        descendants ? "" : " alone"));
  }

  // Workers whose nodes were ended by the flow.
  void use_lost_leases() {
    for (const auto& [node, claimed] : lost_) {
      const auto reply = driver_.call(CompleteCommand{driver_.fence(claimed), {"too late", "text"}});
      if (reply) throw Difference(claimed.node + " was completed after it had been ended by its flow");
      ++figures_.fenced;
    }
    lost_.clear();
    compare("late workers");
  }

  // Passes one moment after the other, so that at most one thing happens between two comparisons.
  void advance(std::int64_t ms) {
    const TimestampMs target = clock_.now_ms() + ms;
    for (;;) {
      const auto [at, node] = next_deadline();
      if (at > target) break;
      driver_.advance(at - clock_.now_ms());
      read_nodes();
      if (node) {
        held_.erase(*node);
        end(*node, Outcome::expired);
        continue;
      }
      deadline_is_due_ = false;
      if (!evaluator_.all_ended() || evaluator_.is_building()) ++figures_.deadlines;
      evaluator_.pass_deadline();
      compare("the deadline of the flow");
    }
    driver_.advance(target - clock_.now_ms());
    compare(fmt::format("{} ms passed", ms));
  }

  // The next one of a node or, without a node, of the flow.
  std::pair<TimestampMs, std::optional<std::size_t>> next_deadline() const {
    TimestampMs at = std::numeric_limits<TimestampMs>::max();
    std::optional<std::size_t> found;
    if (deadline_is_due_) at = begun_at_ + *request_.deadline_ms;
    for (std::size_t i = 0; i < evaluator_.nodes().size(); ++i) {
      const auto deadline_ms = evaluator_.nodes()[i].deadline_ms;
      // A node that has not ended runs since the submission or since the last replay.
      if (!deadline_ms || evaluator_.nodes()[i].life == Life::ended || since_[i] + *deadline_ms > at) continue;
      at = since_[i] + *deadline_ms;
      found = i;
    }
    return {at, found};
  }

  void end_all(std::uint32_t number) {
    for (int round = 0; !evaluator_.all_ended(); ++round) {
      if (round == most_rounds) throw Difference("the flow does not end");
      claim(2 + number % 5);
      number = number * 1664525 + 1013904223;
      if (held_.empty() || number >> 29 == 0) {
        advance(1000);
      } else {
        use({0, number >> 8, number >> 20});
      }
    }
  }

  // ---- Comparisons
  Reply must(Result<Reply> reply) {
    if (!reply) throw Difference("refused: " + reply.error().message);
    return std::move(*reply);
  }

  void read_nodes() {
    const auto found = reads::flow_nodes(driver_.store(), id_, {}, flow_page);
    FF_CHECK(found.has_value() && found->nodes.size() == evaluator_.nodes().size());
    infos_.resize(found->nodes.size());
    for (const FlowNodeInfo& info : found->nodes) infos_[evaluator_.index_of(info.name)] = info;
  }
  Outcome shown(std::size_t node) const {
    return node < infos_.size() ? outcome_of(infos_[node].public_state) : Outcome::none;
  }
  ExecutionId execution_of(std::size_t node) const { return infos_[node].execution_id; }

  void compare(const std::string& after) {
    log_ += "  " + after + "\n";
    ++figures_.comparisons;
    read_nodes();
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      compare_life(i);
      compare_groups(i);
      if (evaluator_.nodes()[i].life != Life::ended || !held_.contains(i)) continue;
      lost_.insert_or_assign(i, held_[i]);
      held_.erase(i);
    }
    compare_edges();
    compare_flow();
  }

  [[noreturn]] void differ(const std::string& what, const std::string& expected, const std::string& found) {
    throw Difference(
        fmt::format("{}: must be {}, is {}\n{}{}{}", what, expected, found, show_graph(request_), log_, show_nodes()));
  }
  std::string show_nodes() const {
    std::string text;
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      const FlowEvaluator::Node& node = evaluator_.nodes()[i];
      text += fmt::format("  {}: must be {}, is {}\n", node.name,
                          node.life == Life::ended ? to_string(node.outcome) : show(node.life),
                          to_string(infos_[i].public_state));
    }
    return text;
  }

  void compare_life(std::size_t i) {
    const FlowEvaluator::Node& node = evaluator_.nodes()[i];
    const PublicState found = infos_[i].public_state;
    const bool is_delayed = node.delay_ms && node.armed_in == 0 && clock_.now_ms() < since_[i] + *node.delay_ms;
    bool agrees = false;
    switch (node.life) {
      case Life::waiting: agrees = found == PublicState::waiting_children; break;
      case Life::ready: agrees = found == (is_delayed ? PublicState::delayed : PublicState::waiting); break;
      case Life::running: agrees = found == PublicState::active; break;
      case Life::paused: agrees = found == PublicState::delayed || is_claimable(found); break;
      case Life::ended: agrees = node.outcome == outcome_of(found); break;
    }
    if (!agrees) {
      differ(node.name, std::string(node.life == Life::ended ? to_string(node.outcome) : show(node.life)),
             std::string(to_string(found)));
    }
  }

  void compare_groups(std::size_t i) {
    const FlowEvaluator::Node& node = evaluator_.nodes()[i];
    const auto& infos = infos_[i].groups;
    const auto made =
        std::count_if(infos.begin(), infos.end(), [](const FlowGroupInfo& info) { return is_made_by_engine(info); });
    if (infos.size() != node.groups.size() + static_cast<std::size_t>(made)) {
      differ(node.name, fmt::format("with {} groups", node.groups.size()), fmt::format("with {}", infos.size() - made));
    }
    for (const std::size_t number : node.groups) {
      const FlowEvaluator::Group& group = evaluator_.groups()[number];
      const FlowGroupInfo& info = info_of(group);
      const auto text = [&](std::size_t satisfied, std::size_t unsatisfiable, std::size_t needed, GroupState state) {
        return fmt::format("{} satisfied, {} unsatisfiable, {} needed, {}", satisfied, unsatisfiable, needed,
                           to_string(state));
      };
      const std::string expected = text(group.satisfied, group.unsatisfiable, group.needed, group.state);
      const std::string found = text(info.satisfied, info.unsatisfiable, info.needed, info.state);
      const std::string what = fmt::format("group '{}' of {}", group.name, node.name);
      if (expected != found) differ(what, expected, found);
      if (group.policy == GroupPolicy::all || group.state != GroupState::fired || group.is_older) continue;
      const std::string difference = evaluator_.difference_of_winners(group, info.winners);
      if (!difference.empty()) differ(what, "other winners", difference);
    }
  }
  const FlowGroupInfo& info_of(const FlowEvaluator::Group& group) const {
    const auto& infos = infos_[group.node].groups;
    const auto found =
        std::find_if(infos.begin(), infos.end(), [&](const FlowGroupInfo& info) { return info.name == group.name; });
    FF_CHECK(found != infos.end());
    return *found;
  }

  void compare_edges() {
    const auto found = reads::flow_edges(driver_.store(), id_, {}, flow_page);
    FF_CHECK(found.has_value());
    std::size_t count = 0;
    for (const FlowEdgeInfo& info : found->edges) {
      if (is_made_by_engine(info.kind)) {
        compare_made_edge(info);
        continue;
      }
      ++count;
      const auto& edges = evaluator_.edges();
      const auto edge = std::find_if(edges.begin(), edges.end(), [&](const FlowEvaluator::Edge& one) {
        return evaluator_.nodes()[one.from].name == info.from && evaluator_.nodes()[one.to].name == info.to;
      });
      FF_CHECK(edge != edges.end());
      if (edge->state == info.state) continue;
      differ(info.from + " -> " + info.to, std::string(to_string(edge->state)), std::string(to_string(info.state)));
    }
    FF_CHECK(count == evaluator_.edges().size());
  }

  static bool is_made_by_engine(EdgeKind kind) {
    return kind == EdgeKind::within || kind == EdgeKind::part || kind == EdgeKind::output;
  }
  // Groups that hold a flow node together have names that no request can have.
  static bool is_made_by_engine(const FlowGroupInfo& group) { return group.name.starts_with("("); }

  // The rules are those of the comments on EdgeKind.
  void compare_made_edge(const FlowEdgeInfo& info) {
    const std::size_t from = evaluator_.index_of(info.from);
    const FlowEvaluator::Node& node = evaluator_.nodes()[from];
    const bool is_satisfied =
        info.kind == EdgeKind::within ? node.outcome == Outcome::success : !evaluator_.is_unhandled_failure(from);
    EdgeState expected = is_satisfied ? EdgeState::satisfied : EdgeState::unsatisfiable;
    if (node.life != Life::ended) expected = EdgeState::waiting;
    if (expected == info.state) return;
    differ(info.from + " -> " + info.to, std::string(to_string(expected)), std::string(to_string(info.state)));
  }

  FlowCounts counts_of_nodes() const {
    FlowCounts counts;
    for (const FlowNodeInfo& info : infos_) {
      ++counts.total;
      switch (outcome_of(info.public_state)) {
        case Outcome::none: ++counts.pending; break;
        case Outcome::success: ++counts.succeeded; break;
        case Outcome::failed: ++counts.failed; break;
        case Outcome::cancelled: ++counts.cancelled; break;
        case Outcome::expired: ++counts.expired; break;
        case Outcome::skipped: ++counts.skipped; break;
      }
    }
    return counts;
  }

  void compare_flow() {
    const auto flow = reads::describe_flow(driver_.store(), id_);
    FF_CHECK(flow.has_value());
    const std::set<FlowState> states = evaluator_.states();
    const FlowState state = flow->summary.state;
    if (!states.contains(state)) differ("the flow", show_all(states), std::string(to_string(state)));
    if (flow->summary.counts != counts_of_nodes())
      differ("the counts", "those of the nodes", show_counts(flow->summary.counts));
    if (flow->unhandled_failures != evaluator_.unhandled_failures()) {
      differ("unhandled failures", std::to_string(evaluator_.unhandled_failures()),
             std::to_string(flow->unhandled_failures));
    }
    compare_first_failure(flow->first_failure);
    compare_events(state);
    const std::size_t revision = 1 + replays_ + additions_;
    if (flow->revision != revision) differ("revision", std::to_string(revision), std::to_string(flow->revision));
  }
  static std::string show_counts(const FlowCounts& counts) {
    return fmt::format("{} of {} pending, {} succeeded, {} failed, {} cancelled, {} expired, {} skipped",
                       counts.pending, counts.total, counts.succeeded, counts.failed, counts.cancelled, counts.expired,
                       counts.skipped);
  }

  void compare_first_failure(const std::optional<FlowFailure>& found) {
    const auto& expected = evaluator_.first_failures();
    if (expected.empty() && !found) return;
    const std::string name = found ? found->node : "none";
    if (expected.empty() || !found || !expected.contains(evaluator_.index_of(found->node))) {
      differ("first failure", expected.empty() ? "none" : evaluator_.nodes()[*expected.begin()].name, name);
    }
    if (evaluator_.nodes()[evaluator_.index_of(found->node)].outcome != found->outcome) {
      differ("outcome of the first failure", "that of the node", std::string(to_string(found->outcome)));
    }
  }

  void compare_events(FlowState state) {
    std::vector<EventType> ends;
    std::string cursor;
    do {
      const auto page = reads::flow_history(driver_.store(), id_, cursor, flow_page);
      FF_CHECK(page.has_value());
      for (const Event& event : page->events) {
        if (ends_flow(event.type)) ends.push_back(event.type);
      }
      cursor = page->events.size() < flow_page ? std::string() : page->next_cursor;
    } while (!cursor.empty());
    const std::size_t expected = replays_ + (has_ended(state) ? 1 : 0);
    if (ends.size() != expected) differ("events of the end", std::to_string(expected), std::to_string(ends.size()));
    if (!has_ended(state)) return;
    const EventType type = state == FlowState::completed ? EventType::flow_completed
                           : state == FlowState::failed  ? EventType::flow_failed
                                                         : EventType::flow_cancelled;
    if (ends.back() != type)
      differ("event of the end", std::string(to_string(type)), std::string(to_string(ends.back())));
  }

  void compare_inputs(const ClaimedExecution& claimed) {
    const std::size_t node = evaluator_.index_of(claimed.node);
    std::vector<std::string> expected =
        evaluator_.inputs(node, [&](const FlowEvaluator::Group& group) { return info_of(group).winners; });
    std::vector<std::string> found;
    for (const FlowInput& input : claimed.inputs) {
      found.push_back(input.name);
      compare_input(claimed.node, input);
    }
    compare_order_of_winners(node, found);
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    if (expected != found)
      differ("inputs of " + claimed.node, fmt::format("{}", fmt::join(expected, " ")),
             fmt::format("{}", fmt::join(found, " ")));
  }
  void compare_input(const std::string& node, const FlowInput& input) {
    const std::size_t from = evaluator_.index_of(input.name);
    const std::string what = fmt::format("input {} of {}", input.name, node);
    if (input.outcome != outcome_of(infos_[from].public_state)) {
      differ(what, "with the outcome of the node", std::string(to_string(input.outcome)));
    }
    const bool has_result = input.outcome == Outcome::success && evaluator_.nodes()[from].role != Role::flow;
    const std::string result = has_result ? "result of " + input.name : "";
    if (input.result != result) differ(what, result, input.result);
    if (input.failure.has_value() != (input.outcome == Outcome::failed)) differ(what, "with the failure", "not so");
  }
  void compare_order_of_winners(std::size_t node, const std::vector<std::string>& found) {
    for (const std::size_t number : evaluator_.nodes()[node].groups) {
      const FlowEvaluator::Group& group = evaluator_.groups()[number];
      if (group.policy == GroupPolicy::all) continue;
      auto last = found.begin();
      for (const std::string& winner : info_of(group).winners) {
        const auto position = std::find(found.begin(), found.end(), winner);
        if (position == found.end()) continue;  // an optional one that did not succeed
        if (position < last) differ("inputs", "in the order of the winners", winner);
        last = position;
      }
    }
  }

  // The worker wanted more than it was given.
  void expect_nothing_claimable() {
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      if (is_claimable(infos_[i].public_state)) differ(infos_[i].name, "claimed", "waiting");
    }
  }

  std::vector<std::size_t> by_ordinal() const {
    std::vector<std::size_t> order(infos_.size());
    for (std::size_t i = 0; i < infos_.size(); ++i) order[infos_[i].ordinal] = i;
    return order;
  }

  void verify_end() {
    use_lost_leases();
    const auto record = reads::load_flow(driver_.store(), id_);
    FF_CHECK(record.has_value());
    const auto result = reads::flow_result(driver_.store(), *record);
    FF_CHECK(result.has_value());
    std::size_t next = 0;
    for (const std::size_t i : by_ordinal()) {
      if (!evaluator_.is_output_of_flow(i)) continue;
      const bool agrees = next < result->outputs.size() && result->outputs[next].node == infos_[i].name &&
                          result->outputs[next].outcome == outcome_of(infos_[i].public_state);
      if (!agrees) differ("the result of the flow", "with " + infos_[i].name, "without it");
      ++next;
    }
    if (next != result->outputs.size()) differ("the result of the flow", std::to_string(next), "more");
    const auto findings = integrity_findings(driver_.store());
    FF_CHECK(findings.has_value());
    if (!findings->empty()) differ("integrity", "without findings", findings->front());
  }

  void count() {
    const FlowState state = *evaluator_.states().begin();
    ++figures_.flows;
    figures_.nodes += infos_.size();
    for (const FlowNodeInfo& info : infos_) figures_.skipped += info.public_state == PublicState::skipped;
    figures_.cancelled_running += evaluator_.has_cancelled_running();
    figures_.completed += state == FlowState::completed;
    figures_.failed += state == FlowState::failed;
    figures_.cancelled += state == FlowState::cancelled;
    count_flow_nodes();
  }
  void count_flow_nodes() {
    bool is_nested = false;
    bool is_two_deep = false;
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      const FlowEvaluator::Node& node = evaluator_.nodes()[i];
      if (node.role != Role::flow) continue;
      ++figures_.flow_nodes[node.outcome];
      is_nested = true;
      is_two_deep = is_two_deep || node.inside.has_value();
    }
    figures_.nested += is_nested;
    figures_.two_deep += is_two_deep;
  }

  ManualClock clock_;
  Driver driver_;
  const FlowRequest whole_;
  const std::size_t part_size_;
  FlowRequest request_;              // what has been submitted and added
  std::size_t next_part_ = 0;        // the nodes of the whole from here on are missing
  std::vector<FlowNodeInfo> infos_;  // before the evaluator, which asks for them
  FlowEvaluator evaluator_;
  std::vector<TimestampMs> since_{};  // when each node was added or, if it was replayed, the flow was for the last time
  TimestampMs begun_at_;              // when it was submitted or, if it was replayed, for the last time
  FlowPlayFigures& figures_;
  FlowId id_{};
  bool deadline_is_due_ = false;
  std::size_t replays_ = 0;
  std::size_t additions_ = 0;
  std::map<std::size_t, ClaimedExecution> held_;
  std::map<std::size_t, ClaimedExecution> lost_;
  std::string log_;
};

}  // namespace

std::string play_flow(StoreKindId kind, const FlowNumbers& numbers, const std::vector<Step>& steps,
                      FlowPlayFigures& figures) {
  const auto database = make_database(kind);
  try {
    FlowPlay(*database, numbers, figures).run(steps);
  } catch (const Difference& difference) {
    return difference.what();
  }
  return {};
}

}  // namespace flowfabric::test
