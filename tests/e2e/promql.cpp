#include "e2e/promql.hpp"

#include <cctype>
#include <stdexcept>

namespace flowfabric::e2e {
namespace {

const std::set<std::string> aggregations = {"sum", "max", "min", "avg", "count", "topk"};
const std::set<std::string> operators = {"and", "or", "unless"};

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  Query read() {
    for (skip_space(); at_ < text_.size(); skip_space()) step();
    return std::move(query_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw std::runtime_error(text_ + ": " + what); }

  bool more() const { return at_ < text_.size(); }
  static bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; }
  void skip_space() {
    while (more() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool skip(const std::string& mark) {
    skip_space();
    if (text_.compare(at_, mark.size(), mark) != 0) return false;
    at_ += mark.size();
    return true;
  }
  void expect(const std::string& mark) {
    if (!skip(mark)) fail("expected " + mark + " at " + std::to_string(at_));
  }
  std::string word() {
    skip_space();
    const std::size_t begin = at_;
    while (more() && in_word(text_[at_])) ++at_;
    if (at_ == begin) fail("expected a word at " + std::to_string(at_));
    return text_.substr(begin, at_ - begin);
  }

  void step() {
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (more() && (in_word(text_[at_]) || text_[at_] == '.')) ++at_;
    } else if (in_word(c)) {
      take(word());
    } else if (c == '[') {
      at_ = text_.find(']', at_);
      if (at_ == std::string::npos) fail("a range has no end");
      ++at_;
    } else if (std::string("()+-*/,<>=").find(c) != std::string::npos) {
      ++at_;
    } else {
      fail("unexpected " + std::string(1, c));
    }
  }

  void take(const std::string& name) {
    if (name == "by") return take_labels(query_.grouped_by);
    if (name == "on") return take_labels(query_.joined_on);
    if (aggregations.contains(name) || operators.contains(name)) return;
    skip_space();
    if (more() && text_[at_] == '(') return;  // a function
    Selector selector{name, {}};
    if (skip("{")) take_matchers(selector);
    query_.selectors.push_back(std::move(selector));
  }

  void take_labels(std::set<std::string>& labels) {
    expect("(");
    do labels.insert(word());
    while (skip(","));
    expect(")");
  }

  void take_matchers(Selector& selector) {
    do {
      Matcher matcher;
      matcher.label = word();
      skip_space();
      while (more() && std::string("=!~").find(text_[at_]) != std::string::npos) matcher.relation += text_[at_++];
      expect("\"");
      const std::size_t end = text_.find('"', at_);
      if (end == std::string::npos) fail("a value has no end");
      matcher.value = text_.substr(at_, end - at_);
      at_ = end + 1;
      selector.matchers.push_back(std::move(matcher));
    } while (skip(","));
    expect("}");
  }

  const std::string& text_;
  std::size_t at_ = 0;
  Query query_;
};

}  // namespace

Query read_query(const std::string& text) { return Reader(text).read(); }

}  // namespace flowfabric::e2e
