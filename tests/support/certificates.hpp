// Certificates for tests, created on demand.
#pragma once

#include <string>

namespace flowfabric::test {

// Writes a key and a self-signed certificate for `name`, which may be a host or an IP address. PEM.
void write_certificate(const std::string& certificate_file, const std::string& key_file, const std::string& name);

}  // namespace flowfabric::test
