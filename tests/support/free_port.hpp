// A loopback port for a server that may have to come back to it.
#pragma once

namespace flowfabric::test {

// Nobody listens on it now. It lies below the ports that the kernel gives to outgoing connections: while a server is
// down, a client that keeps trying could otherwise be given the very port that it tries, and keep the server off it.
// Throws std::runtime_error when there is none.
int free_port();

}  // namespace flowfabric::test
