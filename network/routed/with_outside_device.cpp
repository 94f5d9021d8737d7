#include "network/routed/with_outside_device.hpp"

#include <algorithm>
#include <chrono>

#include "lib/base/ticks.hpp"

namespace lci::network::routed {

namespace {

// As between hosts: polling sockets takes long. A thread that sleeps between its polls polls them each time.
constexpr uint32_t polls_between_outside_ones = 4;
const uint64_t longest_pause = ticks_in(std::chrono::microseconds(20));
// Peers that have been silent for so long are polled less often.
const uint64_t longest_silence = ticks_in(std::chrono::milliseconds(1));
// Another thread may connect to the first such peer meanwhile.
constexpr int64_t longest_sleep_without_sockets_us = 20000;

}  // namespace

with_outside_device::with_outside_device(const with_outside& c, std::unique_ptr<network::device> near,
                                         std::unique_ptr<outside_device> far)
    : context_(c), near_(std::move(near)), far_(std::move(far)) {
  set_limits();
}

void with_outside_device::set_limits() {
  limits_ = near_->get_limits();
  const network::limits& far = far_->get_limits();
  limits_.max_inject = std::min(limits_.max_inject, far.max_inject);
  limits_.max_send = std::min(limits_.max_send, far.max_send);
  limits_.max_rma = std::min(limits_.max_rma, far.max_rma);
  limits_.max_ordered_put = std::min(limits_.max_ordered_put, far.max_ordered_put);
  limits_.sends_land_at_once = false;
}

void with_outside_device::settle(acquaintance how) {
  near_->settle(how);
  set_limits();
}

int with_outside_device::poll(event_sink& sink, int max_events) {
  const int near = near_->poll(sink, max_events);
  if (!context_.is_far_used()) return near;
  // An approximate counter: increments lost between threads do no harm.
  const uint32_t polls = polls_.load(std::memory_order_relaxed) + 1;
  polls_.store(polls, std::memory_order_relaxed);
  // Reading the clock takes as long as the rest of a poll that finds nothing.
  if (polls_quickly_.load(std::memory_order_relaxed) && polls % polls_between_outside_ones != 0) return near;
  const uint64_t now = cpu_ticks();
  polls_quickly_.store(now - clock_read_.load(std::memory_order_relaxed) < longest_pause, std::memory_order_relaxed);
  clock_read_.store(now, std::memory_order_relaxed);
  const bool is_busy =
      polls % polls_between_outside_ones == 0 && now - far_event_.load(std::memory_order_relaxed) < longest_silence;
  if (!is_busy && now - far_polled_.load(std::memory_order_relaxed) < longest_pause) {
    sleep_.note(near, 0);
    return near;
  }
  far_polled_.store(now, std::memory_order_relaxed);
  const int far = far_->poll(sink, max_events);
  sleep_.note(near, far);
  if (far > 0) far_event_.store(now, std::memory_order_relaxed);
  return near < 0 || far < 0 ? std::max(near, far) : near + far;
}

registration with_outside_device::register_memory(void* base, size_t size) {
  const registration r = near_->register_memory(base, size);
  try {
    far_->adopt_registration(r.rkey, base, size);
  } catch (...) {
    near_->deregister_memory(r);
    throw;
  }
  return r;
}

void with_outside_device::deregister_memory(const registration& reg) {
  far_->drop_registration(reg.rkey);
  near_->deregister_memory(reg);
}

void with_outside_device::make_read_only(const registration& reg) {
  far_->make_read_only(reg);
  near_->make_read_only(reg);
}

void with_outside_device::wait(int64_t timeout_us) {
  context_.is_far_used() ? sleep_.wait(timeout_us) : near_->wait(timeout_us);
}

void with_outside_device::park(int64_t timeout_us) {
  if (!context_.is_far_used()) return near_->park(std::min(timeout_us, longest_sleep_without_sockets_us));
  sleep_.park(timeout_us);
}

bool with_outside_device::flushed() {
  const bool near = near_->flushed();
  return far_->flushed() && near;
}

}  // namespace lci::network::routed
