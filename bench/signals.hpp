// What waiting for signals costs: a whole wait beside submit to start, and many executions that wait beside none.
#pragma once

#include <functional>
#include <string>

#include <flowfabric/engine.hpp>

namespace flowfabric::bench {

// `store_url` makes the URL of a new store from a name.
void bench_signals(const std::string& title, const std::function<std::string(const std::string& name)>& store_url,
                   int rounds);

// Creates, claims and suspends so many executions, each with a timeout of a day.
void suspend_many(Engine& engine, int executions);

}  // namespace flowfabric::bench
