/* Executing functions that others call. Any thread may call these functions, and answer a call that another thread has
 * taken; one handle is used by one thread at a time. Misuse returns HG_FAIL and prints a line on standard error. */
#ifndef MERCURY_HANDLER_H
#define MERCURY_HANDLER_H

#include <mercury_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits at most `timeout` ms for a call and executes it. *status says whether there was one; none in time is
 * HG_SUCCESS. Returns what the function returned. Several threads may execute calls at once. */
HG_EXPORT hg_return_t HG_Handler_process(unsigned int timeout, hg_status_t* status);

/* Who calls. The address is freed with the handle: NA_Addr_dup() gives one that is not. */
HG_EXPORT na_addr_t HG_Handler_get_addr(hg_handle_t handle);
HG_EXPORT na_class_t* HG_Handler_get_na_class(hg_handle_t handle);
/* The encoded arguments, and room for the encoded result. */
HG_EXPORT hg_return_t HG_Handler_get_input_buf(hg_handle_t handle, void** in_buf, size_t* in_buf_size);
HG_EXPORT hg_return_t HG_Handler_get_output_buf(hg_handle_t handle, void** out_buf, size_t* out_buf_size);
/* Decodes the arguments. What that has allocated HG_Handler_free_input() frees. */
HG_EXPORT hg_return_t HG_Handler_get_input(hg_handle_t handle, void* in_struct);
HG_EXPORT hg_return_t HG_Handler_free_input(hg_handle_t handle, void* in_struct);
/* Encodes the result (NULL: none) and sends it, which later calls of HG functions complete. A result too large for a
 * message is HG_SIZE_ERROR here and at the caller. A handle answers once. */
HG_EXPORT hg_return_t HG_Handler_start_output(hg_handle_t handle, void* out_struct);
/* Sends what is in the output buffer, all of it. The last two arguments must be NULL and 0. */
HG_EXPORT hg_return_t HG_Handler_start_response(hg_handle_t handle, void* extra_out_buf, size_t extra_out_buf_size);
/* Every handle must be freed, once. Whoever calls and gets no answer until then gets HG_FAIL. */
HG_EXPORT hg_return_t HG_Handler_free(hg_handle_t handle);

#ifdef __cplusplus
}
#endif

#endif
