// Registered memory, and what peers must know of it in 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "network/fabric.hpp"
#include "network/ofi/handles.hpp"
#include "network/ofi/provider.hpp"

namespace lci::network::ofi {

/// What a remote key becomes for libfabric.
struct remote_place {
  uint64_t address;
  uint64_t key;
};

/// Registers for one device. Thread-safe, as far as the provider is.
///
/// Keys that the provider chooses, or that come with virtual addresses, are our rkeys. Other providers
/// count addresses from the begin of the range, which a peer does not know: ranges then begin at a
/// page, and the rkey has that page's number (35 bits) over a key of our choice (28 bits).
class registrar {
 public:
  registrar(const provider& p, fid_domain& domain, fid_ep& endpoint)
      : provider_(p), domain_(domain), endpoint_(endpoint) {}

  /// Throws resource_error.
  registration add(void* base, size_t size);
  void remove(const registration& reg);

  /// Where a peer's address is under its key.
  remote_place locate(uint64_t address, uint64_t rkey) const {
    const uint64_t key = rkey - 1;  // never 0
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
