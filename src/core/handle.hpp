// Handles: what a worker shows to prove that it holds a lease.
//
// Layout before base64url: version (1) · kind (1) · key id (varint) · partition, uuid · attempt index · lease epoch ·
// lease id · 16 bytes of HMAC-SHA256 over all that stands before. Opaque to workers; about 70 bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/hashing.hpp"
#include "core/commands.hpp"

namespace flowfabric {

// Signs with the newest key and verifies with any. Immutable after construction, so safe to share between threads.
class HandleSigner {
 public:
  explicit HandleSigner(const KeyringRecord& keyring);

  Handle sign(const Fence& fence, HandleKind kind) const;
  // The fence inside, if the handle is ours and untouched.
  Result<Fence> verify(std::string_view handle) const;

 private:
  struct Key {
    std::uint32_t key_id;
    std::unique_ptr<Signer> signer;
  };
  std::vector<Key> keys_;
};

}  // namespace flowfabric
