#include "lib/layers/mercury/runtime.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "lib/layers/mercury/callback_context.hpp"
#include "lib/layers/mercury/refusal.hpp"

namespace mercury {
namespace {

constexpr unsigned slice_ms = 1;  // between checks of conditions that change without a callback of the network

uint64_t new_cookie() {
  // An earlier process at this address used other numbers, so this process ignores late responses to it.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) << 12 | 1;
}

}  // namespace

runtime::runtime(std::shared_ptr<lane> n)
    : network(std::move(n)),
      largest_request(std::min<size_t>(NA_Msg_get_max_unexpected_size(network->na()), largest_message)),
      largest_response(std::min<size_t>(NA_Msg_get_max_expected_size(network->na()), largest_message)),
      fetched(NA_Direct_call_bytes(network->na())),
      first_cookie_(new_cookie()) {
  NA_Direct_open(network->na(), network->context(), this);
}

runtime::~runtime() { NA_Direct_close(network->na()); }

request* runtime::take_request() {
  return requests.take([this](size_t number) {
    auto made = std::make_unique<request>(*this, static_cast<uint32_t>(number));
    by_number_.put(number, made.get());
    return made;
  });
}

void runtime::on_message(na_addr_t source, na_tag_t tag, const void* data, size_t size) {
  network->note_event();
  if ((tag & na::answer_bit) != 0) {
    if (request* const r = by_number_.get(tag >> 1)) r->on_response(source, data, size);
    return;
  }
  call* c = nullptr;
  try {
    c = take_call();
  } catch (const std::bad_alloc&) {
    refuse_without_memory(network->na(), source, tag);
    return;
  }
  c->arrive(source, tag, data, size);
  arrived(c);
}

void runtime::on_departure(na_addr_t peer) {
  network->note_event();
  for (size_t n = 0; request* const r = by_number_.get(n); ++n) r->on_departure(peer);
  for (call* c = arrived_calls_.on_departure(peer); c != nullptr;) std::exchange(c, c->next)->unref();
}

call* runtime::next_call(unsigned timeout_ms, const callback_context* also) {
  const auto has_completed = [also] { return also != nullptr && !also->completed.is_empty(); };
  // Loop, as another thread may take the call whose arrival ended the wait.
  deadline limit(timeout_ms);
  for (;;) {
    const bool is_there = network->wait(limit, [&] { return has_calls() || has_completed(); });
    call* c = arrived_calls_.pop();
    if (c == nullptr) c = local_calls.pop();
    if (c != nullptr) {
      const hg_return_t result = c->accept();
      if (LCI_LIKELY(result == HG_SUCCESS)) return c;
      if (result != HG_TIMEOUT) c->unref();
      continue;
    }
    if (!is_there || has_completed()) return nullptr;
  }
}

bool runtime::wait(request& r, unsigned timeout_ms) {
  if (!r.is_local()) return network->wait(timeout_ms, [&r] { return r.is_done(); });
  deadline limit(timeout_ms);
  for (;;) {
    if (r.is_done()) return true;
    if (call* c = local_calls.pop()) {
      const execution_scope inside(this);
      c->called->execute(c);
      continue;
    }
    if (limit.left() == 0) return r.is_done();
    // A call of this process: another thread executes and answers it.
    std::unique_lock guard(local_lock_);
    local_changed_.wait_for(guard, std::chrono::milliseconds(slice_ms), [&r] { return r.is_done(); });
    guard.unlock();
    network->poll();
  }
}

void runtime::finished_local() {
  { std::lock_guard guard(local_lock_); }  // a thread that has checked the condition holds the lock until it sleeps
  local_changed_.notify_all();
  wake();
}

runtime::remainder runtime::used() const {
  remainder r;
  r.operations = operations.load(std::memory_order_acquire);
  calls.for_each([&r](const call& c) { r.answered += c.is_answered() ? 1 : 0; });
  const size_t all = calls.in_use();
  r.unanswered = all > r.answered ? all - r.answered : 0;
  return r;
}

runtime::remainder runtime::drain(unsigned long_ms, unsigned short_ms) {
  requests.for_each([](request& r) {
    if (r.is_alive() && r.is_begun() && !r.is_done()) r.cancel();
  });
  deadline limit(long_ms);
  std::optional<deadline> only_handles;
  for (;;) {
    for (work_queue<call>* queue : {&arrived_calls_, &local_calls})
      while (call* c = queue->pop()) {
        const hg_return_t result = c->accept();
        if (result == HG_TIMEOUT) continue;
        if (result == HG_SUCCESS) c->answer_error(HG_FAIL);
        c->unref();
      }
    const auto is_quiet = [this] { return operations.load(std::memory_order_acquire) == 0 && calls.in_use() == 0; };
    if (network->wait(slice_ms, is_quiet)) return {};
    remainder left = used();
    if (!left.is_complete())
      only_handles.reset();
    else if (!only_handles)
      only_handles.emplace(short_ms);
    if (limit.left() != 0 && (!only_handles || only_handles->left() != 0)) continue;
    calls.for_each([&left](const call& c) {
      if (c.is_used() && !c.is_answered() && c.called != nullptr) left.function = c.called->name.c_str();
    });
    return left;
  }
}

void runtime::abandon_handles() {
  calls.abandon_used([](call& c) { c.invalidate(); });
  requests.abandon_used([](request& r) { r.invalidate(); });
}

}  // namespace mercury
