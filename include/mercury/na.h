/* NA: the network abstraction of the Mercury function shipper, over LCI. Link with libna (pkg-config na, CMake na).
 *
 * C99 and later, and C++. Servers and clients are started independently. A class is a process's endpoint in a network;
 * a context is a queue of completed operations. An operation starts when its function is called and completes in
 * NA_Progress(). Its callback runs later, in NA_Trigger() only. Thread-safe, but no thread may free an object that
 * another thread uses. Times are in milliseconds.
 *
 * Each function that starts an operation calls `callback`, which may be NULL, exactly once if it returns NA_SUCCESS,
 * and never otherwise. `op_id`, which may be NULL or NA_OP_ID_IGNORE, is valid until the callback has returned.
 *
 * Misuse returns NA_INVALID_PARAM, or the code that the function's comment names, and prints one line on standard
 * error. An operation with a peer that has failed or disconnected ends with NA_PROTOCOL_ERROR. */
#ifndef NA_H
#define NA_H

#include <limits.h>
#include <na_config.h>
#include <na_error.h>

typedef struct na_class na_class_t;
typedef struct na_context na_context_t;
typedef void* na_addr_t;
typedef na_uint64_t na_size_t;
typedef na_uint32_t na_tag_t;
typedef void* na_op_id_t;
typedef void* na_mem_handle_t;
typedef na_uint64_t na_offset_t;

/* One piece of memory of a handle. */
struct na_segment {
  na_ptr_t address; /* its first byte */
  na_size_t size;   /* in bytes */
};

typedef enum na_return {
  NA_SUCCESS,
  NA_CANCELED,
  NA_TIMEOUT,
  NA_INVALID_PARAM,
  NA_SIZE_ERROR,
  NA_ALIGNMENT_ERROR,
  NA_PERMISSION_ERROR,
  NA_NOMEM_ERROR,
  NA_PROTOCOL_ERROR
} na_return_t;

typedef enum na_cb_type {
  NA_CB_LOOKUP,
  NA_CB_SEND_UNEXPECTED,
  NA_CB_RECV_UNEXPECTED,
  NA_CB_SEND_EXPECTED,
  NA_CB_RECV_EXPECTED,
  NA_CB_PUT,
  NA_CB_GET
} na_cb_type_t;

/* The callback owns `addr`, and frees it with NA_Addr_free(). NA_ADDR_NULL if the operation failed. */
struct na_cb_info_lookup {
  na_addr_t addr;
};

/* The callback owns `source`, and frees it with NA_Addr_free(). NA_ADDR_NULL if the operation failed. */
struct na_cb_info_recv_unexpected {
  na_size_t actual_buf_size;
  na_addr_t source;
  na_tag_t tag;
};

struct na_cb_info {
  void* arg; /* the argument of the function that started the operation */
  na_return_t ret;
  na_cb_type_t type;
  union {
    struct na_cb_info_lookup lookup;
    struct na_cb_info_recv_unexpected recv_unexpected;
  } info;
};

/* A callback. It may call every function, including NA_Progress() and NA_Trigger(). Its result is ignored. */
typedef na_return_t (*na_cb_t)(const struct na_cb_info* callback_info);

#define NA_ADDR_NULL ((na_addr_t)0)
#define NA_OP_ID_NULL ((na_op_id_t)0)
#define NA_OP_ID_IGNORE ((na_op_id_t*)1)
#define NA_MEM_HANDLE_NULL ((na_mem_handle_t)0)

#define NA_MAX_IDLE_TIME (3600 * 1000)
#define NA_TAG_UB UINT_MAX
/* Largest result of NA_Addr_to_string(), with the final 0. */
#define NA_MAX_ADDR_LEN 256

/* How peers may access memory: NA_Put() and NA_Get(), or NA_Get() only. */
#define NA_MEM_READWRITE 0x00
#define NA_MEM_READ_ONLY 0x01

#ifdef __cplusplus
extern "C" {
#endif

/* --- classes and contexts --- */

/* Joins the network that `info_string` names: "protocol://host:port" or "plugin+protocol://host:port" with the plugins
 * bmi, mpi, ssm, na and the protocols tcp, ib, sm, shm, static, dynamic; host and port may be left out; "self" needs no
 * network. With `listen`, clients find this process at that port, 0 or none being a free one; NA_Addr_to_string() of
 * the own address tells which. NULL on failure, with errno EINVAL if `info_string` is malformed, else EIO. */
NA_EXPORT na_class_t* NA_Initialize(const char* info_string, na_bool_t listen) NA_WARN_UNUSED_RESULT;

/* Disconnects all peers, and frees the class. NA_PROTOCOL_ERROR if a context has not been destroyed. Outstanding
 * operations of peers with this process end with an error. */
NA_EXPORT na_return_t NA_Finalize(na_class_t* na_class);

/* Creates a context. Returns NULL on failure. */
NA_EXPORT na_context_t* NA_Context_create(na_class_t* na_class) NA_WARN_UNUSED_RESULT;

/* Cancels outstanding operations of the context and destroys it. Callbacks that NA_Trigger() has not run are dropped.
 * Puts and gets end when the peer has answered. If it has not within 10 s, the connection with it is ended.
 * NA_PROTOCOL_ERROR, and the context exists still, if an operation does not end then, if a callback of the context
 * calls it, or if another thread is in NA_Trigger() of the context and does not return within 0.1 s. */
NA_EXPORT na_return_t NA_Context_destroy(na_class_t* na_class, na_context_t* context);

/* --- addresses --- */

/* Connects to the process that listens at `name`, which is the result of NA_Addr_to_string() in that process. White
 * space at its end is ignored. If no process listens there, the operation ends with NA_PROTOCOL_ERROR. */
NA_EXPORT na_return_t NA_Addr_lookup(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                     const char* name, na_op_id_t* op_id);

/* The same, but blocks. Makes progress itself, and needs no context. */
NA_EXPORT na_return_t NA_Addr_lookup_wait(na_class_t* na_class, const char* name, na_addr_t* addr);

NA_EXPORT na_return_t NA_Addr_free(na_class_t* na_class, na_addr_t addr);

NA_EXPORT na_return_t NA_Addr_self(na_class_t* na_class, na_addr_t* addr);

/* Copies an address. Both must be freed, in any order. */
NA_EXPORT na_return_t NA_Addr_dup(na_class_t* na_class, na_addr_t addr, na_addr_t* new_addr);

NA_EXPORT na_bool_t NA_Addr_is_self(na_class_t* na_class, na_addr_t addr);

/* The name of the address, with a final 0. NA_SIZE_ERROR if it is longer than `buf_size` bytes. */
NA_EXPORT na_return_t NA_Addr_to_string(na_class_t* na_class, char* buf, na_size_t buf_size, na_addr_t addr);

/* --- messages --- */

NA_EXPORT na_size_t NA_Msg_get_max_expected_size(na_class_t* na_class) NA_WARN_UNUSED_RESULT;
NA_EXPORT na_size_t NA_Msg_get_max_unexpected_size(na_class_t* na_class) NA_WARN_UNUSED_RESULT;
NA_EXPORT na_tag_t NA_Msg_get_max_tag(na_class_t* na_class) NA_WARN_UNUSED_RESULT;

/* Sends a message that matches the next receive of unexpected messages at `dest`. It is stored at `dest` until there is
 * one. `buf` may be reused after the callback. NA_SIZE_ERROR if the message is too large. */
NA_EXPORT na_return_t NA_Msg_send_unexpected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                             const void* buf, na_size_t buf_size, na_addr_t dest, na_tag_t tag,
                                             na_op_id_t* op_id);

/* Receives one message from any source with any tag. If it is larger than `buf_size`, the callback has NA_SIZE_ERROR,
 * and the message's first bytes are in the buffer. */
NA_EXPORT na_return_t NA_Msg_recv_unexpected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                             void* buf, na_size_t buf_size, na_op_id_t* op_id);

/* Sends a message that matches a receive at `dest` with this process as source and the same tag. It is stored at `dest`
 * until there is one. */
NA_EXPORT na_return_t NA_Msg_send_expected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                           const void* buf, na_size_t buf_size, na_addr_t dest, na_tag_t tag,
                                           na_op_id_t* op_id);

/* Receives a message that `source` sends with `tag`. The callback gets no size. */
NA_EXPORT na_return_t NA_Msg_recv_expected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                           void* buf, na_size_t buf_size, na_addr_t source, na_tag_t tag,
                                           na_op_id_t* op_id);

/* --- memory --- */

/* Creates a handle of memory, for NA_Put() and NA_Get(). `flags` is NA_MEM_READWRITE or NA_MEM_READ_ONLY. */
NA_EXPORT na_return_t NA_Mem_handle_create(na_class_t* na_class, void* buf, na_size_t buf_size, unsigned long flags,
                                           na_mem_handle_t* mem_handle);

/* Creates one handle of several pieces. Offsets count through the pieces in the array's order. */
NA_EXPORT na_return_t NA_Mem_handle_create_segments(na_class_t* na_class, struct na_segment* segments,
                                                    na_size_t segment_count, unsigned long flags,
                                                    na_mem_handle_t* mem_handle);

/* Deregisters the memory if it is registered, and frees the handle. */
NA_EXPORT na_return_t NA_Mem_handle_free(na_class_t* na_class, na_mem_handle_t mem_handle);

/* Registers the memory, so that peers can access it by a serialized copy of the handle. The copy must be made
 * afterwards. The local handle of NA_Put() or NA_Get() need not be registered. */
NA_EXPORT na_return_t NA_Mem_register(na_class_t* na_class, na_mem_handle_t mem_handle);

NA_EXPORT na_return_t NA_Mem_deregister(na_class_t* na_class, na_mem_handle_t mem_handle);

/* The size in bytes of the serialized handle; 0 for an invalid handle. */
NA_EXPORT na_size_t NA_Mem_handle_get_serialize_size(na_class_t* na_class,
                                                     na_mem_handle_t mem_handle) NA_WARN_UNUSED_RESULT;

/* Writes the serialized handle. NA_SIZE_ERROR if `buf_size` is too small, NA_PERMISSION_ERROR if the memory is not
 * registered. */
NA_EXPORT na_return_t NA_Mem_handle_serialize(na_class_t* na_class, void* buf, na_size_t buf_size,
                                              na_mem_handle_t mem_handle);

/* Creates a handle of another process's memory from the bytes that NA_Mem_handle_serialize() has written there.
 * NA_PROTOCOL_ERROR if they are damaged, NA_SIZE_ERROR if some are missing. */
NA_EXPORT na_return_t NA_Mem_handle_deserialize(na_class_t* na_class, na_mem_handle_t* mem_handle, const void* buf,
                                                na_size_t buf_size);

/* Copies local to remote memory. When the callback runs, the data is in the remote memory. NA_SIZE_ERROR if a range
 * ends beyond its handle, NA_PERMISSION_ERROR if the remote memory is NA_MEM_READ_ONLY. */
NA_EXPORT na_return_t NA_Put(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                             na_mem_handle_t local_mem_handle, na_offset_t local_offset,
                             na_mem_handle_t remote_mem_handle, na_offset_t remote_offset, na_size_t data_size,
                             na_addr_t remote_addr, na_op_id_t* op_id);

/* Copies remote to local memory. NA_SIZE_ERROR if a range ends beyond its handle. The flags of the local handle are not
 * checked. */
NA_EXPORT na_return_t NA_Get(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                             na_mem_handle_t local_mem_handle, na_offset_t local_offset,
                             na_mem_handle_t remote_mem_handle, na_offset_t remote_offset, na_size_t data_size,
                             na_addr_t remote_addr, na_op_id_t* op_id);

/* --- completion --- */

/* Makes progress; sleeps while there is nothing to do. Returns NA_SUCCESS as soon as a completed operation of `context`
 * waits for NA_Trigger(), or other threads have run callbacks of `context` since this thread's last call. Returns
 * NA_TIMEOUT after `timeout` ms. */
NA_EXPORT na_return_t NA_Progress(na_class_t* na_class, na_context_t* context, unsigned int timeout);

/* Runs at most `max_count` callbacks of completed operations. Stores their number in *actual_count, which may be NULL.
 * Returns NA_TIMEOUT if there are none within `timeout` ms. */
NA_EXPORT na_return_t NA_Trigger(na_context_t* context, unsigned int timeout, unsigned int max_count,
                                 unsigned int* actual_count);

/* Cancels an operation: its callback gets NA_CANCELED. No effect, and no error, if the operation has completed. */
NA_EXPORT na_return_t NA_Cancel(na_class_t* na_class, na_context_t* context, na_op_id_t op_id);

/* The constant's name, such as "NA_SUCCESS"; "NA_UNKNOWN_ERROR" for other numbers. */
NA_EXPORT const char* NA_Error_to_string(na_return_t errnum);

#ifdef __cplusplus
}
#endif

#endif
