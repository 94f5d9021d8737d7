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
/// From a page's beginning, as an application's large buffers are: the kernel copies those faster.
using page_buffer = std::unique_ptr<char[], free_memory>;

/// `bytes` bytes that have been written, so that the pages are there.
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
