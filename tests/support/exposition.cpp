#include "support/exposition.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>

namespace flowfabric::test {
namespace {

bool is_name(const std::string& text, bool colons) {
  const auto fits = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (colons && c == ':');
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

// One line, from left to right.
class Line {
 public:
  Line(std::string text, int number) : text_(std::move(text)), number_(number) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("line " + std::to_string(number_) + ", \"" + text_ + "\": " + what);
  }
  bool at_end() const { return at_ == text_.size(); }
  bool starts_with(const std::string& word) const { return text_.compare(at_, word.size(), word) == 0; }
  bool skip(const std::string& word) {
    if (!starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(const std::string& word) {
    if (!skip(word)) fail("expected '" + word + "' at column " + std::to_string(at_ + 1));
  }
  std::string until(const std::string& stops) {
    const std::size_t end = std::min(text_.find_first_of(stops, at_), text_.size());
    std::string part = text_.substr(at_, end - at_);
    at_ = end;
    return part;
  }
  // Text with backslashes, up to `stop` or the end of the line if that is 0.
  std::string escaped(char stop) {
    std::string out;
    for (; at_ < text_.size() && text_[at_] != stop; ++at_) {
      if (text_[at_] != '\\') {
        out += text_[at_];
        continue;
      }
      if (++at_ == text_.size()) fail("ends within an escape");
      if (text_[at_] == 'n') {
        out += '\n';
      } else if (text_[at_] == '\\' || (text_[at_] == '"' && stop == '"')) {
        out += text_[at_];
      } else {
        fail("has an unknown escape");
      }
    }
    return out;
  }
  double number() {
    const std::string text = until("");
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    const bool plain = text.find_first_not_of("0123456789.e+-") == std::string::npos;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!plain || text.empty() || *end != '\0') fail("\"" + text + "\" is not a number");
    return value;
  }

 private:
  std::string text_;
  int number_;
  std::size_t at_ = 0;
};

MetricLabels read_labels(Line& line) {
  MetricLabels labels;
  if (!line.skip("{")) return labels;
  do {
    const std::string name = line.until("=");
    if (!is_name(name, false)) line.fail("\"" + name + "\" is not the name of a label");
    line.expect("=\"");
    if (!labels.emplace(name, line.escaped('"')).second) line.fail("label " + name + " is there twice");
    line.expect("\"");
  } while (line.skip(","));
  line.expect("}");
  return labels;
}

bool belongs_to(const MetricSample& sample, const MetricFamily& family) {
  if (family.type != "histogram") return sample.name == family.name;
  return sample.name == family.name + "_bucket" || sample.name == family.name + "_sum" ||
         sample.name == family.name + "_count";
}

double le_of(const MetricSample& bucket) {
  const auto& text = bucket.labels.at("le");
  return text == "+Inf" ? std::numeric_limits<double>::infinity() : std::stod(text);
}

void require(bool holds, const std::string& name, const std::string& what) {
  if (!holds) throw std::runtime_error(name + ": " + what);
}

// The requirements for one series of a histogram.
struct HistogramSeries {
  std::optional<double> le;
  double highest = 0;
  std::optional<double> sum;
  std::optional<double> count;
};

void check_histogram(const MetricFamily& family) {
  std::map<MetricLabels, HistogramSeries> all;
  for (const MetricSample& sample : family.samples) {
    MetricLabels labels = sample.labels;
    const bool bucket = sample.name == family.name + "_bucket";
    require(bucket == (labels.erase("le") == 1), family.name, "buckets have a label le, and nothing else has");
    HistogramSeries& series = all[labels];
    if (bucket) {
      require(!series.le || le_of(sample) > *series.le, family.name, "bounds must ascend");
      require(sample.value >= series.highest, family.name, "buckets must not fall");
      series.le = le_of(sample);
      series.highest = sample.value;
    } else {
      (sample.name == family.name + "_sum" ? series.sum : series.count) = sample.value;
    }
  }
  for (const auto& [labels, series] : all) {
    require(series.le == std::numeric_limits<double>::infinity(), family.name, "the last bucket must be +Inf");
    require(series.sum && series.count, family.name, "sum or count is missing");
    require(series.count == series.highest, family.name, "the count must be that of the last bucket");
  }
}

void check_family(const MetricFamily& family) {
  std::set<std::pair<std::string, MetricLabels>> seen;
  for (const MetricSample& sample : family.samples) {
    require(seen.emplace(sample.name, sample.labels).second, family.name, "a sample is there twice");
    std::set<std::string> names;
    for (const auto& [name, value] : sample.labels) {
      if (name != "le") names.insert(name);
    }
    require(names == family.label_names(), family.name, "all samples must have the same labels");
    require(family.type != "counter" || sample.value >= 0, family.name, "a counter is below 0");
  }
  require(family.name.ends_with("_total") == (family.type == "counter"), family.name,
          "counters, and only they, end in _total");
  if (family.type == "histogram") check_histogram(family);
}

class Parser {
 public:
  void take(Line line) {
    if (line.at_end()) line.fail("is empty");
    if (line.skip("# HELP ")) return take_help(line);
    if (line.skip("# TYPE ")) return take_type(line);
    if (line.starts_with("#")) line.fail("is neither HELP nor TYPE");
    take_sample(line);
  }
  Exposition finish() {
    for (const auto& [name, family] : read_.families) {
      require(!family.type.empty(), name, "has no TYPE");
      check_family(family);
    }
    return std::move(read_);
  }

 private:
  void take_help(Line& line) {
    MetricFamily family;
    family.name = line.until(" ");
    if (!is_name(family.name, true)) line.fail("is not the HELP of a metric");
    line.expect(" ");
    family.help = line.escaped('\0');
    if (family.help.empty()) line.fail("says nothing");
    const auto [where, is_new] = read_.families.emplace(family.name, family);
    if (!is_new) line.fail("a family must be in one piece");
    current_ = &where->second;
  }
  void take_type(Line& line) {
    if (current_ == nullptr || line.until(" ") != current_->name || !current_->type.empty()) {
      line.fail("TYPE must follow the HELP of its metric");
    }
    line.expect(" ");
    current_->type = line.until("");
    if (current_->type != "counter" && current_->type != "gauge" && current_->type != "histogram") {
      line.fail("has an unknown type");
    }
  }
  void take_sample(Line& line) {
    MetricSample sample;
    sample.name = line.until("{ ");
    sample.labels = read_labels(line);
    line.expect(" ");
    sample.value = line.number();
    if (current_ == nullptr || current_->type.empty() || !belongs_to(sample, *current_)) {
      line.fail("does not belong to the family above it");
    }
    current_->samples.push_back(std::move(sample));
  }

  Exposition read_;
  MetricFamily* current_ = nullptr;
};

}  // namespace

std::set<std::string> MetricFamily::label_names() const {
  std::set<std::string> names;
  if (samples.empty()) return names;
  for (const auto& [label, value] : samples.front().labels) {
    if (label != "le") names.insert(label);
  }
  return names;
}

std::vector<MetricSample> Exposition::samples(const std::string& name) const {
  std::vector<MetricSample> found;
  for (const auto& [family_name, family] : families) {
    std::copy_if(family.samples.begin(), family.samples.end(), std::back_inserter(found),
                 [&](const MetricSample& sample) { return sample.name == name; });
  }
  return found;
}

double Exposition::sum(const std::string& name, const MetricLabels& labels) const {
  double sum = 0;
  for (const MetricSample& sample : samples(name)) {
    const bool fits = std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
      const auto found = sample.labels.find(label.first);
      return found != sample.labels.end() && found->second == label.second;
    });
    if (fits) sum += sample.value;
  }
  return sum;
}

Exposition parse_exposition(const std::string& text) {
  if (!text.empty() && text.back() != '\n') throw std::runtime_error("the last line has no end");
  Parser parser;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    parser.take(Line(text.substr(at, end - at), ++number));
    at = end + 1;
  }
  return parser.finish();
}

}  // namespace flowfabric::test
