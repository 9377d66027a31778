#include "net/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string_view>

namespace flowfabric::net {
namespace {

constexpr unsigned char http_1_1[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

// A client that offers protocols is told which one is used; a client that offers only others gets an alert.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes, const unsigned char* offered,
                    unsigned offered_bytes, void*) {
  unsigned char* match = nullptr;
  if (SSL_select_next_proto(&match, chosen_bytes, http_1_1, sizeof http_1_1, offered, offered_bytes) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = match;
  return SSL_TLSEXT_ERR_OK;
}

// An encrypted key must not make a server ask for the password on its terminal.
int no_password(char*, int, int, void*) { return 0; }

void set_common_options(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  // Idle connections free their record buffers: 16 KiB in each direction that are not needed while nothing is sent.
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

Unexpected<Error> cannot(const std::string& what) {
  return fail(Errc::invalid_argument, "cannot " + what + ": " + tls_failure());
}

}  // namespace

std::string tls_failure() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "the connection was lost";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code);
}

void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<std::shared_ptr<const TlsContext>> TlsContext::for_server(const std::string& certificate_file,
                                                                 const std::string& private_key_file) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) return cannot("set up TLS");
  std::shared_ptr<const TlsContext> owner(new TlsContext(context));
  set_common_options(context);
  // Many clients close without a TLS close message, and requests have their own length.
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets resume sessions without memory on the server
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  SSL_CTX_set_default_passwd_cb(context, no_password);
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return cannot("load the certificate " + certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context, private_key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return cannot("load the private key " + private_key_file);
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return cannot("use " + private_key_file + " with " + certificate_file);
  }
  return owner;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_client(const std::string& ca_file, bool verify) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr) return cannot("set up TLS");
  std::shared_ptr<const TlsContext> owner(new TlsContext(context));
  set_common_options(context);
  SSL_CTX_set_alpn_protos(context, http_1_1, sizeof http_1_1);
  SSL_CTX_set_verify(context, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (!ca_file.empty() && SSL_CTX_load_verify_locations(context, ca_file.c_str(), nullptr) != 1) {
    return cannot("load the certificates in " + ca_file);
  }
  if (ca_file.empty() && SSL_CTX_set_default_verify_paths(context) != 1)
    return cannot("find the system's certificates");
  return owner;
}

}  // namespace flowfabric::net
