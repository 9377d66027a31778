// A little work that goes on after the demo, so that the dashboard has something to show: mails, and orders with durable
// steps of which some are declined. An ordinary client and an ordinary worker of the SDK, over HTTP.
#pragma once

#include <memory>
#include <string>

#include <flowfabric/result.hpp>

namespace flowfabric::cli {

class DemoTraffic {
 public:
  // On the lane "shop" of that server.
  static Result<std::unique_ptr<DemoTraffic>> start(const std::string& server_url);
  // Submits nothing more, and hands back what the worker cannot finish at once.
  virtual ~DemoTraffic() = default;
};

}  // namespace flowfabric::cli
