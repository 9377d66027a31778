#include "served_store.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "figures.hpp"

namespace flowfabric::bench {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The port that the program prints when it listens; 0 before.
std::uint16_t port_in(const std::string& log) {
  const std::string mark = " at http://127.0.0.1:";
  const std::size_t at = log.find(mark);
  if (at == std::string::npos || log.find('\n', at) == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::strtoul(log.c_str() + at + mark.size(), nullptr, 10));
}

}  // namespace

ServedStore::ServedStore(const std::string& store, const test::Words& settings) {
  const std::string log = folder_.file("log");
  test::Words words = {
      FF_BIN_DIR "/flowfabric", "serve", "--listen", "127.0.0.1:0", "--migrate", "true", "--store", store};
  words.insert(words.end(), settings.begin(), settings.end());
  process_ = std::make_unique<test::Process>(words, log);
  while ((port_ = port_in(content(log))) == 0) {
    if (process_->status()) give_up("flowfabric serve has ended: " + content(log));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace flowfabric::bench
