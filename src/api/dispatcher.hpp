// The path of a request: its route, its client, the permissions, and then the route's handler.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/api.hpp"
#include "api/dashboard.hpp"
#include "api/gatekeeper.hpp"
#include "api/http_metrics.hpp"
#include "api/overview.hpp"
#include "api/pool.hpp"
#include "api/readiness.hpp"
#include "api/route.hpp"

namespace flowfabric::api {

class Dispatcher {
 public:
  Dispatcher(Engine& engine, const ApiOptions& options);
  // Work in the pool may use everything here.
  ~Dispatcher() { pool_->stop(); }
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  void handle(std::shared_ptr<net::Exchange> exchange);
  HttpMetrics& metrics() { return *metrics_; }
  void begin_drain() { draining_ = true; }
  void stop() { pool_->stop(); }

 private:
  using Exchange = std::shared_ptr<CountedExchange>;
  struct Prepared {
    Route route;
    std::vector<std::string> segments;  // of the pattern: "{name}" for variable parts
  };
  // Paths that are not part of the API document: health, metrics, the document itself.
  struct Plain {
    std::string_view path;
    bool anybody;  // allowed without a key
    void (Dispatcher::*answer)(const Exchange&);
  };
  static const std::vector<Plain>& plain_ones();

  void dispatch(const Exchange& exchange);
  bool dispatch_plain(const Exchange& exchange);
  // Authenticates the client and continues. Usually the key is cached; else a thread of the pool asks the engine.
  void let_in(const Exchange& exchange, ApiRole needs, std::function<void(Caller)> go_on);
  void let_anybody_in(const Prepared& prepared, const Exchange& exchange);
  void run(const Prepared& prepared, const Exchange& exchange, Caller caller);
  void in_pool(const Exchange& exchange, std::function<void()> work);

  void answer_health(const Exchange& exchange);
  void answer_ready(const Exchange& exchange);
  void answer_metrics(const Exchange& exchange);
  void answer_openapi(const Exchange& exchange);
  void dispatch_approval(const Exchange& exchange);
  bool dispatch_dashboard(const Exchange& exchange);

  Engine& engine_;
  const std::vector<std::string> cors_origins_;
  const std::optional<DashboardPages> pages_;  // none: the dashboard is switched off
  std::shared_ptr<Overview> overview_;
  std::shared_ptr<Gatekeeper> gatekeeper_;
  std::vector<Prepared> routes_;
  std::string openapi_;
  std::shared_ptr<HttpMetrics> metrics_;
  std::atomic<bool> draining_ = false;
  std::shared_ptr<Pool> pool_;
  Readiness readiness_;
};

}  // namespace flowfabric::api
