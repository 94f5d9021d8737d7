// What a device's registration cache has done, as get_reg_cache_stats() gives it.
#pragma once

#include <cstdint>

namespace lci {

/// Since the device was allocated, and as it stands now.
struct reg_cache_stats_t {
  uint64_t hits = 0;           ///< registrations that were there already
  uint64_t misses = 0;         ///< registrations that had to be made
  uint64_t evictions = 0;      ///< kept ones given up for a limit, the attributes' or the network's
  uint64_t invalidations = 0;  ///< given up because the memory behind them has changed
  uint64_t used = 0;           ///< registrations in use now; one may have several users
  uint64_t used_bytes = 0;     ///< their bytes
  uint64_t kept = 0;           ///< registrations without a user that are kept now
  uint64_t kept_bytes = 0;     ///< their bytes
  bool active = false;   ///< there is a cache: where registering costs nothing there is none
  bool watched = false;  ///< changes of mappings are watched; if not, nothing is kept unless
                         ///< `reg_cache_trust` is set
};

}  // namespace lci
