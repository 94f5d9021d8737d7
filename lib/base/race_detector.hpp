// Annotations for ThreadSanitizer of order established through another process. The detector knows the accesses of its
// own process only, and would report accesses that are ordered by a message and its answer as a race.
#pragma once

// Defined only in programs built with ThreadSanitizer.
extern "C" {
void __tsan_acquire(void* channel) __attribute__((weak));
void __tsan_release(void* channel) __attribute__((weak));
}

namespace lci {

/// What this thread did so far happens before what any thread does after comes_back(channel).
/// Only informs the detector: the order itself must be established elsewhere.
inline void leaves_process(void* channel) {
  if (__tsan_release != nullptr) __tsan_release(channel);
}

inline void comes_back(void* channel) {
  if (__tsan_acquire != nullptr) __tsan_acquire(channel);
}

}  // namespace lci
