// Counter: counts signals and drops their statuses.
#pragma once

#include "lci/completion.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/signal_counter.hpp"

namespace lci::core {

/// A completion object whose value is the number of its signals. Owned by the program. Thread-safe: any thread may
/// signal, read, set and wait.
class counter final : public comp_impl_t, public object_memory<counter, false> {
 public:
  explicit counter(attr_t a) : comp_impl_t(a) {
    attr.comp_type = attr_comp_type_t::counter;
    attr.zero_copy_am = false;
    attr.am_in_place = true;  // payloads are dropped, so no buffer is allocated for them
  }
  void signal(status_t) override { number.add_one(); }

  signal_counter<> number;
};

}  // namespace lci::core
