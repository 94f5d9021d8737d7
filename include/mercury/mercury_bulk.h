/* Bulk handles and transfers. A bulk handle describes memory that peers may read and write; it can be an argument of a
 * function. A transfer copies between the memory of two handles: "origin", usually the memory of a function's caller,
 * and "local", the memory of the process that executes the function and starts the transfer.
 *
 * Misuse returns HG_INVALID_PARAM and prints a line on standard error. Thread-safe, but no thread may free an object
 * that another thread uses. */
#ifndef MERCURY_BULK_H
#define MERCURY_BULK_H

#include <mercury_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Initializes transfers, which use this class. HG_Init() calls this with its own class, unless the program has called
 * it before. A second call succeeds if the class is the same. */
HG_EXPORT hg_return_t HG_Bulk_init(na_class_t* na_class);
/* Fails if the program has not waited for a transfer, or has not freed a handle of this process's memory. */
HG_EXPORT hg_return_t HG_Bulk_finalize(void);
HG_EXPORT hg_return_t HG_Bulk_initialized(hg_bool_t* flag, na_class_t** na_class);

/* Creates a handle for `count` segments of memory, each of one byte or more. The memory must exist until the handle is
 * freed. If buf_ptrs is NULL, the handle allocates and owns the memory, and sets it to 0. `flags`: HG_BULK_READWRITE,
 * HG_BULK_READ_ONLY or HG_BULK_WRITE_ONLY. */
HG_EXPORT hg_return_t HG_Bulk_handle_create(size_t count, void** buf_ptrs, const size_t* buf_sizes, unsigned long flags,
                                            hg_bulk_t* handle);
/* Releases a handle. Handles are reference-counted: decoding a handle in its owner's process adds a reference to the
 * owner's handle. HG_BULK_NULL has no effect. */
HG_EXPORT hg_return_t HG_Bulk_handle_free(hg_bulk_t handle);

/* The addresses and sizes of the pieces of memory in a range of a local handle, at most max_count pieces. The range
 * ends with the handle if `size` is larger. Each of the last three arguments may be NULL. Returns HG_INVALID_PARAM for
 * a handle of another process. */
HG_EXPORT hg_return_t HG_Bulk_handle_access(hg_bulk_t handle, size_t offset, size_t size, unsigned long flags,
                                            unsigned int max_count, void** buf_ptrs, size_t* buf_sizes,
                                            unsigned int* actual_count);
/* The size in bytes of all segments; their number; the size of the serialized handle. 0 for HG_BULK_NULL. */
HG_EXPORT size_t HG_Bulk_handle_get_size(hg_bulk_t handle);
HG_EXPORT size_t HG_Bulk_handle_get_segment_count(hg_bulk_t handle);
HG_EXPORT size_t HG_Bulk_handle_get_serialize_size(hg_bulk_t handle);
/* Writes the serialized handle, by which peers can access the memory from then on. HG_SIZE_ERROR if the buffer is too
 * small. */
HG_EXPORT hg_return_t HG_Bulk_handle_serialize(void* buf, size_t buf_size, hg_bulk_t handle);
HG_EXPORT hg_return_t HG_Bulk_handle_deserialize(hg_bulk_t* handle, const void* buf, size_t buf_size);

/* Starts to copy `size` bytes from local to origin memory (HG_BULK_PUSH) or from origin to local memory (HG_BULK_PULL).
 * HG_SIZE_ERROR if a range ends beyond its handle. If both are memory of this process, copies without the network. The
 * handles must not be freed before HG_Bulk_wait() has reported completion. */
HG_EXPORT hg_return_t HG_Bulk_transfer(hg_bulk_op_t op, na_addr_t origin_addr, hg_bulk_t origin_handle,
                                       size_t origin_offset, hg_bulk_t local_handle, size_t local_offset, size_t size,
                                       hg_bulk_request_t* request);
/* Waits at most `timeout` ms and sets *status to whether the transfer is complete. If it is, frees the request and
 * returns HG_SUCCESS, or HG_NA_ERROR if the transfer has failed. If it is not, returns HG_SUCCESS. Functions that
 * execute calls may call this. */
HG_EXPORT hg_return_t HG_Bulk_wait(hg_bulk_request_t request, unsigned int timeout, hg_status_t* status);

#ifdef __cplusplus
}
#endif

#endif
