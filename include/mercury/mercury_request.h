/* Waiting for operations that end in callbacks: a program waits for a request, which a callback completes. Waiting
 * threads call the program's functions that make progress and run callbacks, one thread at a time. Thread-safe. Link
 * with libmercury_util. Functions that return int return HG_UTIL_SUCCESS or HG_UTIL_FAIL. */
#ifndef MERCURY_REQUEST_H
#define MERCURY_REQUEST_H

#include <mercury_util_config.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_request_class hg_request_class_t;
typedef struct hg_request_object hg_request_object_t;

/* Makes progress for at most `timeout` ms; returns HG_UTIL_SUCCESS if there was any. */
typedef int (*hg_request_progress_func_t)(unsigned int timeout, void* arg);
/* Waits at most `timeout` ms for a callback to run, and runs it. Sets *flag to whether there was one. */
typedef int (*hg_request_trigger_func_t)(unsigned int timeout, unsigned int* flag, void* arg);

/* `arg` is passed to both functions. NULL if a function is NULL or there is no memory. */
HG_UTIL_EXPORT hg_request_class_t* hg_request_init(hg_request_progress_func_t progress_func,
                                                   hg_request_trigger_func_t trigger_func, void* arg);
/* Sets *arg, unless arg is NULL, to the argument of hg_request_init(). */
HG_UTIL_EXPORT int hg_request_finalize(hg_request_class_t* request_class, void** arg);
HG_UTIL_EXPORT hg_request_object_t* hg_request_create(hg_request_class_t* request_class);
HG_UTIL_EXPORT int hg_request_destroy(hg_request_object_t* request);
/* Makes a completed request usable again. */
HG_UTIL_EXPORT int hg_request_reset(hg_request_object_t* request);
/* To be called by the callback that ends the operation. */
HG_UTIL_EXPORT int hg_request_complete(hg_request_object_t* request);
/* Waits at most `timeout` ms. Sets *flag, unless flag is NULL, to whether the request is complete. */
HG_UTIL_EXPORT int hg_request_wait(hg_request_object_t* request, unsigned int timeout, unsigned int* flag);
/* Data of the program. */
HG_UTIL_EXPORT int hg_request_set_data(hg_request_object_t* request, void* data);
HG_UTIL_EXPORT void* hg_request_get_data(hg_request_object_t* request);

#ifdef __cplusplus
}
#endif

#endif
