/* The callback model of HG, beside the request model of mercury.h: calls are handles, their completion runs a callback,
 * and callbacks run in HG_Trigger() only. HG_Init(), HG_Register() and the network are those of mercury.h.
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

/* What it returns is ignored. It may call every function. */
typedef hg_return_t (*hg_cb_t)(const struct hg_cb_info* callback_info);

/* NULL on failure. */
HG_EXPORT hg_context_t* HG_Context_create(void);
/* Fails while handles of the context exist. */
HG_EXPORT hg_return_t HG_Context_destroy(hg_context_t* context);

/* A call to be made, of a function at an address. HG_Destroy() frees it; its result is lost if it is not complete. */
HG_EXPORT hg_return_t HG_Create(hg_context_t* context, na_addr_t addr, hg_id_t id, hg_handle_t* handle);
HG_EXPORT hg_return_t HG_Destroy(hg_handle_t handle);

/* Makes the call. A handle may make another call when its callback runs. */
HG_EXPORT hg_return_t HG_Forward_handle(hg_handle_t handle, hg_cb_t callback, void* arg, void* in_struct);
/* Ends the call with HG_FAIL, unless it has completed. */
HG_EXPORT hg_return_t HG_Cancel(hg_handle_t handle);
/* The result, for a callback whose `ret` is HG_SUCCESS, or later. HG_Free_output() frees what decoding allocates. */
HG_EXPORT hg_return_t HG_Get_output(hg_handle_t handle, void* out_struct);
HG_EXPORT hg_return_t HG_Free_output(hg_handle_t handle, void* out_struct);

/* Answers a call that this process executes; the callback, which may be NULL, runs when the answer has been sent. */
HG_EXPORT hg_return_t HG_Respond(hg_handle_t handle, hg_context_t* context, hg_cb_t callback, void* arg,
                                 void* out_struct);

/* HG_SUCCESS as soon as a call has completed whose callback has not run, or a call waits to be executed; HG_TIMEOUT
 * after `timeout` ms. */
HG_EXPORT hg_return_t HG_Progress(hg_context_t* context, unsigned int timeout);
/* Executes calls and runs callbacks, at most max_count together; HG_TIMEOUT if there are none within `timeout` ms.
 * actual_count, which may be NULL, is how many. */
HG_EXPORT hg_return_t HG_Trigger(hg_context_t* context, unsigned int timeout, unsigned int max_count,
                                 unsigned int* actual_count);

#ifdef __cplusplus
}

extern "C++" { /* also where a program includes this in an extern "C" of its own */
inline hg_return_t HG_Forward(hg_handle_t handle, hg_cb_t callback, void* arg, void* in_struct) {
  return HG_Forward_handle(handle, callback, arg, in_struct);
}
}
#else
/* C has no overloads: the number of arguments tells the forms apart. */
#define HG_FORWARD_OF(a, b, c, d, e, f, ...) f
#define HG_Forward(...) HG_FORWARD_OF(__VA_ARGS__, HG_Forward, HG_Forward_handle, 0, 0)(__VA_ARGS__)
#endif

#endif
