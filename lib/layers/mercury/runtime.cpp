#include "lib/layers/mercury/runtime.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "lib/layers/mercury/callback_context.hpp"

namespace mercury {
namespace {

constexpr size_t posted_calls = 16;   // that wait for the network at once
constexpr size_t most_arrived = 256;  // calls taken from the network before they are executed
constexpr unsigned slice_ms = 1;      // between looks at what no callback of the network tells

uint64_t first_cookie() {
  // Not the number of a call of an earlier process at this address.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) << 12 | 1;
}

}  // namespace

runtime::runtime(std::shared_ptr<lane> n)
    : network(std::move(n)),
      largest_request(NA_Msg_get_max_unexpected_size(network->na())),
      largest_response(NA_Msg_get_max_expected_size(network->na())),
      largest_tag_(static_cast<na_tag_t>(std::bit_floor(uint64_t{NA_Msg_get_max_tag(network->na())} + 1) - 1)),
      cookies_(first_cookie()) {}

void runtime::listen() {
  if (listens_.load(std::memory_order_relaxed)) return;
  listens_.store(true, std::memory_order_relaxed);
  refill();
}

void runtime::refill() {
  if (!listens_.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(posted_lock_);
  while (posted_.size() < posted_calls && arrived_calls_.size() < most_arrived) {
    call* c = calls.take(*this);
    posted_.push_back(c);
    if (c->post() == HG_SUCCESS) continue;
    posted_.pop_back();
    return;
  }
  was_full_.store(posted_.size() < posted_calls, std::memory_order_relaxed);
}

void runtime::not_posted(call* c) {
  std::lock_guard guard(posted_lock_);
  const auto found = std::find(posted_.begin(), posted_.end(), c);
  if (found == posted_.end()) return;
  *found = posted_.back();
  posted_.pop_back();
}

call* runtime::next_call(unsigned timeout_ms, const callback_context* also) {
  listen();
  const auto has_completed = [also] { return also != nullptr && !also->completed.is_empty(); };
  call* c = nullptr;
  // Another thread may take what this one has seen.
  deadline limit(timeout_ms);
  for (;;) {
    const bool is_there = network->wait(limit, [&] { return has_calls() || has_completed(); });
    c = arrived_calls_.pop();
    if (c == nullptr) c = local_calls.pop();
    if (c != nullptr || !is_there || has_completed()) break;
  }
  if (LCI_UNLIKELY(was_full_.load(std::memory_order_relaxed))) refill();
  return c;
}

bool runtime::wait(request& r, unsigned timeout_ms) {
  if (!r.is_local()) return network->wait(timeout_ms, [&r] { return r.is_done(); });
  deadline limit(timeout_ms);
  for (;;) {
    if (r.is_done()) return true;
    if (call* c = local_calls.pop()) {
      c->called->execute(c);
      continue;
    }
    if (limit.left() == 0) return r.is_done();
    // Another thread executes or answers it.
    std::unique_lock guard(local_lock_);
    local_changed_.wait_for(guard, std::chrono::milliseconds(slice_ms), [&r] { return r.is_done(); });
    guard.unlock();
    network->poll();
  }
}

void runtime::finished_local() {
  { std::lock_guard guard(local_lock_); }  // whoever has looked sleeps now
  local_changed_.notify_all();
}

bool runtime::drain(unsigned timeout_ms) {
  listens_.store(false, std::memory_order_relaxed);
  {
    std::lock_guard guard(posted_lock_);
    for (call* c : posted_) c->cancel();
  }
  requests.for_each([](request& r) {
    if (r.is_alive() && r.is_begun() && !r.is_done()) r.cancel();
  });
  deadline limit(timeout_ms);
  for (;;) {
    for (call_queue* queue : {&arrived_calls_, &local_calls})
      while (call* c = queue->pop()) {
        c->answer_error(HG_FAIL);
        c->unref();
      }
    const auto is_quiet = [this] { return operations.load(std::memory_order_acquire) == 0 && calls.in_use() == 0; };
    if (network->wait(slice_ms, is_quiet)) return true;
    if (limit.left() == 0) return false;
  }
}

}  // namespace mercury
