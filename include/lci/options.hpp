// What can be configured, and how it is: for programs that show or log their settings.
#pragma once

#include <string>
#include <vector>

#include "lci/config.hpp"

namespace lci {

/// One attribute that has a process-wide default. Texts live as long as the library.
struct option_info_t {
  const char* name;           ///< of the attribute, e.g. "net_max_sends"
  const char* resource;       ///< what it belongs to, e.g. "device"
  const char* variable;       ///< of the environment, e.g. "LCI_ATTR_NET_MAX_SENDS"
  const char* type;           ///< C++ type
  const char* accepted;       ///< values that the variable takes, in words
  const char* built_in;       ///< value if nobody says otherwise
  const char* doc;            ///< what it does
  std::string value;          ///< present process-wide default
  const char* origin;         ///< of that: "built-in", "environment" or "program"
};

/// All options with their present values. Throws option_error if a variable makes no sense.
LCI_API std::vector<option_info_t> get_options();

}  // namespace lci
