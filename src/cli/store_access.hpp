// Which store a command means, and how it opens it.
#pragma once

#include <memory>
#include <string>

#include <flowfabric/engine.hpp>

#include "cli/arguments.hpp"
#include "store/store.hpp"

namespace flowfabric::cli {

// --store, else the operand of commands whose operand is a URL, else the environment variable FLOWFABRIC_STORE.
Result<std::string> store_url(const Arguments& arguments, bool operand_is_url = false);

// The store alone, for looking at it. An engine would set its clock to work: leases that ran out would be taken back
// and delays would end while somebody looks.
Result<std::unique_ptr<Store>> open_for_reading(const std::string& url);
Result<std::unique_ptr<Store>> open_for_reading(const Arguments& arguments);
// An engine, for changing something.
Result<std::unique_ptr<Engine>> open_for_acting(const Arguments& arguments);

// Who acts, for the event log: --by, else the name of the user of this process.
Operator acting_operator(const Arguments& arguments);

}  // namespace flowfabric::cli
