// Registered memory, and its 64-bit remote keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "network/common/memory_keys.hpp"
#include "network/fabric.hpp"
#include "network/ofi/handles.hpp"
#include "network/ofi/provider.hpp"

namespace lci::network::ofi {

/// A remote key, translated for libfabric.
struct remote_place {
  uint64_t address;
  uint64_t key;
};

/// Registers memory for one device. As thread-safe as the provider is.
///
/// If the provider chooses keys, or uses virtual addresses, its key is our rkey. Other providers count addresses from
/// the start of the range, which a peer does not know: so ranges start at a page boundary, and the rkey combines that
/// page's number (35 bits) with a key of our choice (28 bits).
class registrar {
 public:
  registrar(const provider& p, fid_domain& domain, fid_ep& endpoint)
      : provider_(p), domain_(domain), endpoint_(endpoint) {}

  /// Throws resource_error.
  registration add(void* base, size_t size);
  void remove(const registration& reg);

  /// Translates a peer's address and rkey.
  remote_place locate(uint64_t address, uint64_t rkey) const {
    const uint64_t key = key_of(rkey);
    if (provider_.needs(FI_MR_VIRT_ADDR)) return {address, key};
    return {address - (key >> key_bits << page_bits), key & ((uint64_t{1} << key_bits) - 1)};
  }

 private:
  static constexpr int key_bits = 28, page_bits = 12;

  fid_mr* open(void* base, size_t size, uint64_t access, uint64_t key, int& error);

  const provider& provider_;
  fid_domain& domain_;
  fid_ep& endpoint_;
};

}  // namespace lci::network::ofi
