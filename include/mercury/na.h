/* NA: the network abstraction of the Mercury function shipper, over LCI. Link with libna (pkg-config na, CMake na).
 *
 * C99 and later, and C++. Servers and clients are started independently. A class is a process's end of a network, a
 * context a queue of completed operations. Communication starts at once and completes in NA_Progress(); its callback
 * runs later, in NA_Trigger(), and nowhere else. All functions may be called by any thread at any time, but for freeing
 * what others still use. Times are in milliseconds.
 *
 * Each function that starts an operation calls `callback`, which may be NULL, exactly once if it returns NA_SUCCESS,
 * and never otherwise. `op_id`, which may be NULL or NA_OP_ID_IGNORE, is valid until the callback has returned.
 *
 * Misuse returns NA_INVALID_PARAM, or what the function's comment names, and prints one line on standard error that
 * says what was wrong. An operation with a peer that died, or that left, ends with NA_PROTOCOL_ERROR. */
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
  void* arg; /* of the call that started the operation */
  na_return_t ret;
  na_cb_type_t type;
  union {
    struct na_cb_info_lookup lookup;
    struct na_cb_info_recv_unexpected recv_unexpected;
  } info;
};

/* What it returns is ignored. It may call every function, NA_Progress() and NA_Trigger() included. */
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
 * the own address tells which. NULL on failure. */
NA_EXPORT na_class_t* NA_Initialize(const char* info_string, na_bool_t listen) NA_WARN_UNUSED_RESULT;

/* Leaves the network, and frees the class. Its contexts must have been destroyed, else NA_PROTOCOL_ERROR. Peers learn
 * of it: their operations with this process end. */
NA_EXPORT na_return_t NA_Finalize(na_class_t* na_class);

/* NULL on failure. */
NA_EXPORT na_context_t* NA_Context_create(na_class_t* na_class) NA_WARN_UNUSED_RESULT;

/* Operations of this context that are not complete are cancelled; callbacks that NA_Trigger() has not run are lost. */
NA_EXPORT na_return_t NA_Context_destroy(na_class_t* na_class, na_context_t* context);

/* --- addresses --- */

/* Connects with the process that listens at `name`, what NA_Addr_to_string() said there. White space at the end is
 * ignored. A name that no process listens at ends with NA_PROTOCOL_ERROR. */
NA_EXPORT na_return_t NA_Addr_lookup(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                     const char* name, na_op_id_t* op_id);

/* The same, and waits; it needs no context, and other threads need make no progress. */
NA_EXPORT na_return_t NA_Addr_lookup_wait(na_class_t* na_class, const char* name, na_addr_t* addr);

NA_EXPORT na_return_t NA_Addr_free(na_class_t* na_class, na_addr_t addr);

NA_EXPORT na_return_t NA_Addr_self(na_class_t* na_class, na_addr_t* addr);

/* Both addresses must be freed, in any order. */
NA_EXPORT na_return_t NA_Addr_dup(na_class_t* na_class, na_addr_t addr, na_addr_t* new_addr);

NA_EXPORT na_bool_t NA_Addr_is_self(na_class_t* na_class, na_addr_t addr);

/* The name of the address, with a final 0. NA_SIZE_ERROR if it is longer than `buf_size` bytes. */
NA_EXPORT na_return_t NA_Addr_to_string(na_class_t* na_class, char* buf, na_size_t buf_size, na_addr_t addr);

/* --- messages --- */

NA_EXPORT na_size_t NA_Msg_get_max_expected_size(na_class_t* na_class) NA_WARN_UNUSED_RESULT;
NA_EXPORT na_size_t NA_Msg_get_max_unexpected_size(na_class_t* na_class) NA_WARN_UNUSED_RESULT;
NA_EXPORT na_tag_t NA_Msg_get_max_tag(na_class_t* na_class) NA_WARN_UNUSED_RESULT;

/* Sends a message to whichever receive of unexpected messages comes next at `dest`. It waits there if there is none
 * yet. `buf` may be reused after the callback. NA_SIZE_ERROR if it is too large. */
NA_EXPORT na_return_t NA_Msg_send_unexpected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                             const void* buf, na_size_t buf_size, na_addr_t dest, na_tag_t tag,
                                             na_op_id_t* op_id);

/* Receives one message from any source with any tag. If it is larger than `buf_size`, the callback has NA_SIZE_ERROR,
 * and the message's first bytes are in the buffer. */
NA_EXPORT na_return_t NA_Msg_recv_unexpected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                             void* buf, na_size_t buf_size, na_op_id_t* op_id);

/* Sends a message to the receive of `dest` that names this process and `tag`. It waits there if there is none yet. */
NA_EXPORT na_return_t NA_Msg_send_expected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                           const void* buf, na_size_t buf_size, na_addr_t dest, na_tag_t tag,
                                           na_op_id_t* op_id);

/* Receives the message that `source` sends with `tag`; the callback does not say how large it was. */
NA_EXPORT na_return_t NA_Msg_recv_expected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                           void* buf, na_size_t buf_size, na_addr_t source, na_tag_t tag,
                                           na_op_id_t* op_id);

/* --- memory --- */

/* Describes memory, for NA_Put() and NA_Get(). `flags` is NA_MEM_READWRITE or NA_MEM_READ_ONLY. */
NA_EXPORT na_return_t NA_Mem_handle_create(na_class_t* na_class, void* buf, na_size_t buf_size, unsigned long flags,
                                           na_mem_handle_t* mem_handle);

/* One handle for several pieces; offsets count through them in the array's order. */
NA_EXPORT na_return_t NA_Mem_handle_create_segments(na_class_t* na_class, struct na_segment* segments,
                                                    na_size_t segment_count, unsigned long flags,
                                                    na_mem_handle_t* mem_handle);

/* Also deregisters. */
NA_EXPORT na_return_t NA_Mem_handle_free(na_class_t* na_class, na_mem_handle_t mem_handle);

/* Lets peers access the memory, which they do by a serialized copy of the handle that is made afterwards. A handle that
 * is local in NA_Put() or NA_Get() needs no registration. */
NA_EXPORT na_return_t NA_Mem_register(na_class_t* na_class, na_mem_handle_t mem_handle);

NA_EXPORT na_return_t NA_Mem_deregister(na_class_t* na_class, na_mem_handle_t mem_handle);

/* In bytes; 0 for an invalid handle. */
NA_EXPORT na_size_t NA_Mem_handle_get_serialize_size(na_class_t* na_class,
                                                     na_mem_handle_t mem_handle) NA_WARN_UNUSED_RESULT;

/* NA_SIZE_ERROR if `buf_size` is too small, NA_PERMISSION_ERROR if the memory is not registered. */
NA_EXPORT na_return_t NA_Mem_handle_serialize(na_class_t* na_class, void* buf, na_size_t buf_size,
                                              na_mem_handle_t mem_handle);

/* Makes a handle of memory of another process, of the bytes that NA_Mem_handle_serialize() wrote there.
 * NA_PROTOCOL_ERROR if they are damaged, NA_SIZE_ERROR if they are cut. */
NA_EXPORT na_return_t NA_Mem_handle_deserialize(na_class_t* na_class, na_mem_handle_t* mem_handle, const void* buf,
                                                na_size_t buf_size);

/* Copies local to remote memory; after the callback the data are there. NA_SIZE_ERROR if an offset and `data_size`
 * leave a handle, NA_PERMISSION_ERROR if the remote memory is NA_MEM_READ_ONLY. */
NA_EXPORT na_return_t NA_Put(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                             na_mem_handle_t local_mem_handle, na_offset_t local_offset,
                             na_mem_handle_t remote_mem_handle, na_offset_t remote_offset, na_size_t data_size,
                             na_addr_t remote_addr, na_op_id_t* op_id);

/* Copies remote to local memory, with the same checks, but that the local memory is written whatever its flags. */
NA_EXPORT na_return_t NA_Get(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                             na_mem_handle_t local_mem_handle, na_offset_t local_offset,
                             na_mem_handle_t remote_mem_handle, na_offset_t remote_offset, na_size_t data_size,
                             na_addr_t remote_addr, na_op_id_t* op_id);

/* --- completion --- */

/* NA_SUCCESS as soon as an operation of `context` has completed whose callback has not run yet, or other threads have
 * run callbacks of it since the caller's last call; else NA_TIMEOUT after `timeout` ms, in which the thread sleeps. */
NA_EXPORT na_return_t NA_Progress(na_class_t* na_class, na_context_t* context, unsigned int timeout);

/* Runs at most `max_count` callbacks of completed operations; NA_TIMEOUT if there are none within `timeout` ms.
 * `actual_count`, which may be NULL, is how many. */
NA_EXPORT na_return_t NA_Trigger(na_context_t* context, unsigned int timeout, unsigned int max_count,
                                 unsigned int* actual_count);

/* The operation's callback has NA_CANCELED, unless the operation has completed already, which is no error. */
NA_EXPORT na_return_t NA_Cancel(na_class_t* na_class, na_context_t* context, na_op_id_t op_id);

/* The constant's name, such as "NA_SUCCESS"; "NA_UNKNOWN_ERROR" for other numbers. */
NA_EXPORT const char* NA_Error_to_string(na_return_t errnum);

#ifdef __cplusplus
}
#endif

#endif
