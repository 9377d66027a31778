// A map over a list: one node for each item, and one node that joins the results.
#include <cstdio>
#include <string>
#include <vector>

#include <flowfabric/flow_builder.hpp>
#include <flowfabric/worker.hpp>

namespace {

using namespace std::chrono_literals;

// [map]
flowfabric::FlowRequest word_count(const std::vector<std::string>& pages) {
  flowfabric::FlowBuilder flow("word-count");
  std::vector<std::string> mapped;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    mapped.push_back(flow.node("page-" + std::to_string(i), "count", pages[i]).name());
  }
  flow.node("total", "sum").after(mapped);
  return flow.build();
}

int count(std::string page) {
  int words = page.empty() ? 0 : 1;
  for (const char c : page) words += c == ' ' ? 1 : 0;
  return words;
}

int sum(flowfabric::Task& task) {
  int total = 0;
  for (const flowfabric::FlowInput& input : task.inputs()) total += task.input_from<int>(input.name);
  return total;
}
// [map]

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;
  flowfabric::Worker worker(*client, {.worker_id = "counter", .concurrency = 8});
  worker.on("count", count);
  worker.on("sum", sum);
  if (auto started = worker.start(); !started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;

  std::vector<std::string> pages;
  for (int i = 0; i < 100; ++i) pages.push_back("it was a dark and stormy night");
  auto flow = client->submit_flow(word_count(pages));
  if (!flow) return std::fprintf(stderr, "%s\n", flow.error().message.c_str()), 1;
  auto total = client->flow_output<int>(flow->flow_id, "total", 60s);
  if (!total) return std::fprintf(stderr, "%s\n", total.error().message.c_str()), 1;
  std::printf("%d words on %zu pages\n", *total, pages.size());
  return *total == 700 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:map.db"); }
