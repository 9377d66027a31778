// A flow with a fan-out and a fan-in: one video is fetched, resized three times at once, and published when all sizes are
// there. Each node gets the results of the nodes before it.
#include <cstdio>
#include <string>
#include <vector>

#include <flowfabric/flow_builder.hpp>
#include <flowfabric/worker.hpp>

namespace {

using namespace std::chrono_literals;

// [media]
struct Video {
  std::string url;
  int height = 0;
};
FLOWFABRIC_JSON(Video, url, height);

Video fetch(std::string url) { return {url, 2160}; }

Video resize(flowfabric::Task& task) {
  const auto original = task.input_from<Video>("fetch");  // what the upstream node returned
  const int height = task.input<int>();                   // the node's own payload
  return {original.url + "@" + std::to_string(height), height};
}

std::vector<std::string> publish(flowfabric::Task& task) {
  std::vector<std::string> urls;
  for (const flowfabric::FlowInput& input : task.inputs()) urls.push_back(task.input_from<Video>(input.name).url);
  return urls;
}

flowfabric::FlowRequest media_flow(const std::string& url) {
  flowfabric::FlowBuilder flow("media");
  flow.node("fetch", "fetch", url);
  for (const int height : {360, 720, 1080}) {
    flow.node("resize-" + std::to_string(height), "resize", height).after("fetch");
  }
  flow.node("publish", "publish").after("resize-360", "resize-720", "resize-1080");
  return flow.idempotency_key("media " + url).deadline(10min).tag("media.source", "upload").build();
}
// [media]

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;
  flowfabric::Worker worker(*client, {.worker_id = "media", .concurrency = 4});
  worker.on("fetch", fetch);
  worker.on("resize", resize);
  worker.on("publish", publish);
  if (auto started = worker.start(); !started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;

  auto flow = client->submit_flow(media_flow("cats.mp4"));
  if (!flow) return std::fprintf(stderr, "%s\n", flow.error().message.c_str()), 1;
  auto urls = client->flow_output<std::vector<std::string>>(flow->flow_id, "publish", 60s);
  if (!urls) return std::fprintf(stderr, "%s\n", urls.error().message.c_str()), 1;
  for (const std::string& url : *urls) std::printf("published %s\n", url.c_str());

  auto graph = client->flow_graph(flow->flow_id);
  if (!graph) return std::fprintf(stderr, "%s\n", graph.error().message.c_str()), 1;
  std::printf("%s", to_mermaid(*graph).c_str());
  return urls->size() == 3 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:media.db"); }
