/* Times: on a monotonic clock with an unspecified origin. Thread-safe. */
#ifndef MERCURY_TIME_H
#define MERCURY_TIME_H

#include <mercury_util_config.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_time {
  long tv_sec;
  long tv_usec; /* 0 to 999999 */
} hg_time_t;

HG_UTIL_EXPORT int hg_time_get_current(hg_time_t* tv);
/* Conversions to and from seconds. */
HG_UTIL_EXPORT double hg_time_to_double(hg_time_t tv);
HG_UTIL_EXPORT hg_time_t hg_time_from_double(double d);
/* Whether in1 is earlier than in2. */
HG_UTIL_EXPORT int hg_time_less(hg_time_t in1, hg_time_t in2);
HG_UTIL_EXPORT hg_time_t hg_time_add(hg_time_t in1, hg_time_t in2);
HG_UTIL_EXPORT hg_time_t hg_time_subtract(hg_time_t in1, hg_time_t in2);
/* Sleeps. Returns -1 if a signal interrupts it; then *rem, unless rem is NULL, is the remaining time. */
HG_UTIL_EXPORT int hg_time_sleep(const hg_time_t rqt, hg_time_t* rem);
/* The date and time of day as text, in a thread-local buffer. */
HG_UTIL_EXPORT char* hg_time_stamp(void);

#ifdef __cplusplus
}
#endif

#endif
