// What a detector of data races can't see by itself: an order that passes through another process.
// It knows the accesses of its own process only, and would take what is ordered by a message there
// and back for a race.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LCI_RACE_DETECTOR 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define LCI_RACE_DETECTOR 1
#endif

#ifdef LCI_RACE_DETECTOR
extern "C" {
void __tsan_acquire(void*);
void __tsan_release(void*);
}
#endif

namespace lci {

/// What this thread did so far comes before what any thread does after comes_back(channel).
/// Nothing but a note for the detector: the order itself must come from elsewhere.
inline void leaves_process(void* channel) {
#ifdef LCI_RACE_DETECTOR
  __tsan_release(channel);
#else
  (void)channel;
#endif
}

inline void comes_back(void* channel) {
#ifdef LCI_RACE_DETECTOR
  __tsan_acquire(channel);
#else
  (void)channel;
#endif
}

}  // namespace lci
