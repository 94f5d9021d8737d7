// Strict parsers, and the table of options that generated code reads from the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/cpu.hpp"

namespace lci {

struct global_attr_t;

namespace options {

/// A name and the number it stands for.
struct choice {
  const char* name;
  uint64_t value;
};

// Each function returns false, and does not change the value, unless the whole text is valid. Case does not matter.
bool parse(std::string_view text, bool& value);      // 1 on true yes, 0 off false no
bool parse(std::string_view text, int& value);       // as parse_size, or negative
bool parse(std::string_view text, uint64_t& value);  // decimal, or hexadecimal after 0x
bool parse(std::string_view text, double& value);    // finite
bool parse(std::string_view text, std::string& value);
/// As uint64_t, with an optional suffix: k, M, G or T (or KiB, ...) for powers of 1024.
bool parse_size(std::string_view text, uint64_t& value);
/// The name of a choice.
bool parse_choice(std::string_view text, const std::vector<choice>& choices, uint64_t& value);
/// A number, or names of choices separated by commas; the value is the bitwise or of theirs.
bool parse_flags(std::string_view text, const std::vector<choice>& choices, uint64_t& value);

std::string to_text(bool value);
std::string to_text(int value);
std::string to_text(uint64_t value);
std::string to_text(double value);
std::string to_text(const std::string& value);
std::string flags_to_text(uint64_t value, const std::vector<choice>& choices);

/// One option. Texts are literals.
struct option {
  const char* name;
  const char* resource;
  std::vector<const char*> variables;  // the first is LCI_ATTR_<NAME>, and wins
  const char* type;
  const char* accepted;
  const char* built_in;
  const char* doc;
  bool (*set)(global_attr_t& attr, std::string_view text);  // false: not understood
  std::string (*get)(const global_attr_t& attr);
};

/// A known environment variable that is not an option.
struct variable {
  const char* name;
  bool prefix;  // matches any name with this prefix
};

/// Sets options from the environment. Returns for each option whether it was set. Throws option_error
/// for an invalid value.
std::vector<bool> read_environment(const std::vector<option>& table, global_attr_t& attr);

/// Prints a warning for each unknown LCI_* variable of the environment.
void warn_of_unknown_variables(const std::vector<option>& table, const std::vector<variable>& others);

/// The known name that is most similar to `name`, or null if none is close.
const char* nearest(std::string_view name, const std::vector<const char*>& known);

}  // namespace options
}  // namespace lci
