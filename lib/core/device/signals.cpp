#include "lib/core/device/signals.hpp"

#include <memory>

#include "lib/base/memory.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"

namespace lci::core {

namespace {

/// A signal in the list of deferred work, which the next progress() sends.
struct deferred_signal : deferred_task {
  deferred_signal(device& d, comp_impl_t* c, const status_t& s) : deferred_task(run), of(d), comp(c), status(s) {}
  device& of;
  comp_impl_t* comp;
  status_t status;

  static bool run(deferred_task* self) {
    const std::unique_ptr<deferred_signal> signal(static_cast<deferred_signal*>(self));
    struct ending {
      deferred_signal& of;
      ~ending() {
        of.of.pending.fetch_sub(1, std::memory_order_release);
        of.of.lifetime.end_task();
      }
    } const at_end{*signal};
    signal->comp->signal(signal->status);
    return true;
  }
};

}  // namespace

void signal_from_post(device& d, comp_impl_t* comp, const status_t& status) {
  if (!may_post(comp->attr.comp_type)) return comp->signal(status);
  if (tls_in_progress) return signal_later(d, comp, status);
  const inside_progress mark;
  comp->signal(status);
}

void signal_later(device& d, comp_impl_t* comp, const status_t& status) {
  if (!may_post(comp->attr.comp_type)) return comp->signal(status);
  d.pending.fetch_add(1, std::memory_order_relaxed);
  d.lifetime.begin_task();
  d.rt.deferred.push(insist_on_memory([&] { return new deferred_signal(d, comp, status); }));
}

}  // namespace lci::core
