#include "lib/base/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"

namespace lci::options {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

template <class T>
bool parse_number(std::string_view text, T& value, int base = 10) {
  T number{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number, base);
  if (text.empty() || result.ec != std::errc() || result.ptr != end) return false;
  value = number;
  return true;
}

template <class T>
bool parse_integer(std::string_view text, T& value) {
  if (!same(text.substr(0, 2), "0x")) return parse_number(text, value);
  const std::string_view digits = text.substr(2);
  return digits.substr(0, 1) != "-" && parse_number(digits, value, 16);
}

}  // namespace

bool parse(std::string_view text, bool& value) {
  for (const char* name : {"1", "on", "true", "yes"})
    if (same(text, name)) {
      value = true;
      return true;
    }
  for (const char* name : {"0", "off", "false", "no"})
    if (same(text, name)) {
      value = false;
      return true;
    }
  return false;
}

bool parse(std::string_view text, int& value) {
  if (text.substr(0, 1) == "-") return parse_integer(text, value);
  uint64_t number;
  if (!parse_size(text, number) || number > INT_MAX) return false;
  value = static_cast<int>(number);
  return true;
}

bool parse(std::string_view text, uint64_t& value) { return parse_integer(text, value); }

bool parse(std::string_view text, double& value) {
  double number;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(number)) return false;
  value = number;
  return true;
}

bool parse(std::string_view text, std::string& value) {
  value = text;
  return true;
}

bool parse_size(std::string_view text, uint64_t& value) {
  int shift = 0;
  if (!text.empty() && !same(text.substr(0, 2), "0x")) {
    const bool binary = text.size() > 2 && same(text.substr(text.size() - 2), "iB");
    if (binary) text.remove_suffix(2);
    switch (lower(text.back())) {
      case 'k':
        shift = 10;
        break;
      case 'm':
        shift = 20;
        break;
      case 'g':
        shift = 30;
        break;
      case 't':
        shift = 40;
        break;
    }
    if (binary && shift == 0) return false;
    if (shift != 0) text.remove_suffix(1);
  }
  uint64_t number;
  if (!parse_integer(text, number) || number > UINT64_MAX >> shift) return false;
  value = number << shift;
  return true;
}

bool parse_choice(std::string_view text, const std::vector<choice>& choices, uint64_t& value) {
  for (const choice& c : choices)
    if (same(text, c.name)) {
      value = c.value;
      return true;
    }
  return false;
}

bool parse_flags(std::string_view text, const std::vector<choice>& choices, uint64_t& value) {
  if (parse(text, value)) return true;
  uint64_t all = 0;
  for (;;) {
    const size_t comma = text.find(',');
    uint64_t one;
    if (!parse_choice(text.substr(0, comma), choices, one)) return false;
    all |= one;
    if (comma == std::string_view::npos) {
      value = all;
      return true;
    }
    text.remove_prefix(comma + 1);
  }
}

std::string to_text(bool value) { return value ? "true" : "false"; }
std::string to_text(int value) { return std::to_string(value); }
std::string to_text(uint64_t value) { return std::to_string(value); }
std::string to_text(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}
std::string to_text(const std::string& value) { return value; }

std::string flags_to_text(uint64_t value, const std::vector<choice>& choices) {
  std::string text;
  for (const choice& c : choices) {
    if (c.value == value) return c.name;
    // Only names of a single bit: others are combinations of them.
    if ((c.value & value) != 0 && (c.value & (c.value - 1)) == 0)
      text += (text.empty() ? "" : ",") + std::string(c.name);
  }
  return text.empty() ? to_text(value) : text;
}

std::vector<bool> read_environment(const std::vector<option>& table, global_attr_t& attr) {
  std::vector<bool> found(table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    for (const char* variable : table[i].variables) {
      const char* text = std::getenv(variable);
      if (text == nullptr || *text == '\0' || found[i]) continue;  // empty counts as unset
      if (!table[i].set(attr, text))
        throw option_error(std::string(variable) + "=" + text + ": not understood; accepted: " + table[i].accepted +
                           "; unset it for " + table[i].built_in);
      found[i] = true;
    }
  }
  return found;
}

const char* nearest(std::string_view name, const std::vector<const char*>& known) {
  const char* best = nullptr;
  size_t best_distance = name.size() / 4 + 1;
  std::vector<size_t> row;
  for (const char* candidate : known) {
    const std::string_view other = candidate;
    row.resize(other.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 1; i <= name.size(); ++i) {
      size_t diagonal = row[0];  // distance of both prefixes shortened by one character
      row[0] = i;
      for (size_t j = 1; j <= other.size(); ++j) {
        const size_t changed = diagonal + (name[i - 1] != other[j - 1]);
        diagonal = row[j];
        row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() >= best_distance) continue;
    best_distance = row.back();
    best = candidate;
  }
  return best;
}

void warn_of_unknown_variables(const std::vector<option>& table, const std::vector<variable>& others) {
  std::vector<const char*> known;
  for (const option& o : table) known.insert(known.end(), o.variables.begin(), o.variables.end());
  for (const variable& v : others)
    if (!v.prefix) known.push_back(v.name);

  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const std::string_view name = line.substr(0, line.find('='));
    if (!name.starts_with("LCI_")) continue;
    const bool is_known = std::find(known.begin(), known.end(), name) != known.end() ||
                          std::any_of(others.begin(), others.end(),
                                      [&](const variable& v) { return v.prefix && name.starts_with(v.name); });
    if (is_known) continue;
    std::string text = std::string(name) + " has no effect: LCI has no such variable";
    const char* meant = nearest(name, known);
    const std::string attribute = "LCI_ATTR_" + std::string(name.substr(4));  // LCI_BACKEND stands for LCI_ATTR_BACKEND
    for (const char* each : known)
      if (attribute == each) meant = each;
    if (meant != nullptr) text += "; did you mean " + std::string(meant) + "?";
    log_warning(text);
  }
}

}  // namespace lci::options
