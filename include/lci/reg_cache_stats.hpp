// Statistics of a device's registration cache, as returned by get_reg_cache_stats().
#pragma once

#include <cstdint>

namespace lci {

/// Counts since the device was allocated, and the current state.
struct reg_cache_stats_t {
  uint64_t hits = 0;           ///< registrations found in the cache
  uint64_t misses = 0;         ///< registrations made with the network
  uint64_t evictions = 0;      ///< unused ones ended because of a limit of the attributes or the network
  uint64_t invalidations = 0;  ///< ended because the mapping of their memory has changed
  uint64_t used = 0;           ///< registrations currently in use; one may have several users
  uint64_t used_bytes = 0;     ///< their bytes
  uint64_t kept = 0;           ///< cached registrations without a user
  uint64_t kept_bytes = 0;     ///< their bytes
  bool active = false;         ///< there is a cache; false where registering costs nothing
  bool watched = false;        ///< changes of mappings are watched; if not, unused registrations are cached only if
                               ///< `reg_cache_trust` is set
};

}  // namespace lci
