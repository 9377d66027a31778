// TLS contexts: certificates, keys and trust, loaded once and shared by many connections. Immutable after loading; a
// new certificate is a new context.
#pragma once

#include <memory>
#include <string>

#include <flowfabric/result.hpp>

struct ssl_ctx_st;

namespace flowfabric::net {

class TlsContext {
 public:
  // For a server. Files are PEM; the certificate file may contain its whole chain.
  static Result<std::shared_ptr<const TlsContext>> for_server(const std::string& certificate_file,
                                                              const std::string& private_key_file);
  // For a client. Trusts the certificates of `ca_file`, or those of the system if it is empty.
  static Result<std::shared_ptr<const TlsContext>> for_client(const std::string& ca_file, bool verify);

  ssl_ctx_st* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  std::unique_ptr<ssl_ctx_st, Free> context_;
};

// OpenSSL's description of the last failure on this thread; clears it.
std::string tls_failure();

}  // namespace flowfabric::net
