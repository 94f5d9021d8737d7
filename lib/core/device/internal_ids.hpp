// Matching engines and completion objects of ids that are not in the runtime's tables: reserved ones of wire.hpp.
#pragma once

#include <cstdint>

#include "lci/completion.hpp"
#include "lib/base/cpu.hpp"
#include "lib/core/match/matching_engine.hpp"

namespace lci::core {

class device;

/// Each returns null if there is none of this id.
LCI_COLD matching_engine* unlisted_engine(device& d, uint16_t id);
LCI_COLD comp_impl_t* unlisted_comp(device& d, uint32_t rcomp);

}  // namespace lci::core
