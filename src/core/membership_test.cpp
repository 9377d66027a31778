// The tables of docs/flows.md.
#include "core/membership.hpp"

#include <gtest/gtest.h>

#include "core/records.hpp"

namespace flowfabric {
namespace {

constexpr EdgeState yes = EdgeState::satisfied;
constexpr EdgeState no = EdgeState::unsatisfiable;

TEST(FlowTables, WhichOutcomesSatisfyAnEdge) {
  struct Row {
    EdgeKind kind;
    EdgeState success, failed, cancelled, withdrawn, expired, skipped;
  };
  const Row table[] = {
      {EdgeKind::on_success, yes, no, no, no, no, no},     {EdgeKind::on_failure, no, yes, yes, no, yes, no},
      {EdgeKind::on_finish, yes, yes, yes, yes, yes, yes}, {EdgeKind::optional, yes, yes, yes, yes, yes, yes},
      {EdgeKind::join, yes, yes, yes, yes, yes, yes},      {EdgeKind::within, yes, no, no, no, no, no},
      {EdgeKind::part, yes, no, no, yes, no, yes},         {EdgeKind::output, yes, no, no, yes, no, yes},
  };
  for (const Row& row : table) {
    const std::string_view name = to_string(row.kind);
    EXPECT_EQ(edge_verdict(row.kind, Ending::success, is_failure(Ending::success)), row.success) << name;
    EXPECT_EQ(edge_verdict(row.kind, Ending::failed, is_failure(Ending::failed)), row.failed) << name;
    EXPECT_EQ(edge_verdict(row.kind, Ending::cancelled, is_failure(Ending::cancelled)), row.cancelled) << name;
    EXPECT_EQ(edge_verdict(row.kind, Ending::withdrawn, is_failure(Ending::withdrawn)), row.withdrawn) << name;
    EXPECT_EQ(edge_verdict(row.kind, Ending::expired, is_failure(Ending::expired)), row.expired) << name;
    EXPECT_EQ(edge_verdict(row.kind, Ending::skipped, is_failure(Ending::skipped)), row.skipped) << name;
    for (const Ending ending :
         {Ending::success, Ending::failed, Ending::cancelled, Ending::withdrawn, Ending::expired, Ending::skipped}) {
      bool input = edge_verdict(row.kind, ending, is_failure(ending)) == yes;
      if (row.kind == EdgeKind::optional || row.kind == EdgeKind::output) input = ending == Ending::success;
      if (row.kind == EdgeKind::within || row.kind == EdgeKind::part) input = false;
      EXPECT_EQ(passes_input(row.kind, ending), input) << name;
    }
  }
}

TEST(FlowTables, AFailureThatIsHandledWithinAFlowDoesNotFailIt) {
  EXPECT_EQ(edge_verdict(EdgeKind::part, Ending::failed, false), yes);
  EXPECT_EQ(edge_verdict(EdgeKind::part, Ending::failed, true), no);
  Membership member;
  member.outgoing = {{1, EdgeKind::part, 0}, {2, EdgeKind::on_finish, 0}};
  EXPECT_FALSE(is_handled(member));
  EXPECT_TRUE(is_part(member));
  member.outgoing.push_back({2, EdgeKind::on_failure, 0});
  EXPECT_TRUE(is_handled(member));
}

TEST(FlowTables, HowAMemberEnded) {
  EXPECT_EQ(ending_of(Outcome::success, false), Ending::success);
  EXPECT_EQ(ending_of(Outcome::failed, true), Ending::failed) << "only its own work can fail a node";
  EXPECT_EQ(ending_of(Outcome::cancelled, false), Ending::cancelled);
  EXPECT_EQ(ending_of(Outcome::cancelled, true), Ending::withdrawn);
  EXPECT_EQ(ending_of(Outcome::expired, false), Ending::expired);
  EXPECT_EQ(ending_of(Outcome::expired, true), Ending::withdrawn);
  EXPECT_EQ(ending_of(Outcome::skipped, false), Ending::skipped);
}

// Edges arrive in this order: s satisfied, u unsatisfiable. The second text is the state after each of them.
struct GroupRun {
  GroupPolicy policy;
  std::uint32_t needed;
  std::string arriving;
  std::string states;  // w waiting, f fired, i impossible
};

TEST(FlowTables, WhenAGroupFires) {
  const GroupRun runs[] = {
      {GroupPolicy::all, 3, "sss", "wwf"},    {GroupPolicy::all, 3, "sus", "wii"},
      {GroupPolicy::any, 1, "sss", "fff"},    {GroupPolicy::any, 1, "uus", "wwf"},
      {GroupPolicy::any, 1, "uuu", "wwi"},    {GroupPolicy::quorum, 2, "sus", "wwf"},
      {GroupPolicy::quorum, 2, "uus", "wii"}, {GroupPolicy::quorum, 2, "ssu", "wff"},
      {GroupPolicy::gather, 3, "sss", "wwf"}, {GroupPolicy::gather, 3, "suu", "wwf"},
  };
  for (const GroupRun& run : runs) {
    const IncomingGroup group{"g", run.policy, run.needed, static_cast<std::uint32_t>(run.arriving.size()),
                              GroupRest::let_run};
    GroupTally tally;
    std::string states;
    for (std::size_t i = 0; i < run.arriving.size(); ++i) {
      const EdgeState verdict = run.arriving[i] == 's' ? yes : no;
      states += "wfi"[static_cast<int>(count_edge(group, tally, verdict, static_cast<std::uint32_t>(i)))];
    }
    EXPECT_EQ(states, run.states) << to_string(run.policy) << " " << run.arriving;
    EXPECT_EQ(tally.satisfied + tally.unsatisfiable, run.arriving.size());
    EXPECT_LE(tally.winners.size(), run.needed);
    // An outdated record of an upstream node reports its edge a second time.
    const GroupTally before = tally;
    EXPECT_EQ(count_edge(group, tally, yes, 0), before.state);
    EXPECT_EQ(tally, before);
  }
}

TEST(FlowRecords, RoundTrip) {
  Membership member;
  member.node = "n";
  member.ordinal = 70000;
  member.outgoing = {{1, EdgeKind::on_failure, 2}, {300, EdgeKind::optional, 0}};
  member.incoming = {{4, EdgeKind::on_finish, 1}};
  member.groups = {{"g", GroupPolicy::quorum, 2, 3, GroupRest::cancel_remaining}};
  Spec spec;
  spec.kind = "k";
  spec.flow = Uuid{};
  spec.member = member;
  spec.route = 0;
  const auto decoded = decode_spec(encode(spec));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->member, spec.member);
  EXPECT_EQ(decoded->traceparent, "");

  Facts facts;
  facts.gates = dependency_gate;
  facts.member.emplace();
  facts.member->groups = {{1, 2, GroupState::fired, {7, 5}}};
  facts.member->unresolved = true;
  facts.member->resolved = 9;
  facts.member->withdrawn = true;
  facts.member->unhandled = true;
  facts.member->sibling_cancels = {{1, 3}};
  facts.member->work_at = 12345;
  EXPECT_EQ(decode_facts(encode(facts)).value(), facts);
  EXPECT_FALSE(decode_facts(encode(facts) + "x"));
}

TEST(FlowRecords, AFlowRoundTrips) {
  FlowRecord flow;
  flow.id = {7, Uuid{{1, 2, 3}}};
  flow.spec.name_space = "ns";
  flow.spec.kind = "k";
  flow.spec.failure_policy = FailurePolicy::continue_others;
  flow.spec.sinks = {1, 5000};
  flow.spec.retention.failed_ms = 5;
  flow.facts.state = FlowState::cancelling;
  flow.facts.members = 3;
  flow.facts.succeeded = 1;
  flow.facts.first_failure = FlowFirstFailure{2, "n", Outcome::expired, "c"};
  flow.facts.cancel =
      FlowCancel{FlowCancelPolicy::cancel_pending, CancelCause::deadline, true, "by", "why", 99, 2, true};
  flow.facts.removing = 4;
  flow.facts.tags = {{"a.b", "c"}};
  Record record;
  record.key = flow_key(flow.id);
  record.fixed = encode(flow.spec);
  record.body = encode(flow.facts);
  const auto decoded = decode_flow(record);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->id, flow.id);
  EXPECT_EQ(decoded->spec, flow.spec);
  EXPECT_EQ(decoded->facts, flow.facts);
  record.body += 'x';
  EXPECT_FALSE(decode_flow(record));

  FlowReplay& replay = flow.facts.replay.emplace();
  replay.stage = FlowReplay::Stage::arrive;
  replay.next = 70000;
  replay.next_edge = 3;
  replay.chosen = std::string("\x00\xff\x01", 3);
  replay.spread = "\x02";
  replay.by = "ops";
  replay.reason = "again";
  replay.at = 12345;
  record.body = encode(flow.facts);
  ASSERT_TRUE(decode_flow(record));
  EXPECT_EQ(decode_flow(record)->facts, flow.facts);
  record.body.pop_back();
  EXPECT_FALSE(decode_flow(record));
}

// Added edges are in the part that changes, and the Membership in memory has them.
TEST(FlowRecords, GrowthRoundTrips) {
  Execution member;
  member.spec.kind = "k";
  member.spec.flow = Uuid{};
  member.spec.member.emplace();
  member.spec.member->node = "n";
  member.spec.member->incoming = {{4, EdgeKind::on_success, 0}};
  member.spec.member->groups = {{"", GroupPolicy::all, 1, 1, GroupRest::let_run}};
  member.facts.member.emplace();
  member.facts.member->groups.resize(2);
  const std::string before = encode(member.facts);
  MemberGrowth growth;
  growth.outgoing = {{9, EdgeKind::join, 1}};
  growth.groups = {{"q", GroupPolicy::quorum, 2, 0, GroupRest::cancel_remaining}};
  growth.incoming = {{5, EdgeKind::on_finish, 0}, {6, EdgeKind::on_success, 1}, {7, EdgeKind::on_success, 1}};
  growth.joined = {3};
  growth.awaits = {8, 80000};
  member.facts.member->growth = growth;
  EXPECT_EQ(decode_facts(encode(member.facts)).value(), member.facts);
  EXPECT_NE(encode(member.facts).front(), before.front()) << "members that have not grown keep their encoding";

  Record record;
  record.key = execution_key(ExecutionId{});
  record.fixed = encode(member.spec);
  record.body = encode(member.facts);
  const auto decoded = decode_execution(record);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->facts, member.facts);
  const Membership& whole = *decoded->spec.member;
  EXPECT_EQ(whole.outgoing, growth.outgoing);
  EXPECT_EQ(whole.incoming.size(), 4U);
  EXPECT_EQ(whole.groups, (std::vector<IncomingGroup>{{"", GroupPolicy::all, 2, 2, GroupRest::let_run},
                                                      {"q", GroupPolicy::quorum, 2, 2, GroupRest::cancel_remaining}}));

  member.facts.member->growth->incoming[1].group = 7;
  record.body = encode(member.facts);
  EXPECT_EQ(decode_execution(record).error().code, Errc::corruption);
}

TEST(FlowRecords, AGrowingFlowRoundTrips) {
  FlowRecord flow;
  flow.spec.kind = "k";
  flow.facts.state = FlowState::building;
  const std::string before = encode(flow.facts);
  flow.facts.members = flow.facts.named = 70000;
  flow.facts.added_edges = 5;
  flow.facts.sinks = std::vector<std::uint32_t>{3, 69999};
  Record record;
  record.key = flow_key(flow.id);
  record.fixed = encode(flow.spec);
  record.body = encode(flow.facts);
  const auto decoded = decode_flow(record);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->facts, flow.facts);
  EXPECT_NE(encode(flow.facts).front(), before.front());
  EXPECT_EQ(decode_flow_name(encode(FlowNameRecord{70000})).value().ordinal, 70000U);
  EXPECT_FALSE(decode_flow_name("x"));
}

// Ids are stored in other records and may not change.
TEST(FlowRecords, IdsOfMembersAreFixed) {
  const FlowId flow = parse_execution_id("fp7-01234567-89ab-7def-8123-456789abcdef").value();
  EXPECT_EQ(to_string(member_id(flow, 0)), "fp7-01234567-89ab-81d6-92b2-eb59502d63de");
  EXPECT_NE(member_id(flow, 1), member_id(flow, 0));
  FlowId neighbour = flow;
  ++neighbour.uuid.bytes[15];
  EXPECT_NE(member_id(neighbour, 0), member_id(flow, 1));
}

}  // namespace
}  // namespace flowfabric
