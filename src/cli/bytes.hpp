// Bytes of users, which may be anything.
#pragma once

#include <string>
#include <string_view>

namespace flowfabric::cli {

// With padding, in the alphabet that every decoder takes.
std::string to_base64(std::string_view bytes);

}  // namespace flowfabric::cli
