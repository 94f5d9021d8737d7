/* Threads and thread-specific values. Functions return 0, or -1 if they fail. */
#ifndef MERCURY_THREAD_H
#define MERCURY_THREAD_H

#include <mercury_util_config.h>
#include <pthread.h>

typedef pthread_t hg_thread_t;
typedef void* hg_thread_ret_t;
typedef void* (*hg_thread_func_t)(void*);
#define HG_THREAD_RETURN_TYPE hg_thread_ret_t
typedef pthread_key_t hg_thread_key_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Sets *thread to a value that denotes no thread. */
HG_UTIL_EXPORT void hg_thread_init(hg_thread_t* thread);
HG_UTIL_EXPORT int hg_thread_create(hg_thread_t* thread, hg_thread_func_t f, void* data);
HG_UTIL_EXPORT void hg_thread_exit(hg_thread_ret_t ret);
HG_UTIL_EXPORT int hg_thread_join(hg_thread_t thread);
HG_UTIL_EXPORT int hg_thread_cancel(hg_thread_t thread);
HG_UTIL_EXPORT int hg_thread_key_create(hg_thread_key_t* key);
HG_UTIL_EXPORT int hg_thread_key_delete(hg_thread_key_t key);
HG_UTIL_EXPORT void* hg_thread_getspecific(hg_thread_key_t key);
HG_UTIL_EXPORT int hg_thread_setspecific(hg_thread_key_t key, const void* value);

#ifdef __cplusplus
}
#endif

#endif
