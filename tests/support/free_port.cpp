#include "support/free_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace flowfabric::test {
namespace {

constexpr int first_port = 10000;
constexpr int last_port = 32000;
constexpr int attempts = 1000;

bool is_free(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return bound;
}

}  // namespace

int free_port() {
  std::random_device random;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const int port = std::uniform_int_distribution(first_port, last_port)(random);
    if (is_free(port)) return port;
  }
  throw std::runtime_error("no free loopback port");
}

}  // namespace flowfabric::test
