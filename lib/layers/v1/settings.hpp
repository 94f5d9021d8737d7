// The variables of lci.h that the environment sets.
#pragma once

#include "lib/layers/v1/world.hpp"

namespace v1 {

/// LCI_PACKET_SIZE without LCI_MEDIUM_SIZE.
constexpr int header_size = 36;

/// Sets the variables from the environment. Throws option_error, which names the variable and what it accepts.
void read_settings();

}  // namespace v1
