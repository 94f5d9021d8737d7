#include "lib/layers/v1/postponed.hpp"

#include <mutex>
#include <utility>

#include "lib/layers/v1/vector_steps.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

postponed_work::postponed_work() {
  for (refusal& r : refusals_) r.next_free = std::exchange(free_, &r);
}

void postponed_work::add(postponed& work, LCI_device_t device) noexcept {
  std::lock_guard guard(lock_);
  work.device_ = device;
  work.next_ = std::exchange(first_, &work);
  has_any_.store(true, std::memory_order_relaxed);
  detail::polls_only.store(false, std::memory_order_relaxed);
}

postponed* postponed_work::take_all() noexcept {
  std::lock_guard guard(lock_);
  has_any_.store(false, std::memory_order_relaxed);
  detail::polls_only.store(!detail::checks, std::memory_order_relaxed);
  return std::exchange(first_, nullptr);
}

bool postponed_work::go_on_with_all() noexcept {
  postponed* const all = take_all();
  for (postponed* next = all; next != nullptr;) std::exchange(next, next->next_)->go_on();
  return all != nullptr;
}

void postponed_work::drop(LCI_device_t device) noexcept {
  for (postponed* next = take_all(); next != nullptr;) {
    postponed* const work = std::exchange(next, next->next_);
    if (work->device_ == device)
      work->drop();
    else
      add(*work, work->device_);
  }
}

bool postponed_work::add_refusal(LCI_endpoint_s& ep, int rank, LCI_tag_t tag, uint64_t id) noexcept {
  refusal* r = nullptr;
  {
    std::lock_guard guard(lock_);
    if (free_ == nullptr) return false;
    r = std::exchange(free_, free_->next_free);
  }
  r->device = ep.device;
  r->tag = ep.id_bits | tag;
  r->rank = rank;
  r->id = id;
  add(*r, ep.device);
  return true;
}

void postponed_work::give_back(refusal& r) noexcept {
  std::lock_guard guard(lock_);
  r.next_free = std::exchange(free_, &r);
}

void postponed_work::refusal::go_on() noexcept {
  step_head answer;
  answer.id = id;
  if (try_post_step(device->core, rank, tag, answer))
    drop();
  else
    the_world().postponed.add(*this, device);
}

void postponed_work::refusal::drop() noexcept { the_world().postponed.give_back(*this); }

}  // namespace v1
