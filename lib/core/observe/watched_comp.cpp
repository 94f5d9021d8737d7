#include "lib/core/observe/watched_comp.hpp"

#include <mutex>

#include "lib/core/observe/device_observer.hpp"
#include "lib/core/observe/tracer.hpp"

namespace lci::core {

watched_comp* watched_comps::get(const device_observer& o, comp_impl_t& behind, post_kind what, uint64_t begin) {
  watched_comp* w;
  {
    std::lock_guard guard(lock_);
    if (free_.empty()) {
      all_.push_back(std::make_unique<watched_comp>(*this));
      free_.reserve(all_.size());  // so that put() can't fail
      w = all_.back().get();
    } else {
      w = free_.back();
      free_.pop_back();
    }
  }
  w->attr = behind.attr;  // the core reads the kind of object from it
  w->behind_ = &behind;
  w->what_ = what;
  w->device_ = o.device;
  w->trace_ = o.trace;
  w->times_ = o.times;
  w->begin_ = begin;
  w->posted_.store(0, std::memory_order_relaxed);
  w->holders_.store(2, std::memory_order_relaxed);
  return w;
}

void watched_comps::put(watched_comp* w) {
  w->times_.reset();
  std::lock_guard guard(lock_);
  free_.push_back(w);
}

void watched_comp::signal(status_t status) {
  trace_event e{trace_event::type::completion, static_cast<uint8_t>(what_)};
  e.outcome = status.error.errorcode;
  e.peer = status.rank;
  e.device = device_;
  e.size = status.size;
  e.tag = status.tag;
  e.begin = tracer::now();
  const uint64_t posted = posted_.load(std::memory_order_relaxed);
  e.posted = posted == 0 ? e.begin : posted;
  if (times_ != nullptr && status.is_done()) times_->add(what_, status.size, e.begin - begin_);
  comp_impl_t& behind = *behind_;
  tracer* const to = trace_;
  release();
  // A destructor, so that the event is recorded also if a handler throws.
  struct ending {
    tracer* to;
    trace_event& e;
    ~ending() {
      if (to == nullptr) return;
      e.end = tracer::now();
      to->add(e);
    }
  } const at_end{to, e};
  behind.signal(status);
}

void watched_comp::posted(uint64_t when) {
  posted_.store(when, std::memory_order_relaxed);
  release();
}

void watched_comp::cancel() {
  // If a handler has thrown out of the post, signal() has already released its reference.
  if (holders_.load(std::memory_order_acquire) == 2) holders_.store(1, std::memory_order_relaxed);
  release();
}

void watched_comp::release() {
  // A1: pairs with itself: the last holder sees what the other one wrote.
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) pool_.put(this);
}

}  // namespace lci::core
