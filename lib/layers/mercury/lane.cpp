#include "lib/layers/mercury/lane.hpp"

#include <time.h>

#include <chrono>
#include <new>
#include <thread>

namespace mercury {
namespace {

int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

}  // namespace

int64_t deadline::elapsed_ns() {
  const int64_t now = now_ns();
  if (begin_ns_ == 0) begin_ns_ = now;
  return now - begin_ns_;
}

unsigned deadline::left() {
  if (timeout_ms_ == 0) return 0;
  const int64_t left = int64_t{timeout_ms_} * 1000000 - elapsed_ns();
  return left > 0 ? static_cast<unsigned>((left + 999999) / 1000000) : 0;
}

std::shared_ptr<lane> lane::open(na_class_t* na) {
  na_context_t* context = NA_Context_create(na);
  if (context == nullptr) return nullptr;
  lane* const made = new (std::nothrow) lane(na, context);
  if (made != nullptr) return std::shared_ptr<lane>(made);
  NA_Context_destroy(na, context);
  throw std::bad_alloc();
}

lane::~lane() { NA_Context_destroy(na_, context_); }

void lane::run_callbacks() {
  constexpr unsigned at_once = 64;
  unsigned n = 0;
  if (NA_Trigger(context_, 0, at_once, &n) == NA_SUCCESS && n > 0) wake_followers();
}

void lane::pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

void lane::follower::sleep(unsigned ms) {
  // If the leader returned before this thread counted itself, it has not woken this thread.
  if (!lane_.has_leader_.load(std::memory_order_acquire)) return;  // A1: pairs with R1
  lane_.changed_.wait_for(lock_, std::chrono::milliseconds(ms));
}

void lane::wake() {
  { std::lock_guard guard(lock_); }  // each counted follower holds the lock until it sleeps
  changed_.notify_all();
}

}  // namespace mercury
