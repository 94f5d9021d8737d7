// Completion queues.
#include <lci.h>

#include <sched.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "lib/base/insist_on_memory.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/concurrent/segmented_queue.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/wait.hpp"
#include "lib/layers/v1/world.hpp"

using namespace v1;

namespace {

/// Grows; loses nothing. Thread-safe. One sleeper is woken for each request, or all if some wait for several.
class queue final : public comp {
 public:
  explicit queue(LCI_device_t device) : comp(kind::queue, device) {}

  bool pop(LCI_request_t* out) { return items_.pop(*out); }
  size_t pop_many(LCI_request_t* out, size_t max) { return items_.pop_many(out, max); }
  /// Takes `n` requests, or none if there are fewer. The mutex lets one thread at a time collect its requests. Without
  /// it, two threads could each hold some of the requests that the other one needs, and both would wait forever.
  bool pop_all(LCI_request_t* out, size_t n) {
    if (items_.size() < n) return false;
    std::lock_guard guard(pop_all_mutex_);
    size_t got = 0;
    while (got < n && items_.size() >= n - got) {
      const size_t more = items_.pop_many(out + got, n - got);
      if (more == 0) sched_yield();  // the next one is being written
      got += more;
    }
    if (got == n) return true;
    // Another thread has taken some of the requests meanwhile, so put these back.
    for (size_t i = 0; i < got; ++i) lci::insist_on_memory([&] { take(out[i]); });
    return false;
  }
  size_t length() const { return items_.size(); }
  void sleep(int64_t ns) {
    sleepers_.sleep([this] { return items_.idle(); }, ns);
  }
  /// Sleeps until there are `n` requests, at most `ns` nanoseconds (negative: for ever); may return early.
  void sleep_for(size_t n, int64_t ns) {
    sleepers_for_several_.fetch_add(1, std::memory_order_relaxed);
    sleepers_.sleep([=, this] { return items_.size() < n; }, ns);
    sleepers_for_several_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  void take(const LCI_request_t& request) override {
    bool asleep = false, several = false;
    items_.push(request, [&] {
      asleep = sleepers_.notice();
      // A sleeper increments sleepers_for_several_ before it enters sleepers_. So if notice() has seen it asleep, this
      // load sees it, too.
      several = LCI_UNLIKELY(asleep) && sleepers_for_several_.load(std::memory_order_relaxed) > 0;
    });
    // wake() may choose a thread that needs more requests than there are. It would sleep again, and a thread that needs
    // only one would stay asleep.
    if (LCI_UNLIKELY(asleep)) several ? sleepers_.wake_all() : sleepers_.wake();
  }

  lci::segmented_queue<LCI_request_t> items_;
  lci::event_count<> sleepers_;
  std::atomic<unsigned> sleepers_for_several_{0};
  std::mutex pop_all_mutex_;
};

LCI_ALWAYS_INLINE inline queue& queue_of(LCI_comp_t handle) {
  comp& c = the_world().comps.find(handle);
  if (LCI_UNLIKELY(c.what != comp::kind::queue)) throw_wrong_kind(handle, c.what, "a queue", "LCI_queue_create");
  return static_cast<queue&>(c);
}

}  // namespace

LCI_error_t LCI_queue_create(LCI_device_t device, LCI_comp_t* cq) {
  return guarded("LCI_queue_create", [&] {
    check_comp_to_make(device, cq);
    *cq = the_world().comps.add(new queue(device));
    return LCI_OK;
  });
}

LCI_error_t LCI_queue_createx(LCI_device_t device, size_t max_length, LCI_comp_t* cq) {
  (void)max_length;  // it grows beyond what it is expected to hold, rather than to lose a completion
  return LCI_queue_create(device, cq);
}

LCI_error_t LCI_queue_free(LCI_comp_t* cq) {
  return guarded("LCI_queue_free", [&] {
    if (cq == nullptr) return fail("LCI_queue_free", "cq is NULL, but must be the address of a queue's handle");
    check_comp_to_free(*cq);
    the_world().comps.remove(queue_of(*cq));
    *cq = nullptr;
    return LCI_OK;
  });
}

extern "C" LCI_error_t LCI_queue_pop(LCI_comp_t cq, LCI_request_t* request) {
  try {
    if (checking()) check_result("request", request);
    return queue_of(cq).pop(request) ? LCI_OK : LCI_ERR_RETRY;
  } catch (...) {
    return fail_by_exception("LCI_queue_pop");
  }
}

extern "C" LCI_error_t LCI_queue_pop_p(LCI_comp_t* cq, LCI_request_t* request) {
  if (cq == nullptr) return fail("LCI_queue_pop", "cq is NULL, but must be the address of a queue's handle");
  return LCI_queue_pop(*cq, request);
}

extern "C" LCI_error_t LCI_queue_pop_multiple(LCI_comp_t cq, size_t request_count, LCI_request_t* requests,
                                              size_t* return_count) {
  return guarded("LCI_queue_pop_multiple", [&] {
    if (checking()) {
      check_result("return_count", return_count);
      if (request_count > 0) check_result("requests", requests);
    }
    *return_count = queue_of(cq).pop_many(requests, request_count);
    return LCI_OK;
  });
}

extern "C" LCI_error_t LCI_queue_pop_multiple_p(LCI_comp_t* cq, size_t request_count, LCI_request_t requests[],
                                                size_t return_count) {
  (void)return_count;  // passed by value, as the specification prints it
  if (cq == nullptr) return fail("LCI_queue_pop_multiple", "cq is NULL, but must be the address of a queue's handle");
  size_t n = 0;
  const LCI_error_t code = LCI_queue_pop_multiple(*cq, request_count, requests, &n);
  // SIZE_MAX asks for all entries: it says nothing about the size of the array.
  if (code == LCI_OK && n < request_count && request_count != SIZE_MAX) requests[n].flag = LCI_ERR_RETRY;
  return code;
}

LCI_error_t LCI_queue_wait(LCI_comp_t cq, LCI_request_t* request) {
  return guarded("LCI_queue_wait", [&] {
    queue& q = queue_of(cq);
    check_result("request", request);
    wait_until(
        q.device, [&] { return q.pop(request); }, [&](int64_t ns) { q.sleep(ns); });
    return LCI_OK;
  });
}

LCI_error_t LCI_queue_wait_multiple(LCI_comp_t cq, size_t request_count, LCI_request_t requests[]) {
  return guarded("LCI_queue_wait_multiple", [&] {
    queue& q = queue_of(cq);
    if (request_count > 0) check_result("requests", requests);
    wait_until(
        q.device, [&] { return q.pop_all(requests, request_count); },
        [&](int64_t ns) { q.sleep_for(request_count, ns); });
    return LCI_OK;
  });
}

LCI_error_t LCI_queue_len(LCI_comp_t cq, size_t* len) {
  return guarded("LCI_queue_len", [&] {
    const queue& q = queue_of(cq);
    check_result("len", len);
    *len = q.length();
    return LCI_OK;
  });
}
