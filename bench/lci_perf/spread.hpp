// Median, minimum and maximum of the rounds' figures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lci_perf {

struct spread {
  explicit spread(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    const size_t n = v.size();
    median = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
    min = v.front();
    max = v.back();
  }
  double median, min, max;
};

}  // namespace lci_perf
