#include "churn.hpp"

#include <libpq-fe.h>

#include <memory>

#include <fmt/core.h>

#include "figures.hpp"

namespace flowfabric::bench {
namespace {

constexpr int slices = 16;
constexpr std::int64_t kept_ms = 5000;

class Tables {
 public:
  Tables(const std::string& url, const std::string& schema)
      : connection_(PQconnectdb(url.c_str()), PQfinish), schema_(schema) {}

  double rows(const std::string& table) { return number("SELECT count(*) FROM " + schema_ + "." + table); }
  // With its indexes and its TOAST table.
  double megabytes(const std::string& table) {
    return number("SELECT pg_total_relation_size('" + schema_ + "." + table + "')") / 1e6;
  }

 private:
  double number(const std::string& sql) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection_.get(), sql.c_str()), PQclear);
    if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) give_up(PQerrorMessage(connection_.get()));
    return std::atof(PQgetvalue(result.get(), 0, 0));
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
  std::string schema_;
};

void keep_briefly(Engine& engine) {
  NamespaceInfo info;
  info.name_space = "default";
  info.retention.completed_ms = kept_ms;
  const auto changed = engine.set_namespace(info);
  if (!changed) give_up(changed.error().message);
}

}  // namespace

void bench_churn(Engine& engine, const std::string& postgres_url, const std::string& schema, const LoadOptions& load) {
  keep_briefly(engine);
  Tables tables(postgres_url, schema);
  LoadOptions slice = load;
  slice.threads = false;
  slice.seconds = load.seconds / slices;
  double ended = 0;
  fmt::print("  {:>12} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "ended", "live rows", "root MB", "log MB",
             "satellite", "ready MB", "due MB");
  for (int i = 0; i < slices; ++i) {
    ended += run_load(engine, slice).cycles_per_second * slice.seconds;
    fmt::print("  {:>12.0f} {:>12.0f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n", ended, tables.rows("root"),
               tables.megabytes("root"), tables.megabytes("log"), tables.megabytes("satellite"),
               tables.megabytes("ready"), tables.megabytes("due"));
  }
  fmt::print("\n");
}

}  // namespace flowfabric::bench
