#include "lib/layers/armci/calls.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "lib/layers/armci/errors.hpp"
#include "lib/layers/armci/wire.hpp"

namespace armci_layer {

namespace {
constexpr uint32_t index_bits = 20, index_mask = (1u << index_bits) - 1;
}

uint32_t call_table::begin(int proc, const layout& destination, size_t size,
                           std::initializer_list<request_state*> states) {
  std::vector<void*> segments;
  if (destination.is_list()) segments.assign(destination.segments, destination.segments + destination.n);
  const std::lock_guard guard(mutex_);
  if (free_.empty()) {
    if (calls_.size() > index_mask) throw error(internal_failure, "too many requests are open");
    free_.reserve(calls_.size() + 1);
    calls_.push_back(std::make_unique<call>());
    calls_.back()->token = static_cast<uint32_t>(calls_.size() - 1);
    free_.push_back(static_cast<uint32_t>(calls_.size() - 1));
  }
  call& c = *calls_[free_.back()];
  free_.pop_back();
  c.proc = proc;
  c.failure.store(0, std::memory_order_relaxed);
  c.destination = destination;
  c.segments = std::move(segments);
  if (destination.is_list()) c.destination.segments = c.segments.data();
  c.left.store(size == 0 ? 1 : size, std::memory_order_relaxed);
  size_t i = 0;
  for (request_state* s : states) {
    if (s != nullptr) s->pending.fetch_add(1, std::memory_order_relaxed);
    c.states[i++] = s;
  }
  return c.token;
}

void call_table::end(call& c) {
  const int failure = c.failure.load(std::memory_order_relaxed);
  request_state* states[call::most_states];
  for (size_t i = 0; i < call::most_states; ++i) states[i] = std::exchange(c.states[i], nullptr);
  {
    const std::lock_guard guard(mutex_);
    c.proc = -1;
    c.segments.clear();
    c.token += 1u << index_bits;  // a late answer finds nothing
    free_.push_back(c.token & index_mask);
  }
  for (request_state* s : states) {
    if (s == nullptr) continue;
    if (failure != 0) s->failure.store(failure, std::memory_order_relaxed);
    s->pending.fetch_sub(1, std::memory_order_release);  // R1: pairs with A1 in transfers
  }
}

bool call_table::receive(int source, const std::byte* bytes, size_t size) {
  wire::reader in(bytes, size);
  const auto head = in.take<wire::answer>();
  if (!in.good()) return false;
  call* c = nullptr;
  {
    const std::lock_guard guard(mutex_);
    const uint32_t index = head.token & index_mask;
    if (index >= calls_.size()) return false;
    c = calls_[index].get();
    if (c->token != head.token || c->proc != source) return false;
    c->users.fetch_add(1, std::memory_order_relaxed);
  }
  size_t part = in.left();
  if (head.failure != 0) {
    c->failure.store(head.failure, std::memory_order_relaxed);
    part = std::min(head.begin, c->left.load(std::memory_order_relaxed));
  } else if (part == 0)
    part = 1;
  else if (head.begin <= c->destination.size() && part <= c->destination.size() - head.begin)
    unpack(c->destination, head.begin, in.rest(), part);
  // The last answer to be written ends the call; the data of all is visible to it.
  const bool last = c->left.fetch_sub(part, std::memory_order_acq_rel) == part;
  c->users.fetch_sub(1, std::memory_order_release);  // R2: pairs with A2 in fail()
  if (last) end(*c);
  return last;
}

void call_table::finish(uint32_t token, int failure) {
  call* c = nullptr;
  {
    const std::lock_guard guard(mutex_);
    c = calls_[token & index_mask].get();
    if (c->token != token || c->proc < 0) return;  // failure handling has already finished this call
    c->users.fetch_add(1, std::memory_order_relaxed);
  }
  if (failure != 0) c->failure.store(failure, std::memory_order_relaxed);
  const bool last = c->left.fetch_sub(1, std::memory_order_acq_rel) == 1;
  c->users.fetch_sub(1, std::memory_order_release);  // R2
  if (last) end(*c);
}

bool call_table::fail(int proc) {
  bool any = false;
  for (size_t i = 0;; ++i) {
    call* c = nullptr;
    {
      const std::lock_guard guard(mutex_);
      while (i < calls_.size() && calls_[i]->proc != proc) ++i;
      if (i == calls_.size()) return any;
      c = calls_[i].get();
      c->proc = -1;  // further answers find nothing
    }
    any |= end_failed(*c, peer_failure);
  }
}

void call_table::drop(uint32_t token) {
  call* c = nullptr;
  {
    const std::lock_guard guard(mutex_);
    c = calls_[token & index_mask].get();
    if (c->token != token || c->proc < 0) return;
    c->proc = -1;
  }
  end_failed(*c, 0);
}

bool call_table::end_failed(call& c, int failure) {
  while (c.users.load(std::memory_order_acquire) != 0) sched_yield();    // A2: pairs with R2
  if (c.left.exchange(0, std::memory_order_acq_rel) == 0) return false;  // the thread of the last answer ends it
  c.failure.store(failure, std::memory_order_relaxed);
  end(c);
  return true;
}

}  // namespace armci_layer
