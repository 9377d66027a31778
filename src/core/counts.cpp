#include "core/counts.hpp"

#include <charconv>

namespace flowfabric {
namespace {

constexpr char separator = '\x1f';

}  // namespace

std::string counter_name(RecordKind record_kind, std::string_view name_space, std::string_view lane,
                         std::uint8_t state) {
  std::string name(1, static_cast<char>(record_kind));
  name += name_space;
  name += separator;
  name += lane;
  name += separator;
  name += std::to_string(state);
  return name;
}

std::string counter_prefix(RecordKind record_kind, const std::optional<std::string>& name_space) {
  std::string prefix(1, static_cast<char>(record_kind));
  if (name_space) prefix += *name_space + separator;
  return prefix;
}

std::optional<Counted> decode_counter(std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto first = name.find(separator);
  const auto second = first == std::string_view::npos ? first : name.find(separator, first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  Counted counted;
  counted.record_kind = static_cast<RecordKind>(name.front());
  counted.name_space = name.substr(1, first - 1);
  counted.lane = name.substr(first + 1, second - first - 1);
  const std::string_view digits = name.substr(second + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), counted.state);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return counted;
}

}  // namespace flowfabric
