// The only place of the library that depends on every store: chooses one by URL.
#include <flowfabric/engine.hpp>

#include "base/check.hpp"
#include "engine/engine_impl.hpp"
#include "open/open.hpp"
#include "store/memory/memory_store.hpp"
#if FF_POSTGRES
#include "store/postgres/postgres_store.hpp"
#endif
#if FF_SQLITE
#include "store/sqlite/sqlite_store.hpp"
#endif

namespace flowfabric {
namespace {

#if !FF_SQLITE
Result<std::unique_ptr<Store>> open_sqlite_store(const std::string&, const StoreOptions&) {
  return fail(Errc::unsupported, "this build of FlowFabric has no SQLite (CMake option FF_SQLITE)", "url");
}
#endif
#if !FF_POSTGRES
Result<std::unique_ptr<Store>> open_postgres_store(const std::string&, const StoreOptions&) {
  return fail(Errc::unsupported, "this build of FlowFabric has no PostgreSQL (CMake option FF_POSTGRES)", "url");
}
#endif

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& url, StoreOptions options) {
  if (url == "memory:") return open_memory_store(make_memory_database(), std::move(options));
  if (url.starts_with("sqlite:")) return open_sqlite_store(url, std::move(options));
  if (url.starts_with("postgres://") || url.starts_with("postgresql://")) {
    return open_postgres_store(url, std::move(options));
  }
  if (url.starts_with("http://") || url.starts_with("https://")) {
    return fail(
        Errc::invalid_argument,
        url.substr(0, url.find(':')) +
            "://... is a server; this command needs a store: sqlite:PATH, postgres://USER@HOST/DATABASE or memory:",
        "url");
  }
  return fail(Errc::invalid_argument,
              "a store is sqlite:PATH, postgres://USER@HOST/DATABASE or memory:, not \"" +
                  url.substr(0, url.find(':')) + (url.find(':') == std::string::npos ? "\"" : ":...\""),
              "url");
}

Result<std::unique_ptr<Engine>> Engine::open(const std::string& url, const EngineOptions& options) {
  return open_engine(url, options, nullptr);
}

Result<std::unique_ptr<Engine>> open_engine(const std::string& url, const EngineOptions& options,
                                            std::shared_ptr<observe::Tracer> tracer) {
  StoreOptions store_options;
  store_options.migrate = options.migrate;
  store_options.read_timeout_ms = options.read_timeout_ms;
  FF_TRY(store, open_store(url, std::move(store_options)));
  return start_engine(std::move(store), options, std::move(tracer));
}

Result<void> migrate_store(const std::string& url) {
  StoreOptions options;
  options.migrate = true;
  FF_TRY(store, open_store(url, std::move(options)));
  return {};
}

}  // namespace flowfabric
