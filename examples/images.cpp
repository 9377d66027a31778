// A batch of images with retries and progress: some downloads fail now and then, one image is broken for good.
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include <flowfabric/worker.hpp>

namespace images {

struct Image {
  std::string url{};
  int width = 0;
};
FLOWFABRIC_JSON(Image, url, width);

struct Thumbnail {
  std::string url{};
  int bytes = 0;
};
FLOWFABRIC_JSON(Thumbnail, url, bytes);

}  // namespace images

namespace {

using namespace std::chrono_literals;
using images::Image;
using images::Thumbnail;

std::atomic<int> downloads{0};

std::string download(const std::string& url) {
  // Every third download fails; the policy tries again.
  if (++downloads % 3 == 0) throw std::runtime_error("connection reset");
  return "pixels of " + url;
}

// [images]
Thumbnail make_thumbnail(flowfabric::Task& task, Image image) {
  if (image.width <= 0) throw flowfabric::PermanentFailure("the image is empty", "bad_image");  // no retry
  const std::string pixels = download(image.url);                                               // may throw: a retry
  task.progress(50, "downloaded");
  task.check_stopped();  // cancelled meanwhile, or the lease is lost: no need to go on
  return {image.url + ".thumb", static_cast<int>(pixels.size())};
}
// [images]

int run(const std::string& store) {
  auto client = flowfabric::Client::open(store);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().message.c_str()), 1;
  flowfabric::Worker worker(*client, {.worker_id = "thumbnailer", .lanes = {"images"}, .concurrency = 4});
  // [middleware]
  worker.use([](flowfabric::Task& task, const flowfabric::Handler& next) {
    const auto begin = std::chrono::steady_clock::now();
    flowfabric::Bytes result = next(task);  // what it throws passes through
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::fprintf(stderr, "%s %s took %.1f ms\n", task.kind().c_str(), to_string(task.id()).c_str(), took.count());
    return result;
  });
  // [middleware]
  worker.on("thumbnail", make_thumbnail);
  if (auto started = worker.start(); !started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;

  flowfabric::Policy policy;
  policy.retry = flowfabric::RetryPolicy{};
  policy.retry->max_retries = 10;
  policy.retry->initial_delay_ms = 10;
  std::vector<flowfabric::CreateRequest> requests;
  for (int i = 0; i < 20; ++i) {
    const Image image{"http://example.com/" + std::to_string(i) + ".png", i == 13 ? 0 : 640};
    requests.push_back(flowfabric::Client::make_request("thumbnail", flowfabric::encode_value(image),
                                                        {.lane = "images", .policy = policy}));
  }
  int made = 0, broken = 0;
  for (auto& created : client->submit_many(std::move(requests))) {
    if (!created) return std::fprintf(stderr, "%s\n", created.error().message.c_str()), 1;
    auto thumbnail = client->result<Thumbnail>(created->execution_id, 60s);
    thumbnail ? ++made : ++broken;
    if (!thumbnail) std::printf("%s\n", thumbnail.error().message.c_str());
  }
  std::printf("%d thumbnails, %d broken, %d downloads\n", made, broken, downloads.load());
  return made == 19 && broken == 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "sqlite:images.db"); }
