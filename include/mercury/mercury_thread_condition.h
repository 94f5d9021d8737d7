/* Condition variables. Functions return 0, or -1 if they fail. Waits may return spuriously. */
#ifndef MERCURY_THREAD_CONDITION_H
#define MERCURY_THREAD_CONDITION_H

#include <mercury_thread_mutex.h>

typedef pthread_cond_t hg_thread_cond_t;

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_EXPORT int hg_thread_cond_init(hg_thread_cond_t* cond);
HG_UTIL_EXPORT int hg_thread_cond_destroy(hg_thread_cond_t* cond);
HG_UTIL_EXPORT int hg_thread_cond_signal(hg_thread_cond_t* cond);
HG_UTIL_EXPORT int hg_thread_cond_broadcast(hg_thread_cond_t* cond);
HG_UTIL_EXPORT int hg_thread_cond_wait(hg_thread_cond_t* cond, hg_thread_mutex_t* mutex);
/* Waits at most `timeout` ms; returns -1 on time-out. */
HG_UTIL_EXPORT int hg_thread_cond_timedwait(hg_thread_cond_t* cond, hg_thread_mutex_t* mutex, unsigned int timeout);

#ifdef __cplusplus
}
#endif

#endif
