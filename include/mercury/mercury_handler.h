/* Execution of functions that peers call. Any thread may call these functions, and may answer a call that another
 * thread has received; but one thread at a time may use a handle. Misuse returns HG_FAIL and prints a line on standard
 * error. */
#ifndef MERCURY_HANDLER_H
#define MERCURY_HANDLER_H

#include <mercury_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits at most `timeout` ms for a call and executes it. Sets *status to whether there was one. Returns the function's
 * result, or HG_SUCCESS if there was no call. Several threads may execute calls at once. */
HG_EXPORT hg_return_t HG_Handler_process(unsigned int timeout, hg_status_t* status);

/* The address of the caller. Freed with the handle; copy it with NA_Addr_dup() to use it longer. */
HG_EXPORT na_addr_t HG_Handler_get_addr(hg_handle_t handle);
HG_EXPORT na_class_t* HG_Handler_get_na_class(hg_handle_t handle);
/* The buffer with the encoded arguments, and the buffer for the encoded result. */
HG_EXPORT hg_return_t HG_Handler_get_input_buf(hg_handle_t handle, void** in_buf, size_t* in_buf_size);
HG_EXPORT hg_return_t HG_Handler_get_output_buf(hg_handle_t handle, void** out_buf, size_t* out_buf_size);
/* Decodes the arguments. HG_Handler_free_input() frees memory that this has allocated. */
HG_EXPORT hg_return_t HG_Handler_get_input(hg_handle_t handle, void* in_struct);
HG_EXPORT hg_return_t HG_Handler_free_input(hg_handle_t handle, void* in_struct);
/* Encodes the result (NULL: none) and starts to send it; progress completes the send. If the result is too large for a
 * message, this function and the caller's HG_Wait() return HG_SIZE_ERROR. One answer for each handle. */
HG_EXPORT hg_return_t HG_Handler_start_output(hg_handle_t handle, void* out_struct);
/* Sends the whole output buffer as the result. The last two arguments must be NULL and 0. */
HG_EXPORT hg_return_t HG_Handler_start_response(hg_handle_t handle, void* extra_out_buf, size_t extra_out_buf_size);
/* Frees a handle. Every handle must be freed once. If it has not been answered, the caller gets HG_FAIL. */
HG_EXPORT hg_return_t HG_Handler_free(hg_handle_t handle);

#ifdef __cplusplus
}
#endif

#endif
