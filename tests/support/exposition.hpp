// Reads the Prometheus text format (0.0.4), stricter than Prometheus: text that Prometheus would tolerate is refused.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace flowfabric::test {

using MetricLabels = std::map<std::string, std::string>;

struct MetricSample {
  std::string name;  // of the line: a histogram has name_bucket, name_sum and name_count
  MetricLabels labels;
  double value = 0;
};

struct MetricFamily {
  std::string name;
  std::string type;
  std::string help;
  std::vector<MetricSample> samples;

  std::set<std::string> label_names() const;  // without the `le` of buckets
};

struct Exposition {
  std::map<std::string, MetricFamily> families;

  // All samples of that line name.
  std::vector<MetricSample> samples(const std::string& name) const;
  // The sum of the samples of that line name that have these labels; 0 if there are none.
  double sum(const std::string& name, const MetricLabels& labels = {}) const;
};

// Throws std::runtime_error that names the line.
Exposition parse_exposition(const std::string& text);

}  // namespace flowfabric::test
