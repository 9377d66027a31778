// The selection of the store or server, and the actor.
#pragma once

#include <memory>
#include <string>

#include <flowfabric/engine.hpp>

#include "cli/arguments.hpp"
#include "store/store.hpp"

namespace flowfabric::cli {

// For commands that work only on a store: --store, else the operand of commands whose operand is a URL, else the
// environment variable FLOWFABRIC_STORE.
Result<std::string> store_url(const Arguments& arguments, bool operand_is_url = false);

// The target of a command. Options take precedence over the environment, and that over the profile.
struct Place {
  std::string url{};      // of a store or a server
  std::string api_key{};  // for a server
  std::string ca_file{};

  bool is_server() const { return url.starts_with("http://") || url.starts_with("https://"); }
};
Result<Place> chosen_place(const Arguments& arguments, bool operand_is_url = false);

// Only the store, for reading. An engine would start its clock: expired leases would be released and delays would end
// while an operator examines them.
Result<std::unique_ptr<Store>> open_for_reading(const std::string& url);
// The store alone, for putting its indexes right.
Result<std::unique_ptr<Store>> open_for_repair(const std::string& url);
// An engine, for changes.
Result<std::unique_ptr<Engine>> open_for_acting(const std::string& url);

// The actor for the event log: --by, else the name of the user of this process.
Operator acting_operator(const Arguments& arguments);

}  // namespace flowfabric::cli
