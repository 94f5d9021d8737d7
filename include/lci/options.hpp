// All options and their current values, for programs that show or log their settings.
#pragma once

#include <string>
#include <vector>

#include "lci/config.hpp"

namespace lci {

/// One attribute with a process-wide default. The texts are valid as long as the library is loaded.
struct option_info_t {
  const char* name;      ///< of the attribute, e.g. "net_max_sends"
  const char* resource;  ///< that it belongs to, e.g. "device"
  const char* variable;  ///< of the environment, e.g. "LCI_ATTR_NET_MAX_SENDS"
  const char* type;      ///< C++ type
  const char* accepted;  ///< accepted values of the variable, in words
  const char* built_in;  ///< value if set neither by the environment nor by the program
  const char* doc;       ///< description
  std::string value;     ///< current process-wide default
  const char* origin;    ///< of that value: "built-in", "environment" or "program"
};

/// All options with their current values. Throws option_error if a variable has an invalid value.
LCI_API std::vector<option_info_t> get_options();

}  // namespace lci
