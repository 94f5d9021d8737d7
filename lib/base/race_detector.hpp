// What a detector of data races can't see by itself: an order that passes through another process.
// It knows the accesses of its own process only, and would take what is ordered by a message there
// and back for a race.
#pragma once

// There only in programs built with ThreadSanitizer.
extern "C" {
void __tsan_acquire(void* channel) __attribute__((weak));
void __tsan_release(void* channel) __attribute__((weak));
}

namespace lci {

/// What this thread did so far comes before what any thread does after comes_back(channel).
/// Nothing but a note for the detector: the order itself must come from elsewhere.
inline void leaves_process(void* channel) {
  if (__tsan_release != nullptr) __tsan_release(channel);
}

inline void comes_back(void* channel) {
  if (__tsan_acquire != nullptr) __tsan_acquire(channel);
}

}  // namespace lci
