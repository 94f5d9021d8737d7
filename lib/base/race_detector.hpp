// Annotations for ThreadSanitizer of order established through another process. The detector knows the accesses of its
// own process only, and would report accesses that are ordered by a message and its answer as a race.
#pragma once

#include <cstddef>

// Defined only in programs built with ThreadSanitizer.
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char* file, int line) __attribute__((weak));
void __tsan_read_range(void* begin, unsigned long size) __attribute__((weak));
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

/// Calls f(), a system call that sends data. The detector takes the data for read after the call. By then the peer may
/// have answered, and another thread may overwrite the data, which would look like a race. So the detector sees the
/// reads before the call: for_each(see) calls see(begin, size) for each piece.
template <class ForEach, class F>
auto reading_before(ForEach for_each, F f) {
  if (__tsan_read_range == nullptr) return f();
  for_each([](void* begin, size_t size) { __tsan_read_range(begin, size); });
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  const auto result = f();
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  return result;
}

}  // namespace lci
