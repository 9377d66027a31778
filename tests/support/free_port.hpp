// A loopback port for a server that may be restarted on it.
#pragma once

namespace flowfabric::test {

// No process listens on it now. It is below the ports that the kernel uses for outgoing connections: while a server is
// down, a client that keeps connecting could otherwise get that very port, and block the server. Throws
// std::runtime_error if there is none.
int free_port();

}  // namespace flowfabric::test
