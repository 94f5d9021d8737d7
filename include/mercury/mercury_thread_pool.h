/* A fixed number of threads that execute functions in the order in which they were posted. Functions return 0, or -1 if
 * they fail. */
#ifndef MERCURY_THREAD_POOL_H
#define MERCURY_THREAD_POOL_H

#include <mercury_thread.h>
#include <mercury_thread_condition.h>

typedef struct hg_thread_pool hg_thread_pool_t;

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_EXPORT int hg_thread_pool_init(unsigned int thread_count, hg_thread_pool_t** pool);
/* Executes all posted functions, and joins the threads. Must not be called by a thread of the pool. */
HG_UTIL_EXPORT int hg_thread_pool_destroy(hg_thread_pool_t* pool);
/* Posts f(args). Any thread may post, including those of the pool. */
HG_UTIL_EXPORT int hg_thread_pool_post(hg_thread_pool_t* pool, hg_thread_func_t f, void* args);

#ifdef __cplusplus
}
#endif

#endif
