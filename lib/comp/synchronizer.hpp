// Synchronizer: ready after a number of signals, like an MPI request.
#pragma once

#include "lci/completion.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/signal_array.hpp"
#include "lib/concurrent/signal_cell.hpp"

namespace lci::core {

/// Thread-safe. A successful test resets it. Signals beyond the threshold count for the next round; beyond
/// max_early_signals of them, signal() throws resource_error. A thread that has seen it ready may free it, even before
/// the last signaller has returned from signal().
class synchronizer : public comp_impl_t {
 public:
  bool ready() const;
  /// If ready, takes as many statuses as the threshold. `out` may be null.
  bool test(status_t* out);
  /// Sleeps until it may be ready, at most `timeout_ns` (negative: for ever).
  void sleep(int64_t timeout_ns);

 protected:
  explicit synchronizer(attr_t a) : comp_impl_t(a) { attr.comp_type = attr_comp_type_t::sync; }
};

class single_synchronizer final : public synchronizer, public object_memory<single_synchronizer, false> {
 public:
  explicit single_synchronizer(attr_t a) : synchronizer(a) {}
  void signal(status_t status) override { cell.put(status); }

  signal_cell<status_t> cell;
};

class multi_synchronizer final : public synchronizer, public object_memory<multi_synchronizer, false> {
 public:
  explicit multi_synchronizer(attr_t a) : synchronizer(a), array(static_cast<size_t>(a.sync_threshold)) {}
  void signal(status_t status) override { array.put(status); }

  signal_array<status_t> array;
};

/// Chooses the type by attr.sync_threshold, which must be positive.
synchronizer* make_synchronizer(const comp_attr_t& attr);

inline bool synchronizer::ready() const {
  return attr.sync_threshold == 1 ? static_cast<const single_synchronizer*>(this)->cell.is_ready()
                                  : static_cast<const multi_synchronizer*>(this)->array.is_ready();
}

inline bool synchronizer::test(status_t* out) {
  return attr.sync_threshold == 1 ? static_cast<single_synchronizer*>(this)->cell.take(out)
                                  : static_cast<multi_synchronizer*>(this)->array.take(out);
}

inline void synchronizer::sleep(int64_t timeout_ns) {
  attr.sync_threshold == 1 ? static_cast<single_synchronizer*>(this)->cell.sleep(timeout_ns)
                           : static_cast<multi_synchronizer*>(this)->array.sleep(timeout_ns);
}

inline synchronizer* make_synchronizer(const comp_attr_t& attr) {
  if (attr.sync_threshold == 1) return new single_synchronizer(attr);
  return new multi_synchronizer(attr);
}

}  // namespace lci::core
