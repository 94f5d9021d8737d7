// Pages that registrations hold: whether they are still the ones that were there when it was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace lci::network::sim {

/// A network card goes on using the pages that it was told of, whatever is mapped at their addresses
/// later. Here memory is reached by address, so this tells who would have missed it: registered
/// memory is locked, and what is mapped later is not, until it is registered in its turn.
///
/// Not thread-safe. The program must not lock memory that it registers, nor unlock it.
class pinned_pages {
 public:
  /// Names what is mapped at [base, base + size) now. Throws resource_error if it can't be locked.
  uint64_t pin(uint64_t base, size_t size);
  void unpin(uint64_t base, size_t size);
  /// Whether [base, base + size), or a part of it, is still what pin() gave `stamp` for.
  bool intact(uint64_t base, size_t size, uint64_t stamp) const;

 private:
  struct held {
    size_t pins = 0;
    uint64_t since = 0;  // the stamp of the first pin of what is mapped there now
  };
  uint64_t stamps_ = 0;
  std::unordered_map<uint64_t, held> pages_;  // by address
};

}  // namespace lci::network::sim
