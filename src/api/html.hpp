// Text for HTML pages that are written by the server.
#pragma once

#include <string>
#include <string_view>

namespace flowfabric::api {

// The text for any place between tags, and in attributes within double quotes. Nothing in it is markup afterwards. Control
// characters, marks that change the direction of text and bytes that are not UTF-8 become U+FFFD, line breaks and tabs stay.
std::string escaped_html(std::string_view text);

}  // namespace flowfabric::api
