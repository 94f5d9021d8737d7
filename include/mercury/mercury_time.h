/* Time: since a point in the past that does not change, on a clock that is never set back. Thread-safe. */
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
/* In seconds. */
HG_UTIL_EXPORT double hg_time_to_double(hg_time_t tv);
HG_UTIL_EXPORT hg_time_t hg_time_from_double(double d);
/* Whether the first is earlier. */
HG_UTIL_EXPORT int hg_time_less(hg_time_t in1, hg_time_t in2);
HG_UTIL_EXPORT hg_time_t hg_time_add(hg_time_t in1, hg_time_t in2);
HG_UTIL_EXPORT hg_time_t hg_time_subtract(hg_time_t in1, hg_time_t in2);
/* -1 if a signal arrives before; *rem, unless NULL, is what is left then. */
HG_UTIL_EXPORT int hg_time_sleep(const hg_time_t rqt, hg_time_t* rem);
/* Date and time of day as text, in a buffer of this thread. */
HG_UTIL_EXPORT char* hg_time_stamp(void);

#ifdef __cplusplus
}
#endif

#endif
