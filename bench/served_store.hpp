// The real program, `flowfabric serve`, on a store and a free loopback port.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::bench {

// The server dies with this object.
class ServedStore {
 public:
  // With the default settings, except for these.
  explicit ServedStore(const std::string& store, const test::Words& settings = {});

  std::uint16_t port() const { return port_; }
  pid_t pid() const { return process_->pid(); }

 private:
  const test::TempDir folder_;
  std::unique_ptr<test::Process> process_;
  std::uint16_t port_ = 0;
};

}  // namespace flowfabric::bench
