#include "net/channel.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>

namespace flowfabric::net {
namespace {

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

ssize_t receive(int socket, char* into, std::size_t capacity) {
  ssize_t count = 0;
  do count = recv(socket, into, capacity, 0);
  while (count < 0 && errno == EINTR);
  return count;
}

// A write to a closed connection must not raise SIGPIPE: a library must not change the process's signals.
ssize_t transmit(int socket, const char* from, std::size_t size) {
  ssize_t count = 0;
  do count = send(socket, from, size, MSG_NOSIGNAL);
  while (count < 0 && errno == EINTR);
  return count;
}

// The I/O of OpenSSL. Its own socket BIO would write without MSG_NOSIGNAL.
struct SocketEnd {
  int socket = -1;
  bool at_end = false;
};

SocketEnd& end_of(BIO* bio) { return *static_cast<SocketEnd*>(BIO_get_data(bio)); }

int bio_read(BIO* bio, char* into, int capacity) {
  SocketEnd& end = end_of(bio);
  BIO_clear_retry_flags(bio);
  const ssize_t count = receive(end.socket, into, static_cast<std::size_t>(capacity));
  if (count < 0 && would_block(errno)) BIO_set_retry_read(bio);
  if (count == 0) end.at_end = true;
  return static_cast<int>(count);
}

int bio_write(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = transmit(end_of(bio).socket, from, static_cast<std::size_t>(size));
  if (count < 0 && would_block(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return end_of(bio).at_end ? 1 : 0;
  return 0;
}

BIO_METHOD* make_bio_method() {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals");
  if (method == nullptr) return nullptr;
  BIO_meth_set_read(method, bio_read);
  BIO_meth_set_write(method, bio_write);
  BIO_meth_set_ctrl(method, bio_control);
  return method;
}

BIO* make_bio(SocketEnd& end) {
  static BIO_METHOD* const method = make_bio_method();
  BIO* bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, &end);
  BIO_set_init(bio, 1);
  return bio;
}

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace

struct Channel::Tls {
  SocketEnd end{};
  SSL* session = nullptr;
  std::string failure{};

  ~Tls() { SSL_free(session); }
};

Channel::Channel() = default;
Channel::~Channel() = default;

void Channel::open_plain(int socket) { socket_ = socket; }

bool Channel::open_tls(int socket, const TlsContext& context) {
  socket_ = socket;
  auto tls = std::make_unique<Tls>();
  tls->end.socket = socket;
  tls->session = SSL_new(context.get());
  BIO* bio = tls->session == nullptr ? nullptr : make_bio(tls->end);
  if (bio == nullptr) return false;
  SSL_set_bio(tls->session, bio, bio);
  tls_ = std::move(tls);
  return true;
}

bool Channel::open_server(int socket, const TlsContext& context) {
  if (!open_tls(socket, context)) return false;
  SSL_set_accept_state(tls_->session);
  return true;
}

bool Channel::open_client(int socket, const TlsContext& context, const std::string& host, bool verify) {
  if (!open_tls(socket, context)) return false;
  SSL* session = tls_->session;
  SSL_set_connect_state(session);
  const bool address = is_address(host);
  // A server with several names chooses its certificate by this; an address is not allowed here.
  if (!address && SSL_set_tlsext_host_name(session, host.c_str()) != 1) return false;
  if (!verify) return true;
  if (address) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) == 1;
  return SSL_set1_host(session, host.c_str()) == 1;
}

Channel::Outcome Channel::outcome_of(int result) {
  switch (SSL_get_error(tls_->session, result)) {
    case SSL_ERROR_WANT_READ: return {Status::want_read, 0};
    case SSL_ERROR_WANT_WRITE: return {Status::want_write, 0};
    case SSL_ERROR_ZERO_RETURN: return {Status::closed, 0};
    default: break;
  }
  const long verdict = SSL_get_verify_result(tls_->session);
  tls_->failure = verdict == X509_V_OK ? tls_failure() : X509_verify_cert_error_string(verdict);
  ERR_clear_error();
  return {Status::failed, 0};
}

Channel::Outcome Channel::handshake() {
  if (!tls_) return {Status::done, 0};
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_->session);
  return result == 1 ? Outcome{Status::done, 0} : outcome_of(result);
}

Channel::Outcome Channel::read(char* into, std::size_t capacity) {
  if (!tls_) return discard(into, capacity);
  ERR_clear_error();
  const int result = SSL_read(tls_->session, into, static_cast<int>(std::min<std::size_t>(capacity, INT_MAX)));
  return result > 0 ? Outcome{Status::done, static_cast<std::size_t>(result)} : outcome_of(result);
}

Channel::Outcome Channel::discard(char* scratch, std::size_t capacity) {
  const ssize_t count = receive(socket_, scratch, capacity);
  if (count > 0) return {Status::done, static_cast<std::size_t>(count)};
  if (count == 0) return {Status::closed, 0};
  last_errno_ = errno;
  return {would_block(last_errno_) ? Status::want_read : Status::failed, 0};
}

Channel::Outcome Channel::write(std::string_view bytes) {
  if (tls_) {
    ERR_clear_error();
    const int result =
        SSL_write(tls_->session, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
    return result > 0 ? Outcome{Status::done, static_cast<std::size_t>(result)} : outcome_of(result);
  }
  const ssize_t count = transmit(socket_, bytes.data(), bytes.size());
  if (count >= 0) return {Status::done, static_cast<std::size_t>(count)};
  last_errno_ = errno;
  return {would_block(last_errno_) ? Status::want_write : Status::failed, 0};
}

void Channel::finish_writing() {
  if (tls_ && SSL_is_init_finished(tls_->session) == 1) {
    ERR_clear_error();
    SSL_shutdown(tls_->session);
    ERR_clear_error();
  }
  ::shutdown(socket_, SHUT_WR);
}

std::string Channel::failure() const {
  if (tls_ && !tls_->failure.empty()) return tls_->failure;
  return std::generic_category().message(last_errno_);
}

}  // namespace flowfabric::net
