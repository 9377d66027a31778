// Flows within flows: each chapter of a book is a flow of its own, and the book is bound when all chapters are ready.
#include <cstdio>
#include <string>
#include <vector>

#include <flowfabric/flow_builder.hpp>
#include <flowfabric/worker.hpp>

namespace {

using namespace std::chrono_literals;

// [book]
flowfabric::FlowBuilder chapter(const std::string& title) {
  flowfabric::FlowBuilder flow("chapter");
  flow.node("write", "write", title);
  flow.node("pictures", "draw", title);
  flow.node("set", "set").after("write", "pictures");
  return flow;
}

flowfabric::FlowRequest book(const std::vector<std::string>& titles) {
  flowfabric::FlowBuilder flow("book");
  flow.node("plan", "plan", titles);
  std::vector<std::string> chapters;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    chapters.push_back(flow.node("chapter-" + std::to_string(i), chapter(titles[i])).after("plan").name());
  }
  flow.node("bind", "bind").after(chapters);
  return flow.build();
}

// The nodes of the chapter that have nothing behind them are its outputs: here chapter-0/set, chapter-1/set, ...
std::string bind(flowfabric::Task& task) {
  std::string pages;
  for (const flowfabric::FlowInput& input : task.inputs()) {
    if (!input.result.empty()) pages += task.input_from<std::string>(input.name) + "\n";
  }
  return pages;
}
// [book]

int plan(std::vector<std::string> titles) { return static_cast<int>(titles.size()); }
// A node without edges of its own gets the inputs of its chapter.
std::string write(flowfabric::Task& task) {
  return task.input<std::string>() + " (of " + std::to_string(task.input_from<int>("plan")) + ")";
}
std::string draw(std::string title) { return "[picture of " + title + "]"; }
std::string set(flowfabric::Task& task) {
  std::string page;
  for (const flowfabric::FlowInput& input : task.inputs()) page += task.input_from<std::string>(input.name) + " ";
  return page;
}

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;
  flowfabric::Worker worker(*client, {.worker_id = "press", .concurrency = 4});
  worker.on("plan", plan);
  worker.on("write", write);
  worker.on("draw", draw);
  worker.on("set", set);
  worker.on("bind", bind);
  if (auto started = worker.start(); !started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;

  auto flow = client->submit_flow(book({"Leases", "Flows", "Time"}));
  if (!flow) return std::fprintf(stderr, "%s\n", flow.error().message.c_str()), 1;
  auto pages = client->flow_output<std::string>(flow->flow_id, "bind", 60s);
  if (!pages) return std::fprintf(stderr, "%s\n", pages.error().message.c_str()), 1;
  std::printf("%s", pages->c_str());
  return pages->find("Time (of 3) [picture of Time]") != std::string::npos ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:book.db"); }
