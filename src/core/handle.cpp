#include "core/handle.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"

namespace flowfabric {
namespace {

constexpr std::uint8_t handle_version = 1;
constexpr std::size_t mac_bytes = 16;
constexpr std::size_t max_handle_chars = 256;

tl::unexpected<Error> refused(const char* why) {
  return fail(Errc::invalid_handle, std::string("this is not a handle of this store: ") + why, "handle");
}

}  // namespace

HandleSigner::HandleSigner(const KeyringRecord& keyring) {
  for (const auto& key : keyring.keys) keys_.push_back({key.key_id, std::make_unique<Signer>(key.secret)});
  FF_CHECK(!keys_.empty());
}

Handle HandleSigner::sign(const Fence& fence, HandleKind kind) const {
  const Key& newest = keys_.back();
  Encoder out;
  out.u8(handle_version);
  out.enumerator(kind);
  out.unsigned_number(newest.key_id);
  out.unsigned_number(fence.execution_id.partition);
  out.uuid(fence.execution_id.uuid);
  out.unsigned_number(fence.attempt_index);
  out.unsigned_number(fence.lease_epoch);
  out.uuid(fence.lease_id);
  std::string bytes = out.take();
  bytes += newest.signer->sign(bytes);
  return to_base64url(bytes);
}

Result<Fence> HandleSigner::verify(std::string_view handle) const {
  if (handle.empty() || handle.size() > max_handle_chars) return refused("its length is wrong");
  const auto bytes = from_base64url(handle);
  if (!bytes || bytes->size() <= mac_bytes) return refused("it is not base64url text of the right length");
  const std::string_view signed_part = std::string_view(*bytes).substr(0, bytes->size() - mac_bytes);
  const std::string_view mac = std::string_view(*bytes).substr(signed_part.size());

  Decoder in(signed_part);
  if (in.u8() != handle_version) return refused("its version is unknown");
  in.enumerator(HandleKind::reclaimed);
  const std::uint32_t key_id = in.u32();
  Fence fence;
  const std::uint32_t partition = in.u32();
  fence.execution_id.partition = static_cast<std::uint16_t>(partition);
  fence.execution_id.uuid = in.uuid();
  fence.attempt_index = in.u32();
  fence.lease_epoch = in.unsigned_number();
  fence.lease_id = in.uuid();
  if (!in.at_end() || partition >= partition_count) return refused("its contents are malformed");
  for (const Key& key : keys_) {
    if (key.key_id != key_id) continue;
    if (key.signer->verify(signed_part, mac)) return fence;
    return refused("its signature is wrong");
  }
  return refused("it was signed with an unknown key");
}

}  // namespace flowfabric
