/* The callback model of HG, in addition to the request model of mercury.h. A handle represents a call; when the call
 * completes, HG_Trigger() runs its callback. HG_Init() and HG_Register() of mercury.h serve both models.
 *
 * HG_Forward() and HG_Respond() have the forms of both models: HG_Forward(handle, callback, arg, in_struct) beside
 * HG_Forward(addr, id, in_struct, out_struct, request). */
#ifndef MERCURY_CALLBACK_H
#define MERCURY_CALLBACK_H

#include <mercury.h>
#include <mercury_handler.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_context hg_context_t; /* a queue of completed calls */

typedef enum hg_cb_type { HG_CB_FORWARD, HG_CB_RESPOND } hg_cb_type_t;

struct hg_cb_info {
  void* arg;
  hg_return_t ret; /* HG_TIMEOUT does not occur; HG_FAIL for a call that HG_Cancel() has ended */
  hg_cb_type_t type;
  union {
    struct {
      hg_handle_t handle;
    } forward, respond;
  } info;
};

/* A callback. It may call every function. Its result is ignored. */
typedef hg_return_t (*hg_cb_t)(const struct hg_cb_info* callback_info);

/* Creates a context. Returns NULL on failure. */
HG_EXPORT hg_context_t* HG_Context_create(void);
/* Fails while handles of the context exist, and in callbacks and routines that HG_Trigger() of the context runs. */
HG_EXPORT hg_return_t HG_Context_destroy(hg_context_t* context);

/* Creates a handle for calls of a function at an address. HG_Destroy() frees it, and drops the result of an incomplete
 * call. */
HG_EXPORT hg_return_t HG_Create(hg_context_t* context, na_addr_t addr, hg_id_t id, hg_handle_t* handle);
HG_EXPORT hg_return_t HG_Destroy(hg_handle_t handle);

/* Starts the call. The handle may make another call when its callback runs. */
HG_EXPORT hg_return_t HG_Forward_handle(hg_handle_t handle, hg_cb_t callback, void* arg, void* in_struct);
/* Ends the call with HG_FAIL, unless it has completed. */
HG_EXPORT hg_return_t HG_Cancel(hg_handle_t handle);
/* Decodes the result. To be called in a callback whose `ret` is HG_SUCCESS, or later. HG_Free_output() frees memory
 * that decoding has allocated. */
HG_EXPORT hg_return_t HG_Get_output(hg_handle_t handle, void* out_struct);
HG_EXPORT hg_return_t HG_Free_output(hg_handle_t handle, void* out_struct);

/* Answers a call that this process executes. The callback, which may be NULL, runs once when the answer has been sent.
 * If this function fails, the callback never runs. If the result is too large for a message, or can't be encoded, the
 * call is answered with the code that this function returns. */
HG_EXPORT hg_return_t HG_Respond(hg_handle_t handle, hg_context_t* context, hg_cb_t callback, void* arg,
                                 void* out_struct);

/* Makes progress. Returns HG_SUCCESS as soon as a callback or a call waits for HG_Trigger(), HG_TIMEOUT after `timeout`
 * ms. */
HG_EXPORT hg_return_t HG_Progress(hg_context_t* context, unsigned int timeout);
/* Executes calls and runs callbacks, at most max_count in total. Stores their number in *actual_count, which may be
 * NULL. Returns HG_TIMEOUT if there are none within `timeout` ms. */
HG_EXPORT hg_return_t HG_Trigger(hg_context_t* context, unsigned int timeout, unsigned int max_count,
                                 unsigned int* actual_count);

#ifdef __cplusplus
}

extern "C++" { /* because programs include this header inside of their own extern "C" */
inline hg_return_t HG_Forward(hg_handle_t handle, hg_cb_t callback, void* arg, void* in_struct) {
  return HG_Forward_handle(handle, callback, arg, in_struct);
}
}
#else
/* C has no overloads, so a macro selects the form by the number of arguments. */
/* Macros with a variable number of arguments are newer than C89, for which programs may be compiled with -pedantic. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvariadic-macros"
#define HG_FORWARD_OF(a, b, c, d, e, f, ...) f
#define HG_Forward(...) HG_FORWARD_OF(__VA_ARGS__, HG_Forward, HG_Forward_handle, 0, 0)(__VA_ARGS__)
#pragma GCC diagnostic pop
#endif

#endif
