#include "lib/core/operation/ticket.hpp"

#include <mutex>
#include <string>

#include "lib/base/check.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/device/signals.hpp"

namespace lci::core {

void reject_deadline(double seconds) {
  throw_invalid("post", "deadline", std::to_string(seconds), "a number of seconds",
                "a negative one means that there is none");
}

// --- ending, under lock_ ---

void ticket::end() {
  ++serial_;
  if (timed_ && device_ != nullptr) device_->deadlines.remove(this);
  device_ = nullptr;
  engine_ = nullptr;
}

ticket::early_signal ticket::take_early_signal() {
  if (cancelled_as_ == errorcode_t::done || holders_ > 0 || signalled_) return {};
  signalled_ = true;
  early_signal f{behind_, status_};
  f.status.error = cancelled_as_;
  f.status.size = 0;
  return f;
}

// --- the operation ---

void ticket::signal(status_t status) {
  comp_impl_t* comp = nullptr;
  {
    std::lock_guard guard(lock_);
    if (!signalled_) comp = behind_;
    if (stopped_ && !status.is_done()) {
      status.error = cancelled_as_;
      status.size = 0;
    }
    if (status_.buffer != nullptr) status.buffer = status_.buffer;  // a put may have been made from a copy
    end();
  }
  pool_->put(this);
  if (comp != nullptr) comp->signal(status);
}

comp_impl_t* ticket::retire() {
  comp_impl_t* not_signalled;
  {
    std::lock_guard guard(lock_);
    not_signalled = signalled_ ? nullptr : behind_;
    end();
  }
  pool_->put(this);
  return not_signalled;
}

bool ticket::hold() {
  std::lock_guard guard(lock_);
  if (cancelled_as_ != errorcode_t::done) return false;
  ++holders_;
  return true;
}

void ticket::release(device& d) {
  early_signal f;
  {
    std::lock_guard guard(lock_);
    --holders_;
    f = take_early_signal();
  }
  if (f.comp != nullptr) signal_later(d, f.comp, f.status);
}

bool ticket::stop() {
  std::lock_guard guard(lock_);
  if (cancelled_as_ == errorcode_t::done) return false;
  stopped_ = true;
  return true;
}

void ticket::filed_in(matching_engine& engine, matching_entry_key_t key) {
  std::lock_guard guard(lock_);
  engine_ = &engine;
  key_ = key;
}

void ticket::withdrawn_by(const wire::framed<wire::ack_body>& withdrawal) {
  std::lock_guard guard(lock_);
  withdrawal_ = withdrawal;
}

wire::framed<wire::ack_body> ticket::withdrawal() {
  std::lock_guard guard(lock_);
  return withdrawal_;
}

bool ticket::has_deadline() {
  std::lock_guard guard(lock_);
  return timed_;
}

void ticket::arm(uint64_t serial, double seconds) {
  const int64_t when = timers::after(seconds);
  device* d;
  {
    std::lock_guard guard(lock_);
    d = device_;
    if (serial_ != serial || signalled_ || d == nullptr) return;
    if (!d->deadlines.add(this, serial, when)) return;
  }
  d->bell.ring(*d->net);  // a progress thread may be about to sleep for longer
}

// --- cancel and deadline ---

bool ticket::take_out_of(matching_engine& engine, matching_entry_key_t key) {
  operation* found = nullptr;
  // The receive may have ended and its engine may be freed, so look it up: no engine is freed during the loop.
  rt_->engines.for_each([&](matching_engine& there) {
    if (&there != &engine) return;
    there.remove_if(key, matching_entry_type_t::recv, [&](void* entry) {
      auto* op = static_cast<operation*>(entry);
      if (found != nullptr || op->comp != this) return false;
      found = op;
      return true;
    });
  });
  if (found != nullptr) rt_->operations.release(found);
  return found != nullptr;
}

bool ticket::cancel(uint64_t serial, errorcode_t why) {
  device* d;
  matching_engine* engine;
  matching_entry_key_t key;
  wire::framed<wire::ack_body> withdrawal;
  early_signal f;
  {
    std::lock_guard guard(lock_);
    if (serial_ != serial || signalled_ || cancelled_as_ != errorcode_t::done) return false;
    cancelled_as_ = why;
    d = device_;
    engine = engine_;
    key = key_;
    withdrawal = withdrawal_;
    f = take_early_signal();
  }
  if (engine != nullptr && take_out_of(*engine, key)) {
    // The operation was released without signal(), so this thread ends the ticket.
    std::lock_guard guard(lock_);
    holders_ = 0;
    f = take_early_signal();
    end();
  } else {
    engine = nullptr;
  }
  if (d != nullptr && engine == nullptr) {
    d->backlog.move_to_front(this);
    if (f.comp != nullptr && withdrawal.head.what != wire::kind::none) send_or_queue(*d, f.status.rank, withdrawal);
  }
  if (engine != nullptr) pool_->put(this);
  if (f.comp == nullptr) return true;
  // Deadlines expire inside progress(): an exception of a handler must not keep it from the next deadline.
  if (d == nullptr)
    f.comp->signal(f.status);
  else if (why == errorcode_t::timed_out)
    signal_later(*d, f.comp, f.status);
  else
    signal_from_post(*d, f.comp, f.status);
  return true;
}

// --- the pool ---

ticket* ticket_pool::get(device& d, comp_impl_t* behind, const status_t& status, double deadline) {
  ticket* t;
  {
    const size_t mine = static_cast<size_t>(thread_index()) % n_shards;
    shard& s = shards_[mine];
    std::lock_guard guard(s.lock);
    t = s.free;
    if (t != nullptr) {
      s.free = t->next_free_;
    } else {
      t = s.all.emplace_back(std::make_unique<ticket>()).get();
      t->rt_ = &rt_;
      t->pool_ = this;
      t->shard_ = mine;
    }
  }
  std::lock_guard guard(t->lock_);
  t->attr = behind->attr;  // the core reads the kind of object from it
  t->device_ = &d;
  t->behind_ = behind;
  t->status_ = status;
  t->engine_ = nullptr;
  t->withdrawal_ = {};
  t->holders_ = 1;
  t->cancelled_as_ = errorcode_t::done;
  t->signalled_ = t->stopped_ = false;
  t->timed_ = timers::has_end(deadline);
  return t;
}

void ticket_pool::put(ticket* t) {
  shard& s = shards_[t->shard_];
  std::lock_guard guard(s.lock);
  t->next_free_ = s.free;
  s.free = t;
}

void ticket_pool::forget(const device* d) {
  for (shard& s : shards_) {
    std::lock_guard guard(s.lock);
    for (const auto& t : s.all) {
      std::lock_guard own(t->lock_);
      if (t->device_ != d) continue;
      if (t->timed_) t->device_->deadlines.remove(t.get());
      t->device_ = nullptr;
    }
  }
}

}  // namespace lci::core
