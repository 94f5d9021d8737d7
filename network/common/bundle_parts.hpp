// A message in one or two pieces, as the core posts it.
#pragma once

#include <cstddef>
#include <cstring>

namespace lci::network {

struct parts {
  const void* head;
  size_t head_size;
  const void* rest;
  size_t rest_size;

  size_t size() const { return head_size + rest_size; }
  void copy_to(std::byte* to) const {
    if (head_size > 0) std::memcpy(to, head, head_size);
    if (rest_size > 0) std::memcpy(to + head_size, rest, rest_size);
  }
};

}  // namespace lci::network
