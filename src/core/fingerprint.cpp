#include "core/fingerprint.hpp"

#include <algorithm>
#include <optional>

#include <flowfabric/dead_letters.hpp>

#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace flowfabric {
namespace {

// Independent of the locale.
bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex_digit(char c) { return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) {
  return is_ascii_digit(c) || is_ascii_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 128;
}
bool is_blank(char c) { return static_cast<unsigned char>(c) <= 0x20; }

// Reads a message from its beginning; what was read is replaced by a placeholder, or copied.
class Normalizer {
 public:
  explicit Normalizer(std::string_view message) : rest_(message) {}

  std::string run() {
    while (!rest_.empty()) {
      if (take_blanks() || take_quoted() || take_path() || take_uuid() || take_prefixed_hex() || take_word()) continue;
      copy(1);
    }
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    return std::move(out_);
  }

 private:
  char at(std::size_t i) const { return i < rest_.size() ? rest_[i] : '\0'; }

  void copy(std::size_t size) {
    out_ += rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  bool replace(std::size_t size, std::string_view placeholder) {
    out_ += placeholder;
    rest_.remove_prefix(size);
    return true;
  }

  bool take_blanks() {
    if (!is_blank(at(0))) return false;
    std::size_t size = 1;
    while (size < rest_.size() && is_blank(rest_[size])) ++size;
    rest_.remove_prefix(size);
    if (!out_.empty()) out_ += ' ';
    return true;
  }

  // An apostrophe within a word, as in "can't", begins nothing. A quotation that does not end is none.
  bool take_quoted() {
    const char quote = at(0);
    if (quote != '"' && quote != '\'' && quote != '`') return false;
    if (quote == '\'' && !out_.empty() && is_word(out_.back())) return false;
    for (std::size_t end = 1; end < rest_.size(); ++end) {
      if (rest_[end] == '\\') {
        ++end;
      } else if (rest_[end] == quote && (quote != '\'' || !is_word(at(end + 1)))) {
        return replace(end + 1, "<text>");
      }
    }
    return false;
  }

  bool begins_word() const { return out_.empty() || !is_word(out_.back()); }
  static bool is_in_path(char c) {
    return is_word(c) || c == '/' || c == '\\' || c == '.' || c == '-' || c == '~' || c == '+' || c == '%' ||
           c == '@' || c == '=' || c == '?' || c == '&' || c == '#' || c == ':';
  }

  // "/var/x", "./x", "~/x", "C:\x", "https://host/x". A single slash between words, as in "read/write", makes no path.
  bool take_path() {
    if (!begins_word()) return false;
    std::size_t size = 0;
    while (is_ascii_letter(at(size))) ++size;
    const bool is_url = size >= 2 && rest_.substr(size, 3) == "://";
    const bool is_drive = size == 1 && at(1) == ':' && (at(2) == '\\' || at(2) == '/');
    const bool is_rooted = at(0) == '/' && is_word(at(1));
    const bool is_relative = (at(0) == '~' && at(1) == '/') || (at(0) == '.' && at(1) == '/') ||
                             (at(0) == '.' && at(1) == '.' && at(2) == '/');
    if (!is_url && !is_drive && !is_rooted && !is_relative) return false;
    size = 0;
    while (size < rest_.size() && is_in_path(rest_[size])) ++size;
    // Punctuation at the end belongs to the sentence.
    while (size > 1 && std::string_view(".:?").find(rest_[size - 1]) != std::string_view::npos) --size;
    return replace(size, "<path>");
  }

  std::optional<std::size_t> uuid_at_start() const {
    std::size_t i = 0;
    for (const std::size_t digits : {8, 4, 4, 4, 12}) {
      if (i > 0 && at(i++) != '-') return std::nullopt;
      for (std::size_t n = 0; n < digits; ++n) {
        if (!is_hex_digit(at(i++))) return std::nullopt;
      }
    }
    if (is_word(at(i))) return std::nullopt;
    return i;
  }
  bool take_uuid() {
    if (!begins_word()) return false;
    const auto size = uuid_at_start();
    return size && replace(*size, "<uuid>");
  }

  bool take_prefixed_hex() {
    if (!begins_word() || at(0) != '0' || (at(1) != 'x' && at(1) != 'X') || !is_hex_digit(at(2))) return false;
    std::size_t size = 2;
    while (is_hex_digit(at(size))) ++size;
    return replace(size, "<hex>");
  }

  // Hexadecimal digits that are a word of their own, at least eight of them with a digit among them: hashes and ids.
  bool take_word() {
    if (!is_word(at(0))) return false;
    std::size_t size = 0;
    while (is_word(at(size))) ++size;
    const std::string_view word = rest_.substr(0, size);
    const bool has_digit = std::any_of(word.begin(), word.end(), is_ascii_digit);
    const bool has_letter = std::any_of(word.begin(), word.end(), is_ascii_letter);
    if (size >= 8 && has_digit && has_letter && std::all_of(word.begin(), word.end(), is_hex_digit)) {
      return replace(size, "<hex>");
    }
    if (!has_digit) {
      copy(size);
      return true;
    }
    copy_without_numbers(size);
    return true;
  }

  // "order17" is "order<n>", "1.5e-3" and "10,000" and "127.0.0.1" are one number each.
  void copy_without_numbers(std::size_t size) {
    std::size_t taken = 0;
    while (taken < size) {
      if (!is_ascii_digit(at(0))) {
        copy(1);
        ++taken;
        continue;
      }
      std::size_t digits = 0;
      while (is_ascii_digit(at(digits)) ||
             (digits > 0 && (at(digits) == '.' || at(digits) == ',') && is_ascii_digit(at(digits + 1)))) {
        ++digits;
      }
      replace(digits, "<n>");
      taken += digits;
    }
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

std::string normalized_message(std::string_view message) {
  return Normalizer(clipped(message, limits::max_fingerprint_message_bytes)).run();
}

std::uint64_t fingerprint_of(std::string_view kind, std::string_view category, std::string_view message) {
  std::string text(kind);
  text += '\0';
  text += category;
  text += '\0';
  text += normalized_message(message);
  const Sha256 digest = sha256(text);
  std::uint64_t fingerprint = 0;
  for (std::size_t i = 0; i < 8; ++i) fingerprint = (fingerprint << 8) | digest[i];
  return fingerprint == 0 ? 1 : fingerprint;
}

std::string fingerprint_text(std::uint64_t fingerprint) {
  if (fingerprint == 0) return older_failures;
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(fingerprint >> shift);
  return to_hex(bytes);
}

}  // namespace flowfabric
