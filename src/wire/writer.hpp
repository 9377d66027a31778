// Writes JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flowfabric::wire {

// Writes a document from left to right; commas are added automatically.
class Writer {
 public:
  // Few replies are shorter than a hundred bytes, and growing from an empty buffer would copy the text several times.
  Writer() { out_.reserve(512); }

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name) {
    separate();
    quote(name);
    out_ += ':';
    fresh_ = true;
  }

  void text(std::string_view value) {
    separate();
    quote(value);
  }
  void number(std::int64_t value) { raw(std::to_string(value)); }
  void unsigned_number(std::uint64_t value) { raw(std::to_string(value)); }
  void boolean(bool value) { raw(value ? "true" : "false"); }
  void null() { raw("null"); }
  // A value that is already JSON.
  void raw(std::string_view json) {
    separate();
    out_ += json;
  }

  std::string take() { return std::move(out_); }

 private:
  void open(char bracket) {
    separate();
    out_ += bracket;
    fresh_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    fresh_ = false;
  }
  void separate() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }
  void quote(std::string_view value);
  void append_escaped(std::string_view value);

  std::string out_;
  bool fresh_ = true;  // the next value is the first on its level
};

}  // namespace flowfabric::wire
