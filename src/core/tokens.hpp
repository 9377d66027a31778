// Signed texts that we hand out and get back: handles, grant keys and sessions. Opaque to those who carry them.
//
// A handle proves that a worker holds a lease. Before base64url: 2 · kind · key id · partition, uuid · attempt index ·
// lease epoch · lease id · namespace · the first 16 bytes of an HMAC-SHA256 over everything before; about 100 characters.
// Version 1, which had no namespace, is still accepted.
//
// A grant key reserves an execution for a worker: 'G' · kind · key id · partition, uuid · expiry · nonce · worker id ·
// instance id · a whole HMAC-SHA256. Only its SHA-256, the grant id, is stored.
//
// A token of a waitpoint lets its bearer send signals there: 'W' · 1 · key id · partition, uuid · number and generation of the
// waitpoint · expiry · name of the waitpoint · sender · a whole HMAC-SHA256. Never stored: it is computed when it is issued.
//
// A session lets a browser call the API without the secret of an API key: 'S' · 1 · key id · id of the API key · expiry ·
// a whole HMAC-SHA256. It is as good as that API key: the key is looked up on every use, so its end ends the session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/hashing.hpp"
#include "core/commands.hpp"

namespace flowfabric {

// The content of a grant key.
struct GrantClaims {
  GrantKind kind = GrantKind::claim;
  ExecutionId execution_id;
  TimestampMs expires_at = 0;
  std::uint64_t nonce = 0;
  std::string worker_id;
  std::string worker_instance_id;

  friend bool operator==(const GrantClaims&, const GrantClaims&) = default;
};

// What a handle says.
struct HandleClaims {
  Fence fence;
  std::optional<std::string> name_space;  // of the execution; absent in handles of version 1

  friend bool operator==(const HandleClaims&, const HandleClaims&) = default;
};

// What a session says.
struct SessionClaims {
  std::string api_key_id;
  TimestampMs expires_at = 0;

  friend bool operator==(const SessionClaims&, const SessionClaims&) = default;
};

// Whether the worker that presents a grant is the one for which it was issued. The instance may differ.
Result<void> admit_grant(const GrantClaims& claims, GrantKind kind, const RedeemRequest& request);

// 32 bytes.
std::string grant_id_of(std::string_view grant_key);

// Signs with the newest key and verifies with any key that is still accepted at `now`. Immutable after construction, so
// safe to share between threads.
class TokenSigner {
 public:
  explicit TokenSigner(const KeyringRecord& keyring);

  Handle sign_handle(const Fence& fence, HandleKind kind, std::string_view name_space) const;
  // What is inside, if the handle is ours and untouched.
  Result<HandleClaims> verify_handle(std::string_view handle, TimestampMs now) const;

  std::string sign_grant(const GrantClaims& claims) const;
  // Does not check the expiry of the grant.
  Result<GrantClaims> verify_grant(std::string_view grant_key, TimestampMs now) const;

  std::string sign_waitpoint(const WaitpointClaims& claims) const;
  // `invalid_token`, with the same words whatever is wrong with it. Does not check the expiry of the token.
  Result<WaitpointClaims> verify_waitpoint(std::string_view token, TimestampMs now) const;

  std::string sign_session(const SessionClaims& claims) const;
  // `unauthenticated` when it is not ours or has expired, with the same words whatever is wrong with it.
  Result<SessionClaims> verify_session(std::string_view session, TimestampMs now) const;

  std::uint32_t newest_key_id() const { return keys_.back().key_id; }
  // Whether the token names a known key. If not, another engine may have created the key since.
  bool knows_key_of(std::string_view token) const;

 private:
  struct Key {
    std::uint32_t key_id;
    TimestampMs expires_at;
    std::unique_ptr<Signer> signer;
  };
  // Why the signature is invalid; null if it is valid.
  const char* fault(std::uint32_t key_id, std::string_view bytes, std::string_view signature, TimestampMs now) const;

  std::vector<Key> keys_;
};

}  // namespace flowfabric
