#include "lib/bootstrap/limits.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "lci/errors.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"

namespace lci::network {

void check_bootstrap_key(const char* operation, const std::string& key) {
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && std::strchr("_-.:/", c) != nullptr);
  });
  if (plain && !key.empty() && key.size() <= max_bootstrap_key) return;
  throw invalid_argument_error(std::string("bootstrap ") + operation + ": key '" + pmi1::printable(key) +
                               "' must be 1.." + std::to_string(max_bootstrap_key) +
                               " letters, digits or any of _-.:/");
}

void check_bootstrap_value(const std::string& key, const std::string& value) {
  if (value.size() <= max_bootstrap_value) return;
  throw invalid_argument_error("bootstrap put: value of '" + key + "' has " + std::to_string(value.size()) +
                               " bytes, the limit is " + std::to_string(max_bootstrap_value));
}

std::string missing_key(const std::string& key, int owner) {
  return "bootstrap: rank " + std::to_string(owner) + " has not put key '" + key + "' before the last fence";
}

std::string list_ranks(const std::vector<int>& ranks) {
  constexpr size_t shown = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const size_t n = std::min(ranks.size(), shown);
  for (size_t i = 0; i < n; ++i) {
    const bool last = i + 1 == ranks.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > shown) text += " and " + std::to_string(ranks.size() - shown) + " more";
  return text;
}

std::string seconds_text(double seconds) {
  char text[32];
  snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

}  // namespace lci::network
