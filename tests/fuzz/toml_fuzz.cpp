// Configuration files: every name that was read can be read again, and every error names its line.
#include "base/check.hpp"
#include "base/text.hpp"
#include "base/toml.hpp"

namespace flowfabric {
namespace {

void check(std::string_view text) {
  const auto document = read_toml(text);
  if (!document) {
    FF_CHECK(document.error().code == Errc::invalid_argument);
    FF_CHECK(document.error().message.starts_with("line "));
    return;
  }
  for (const TomlEntry& entry : *document) {
    FF_CHECK(!entry.path.empty() && entry.line > 0);
    const auto again = read_toml(name_of(entry) + " = 1\n");
    FF_CHECK(again && again->size() == 1);
    FF_CHECK(again->front().path == entry.path);
    const int types = string_of(entry).has_value() + number_of(entry).has_value() + flag_of(entry).has_value() +
                      strings_of(entry).has_value();
    FF_CHECK(types == 1);
  }
}

}  // namespace
}  // namespace flowfabric

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  flowfabric::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
