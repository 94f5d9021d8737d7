// Makes allocations of a test program fail. Link failing_memory.cpp: it replaces operator new of the whole program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci_test {

/// While an object of this class exists, some calls of operator new fail. Only calls for `smallest` to `largest` bytes
/// count: of these the first `good` succeed, the next `bad` fail, and all later ones succeed. One object at a time.
/// Calls of all threads count.
class failing_memory {
 public:
  static constexpr long for_ever = 1L << 60;

  explicit failing_memory(size_t smallest = 0, long good = 0, long bad = for_ever, size_t largest = SIZE_MAX);
  ~failing_memory();
  failing_memory(const failing_memory&) = delete;
  failing_memory& operator=(const failing_memory&) = delete;

  /// The number of failures of the current object, or of the last one if there is none.
  static long failures();
};

}  // namespace lci_test
