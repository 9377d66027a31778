// The commands for flows, on a store and through a server.
#include <fstream>

#include <gtest/gtest.h>

#include "cli/fixture.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

const std::string media = R"({"kind": "media", "tags": {"app.team": "video"},
  "nodes": [{"name": "fetch", "kind": "fetch"}, {"name": "small", "kind": "resize"},
            {"name": "large", "kind": "resize"}, {"name": "publish", "kind": "publish"}],
  "edges": [{"from": "fetch", "to": "small"}, {"from": "fetch", "to": "large"},
            {"from": "small", "to": "publish"}, {"from": "large", "to": "publish"}]})";
const std::string open_media = R"({"kind": "media", "open": true, "nodes": [{"name": "fetch", "kind": "fetch"}]})";
const std::string resizing = R"({"nodes": [{"name": "small", "kind": "resize"}, {"name": "large", "kind": "resize"}],
  "edges": [{"from": "fetch", "to": "small"}, {"from": "fetch", "to": "large"}]})";
const std::string some_id = "fp7-01890000-0000-7000-8000-000000000001";

class Flows : public OnAStore {
 protected:
  std::string file(const std::string& content) {
    const std::string path = (folder_.path() / ("flow" + std::to_string(++files_) + ".json")).string();
    std::ofstream(path) << content;
    return path;
  }
  std::string submit(const std::string& content, const Words& more = {}) {
    return text(run_json(Words{"flows", "submit", file(content)} + more).at("flow_id"));
  }
  std::string state_of(const std::string& flow) {
    return text(run_json({"flows", "show", flow}).at("summary").at("state"));
  }

  // Claims and settles nodes until the flow has ended. Nodes whose kind is `fails` fail.
  void work_off(const std::string& flow, const std::string& fails = {}) {
    const auto engine = open_engine();
    const auto id = parse_execution_id(flow);
    ASSERT_TRUE(id);
    while (true) {
      const auto description = engine->describe_flow(*id);
      ASSERT_TRUE(description);
      if (has_ended(description->summary.state)) return;
      ClaimRequest request;
      request.worker_id = "w";
      request.worker_instance_id = "w-1";
      request.wait_ms = 20;
      const auto claimed = engine->claim(request);
      ASSERT_TRUE(claimed) << claimed.error().message;
      for (const ClaimedExecution& one : *claimed) {
        if (one.kind == fails) {
          ASSERT_TRUE(engine->fail(one.handle, {.category = "broken", .message = "no luck"}));
        } else {
          ASSERT_TRUE(engine->complete(one.handle, {.result = "result of " + one.node}));
        }
      }
    }
  }

  test::TempDir folder_;
  int files_ = 0;
};

INSTANTIATE_TEST_SUITE_P(, Flows, testing::ValuesIn(all_ways()), way_name);

TEST_P(Flows, AreSubmittedListedAndShown) {
  const Finished empty = run({"flows", "list"});
  EXPECT_EQ(empty.out, "this store has no flows yet\n") << empty.err;
  const std::string path = file(media);
  const Finished submitted = run({"flows", "submit", path});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  const std::string flow = submitted.out.substr(0, submitted.out.size() - 1);

  const Finished list = run({"flows", "list"});
  EXPECT_TRUE(contains(list.out, flow) && contains(list.out, "running") && contains(list.out, "media")) << list.out;
  const Finished shown = run({"flows", "show", flow});
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (const char* part : {"4 nodes, 4 pending", "fail_fast", "app.team=video", "what holds it back",
                           "Nodes of it wait for a worker", "waiting_children", "small, large"}) {
    EXPECT_TRUE(contains(shown.out, part)) << part << "\n" << shown.out;
  }
  const auto json = run_json({"flows", "show", flow});
  EXPECT_EQ(json.at("summary").at("counts").at("pending").as_int64(), 4);
  EXPECT_EQ(json.at("edge_count").as_int64(), 4);
  EXPECT_TRUE(json.at("critical_path").as_array().empty());

  const auto nodes = run_json({"flows", "nodes", flow}).at("nodes").as_array();
  ASSERT_EQ(nodes.size(), 4u);
  const Finished node = run({"executions", "show", text(nodes[3].at("execution_id"))});
  EXPECT_TRUE(contains(node.out, flow)) << node.out;
  EXPECT_TRUE(contains(node.out, "node             publish\n")) << node.out;
  const Finished table = run({"flows", "nodes", flow});
  EXPECT_TRUE(contains(table.out, "waits for small, large")) << table.out;
  EXPECT_EQ(lines(run({"executions", "list", "--flow", flow}).out), 5u);
  EXPECT_EQ(run({"executions", "list", "--flow", some_id}).out, "no matching executions\n");
}

TEST_P(Flows, ArePagedAndFiltered) {
  const std::string first = submit(media);
  const std::string second = submit(R"({"kind": "other", "nodes": [{"name": "a", "kind": "k"}]})");
  using Ids = std::set<std::string>;
  const auto ids = [&](const Words& more) {
    Ids found;
    const auto listed = run_json(Words{"flows", "list"} + more);
    for (const auto& flow : listed.at("flows").as_array()) found.insert(text(flow.at("flow_id")));
    return found;
  };
  EXPECT_EQ(ids({}), (Ids{second, first}));
  EXPECT_EQ(ids({"--kind", "other"}), Ids{second});
  EXPECT_EQ(ids({"--tag", "app.team=video"}), Ids{first});
  EXPECT_EQ(ids({"--state", "completed,failed"}), Ids{});
  EXPECT_EQ(ids({"--state", "running", "--namespace", "default"}), (Ids{second, first}));
  EXPECT_EQ(ids({"--created-before", "2020-01-01T00:00:00Z"}), Ids{});
  EXPECT_EQ(ids({"--all"}), (Ids{second, first}));
  const auto page = run_json({"flows", "list", "--limit", "1"});
  ASSERT_EQ(page.at("flows").as_array().size(), 1u);
  Ids both = ids({"--cursor", text(page.at("next_cursor"))});
  EXPECT_EQ(both.size(), 1u);
  both.insert(text(page.at("flows").as_array()[0].at("flow_id")));
  EXPECT_EQ(both, (Ids{second, first}));
  EXPECT_TRUE(contains(run({"flows", "list", "--limit", "1"}).out, "there may be more: continue with --cursor "));
  EXPECT_EQ(run({"flows", "list", "--kind", "none"}).out, "no matching flows\n");

  EXPECT_EQ(run_json({"flows", "nodes", first, "--limit", "3"}).at("nodes").as_array().size(), 3u);
  EXPECT_EQ(run_json({"flows", "nodes", first, "--cursor", "3"}).at("nodes").as_array().size(), 1u);
  EXPECT_EQ(run_json({"flows", "edges", first, "--all"}).at("edges").as_array().size(), 4u);
  EXPECT_TRUE(contains(run({"flows", "edges", first}).out, "on_success"));
  EXPECT_EQ(run({"flows", "edges", second}).out, "no edges\n");
}

TEST_P(Flows, AreDrawn) {
  const std::string flow = submit(media);
  const auto graph = run_json({"flows", "graph", flow});
  EXPECT_EQ(graph.at("nodes").as_array().size(), 4u);
  EXPECT_EQ(graph.at("edges").as_array().size(), 4u);
  const Finished mermaid = run({"flows", "graph", flow, "--format", "mermaid"});
  EXPECT_TRUE(mermaid.out.starts_with("flowchart LR\n")) << mermaid.out << mermaid.err;
  const std::string path = (folder_.path() / "flow.dot").string();
  const Finished dot = run({"flows", "graph", flow, "--format", "dot", "--output", path});
  EXPECT_EQ(dot.code, 0) << dot.err;
  EXPECT_EQ(dot.out, "");
  std::ifstream in(path);
  const std::string drawn{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(drawn.starts_with("digraph flow {\n")) << drawn;

  EXPECT_EQ(run({"flows", "graph", flow, "--format", "png"}).code, 2);
  EXPECT_EQ(run({"flows", "graph", flow, "--format", "dot", "--json"}).code, 2);
  const Finished nowhere = run({"flows", "graph", flow, "--output", (folder_.path() / "none" / "x").string()});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_TRUE(contains(nowhere.err, "--output: cannot write ")) << nowhere.err;
}

TEST_P(Flows, AreWaitedFor) {
  const std::string flow = submit(media);
  const Finished early = run({"flows", "wait", flow, "--timeout", "1ms"});
  EXPECT_EQ(early.code, 5) << early.out << early.err;
  EXPECT_TRUE(contains(early.err, "has not ended within 1ms: 4 nodes, 4 pending")) << early.err;
  work_off(flow);
  const Finished waited = run({"flows", "wait", flow});
  EXPECT_EQ(waited.code, 0) << waited.err;
  EXPECT_EQ(waited.out, flow + " ended as completed: 4 nodes, 4 succeeded\n");
  EXPECT_EQ(text(run_json({"flows", "wait", flow}).at("state")), "completed");

  const Finished result = run({"flows", "result", flow});
  EXPECT_EQ(result.out,
            flow + " ended as completed: 4 nodes, 4 succeeded\n\npublish: success (17 bytes)\nresult of publish\n");
  EXPECT_EQ(run_json({"flows", "result", flow}).at("outputs").as_array().size(), 1u);
  const Finished shown = run({"flows", "show", flow});
  EXPECT_TRUE(contains(shown.out, "* critical path: fetch > ") && contains(shown.out, " > publish\n")) << shown.out;

  const Finished events = run({"flows", "events", flow});
  EXPECT_TRUE(contains(events.out, "flow_submitted") && contains(events.out, "flow_completed")) << events.out;
  const auto log = run_json({"events", "--flow", flow}).at("events").as_array();
  ASSERT_EQ(log.size(), 2u) << "those of its nodes are not among them";
  EXPECT_EQ(text(log[1].at("type")), "flow_completed");
  EXPECT_TRUE(contains(run({"events", "--type", "flow_completed"}).out, flow));
  EXPECT_EQ(run({"events", "--flow", flow, "--execution", some_id}).code, 2);
}

TEST_P(Flows, ThatFailSaySo) {
  const std::string flow = submit(media);
  work_off(flow, "resize");
  const Finished waited = run({"flows", "wait", flow});
  EXPECT_EQ(waited.code, 1) << waited.err;
  EXPECT_TRUE(contains(waited.out, " ended as failed: 4 nodes") && contains(waited.out, "failed: broken"))
      << waited.out;
  const Finished shown = run({"flows", "show", flow});
  EXPECT_TRUE(contains(shown.out, "first failure")) << shown.out;
  EXPECT_TRUE(contains(run({"flows", "nodes", flow}).out, "broken: no luck"));
}

TEST_P(Flows, AreSubmittedOnce) {
  const std::string flow = submit(media, {"--idempotency-key", "k", "--id", "01890000-0000-7000-8000-000000000009"});
  EXPECT_TRUE(flow.ends_with("-01890000-0000-7000-8000-000000000009")) << flow;
  const Finished again =
      run({"flows", "submit", file(media), "--idempotency-key", "k", "--id", "01890000-0000-7000-8000-000000000009"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, flow + "\n");
  EXPECT_TRUE(contains(again.err, "nothing new")) << again.err;
}

TEST_P(Flows, ASubmissionCanWait) {
  const Finished late = run({"flows", "submit", file(media), "--wait", "--timeout", "1ms"});
  EXPECT_EQ(late.code, 5) << late.err;
  EXPECT_EQ(lines(late.out), 1u) << "the id, to go on with";
  const std::string flow = submit(media, {"--idempotency-key", "k"});
  work_off(flow);
  const Finished done = run({"flows", "submit", file(media), "--wait", "--idempotency-key", "k"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, flow + "\n" + flow + " ended as completed: 4 nodes, 4 succeeded\n");
}

TEST_P(Flows, AreCancelled) {
  const std::string flow = submit(media);
  const Finished asked = run({"flows", "cancel", flow});
  EXPECT_EQ(asked.code, 2);
  EXPECT_TRUE(contains(asked.err, "pass --yes")) << asked.err;
  EXPECT_EQ(state_of(flow), "running");
  EXPECT_EQ(run({"flows", "cancel", flow, "--policy", "harder", "--yes"}).code, 2);

  const auto reply = run_json(Words{"flows", "cancel", flow, "--yes", "--reason", "wrong film"} + by("ada"));
  EXPECT_FALSE(reply.at("already_cancelled").as_bool());
  EXPECT_EQ(text(reply.at("policy")), "cancel_all");
  if (!served()) {
    EXPECT_EQ(text(reply.at("state")), "cancelled") << "on a store the command waits for it";
  }
  const Finished waited = run({"flows", "wait", flow});
  EXPECT_EQ(waited.code, 1) << waited.err;
  EXPECT_EQ(waited.out, flow + " ended as cancelled: 4 nodes, 4 cancelled\n");
  const Finished shown = run({"flows", "show", flow});
  EXPECT_TRUE(contains(shown.out, "cancel_all by " + actor("ada"))) << shown.out;
  EXPECT_TRUE(contains(shown.out, ": wrong film")) << shown.out;
  const Finished again = run({"flows", "cancel", flow, "--yes"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(contains(again.out, "was already cancelled (cancel_all) and is cancelled")) << again.out;
}

TEST_P(Flows, WithAPolicyAreCancelledAsFarAsItSays) {
  const std::string flow = submit(media);
  EXPECT_EQ(text(run_json({"flows", "cancel", flow, "--policy", "flow_only", "--yes"}).at("state")), "cancelled");
  EXPECT_EQ(run_json({"flows", "show", flow}).at("summary").at("counts").at("pending").as_int64(), 4);
  const std::string cleaned = submit(R"({"kind": "k", "nodes": [{"name": "a", "kind": "k"}, {"name": "z", "kind": "k"}],
      "edges": [{"from": "a", "to": "z", "kind": "on_finish"}]})");
  const auto reply = run_json({"flows", "cancel", cleaned, "--policy", "cancel_pending", "--run-cleanup", "--yes"});
  EXPECT_EQ(text(reply.at("state")), "cancelling") << "the cleanup node waits for a worker";
}

TEST_P(Flows, AreReplayed) {
  const std::string flow = submit(media);
  EXPECT_EQ(run({"flows", "replay", flow, "--yes"}).code, 4) << "it has not ended";
  work_off(flow, "resize");
  EXPECT_EQ(state_of(flow), "failed");
  EXPECT_EQ(run({"flows", "replay", flow}).code, 2) << "it asks";
  const Finished only = run({"flows", "replay", flow, "--only", "--yes"});
  EXPECT_EQ(only.code, 2);
  EXPECT_TRUE(contains(only.err, "--only needs --node")) << only.err;
  EXPECT_EQ(run({"flows", "replay", flow, "--node", "nobody", "--yes"}).code, 3);

  const auto reply = run_json(Words{"flows", "replay", flow, "--yes", "--reason", "mended"} + by("ada"));
  EXPECT_EQ(text(reply.at("flow_id")), flow);
  EXPECT_EQ(text(reply.at("state")), "running");
  EXPECT_EQ(reply.at("revision").as_int64(), 2);
  work_off(flow);
  EXPECT_EQ(state_of(flow), "completed");

  const Finished again = run({"flows", "replay", flow, "--node", "publish", "--only", "--yes"});
  EXPECT_EQ(again.out, flow + " is running again, revision 3\n") << again.err;
  EXPECT_EQ(run_json({"flows", "show", flow}).at("summary").at("counts").at("pending").as_int64(), 1);
}

TEST_P(Flows, AreBuiltStepByStep) {
  const std::string flow = submit(open_media);
  EXPECT_EQ(state_of(flow), "building");
  EXPECT_TRUE(contains(run({"flows", "show", flow}).out, "It is open: nodes can be added until it is sealed."));
  const std::string more = file(resizing);
  const Finished added = run(Words{"flows", "add", flow, more} + by("ada"));
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_EQ(added.out, flow + " got 2 nodes and 2 edges, revision 2\n");
  EXPECT_EQ(run({"flows", "add", flow, more}).out, flow + " has all of it already, revision 2\n");

  const auto reply = run_json({"flows", "add", flow, file(R"({"nodes": [{"name": "publish", "kind": "publish"}],
      "edges": [{"from": "small", "to": "publish", "group": "first"}, {"from": "large", "to": "publish", "group": "first"}],
      "groups": [{"node": "publish", "name": "first", "policy": "any"}]})")});
  EXPECT_EQ(text(reply.at("flow_id")), flow);
  EXPECT_EQ(text(reply.at("state")), "building");
  EXPECT_EQ(reply.at("added_nodes").as_int64(), 1);
  EXPECT_EQ(reply.at("added_edges").as_int64(), 2);
  const std::string node = text(reply.at("nodes").as_array().at(0).at("execution_id"));
  EXPECT_TRUE(contains(run({"executions", "show", node}).out, "node             publish\n"));

  const auto sealed = run_json(Words{"flows", "seal", flow, "--reason", "nothing more comes"} + by("ada"));
  EXPECT_EQ(text(sealed.at("flow_id")), flow);
  EXPECT_EQ(text(sealed.at("state")), "running");
  EXPECT_FALSE(sealed.at("already_sealed").as_bool());
  const auto log = run_json({"flows", "events", flow}).at("events").as_array();
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(text(log[1].at("reason")), "2 nodes, 2 edges");
  EXPECT_EQ(text(log[1].at("actor")), actor("ada"));
  EXPECT_EQ(text(log[2].at("reason")), "1 node, 2 edges");
  EXPECT_EQ(text(log[3].at("type")), "flow_sealed");
  EXPECT_EQ(text(log[3].at("actor")), actor("ada"));
  EXPECT_EQ(text(log[3].at("reason")), "nothing more comes");
  work_off(flow);
  EXPECT_EQ(state_of(flow), "completed");
}

TEST_P(Flows, ThatAreSealedTakeNothingMore) {
  const std::string flow = submit(open_media);
  const std::string more = file(resizing);
  ASSERT_EQ(run({"flows", "add", flow, more}).code, 0);
  EXPECT_EQ(run({"flows", "seal", flow}).out, flow + " is sealed and is running\n");
  const Finished again = run({"flows", "seal", flow});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, flow + " was not open and is running\n");

  const std::string late = file(R"({"nodes": [{"name": "publish", "kind": "publish"}]})");
  const Finished refused = run({"flows", "add", flow, late});
  EXPECT_EQ(refused.code, 4) << refused.out;
  EXPECT_TRUE(contains(refused.err, "flow " + flow + " is sealed; only its running nodes can add to it"))
      << refused.err;
  work_off(flow);
  const Finished ended = run({"flows", "add", flow, late});
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_TRUE(contains(ended.err, "flow " + flow + " has ended: completed")) << ended.err;
  EXPECT_EQ(run({"flows", "add", flow, more}).code, 0) << "a repetition is answered";
  EXPECT_EQ(run({"flows", "seal", flow}).out, flow + " was not open and is completed\n");
}

TEST_P(Flows, GrowFromStdin) {
  std::ofstream(folder_.path() / "open.json") << open_media;
  std::ofstream(folder_.path() / "more.json") << resizing;
  const Finished finished = run_script(
      "flow=$(flowfabric flows submit - <open.json)\n"
      "flowfabric flows add \"$flow\" - <more.json\n"
      "! echo '{' | flowfabric flows add \"$flow\" -\n",
      folder_.file(""), {"FLOWFABRIC_STORE=" + place()});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, " got 2 nodes and 2 edges, revision 2\n")) << finished.out;
  EXPECT_TRUE(contains(finished.err, "flowfabric flows add: stdin: ")) << finished.err;
}

TEST_P(Flows, OnATerminalFitItAndShowTheirProgress) {
  const std::string flow = submit(media);
  const Words there = {"--store", place()};
  const Finished shown = run_on_terminal(Words{"flows", "show", flow} + there, "", {"NO_COLOR=1"}, 80);
  EXPECT_EQ(shown.code, 0) << shown.out;
  for (std::size_t begin = 0, end; (end = shown.out.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 81u) << shown.out.substr(begin, end - begin);  // with the carriage return
  }
  const Finished declined = run_on_terminal(Words{"flows", "cancel", flow} + there, "n\n");
  EXPECT_EQ(declined.code, 1) << declined.out;
  EXPECT_TRUE(contains(declined.out, "cancel flow " + flow + ", 4 of whose 4 nodes have not ended?")) << declined.out;
  EXPECT_EQ(state_of(flow), "running");
  work_off(flow);
  const Finished waited = run_on_terminal(Words{"flows", "wait", flow} + there, "");
  EXPECT_EQ(waited.code, 0) << waited.out;
  EXPECT_TRUE(contains(waited.out, "100%  4/4")) << waited.out;
  EXPECT_TRUE(contains(waited.out, flow + " ended as completed: 4 nodes, 4 succeeded")) << waited.out;
}

TEST_P(Flows, MistakesAreNamed) {
  const auto refused = [&](const Words& words, const std::string& said, int code = 2) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.code, code) << finished.err;
    EXPECT_TRUE(contains(finished.err, said)) << finished.err;
    EXPECT_EQ(lines(finished.err), 1u) << finished.err;
  };
  const std::string no_json = file("{");
  refused({"flows", "submit", no_json}, no_json + ": ");
  const std::string unknown = file(R"({"kind": "k", "nodes": [{"name": "a", "kind": "k", "colour": "red"}]})");
  refused({"flows", "submit", unknown}, unknown + ": nodes[0].colour");
  const std::string cycle = file(R"({"kind": "k", "nodes": [{"name": "a", "kind": "k"}, {"name": "b", "kind": "k"}],
      "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]})");
  refused({"flows", "submit", cycle}, cycle + ": edges: the nodes depend on each other in a cycle: \"");
  refused({"flows", "submit", (folder_.path() / "none.json").string()}, "FILE: ");
  refused({"flows", "submit", no_json, "--id", "nonsense"}, "--id: ");
  refused({"flows", "submit", no_json, "--timeout", "1s"}, "--timeout: is only for --wait");
  refused({"flows", "show", "nonsense"}, "ID: is not a flow id like fp7-<uuid>: \"nonsense\"");
  refused({"flows", "list", "--state", "happy"}, "--state: ");
  refused({"flows", "wait", some_id, "--timeout", "soon"}, "--timeout");
  for (const char* verb : {"show", "nodes", "edges", "graph", "result", "wait", "events"}) {
    refused({"flows", verb, some_id}, "there is no flow " + some_id, 3);
  }
  refused({"flows", "cancel", some_id, "--yes"}, "there is no flow " + some_id, 3);
  refused({"flows", "seal", some_id}, "there is no flow " + some_id, 3);
  refused({"flows", "add", some_id, file(resizing)}, "there is no flow " + some_id, 3);
  EXPECT_EQ(run({"flows", "list"}).out, "this store has no flows yet\n") << "nothing was left behind";
}

TEST_P(Flows, MistakesInAdditionsAreNamed) {
  const std::string flow = submit(open_media);
  const auto refused = [&](const Words& words, const std::string& said, int code = 2) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.code, code) << finished.err;
    EXPECT_TRUE(contains(finished.err, said)) << finished.err;
    EXPECT_EQ(lines(finished.err), 1u) << finished.err;
  };
  const auto refused_addition = [&](const std::string& content, const std::string& said, int code = 2) {
    const std::string path = file(content);
    refused({"flows", "add", flow, path}, (code == 2 ? path + ": " : "flows add: ") + said, code);
  };
  refused_addition("{", "");
  refused_addition(R"({"kind": "media"})", "kind");
  refused_addition(R"({"nodes": [{"name": "a", "kind": "k", "colour": "red"}]})", "nodes[0].colour");
  refused_addition("{}", "nodes: is empty, and so is edges; give at least one of them");
  refused_addition(R"({"nodes": [{"name": "a", "kind": "k"}], "edges": [{"from": "a", "to": "nobody"}]})",
                   "edges[0].to: there is no node \"nobody\" in this flow");
  refused_addition(R"({"nodes": [{"name": "a", "kind": "k"}, {"name": "b", "kind": "k"}],
      "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]})",
                   "edges: the nodes depend on each other in a cycle: \"");
  refused_addition(R"({"nodes": [{"name": "fetch", "kind": "other"}]})",
                   "nodes[0].name: node \"fetch\" exists and was made by a different request", 4);
  refused({"flows", "add", flow}, "FILE is missing");
  refused({"flows", "add", flow, (folder_.path() / "none.json").string()}, "FILE: ");
  refused({"flows", "add", "nonsense", file(resizing)}, "ID: is not a flow id like fp7-<uuid>: \"nonsense\"");
  refused({"flows", "seal", "nonsense"}, "ID: is not a flow id like fp7-<uuid>: \"nonsense\"");
  EXPECT_EQ(run_json({"flows", "nodes", flow}).at("nodes").as_array().size(), 1u) << "nothing was left behind";
}

}  // namespace
}  // namespace flowfabric::cli_test
