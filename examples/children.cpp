// A node that divides its work: it spawns children for what it finds, waits for them without a worker, and returns a summary.
#include <cstdio>
#include <string>
#include <vector>

#include <flowfabric/flow_builder.hpp>
#include <flowfabric/worker.hpp>

namespace {

using namespace std::chrono_literals;

std::vector<std::string> list_files(const std::string& folder) {
  return {folder + "/a.txt", folder + "/notes.txt", folder + "/summary.txt"};
}

// [children]
struct Survey {
  int files = 0;
  int bytes = 0;
  std::string index;
};
FLOWFABRIC_JSON(Survey, files, bytes, index);

Survey survey(flowfabric::Task& task, std::string folder) {
  const auto files = task.step("list", [&] { return list_files(folder); });
  task.spawn("index", "index", files);
  // One child for each file. The handler is left here, and called again when they have ended.
  const auto sizes = task.map<int>("size", "size", files);
  Survey summary{static_cast<int>(files.size()), 0, "none"};
  for (const int size : sizes) summary.bytes += size;
  const auto index = task.join({"index"}).front();
  if (index.succeeded()) summary.index = index.value<std::string>();  // A child that failed does not fail the flow.
  return summary;
}
// [children]

int size_of(std::string file) { return static_cast<int>(file.size()); }

std::string index_of(std::vector<std::string> files) { return "index of " + std::to_string(files.size()) + " files"; }

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;
  // One thread is enough: a handler that waits for its children holds none.
  flowfabric::Worker worker(*client, {.worker_id = "surveyor", .concurrency = 1});
  worker.on("survey", survey);
  worker.on("size", size_of);
  worker.on("index", index_of);
  if (auto started = worker.start(); !started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;

  flowfabric::FlowBuilder flow("survey");
  flow.node("survey", "survey", std::string("docs"));
  auto created = client->submit_flow(flow.build());
  if (!created) return std::fprintf(stderr, "%s\n", created.error().message.c_str()), 1;
  auto summary = client->flow_output<Survey>(created->flow_id, "survey", 60s);
  if (!summary) return std::fprintf(stderr, "%s\n", summary.error().message.c_str()), 1;
  std::printf("%d files, %d bytes, %s\n", summary->files, summary->bytes, summary->index.c_str());
  return summary->files == 3 && summary->bytes == 40 && summary->index == "index of 3 files" ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:children.db"); }
