// Detects whether registered pages have been replaced since their registration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace lci::network::sim {

/// A network card continues to use the registered pages, even if other pages are mapped at their addresses later. The
/// simulation accesses memory by address, so this class detects accesses that a card would have missed: registered
/// memory is locked, and pages mapped later are not locked until they are registered.
///
/// Not thread-safe. The program must not lock memory that it registers, nor unlock it.
class pinned_pages {
 public:
  /// Returns a stamp for the pages mapped at [base, base + size) now. Throws resource_error if they can't be locked.
  uint64_t pin(uint64_t base, size_t size);
  void unpin(uint64_t base, size_t size);
  /// Returns whether [base, base + size), or a part of it, still has the pages for which pin() returned `stamp`.
  bool intact(uint64_t base, size_t size, uint64_t stamp) const;

 private:
  struct held {
    size_t pins = 0;
    uint64_t since = 0;  // stamp of the first pin of the pages mapped there now
  };
  uint64_t stamps_ = 0;
  std::unordered_map<uint64_t, held> pages_;  // by address
};

}  // namespace lci::network::sim
