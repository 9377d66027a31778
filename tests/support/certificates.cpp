#include "support/certificates.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>

#include "base/check.hpp"

namespace flowfabric::test {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

constexpr long valid_s = 24 * 3600;

void add_extension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  FF_CHECK(extension != nullptr);
  FF_CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

Certificate make_certificate(EVP_PKEY* key, const std::string& name) {
  Certificate certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid_s);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), subject);
  const bool address = name.find_first_not_of("0123456789.:") == std::string::npos;
  add_extension(certificate.get(), NID_subject_alt_name, (address ? "IP:" : "DNS:") + name);
  add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  FF_CHECK(X509_sign(certificate.get(), key, EVP_sha256()) > 0);
  return certificate;
}

}  // namespace

void write_certificate(const std::string& certificate_file, const std::string& key_file, const std::string& name) {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  FF_CHECK(key != nullptr);
  const Certificate certificate = make_certificate(key.get(), name);
  const File certificate_out(std::fopen(certificate_file.c_str(), "w"), std::fclose);
  const File key_out(std::fopen(key_file.c_str(), "w"), std::fclose);
  FF_CHECK(certificate_out && key_out);
  FF_CHECK(PEM_write_X509(certificate_out.get(), certificate.get()) == 1);
  FF_CHECK(PEM_write_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
}

}  // namespace flowfabric::test
