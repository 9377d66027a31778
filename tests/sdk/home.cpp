#include "sdk/home.hpp"

namespace flowfabric::sdk_test {
namespace {

test::StoreKindId store_of(const std::string& name) {
  if (name == "sqlite") return test::StoreKindId::sqlite;
  return name == "postgres" ? test::StoreKindId::postgres : test::StoreKindId::memory;
}

}  // namespace

Home::Home(const std::string& name) : database_(test::make_database(store_of(name))) {
  EngineOptions options;
  options.migrate = true;
  const bool in_memory = store_of(name) == test::StoreKindId::memory;
  engine_ = must(Engine::open(in_memory ? "memory:" : database_->url(), options));
  if (name != "http") {
    client_ = Client::over(engine_);
    return;
  }
  api::ApiOptions api;
  api.port = 0;
  server_ = must(api::ApiServer::start(*engine_, api));
  client_ = must(Client::open(server_->url()));
}

Home::~Home() {
  client_.reset();
  if (!server_) return;
  engine_->stop();
  server_->drain(10s);
}

}  // namespace flowfabric::sdk_test
