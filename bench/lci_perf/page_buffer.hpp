// Memory that messages are copied from and to.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace lci_perf {

struct free_memory {
  void operator()(char* p) const { std::free(p); }
};
/// Page-aligned, as an application's large buffers are: the kernel copies those faster.
using page_buffer = std::unique_ptr<char[], free_memory>;

/// Allocates `bytes` bytes and writes them, so that their pages are mapped.
inline page_buffer make_page_buffer(size_t bytes, int value) {
  void* p = nullptr;
  if (posix_memalign(&p, 4096, bytes) != 0) {
    std::fprintf(stderr, "lci_perf: no memory for a buffer of %zu bytes\n", bytes);
    std::exit(1);
  }
  std::memset(p, value, bytes);
  return page_buffer(static_cast<char*>(p));
}

}  // namespace lci_perf
