#include "lib/base/memory.hpp"

#include <algorithm>
#include <cstdlib>

namespace lci {

namespace {

// Constructed when the library is loaded; copies need no memory.
const resource_error out_of_memory("out of memory, also for a description of the error");

}  // namespace

void throw_no_memory(const char* operation, const char* remedy) {
  try {
    throw resource_error(std::string(operation) + ": out of memory" + remedy);
  } catch (const std::bad_alloc&) {
  }
  throw out_of_memory;
}

resource_error lost_message(const char* what, int peer, size_t size) {
  try {
    return resource_error(std::string(what) + " of " + std::to_string(size) + " bytes from rank " +
                          std::to_string(peer) +
                          " is lost: there is no memory for it (the allocator returned null). Its sender is notified "
                          "if it posts with comp_semantic_t::remote");
  } catch (const std::bad_alloc&) {
    return out_of_memory;
  }
}

void keep_freed_blocks(size_t size) {
  // glibc raises its thresholds to the size of the largest mapped block that was freed, up to 32 MiB with the block's
  // header, unless they were set. So we free one, whose pages are never touched; a call of mallopt() would override
  // what the program has set, and end that growth.
  constexpr size_t largest = (size_t{32} << 20) - (64 << 10);
  void* volatile block = std::malloc(std::min(size, largest));  // volatile: the compiler may not remove both calls
  std::free(block);
}

}  // namespace lci
