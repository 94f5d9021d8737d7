/* Memory that peers read and write without the help of its owner's program: handles, which travel as arguments of
 * functions, and transfers between the memory of two handles. Whoever executes a function transfers, usually; the
 * memory of its caller is the origin.
 *
 * Misuse returns HG_INVALID_PARAM and prints a line on standard error. Any thread may call any function at any time,
 * but freeing what another one uses. */
#ifndef MERCURY_BULK_H
#define MERCURY_BULK_H

#include <mercury_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Transfers go over this class. HG_Init() calls it with its own class, unless it has been called before. A second call
 * is no error if the class is the same. */
HG_EXPORT hg_return_t HG_Bulk_init(na_class_t* na_class);
/* Fails while a transfer has not been waited for or a handle of this process's memory has not been freed. */
HG_EXPORT hg_return_t HG_Bulk_finalize(void);
HG_EXPORT hg_return_t HG_Bulk_initialized(hg_bool_t* flag, na_class_t** na_class);

/* A handle for `count` segments of memory, which must exist until the handle is freed; with buf_ptrs NULL the handle
 * has memory of its own, all zero. Segments have one byte or more. `flags`: HG_BULK_READWRITE, HG_BULK_READ_ONLY,
 * HG_BULK_WRITE_ONLY. */
HG_EXPORT hg_return_t HG_Bulk_handle_create(size_t count, void** buf_ptrs, const size_t* buf_sizes, unsigned long flags,
                                            hg_bulk_t* handle);
/* Handles are counted: one that was decoded in the process of its owner is the owner's. HG_BULK_NULL is no error. */
HG_EXPORT hg_return_t HG_Bulk_handle_free(hg_bulk_t handle);

/* The addresses and sizes of at most max_count pieces of memory which cover a range of the handle, that ends with the
 * handle if `size` is larger. Each of the last three arguments may be NULL. Of a remote handle HG_INVALID_PARAM. */
HG_EXPORT hg_return_t HG_Bulk_handle_access(hg_bulk_t handle, size_t offset, size_t size, unsigned long flags,
                                            unsigned int max_count, void** buf_ptrs, size_t* buf_sizes,
                                            unsigned int* actual_count);
/* In bytes, all segments together. These three return 0 for HG_BULK_NULL. */
HG_EXPORT size_t HG_Bulk_handle_get_size(hg_bulk_t handle);
HG_EXPORT size_t HG_Bulk_handle_get_segment_count(hg_bulk_t handle);
HG_EXPORT size_t HG_Bulk_handle_get_serialize_size(hg_bulk_t handle);
/* Peers can use a handle from here on. HG_SIZE_ERROR if the buffer is too small. */
HG_EXPORT hg_return_t HG_Bulk_handle_serialize(void* buf, size_t buf_size, hg_bulk_t handle);
HG_EXPORT hg_return_t HG_Bulk_handle_deserialize(hg_bulk_t* handle, const void* buf, size_t buf_size);

/* Begins to copy `size` bytes from local memory to the origin's (HG_BULK_PUSH) or from the origin's to local memory
 * (HG_BULK_PULL). Ranges beyond the end of a handle are HG_SIZE_ERROR. Memory of one process is copied directly. The
 * handles may be freed when HG_Bulk_wait() has said that the transfer is complete. */
HG_EXPORT hg_return_t HG_Bulk_transfer(hg_bulk_op_t op, na_addr_t origin_addr, hg_bulk_t origin_handle,
                                       size_t origin_offset, hg_bulk_t local_handle, size_t local_offset, size_t size,
                                       hg_bulk_request_t* request);
/* Waits at most `timeout` ms. *status says whether the transfer is complete; the request is freed then, also if the
 * transfer has failed, which returns HG_NA_ERROR. No completion in time is HG_SUCCESS. May be called in functions that
 * execute calls. */
HG_EXPORT hg_return_t HG_Bulk_wait(hg_bulk_request_t request, unsigned int timeout, hg_status_t* status);

#ifdef __cplusplus
}
#endif

#endif
