/* Mutexes. Functions return 0, or -1 if they fail. hg_thread_mutex_try_lock() also returns -1 if another thread holds
 * the mutex. */
#ifndef MERCURY_THREAD_MUTEX_H
#define MERCURY_THREAD_MUTEX_H

#include <mercury_util_config.h>
#include <pthread.h>

typedef pthread_mutex_t hg_thread_mutex_t;

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_EXPORT int hg_thread_mutex_init(hg_thread_mutex_t* mutex);
HG_UTIL_EXPORT int hg_thread_mutex_destroy(hg_thread_mutex_t* mutex);
HG_UTIL_EXPORT int hg_thread_mutex_lock(hg_thread_mutex_t* mutex);
HG_UTIL_EXPORT int hg_thread_mutex_try_lock(hg_thread_mutex_t* mutex);
HG_UTIL_EXPORT int hg_thread_mutex_unlock(hg_thread_mutex_t* mutex);

#ifdef __cplusplus
}
#endif

#endif
