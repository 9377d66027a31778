#include "core/dead_letter_ingress.hpp"

#include <algorithm>
#include <charconv>

#include "core/admit_parts.hpp"
#include "core/dead_letters.hpp"
#include "core/ingress.hpp"

namespace flowfabric {

using namespace admit_parts;

namespace {

constexpr std::size_t fingerprint_digits = 16;

Result<void> admit_kind_filter(const std::optional<std::string>& kind) {
  if (!kind) return {};
  return admit_text(*kind, "kind", 1, limits::max_kind_bytes, Content::no_controls);
}

Result<void> admit_page(std::string_view cursor, std::uint32_t limit) {
  FF_TRY_VOID(admit_cursor(cursor));
  return admit_range<std::uint32_t>(limit, "limit", 1, limits::max_page);
}

template <class T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

Result<void> admit_filters(const RedriveSelection& selection) {
  if (selection.lane) FF_TRY_VOID(admit_lane(*selection.lane));
  FF_TRY_VOID(admit_kind_filter(selection.kind));
  if (selection.category) {
    FF_TRY_VOID(admit_text(*selection.category, "category", 0, limits::max_category_bytes, Content::no_controls));
  }
  if (selection.tag) {
    FF_TRY_VOID(admit_tag_key(selection.tag->first, "tag"));
    FF_TRY_VOID(admit_text(selection.tag->second, "tag", 0, limits::max_tag_value_bytes, Content::no_controls));
  }
  FF_TRY_VOID(admit_time(selection.failed_from.value_or(0), "failed_from"));
  FF_TRY_VOID(admit_time(selection.failed_before.value_or(0), "failed_before"));
  if (selection.failed_from && selection.failed_before && *selection.failed_before <= *selection.failed_from) {
    return refuse("is not after failed_from", "failed_before");
  }
  return {};
}

bool has_filters(const RedriveSelection& selection) {
  return !selection.fingerprints.empty() || selection.lane || selection.kind || selection.category || selection.tag ||
         selection.failed_from || selection.failed_before;
}

// Nobody replays everything by leaving something out.
Result<void> admit_choice(const RedriveSelection& selection) {
  const bool by_ids = !selection.execution_ids.empty();
  if (by_ids && (selection.all || has_filters(selection))) {
    return refuse("is given beside another selection; allowed: these executions, or a selection without them",
                  "execution_ids");
  }
  if (!by_ids && !selection.all && !has_filters(selection)) {
    return refuse(
        "nothing says which dead letters are meant; allowed: fingerprints, execution_ids, lane, kind, category, "
        "tag, failed_from, failed_before, or all: true for every one of the namespace",
        "all");
  }
  return {};
}

}  // namespace

Result<void> admit(const ListDeadLettersRequest& request) {
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  if (request.lane) FF_TRY_VOID(admit_lane(*request.lane));
  FF_TRY_VOID(admit_kind_filter(request.kind));
  return admit_page(request.cursor, request.limit);
}

Result<void> admit(const GetDeadLettersRequest& request) {
  FF_TRY_VOID(admit_namespace(request.name_space));
  FF_TRY(fingerprint, parse_fingerprint(request.fingerprint));
  static_cast<void>(fingerprint);
  return admit_page(request.cursor, request.limit);
}

Result<void> admit(RedriveRequest& request) {
  FF_TRY_VOID(admit_namespace(request.name_space));
  FF_TRY_VOID(admit_choice(request));
  FF_TRY_VOID(admit_filters(request));
  FF_TRY_VOID(admit_count(request.fingerprints.size(), "fingerprints", 0, limits::max_redrive_fingerprints));
  FF_TRY_VOID(admit_count(request.execution_ids.size(), "execution_ids", 0, limits::max_redrive_executions));
  for (const std::string& text : request.fingerprints) {
    if (const auto fingerprint = parse_fingerprint(text); !fingerprint) return Unexpected(fingerprint.error());
  }
  for (const ExecutionId& id : request.execution_ids) FF_TRY_VOID(admit_execution_id(id));
  sort_unique(request.fingerprints);
  sort_unique(request.execution_ids);
  if (!request.rate.empty()) {
    if (const auto rate = parse_redrive_rate(request.rate); !rate) return Unexpected(rate.error());
  }
  return admit_text(request.idempotency_key, "idempotency_key", 0, limits::max_idempotency_key_bytes,
                    Content::no_controls);
}

Result<void> admit(const ListRedrivesRequest& request) {
  if (request.name_space) FF_TRY_VOID(admit_namespace(*request.name_space));
  return admit_page(request.cursor, request.limit);
}

Result<std::uint64_t> parse_fingerprint(std::string_view text) {
  if (text == older_failures) return 0;
  std::uint64_t fingerprint = 0;
  const char* const end = text.data() + text.size();
  const bool is_lower_case = std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'F'; });
  const auto [rest, error] = std::from_chars(text.data(), end, fingerprint, 16);
  if (text.size() == fingerprint_digits && is_lower_case && error == std::errc() && rest == end && fingerprint != 0) {
    return fingerprint;
  }
  return refuse("is \"" + clipped(text, fingerprint_digits * 2) +
                    "\"; allowed: 16 hexadecimal digits in lower case, or \"" + older_failures + "\"",
                "fingerprint");
}

Result<Uuid> parse_redrive_id(std::string_view text) {
  if (const auto id = parse_uuid(text)) return *id;
  return refuse("is not the id of a redrive; it looks like 01929b1c-7a52-8000-8000-0123456789ab", "redrive_id");
}

}  // namespace flowfabric
