// Tokens that clients send back: handles, grant keys, tokens of waitpoints, API keys, cursors, ids. An input is tried as the text itself, as
// the bytes inside it, and, with a valid signature, as content that only we can have signed.
#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "core/api_keys.hpp"
#include "core/tokens.hpp"
#include "engine/reads.hpp"
#include "store/memory/memory_store.hpp"

namespace flowfabric {
namespace {

constexpr TimestampMs now = 1'000'000;
const std::string secret(32, 's');

const TokenSigner& tokens() {
  static const TokenSigner signer(KeyringRecord{{{1, secret, 1, 0}}});
  return signer;
}

Store& store() {
  static const auto opened = open_memory_store(make_memory_database(), {[] { return now * 1000; }, false});
  return *opened;
}

// Without our signature nothing is accepted, and accepted tokens are those that we would sign.
void check_handle(std::string_view text, bool is_signed) {
  tokens().knows_key_of(text);
  const auto claims = tokens().verify_handle(text, now);
  if (!claims) return FF_CHECK(claims.error().code == Errc::invalid_handle);
  FF_CHECK(is_signed);
  const std::string name_space = claims->name_space.value_or("");
  const Handle again = tokens().sign_handle(claims->fence, HandleKind::fresh, name_space);
  // A longer namespace than there can be is nothing that we would sign.
  if (name_space.size() > limits::max_namespace_bytes) return;
  const HandleClaims expected{claims->fence, name_space};
  FF_CHECK(tokens().verify_handle(again, now) == expected);
}

void check_grant(std::string_view text, bool is_signed) {
  const auto claims = tokens().verify_grant(text, now);
  if (!claims) return FF_CHECK(claims.error().code == Errc::invalid_claim_grant);
  FF_CHECK(is_signed);
  FF_CHECK(tokens().verify_grant(tokens().sign_grant(*claims), now) == claims);
}

// Whatever is wrong with it, the answer is the same.
void check_waitpoint(std::string_view text, bool is_signed) {
  const auto claims = tokens().verify_waitpoint(text, now);
  if (!claims) {
    const Error wanted = refuse_wait_token().error();
    const Error& error = claims.error();
    return FF_CHECK(error.code == wanted.code && error.message == wanted.message && error.field == wanted.field);
  }
  FF_CHECK(is_signed);
  FF_CHECK(tokens().verify_waitpoint(tokens().sign_waitpoint(*claims), now) == claims);
}

void check_behind_a_signature(std::string_view bytes) {
  static const Signer signer(secret);
  const std::string signature = signer.sign(bytes);
  const std::string body(bytes);
  check_handle(to_base64url(body + signature.substr(0, 16)), true);
  check_grant(to_base64url(body + signature), true);
  check_waitpoint(to_base64url(body + signature), true);
}

template <class T>
void check_page(const Result<T>& page) {
  if (page) return;
  const Error& error = page.error();
  FF_CHECK(error.code == Errc::invalid_argument || error.code == Errc::cursor_expired);
  FF_CHECK(error.field == "cursor");
}

void check_cursor(const std::string& cursor) {
  ListRequest list;
  list.cursor = cursor;
  check_page(reads::list(store(), list));
  ListWorkersRequest workers;
  workers.cursor = cursor;
  check_page(reads::workers(store(), workers));
  ListExpiredLeasesRequest leases;
  leases.cursor = cursor;
  check_page(reads::expired_leases(store(), leases));
  ListWaitsRequest waits;
  waits.cursor = cursor;
  check_page(reads::waits(store(), waits));
  check_page(reads::start_cursor(store(), cursor));
  check_page(reads::events(store(), {}, cursor, 10));
}

void check_api_key(std::string_view text) {
  static const ApiKeysRecord record{{{ApiKeyInfo{.key_id = "0123456789ab", .name = "key"},
                                      hash_of_secret("ffk_0123456789ab_" + std::string(43, 'x'))}}};
  const auto key = whose_secret(record, text, now);
  if (!key) return FF_CHECK(key.error().code == Errc::unauthenticated);
  FF_CHECK(text == "ffk_0123456789ab_" + std::string(43, 'x'));
}

// Equal values have equal texts.
void check_spelling(std::string_view text) {
  if (const auto uuid = parse_uuid(text)) FF_CHECK(to_string(*uuid) == text);
  if (const auto id = parse_execution_id(text)) {
    const bool old_form = text.starts_with('{');
    FF_CHECK(old_form ? parse_execution_id(to_string(*id)) == id : to_string(*id) == text);
  }
  if (const auto bytes = from_base64url(text)) FF_CHECK(to_base64url(*bytes) == text);
  if (const auto bytes = from_base64(text)) FF_CHECK(to_base64(*bytes) == text);
  if (const auto bytes = from_hex(text)) FF_CHECK(from_hex(to_hex(*bytes)) == bytes);
  is_traceparent(text);
}

void check(std::string_view input) {
  check_spelling(input);
  check_api_key(input);
  check_handle(input, false);
  check_grant(input, false);
  check_waitpoint(input, false);
  check_cursor(std::string(input));
  check_cursor(to_base64url(input));
  check_behind_a_signature(input);
}

}  // namespace
}  // namespace flowfabric

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  flowfabric::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
