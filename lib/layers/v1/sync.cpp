// Synchronizers and handlers.
#include <lci.h>

#include <memory>

#include "lib/concurrent/signal_array.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/wait.hpp"
#include "lib/layers/v1/world.hpp"

using namespace v1;

namespace {

class multiple_sync final : public synchronizer {
 public:
  multiple_sync(LCI_device_t device, size_t threshold) : synchronizer(device, false), array(threshold) {}
  lci::signal_array<LCI_request_t> array;

 private:
  void take(const LCI_request_t& request) override { array.put(request); }
};

LCI_ALWAYS_INLINE inline synchronizer& sync_of(LCI_comp_t handle) {
  comp& c = the_world().comps.find(handle);
  if (LCI_UNLIKELY(c.what != comp::kind::sync)) throw_wrong_kind(handle, c.what, "a synchronizer", "LCI_sync_create");
  return static_cast<synchronizer&>(c);
}

LCI_ALWAYS_INLINE inline bool fires(synchronizer& s, LCI_request_t* out) {
  return LCI_LIKELY(s.is_single()) ? static_cast<single_sync&>(s).cell.take(out)
                                   : static_cast<multiple_sync&>(s).array.take(out);
}

}  // namespace

LCI_error_t LCI_sync_create(LCI_device_t device, int threshold, LCI_comp_t* synchronizer) {
  return guarded("LCI_sync_create", [&] {
    check_comp_to_make(device, synchronizer);
    if (threshold < 1 || threshold > LCI_MAX_SYNC_LENGTH)
      return fail("LCI_sync_create", "threshold = %d, but must be 1 to LCI_MAX_SYNC_LENGTH = %d", threshold,
                  LCI_MAX_SYNC_LENGTH);
    comp* made;
    if (threshold == 1)
      made = new single_sync(device);
    else
      made = new multiple_sync(device, static_cast<size_t>(threshold));
    *synchronizer = the_world().comps.add(made);
    return LCI_OK;
  });
}

LCI_error_t LCI_sync_free(LCI_comp_t* synchronizer) {
  return guarded("LCI_sync_free", [&] {
    if (synchronizer == nullptr)
      return fail("LCI_sync_free", "synchronizer is NULL, but must be the address of a synchronizer's handle");
    the_world().comps.remove(sync_of(*synchronizer));
    *synchronizer = nullptr;
    return LCI_OK;
  });
}

LCI_error_t LCI_sync_signal(LCI_comp_t synchronizer, LCI_request_t request) {
  return guarded("LCI_sync_signal", [&] {
    sync_of(synchronizer).deliver(request);
    return LCI_OK;
  });
}

LCI_error_t LCI_sync_wait(LCI_comp_t synchronizer, LCI_request_t requests[]) {
  return guarded("LCI_sync_wait", [&] {
    v1::comp& c = sync_of(synchronizer);
    auto& s = static_cast<v1::synchronizer&>(c);
    const auto sleep = [&](int64_t ns) {
      s.is_single() ? static_cast<single_sync&>(s).cell.sleep(ns) : static_cast<multiple_sync&>(s).array.sleep(ns);
    };
    wait_until(
        s.device, [&] { return fires(s, requests); }, sleep);
    return LCI_OK;
  });
}

namespace {

[[gnu::noinline]] LCI_error_t test_otherwise(LCI_comp_t synchronizer, LCI_request_t* requests) {
  return guarded("LCI_sync_test", [&] { return fires(sync_of(synchronizer), requests) ? LCI_OK : LCI_ERR_RETRY; });
}

}  // namespace

LCI_error_t LCI_sync_test(LCI_comp_t synchronizer, LCI_request_t requests[]) {
  // The most common case calls nothing, so that no registers need saving.
  const world* const w = detail::current;
  if (LCI_UNLIKELY(w == nullptr)) return test_otherwise(synchronizer, requests);
  v1::comp* const c = w->comps.find_live(synchronizer);
  if (LCI_UNLIKELY(c == nullptr) || !c->is_single_sync()) return test_otherwise(synchronizer, requests);
  return static_cast<single_sync*>(c)->cell.take(requests) ? LCI_OK : LCI_ERR_RETRY;
}

LCI_error_t LCI_handler_create(LCI_device_t device, LCI_handler_t function, LCI_comp_t* completion) {
  return guarded("LCI_handler_create", [&] {
    check_comp_to_make(device, completion);
    if (function == nullptr) return fail("LCI_handler_create", "handler is NULL, but must be a function");
    *completion = the_world().comps.add(new v1::handler(device, function));
    return LCI_OK;
  });
}
