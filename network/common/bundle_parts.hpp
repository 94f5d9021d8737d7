// A message in one or two pieces, as the core posts it.
#pragma once

#include <cstddef>
#include <cstring>

#include "lib/base/copy_bytes.hpp"
#include "network/fabric.hpp"

namespace lci::network {

struct parts {
  const void* head;
  size_t head_size;
  const void* rest;
  size_t rest_size;

  size_t size() const { return head_size + rest_size; }
  void copy_to(std::byte* to) const {
    if (head_size > 0) std::memcpy(to, head, head_size);
    if (rest_size > 0) copy_bytes(to + head_size, rest, rest_size);
  }
  /// The segments of an injected operation: at most two.
  static parts of(const net_op& op) {
    const segment none{};
    const segment& a = op.n_segments > 0 ? op.segments[0] : none;
    const segment& b = op.n_segments > 1 ? op.segments[1] : none;
    return {a.base, a.size, b.base, b.size};
  }
};

}  // namespace lci::network
