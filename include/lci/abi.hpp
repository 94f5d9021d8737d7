// A program has parts of the library inlined: it must run with a library that has been compiled with the same
// headers, or with headers that differ in nothing that counts. Both carry a number of them, which are compared
// when a runtime is allocated. Users include lci.hpp; nothing here is for them.
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

/// Raised when inlined code does something else than before although no layout differs: what bits mean, which
/// function is called when, what virtual functions a class has.
constexpr uint64_t inlined_code = 2;

/// Numbers of `layout` and of what follows in one.
template <class... More>
constexpr uint64_t mixed(uint64_t layout, More... more) {
  ((layout = (layout ^ static_cast<uint64_t>(more)) * 0x100000001b3), ...);  // FNV-1a, by words
  return layout;
}

/// The headers' number. `generated`: of names, types and order of all arguments and attributes.
constexpr uint64_t layout_of_headers(uint64_t generated) {
  using f = device_front;
  return mixed(generated, inlined_code, device_front_offset, sizeof(f), offsetof(f, not_plain), offsetof(f, n_peers),
               offsetof(f, shared_place), offsetof(f, heaps), offsetof(f, direct_end), offsetof(f, packets),
               offsetof(f, packets_size), offsetof(f, engine), sizeof(heap_window), offsetof(heap_window, here),
               offsetof(heap_window, size), sizeof(receive_terms), sizeof(status_t), offsetof(status_t, rank),
               offsetof(status_t, buffer), offsetof(status_t, size), offsetof(status_t, tag),
               offsetof(status_t, user_context), sizeof(rmr_t), offsetof(rmr_t, size_and_device), sizeof(operation_t),
               sizeof(layout_t), sizeof(comp_impl_t),
               sizeof(std::string));
}

/// Throws version_error unless the library has been compiled with headers of this number.
LCI_API void require_layout(uint64_t of_the_program);

}  // namespace lci::detail
