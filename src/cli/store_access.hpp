// Which store or server a command means, and who acts.
#pragma once

#include <memory>
#include <string>

#include <flowfabric/engine.hpp>

#include "cli/arguments.hpp"
#include "store/store.hpp"

namespace flowfabric::cli {

// What only a store can be given to: --store, else the operand of commands whose operand is a URL, else the environment
// variable FLOWFABRIC_STORE.
Result<std::string> store_url(const Arguments& arguments, bool operand_is_url = false);

// Where a command works. Options come before the environment, and that before the profile.
struct Place {
  std::string url{};      // of a store or a server
  std::string api_key{};  // for a server
  std::string ca_file{};

  bool is_server() const { return url.starts_with("http://") || url.starts_with("https://"); }
};
Result<Place> chosen_place(const Arguments& arguments, bool operand_is_url = false);

// The store alone, for looking at it. An engine would set its clock to work: leases that ran out would be taken back
// and delays would end while somebody looks.
Result<std::unique_ptr<Store>> open_for_reading(const std::string& url);
// The store alone, for putting its indexes right.
Result<std::unique_ptr<Store>> open_for_repair(const std::string& url);
// An engine, for changing something.
Result<std::unique_ptr<Engine>> open_for_acting(const std::string& url);

// Who acts, for the event log: --by, else the name of the user of this process.
Operator acting_operator(const Arguments& arguments);

}  // namespace flowfabric::cli
