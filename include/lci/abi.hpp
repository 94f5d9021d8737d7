// Check of binary compatibility. Programs inline parts of the library, so they must run with a library compiled
// with the same or compatible headers. Both contain a hash of their headers; allocating a runtime compares the
// two. Internal: users include lci.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lci/completion.hpp"
#include "lci/config.hpp"
#include "lci/direct.hpp"
#include "lci/layout.hpp"
#include "lci/types.hpp"

namespace lci::detail {

/// Incremented when inlined code becomes incompatible although no layout differs: the meaning of bits, which
/// function is called when, the virtual functions of a class.
constexpr uint64_t inlined_code = 3;

/// Hash of `layout` and the following numbers.
template <class... More>
constexpr uint64_t mixed(uint64_t layout, More... more) {
  ((layout = (layout ^ static_cast<uint64_t>(more)) * 0x100000001b3), ...);  // FNV-1a, by words
  return layout;
}

/// The hash of the headers. `generated`: hash of names, types and order of all arguments and attributes.
constexpr uint64_t layout_of_headers(uint64_t generated) {
  using f = device_front;
  return mixed(generated, inlined_code, device_front_offset, sizeof(f), offsetof(f, not_plain), offsetof(f, n_peers),
               offsetof(f, shared_place), offsetof(f, heaps), offsetof(f, direct_end), offsetof(f, packets),
               offsetof(f, packets_size), offsetof(f, engine), sizeof(heap_window), offsetof(heap_window, here),
               offsetof(heap_window, size), sizeof(status_t), offsetof(status_t, rank), offsetof(status_t, buffer),
               offsetof(status_t, size), offsetof(status_t, tag), offsetof(status_t, user_context), sizeof(rmr_t),
               offsetof(rmr_t, size_and_device), sizeof(operation_t), sizeof(layout_t), sizeof(comp_impl_t),
               sizeof(std::string));
}

/// Throws version_error unless the library was compiled with headers of this hash.
LCI_API void require_layout(uint64_t of_the_program);

}  // namespace lci::detail
