// Memory that messages are copied from and to.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace lci_perf {

struct free_memory {
  size_t offset = 0;
  void operator()(char* p) const { std::free(p - offset); }
};
/// Page-aligned, as an application's large buffers are (the kernel copies those faster), or at an offset in a page.
using page_buffer = std::unique_ptr<char[], free_memory>;

/// Allocates `bytes` bytes that begin `offset` bytes behind a page, and writes them, so that their pages are mapped.
inline page_buffer make_page_buffer(size_t bytes, int value, size_t offset = 0) {
  void* p = nullptr;
  if (posix_memalign(&p, 4096, bytes + offset) != 0) {
    std::fprintf(stderr, "lci_perf: no memory for a buffer of %zu bytes\n", bytes);
    std::exit(1);
  }
  char* const begin = static_cast<char*>(p) + offset;
  std::memset(begin, value, bytes);
  return page_buffer(begin, free_memory{offset});
}

/// The line of a report that says where buffers begin.
inline std::string note_of_offset(size_t offset) {
  return "buffers begin " + std::to_string(offset) + " bytes behind a page";
}

}  // namespace lci_perf
