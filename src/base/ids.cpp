#include <flowfabric/ids.hpp>

#include <charconv>

namespace flowfabric {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool hyphen_at(std::size_t position) { return position == 8 || position == 13 || position == 18 || position == 23; }

}  // namespace

std::string to_string(const Uuid& uuid) {
  std::string text;
  text.reserve(36);
  for (const std::uint8_t byte : uuid.bytes) {
    if (hyphen_at(text.size())) text += '-';
    text += hex_digits[byte >> 4];
    text += hex_digits[byte & 15];
  }
  return text;
}

Result<Uuid> parse_uuid(std::string_view text) {
  const auto refuse = [] {
    return fail(Errc::invalid_argument, "a UUID is 36 characters of lower-case hexadecimal with hyphens", "id");
  };
  if (text.size() != 36) return refuse();
  Uuid uuid;
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (hyphen_at(i)) {
      if (text[i] != '-') return refuse();
      continue;
    }
    const int value = hex_value(text[i]);
    if (value < 0) return refuse();
    auto& byte = uuid.bytes[nibble / 2];
    byte = static_cast<std::uint8_t>((byte << 4) | value);
    ++nibble;
  }
  return uuid;
}

std::string to_string(const ExecutionId& id) { return "fp" + std::to_string(id.partition) + "-" + to_string(id.uuid); }

Result<ExecutionId> parse_execution_id(std::string_view text) {
  const auto refuse = [&](const char* what) {
    return fail(Errc::invalid_argument,
                std::string("an execution id has the form fpN-uuid with N from 0 to 255: ") + what, "execution_id");
  };
  const bool old_form = text.starts_with("{fp:");
  const std::string_view prefix = old_form ? "{fp:" : "fp";
  const std::string_view separator = old_form ? "}:" : "-";
  const std::size_t end_of_number = text.find(separator);
  if (!text.starts_with(prefix) || end_of_number == std::string_view::npos) return refuse("the fpN- part is missing");
  const std::string_view digits = text.substr(prefix.size(), end_of_number - prefix.size());
  if (digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0')) {
    return refuse("the partition is not a decimal number without leading zeros");
  }
  unsigned partition = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), partition);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return refuse("the partition is not a decimal number without leading zeros");
  }
  if (partition >= partition_count) return refuse("the partition is out of range");
  auto uuid = parse_uuid(text.substr(end_of_number + separator.size()));
  if (!uuid) return refuse("the part after it is not a UUID of 36 lower-case characters");
  return ExecutionId{static_cast<std::uint16_t>(partition), *uuid};
}

}  // namespace flowfabric
