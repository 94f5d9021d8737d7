/* CCS, the Common Communication Subsystem of Buntinas and Gropp: ordered active messages, puts and gets with callbacks,
 * descriptions of non-contiguous data, for several libraries at once, each in a context of its own. Link with libccs
 * (pkg-config ccs, CMake LCI::ccs). C99 and later, and C++. docs/guide/ccs.md explains it.
 *
 * Functions return CCS_SUCCESS, or CCS_FAILURE or CCS_NOMEM and have no effect then. A misuse, which returns
 * CCS_FAILURE, also prints one line on standard error that begins with "ccs: " and the function's name. An error that
 * no caller can be told, a call that would wait for itself, and the failure of a process end the job with such a line.
 *
 * Any thread may call any function at any time, unless it is said otherwise, from CCS_init() to CCS_finalize().
 * Handlers and callbacks run in a thread that is inside a call of CCS, one at a time in each thread; those of messages
 * from one process run one after the other. All processes must be of one kind of machine: data is never converted. */
#ifndef CCS_H
#define CCS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__GNUC__)
#define CCS_API __attribute__((visibility("default")))
#else
#define CCS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- types and limits --- */

typedef intptr_t CCS_aint_t;    /* a displacement in bytes */
typedef unsigned CCS_context_t; /* a library's name space of handlers: a small number, in the order of creation */
typedef unsigned CCS_node_t;    /* the number of a process */
typedef struct CCS_token* CCS_token_t;
typedef uint64_t CCS_atomic_type_t;
typedef uintptr_t CCS_handler_arg_t; /* an argument of a handler: an integer or a pointer */
typedef CCS_aint_t CCS_datadesc_t;   /* a description of data: a builtin one, or the result of a constructor */
typedef void (*CCS_callback_t)(void* arg);

/* A handler gets the message's packed data (temporary, aligned to 16 bytes; valid until it returns) and its arguments.
 * This type takes the arguments with va_arg(..., CCS_handler_arg_t). CCS_register_handler() also takes functions whose
 * arguments are ordinary parameters: void f(CCS_token_t, void* buffer, unsigned buf_len, void* a, int b). */
typedef void (*CCS_amhandler_t)(CCS_token_t token, void* buffer, unsigned buf_len, unsigned num_args, ...);

enum { CCS_SUCCESS = 0, CCS_FAILURE = 1, CCS_NOMEM = 2, CCS_AGAIN = 3 };

#define CCS_MAX_HANDLERS 256
#define CCS_MAX_HANDLER_ARGS 16
#define CCS_MAX_CONTEXTS 256
#define CCS_MAX_AM_LENGTH 16384 /* bytes of packed data of an active message */

/* --- processes --- */

/* Collective; waits for all processes. Calls are counted: the last CCS_finalize() ends CCS. */
CCS_API int CCS_init();
CCS_API int CCS_finalize();
/* Local. All processes create contexts in the same order, so that a number means the same everywhere. */
CCS_API int CCS_new_context(CCS_context_t* context);
/* Waits for all processes; handlers and callbacks run meanwhile. One thread at a time. */
CCS_API int CCS_barrier();
CCS_API int CCS_get_size(CCS_node_t* size);
CCS_API int CCS_get_rank(CCS_node_t* rank);
/* Runs handlers and callbacks that are due; never blocks. In a no-interrupt section it runs none. */
CCS_API void CCS_poll();
/* Memory that processes of the same host can access fastest; otherwise as malloc(). NULL: there is none left. */
CCS_API void* CCS_malloc(size_t size);
CCS_API void CCS_free(void* p);

/* --- active messages: delivered in the order of sending between each pair of processes, in all contexts --- */

CCS_API int CCS_register_handler(CCS_context_t context, unsigned handler_id, CCS_amhandler_t handler_ptr);
/* The same by name, for each of the two kinds of handlers. `num_args` is the number of the function's own parameters
 * after buf_len; -1: not known. */
CCS_API int CCS_register_vhandler(CCS_context_t context, unsigned handler_id, CCS_amhandler_t handler_ptr);
CCS_API int CCS_register_spread_handler(CCS_context_t context, unsigned handler_id, void (*handler_ptr)(void),
                                        int num_args);
/* Gives a registered handler, of either kind, a pointer of the program's, until it is replaced; and returns it in the
 * handler: NULL if there is none. */
CCS_API int CCS_set_handler_data(CCS_context_t context, unsigned handler_id, void* data);
CCS_API void* CCS_handler_data(CCS_token_t token);
/* Sends `count` elements of `datadesc` at `buf`, packed, and num_args integers or pointers to a handler. `buf` may be
 * reused when the call returns. Must not be followed by a double or a struct. */
CCS_API int CCS_amrequest(CCS_context_t context, CCS_node_t node, void* buf, unsigned count, CCS_datadesc_t datadesc,
                          unsigned handler_id, unsigned num_args, ...);
/* The same to the sender of the request whose handler calls this, in its context. CCS_FAILURE in a handler of a reply. */
CCS_API int CCS_amreply(CCS_token_t token, void* buf, unsigned count, CCS_datadesc_t datadesc, unsigned handler_id,
                        unsigned num_args, ...);
/* Only inside the handler. */
CCS_API int CCS_sender_rank(CCS_token_t token, CCS_node_t* sender);

/* An active message of any size. At the target the handler runs in the message's turn, before any data is transferred.
 * It names the memory for the data, and a callback for its arrival, and returns CCS_SUCCESS; CCS_FAILURE refuses the
 * message; with CCS_AGAIN the handler is called again later, while messages behind it proceed. `buf` may be reused when
 * `local_done` is called; CCS_callback_status() inside it says whether the target has refused. */
typedef int (*CCS_amlarge_handler_t)(CCS_token_t token, size_t len, void** dest, size_t* dest_count,
                                     CCS_datadesc_t* dest_desc, CCS_callback_t* done, void** done_arg,
                                     unsigned num_args, ...);
CCS_API int CCS_register_large_handler(CCS_context_t context, unsigned handler_id, CCS_amlarge_handler_t handler_ptr);
CCS_API int CCS_amlarge(CCS_context_t context, CCS_node_t node, void* buf, size_t count, CCS_datadesc_t datadesc,
                        unsigned handler_id, CCS_callback_t local_done, void* local_arg, unsigned num_args, ...);
/* Inside a callback: CCS_SUCCESS, or CCS_FAILURE if the target has refused the large message. */
CCS_API int CCS_callback_status(void);

/* --- memory that others put to and get from: registered by its owner, page by page --- */

CCS_API int CCS_register_mem(void* addr, size_t len);
/* Must be called before the memory is freed. Pages stay registered until the unused ones exceed the threshold. */
CCS_API int CCS_deregister_mem(void* addr, size_t len);
/* Bytes of unused pages that are kept; default: CCS_REG_CACHE_BYTES in the environment, else 256 MiB. */
CCS_API int CCS_reg_cache_threshold(size_t bytes);
/* Bytes registered, of these unused; calls of the network so far. Pointers may be NULL. */
CCS_API int CCS_reg_cache_stats(size_t* registered, size_t* unused, unsigned long* registrations,
                                unsigned long* deregistrations);

/* --- remote memory access: not ordered. The callback, which may be NULL, is called here, once, when the data is in
 * the destination's memory. Both sides have the same number of bytes. --- */

/* From local src to dest at node. */
CCS_API int CCS_put(CCS_node_t node, void* src_buf, size_t src_count, CCS_datadesc_t src_datadesc, void* dest_buf,
                    size_t dest_count, CCS_datadesc_t dest_datadesc, CCS_callback_t callback, void* callback_arg);
/* From src at node to local dest. */
CCS_API int CCS_get(CCS_node_t node, void* src_buf, size_t src_count, CCS_datadesc_t src_datadesc, void* dest_buf,
                    size_t dest_count, CCS_datadesc_t dest_datadesc, CCS_callback_t callback, void* callback_arg);
/* Wait until all own operations on remote memory, to a node or to all, have completed there. */
CCS_API int CCS_fence(CCS_node_t node);
CCS_API int CCS_allfence();
/* Writes `bytes` bytes to where *remote_ptr, at node, points, then advances *remote_ptr by `bytes`. Such puts to a
 * node are applied one after the other. */
CCS_API int CCS_put_indexed(CCS_node_t node, void* src, size_t bytes, void** remote_ptr, CCS_callback_t callback,
                            void* callback_arg);

typedef enum CCS_atomic_op {
  CCS_ATOMIC_SWAP,
  CCS_ATOMIC_COMPARESWAP,
  CCS_ATOMIC_FETCHADD,
  CCS_ATOMIC_READ,
  CCS_ATOMIC_WRITE,
  CCS_NUM_ATOMIC_OPS
} CCS_atomic_op_t;
/* `var`, at node, is aligned to 8 bytes. *result, which may be NULL for CCS_ATOMIC_WRITE, is the old value when the
 * callback is called. CCS_ATOMIC_COMPARESWAP stores `val` if *var is `cmp`. Atomic among all processes, accumulates, and
 * the owner's own atomic accesses. */
CCS_API int CCS_atomic(CCS_node_t node, CCS_atomic_op_t op, CCS_atomic_type_t* var, CCS_atomic_type_t val,
                       CCS_atomic_type_t cmp, CCS_atomic_type_t* result, CCS_callback_t callback, void* callback_arg);

typedef enum CCS_number {
  CCS_INT32,
  CCS_UINT32,
  CCS_INT64,
  CCS_UINT64,
  CCS_FLOAT,
  CCS_DOUBLE,
  CCS_COMPLEX,        /* two floats */
  CCS_DOUBLE_COMPLEX, /* two doubles */
  CCS_NUM_NUMBERS
} CCS_number_t;
typedef enum CCS_combine {
  CCS_SUM,
  CCS_PROD, /* not of complex numbers */
  CCS_MIN,  /* these two neither */
  CCS_MAX,
  CCS_AND, /* bitwise, of integers */
  CCS_OR,
  CCS_XOR,
  CCS_NUM_COMBINES
} CCS_combine_t;
/* dest = dest op scale * src for each number; `scale` points to one number, or is NULL for 1. Each number (of complex
 * ones each part) is updated atomically. Numbers at the destination are aligned to their size, complex ones to half of
 * it; descriptions on both sides consist of whole numbers. */
CCS_API int CCS_accumulate(CCS_node_t node, CCS_combine_t op, CCS_number_t type, const void* scale, void* src_buf,
                           size_t src_count, CCS_datadesc_t src_datadesc, void* dest_buf, size_t dest_count,
                           CCS_datadesc_t dest_datadesc, CCS_callback_t callback, void* callback_arg);

/* --- collectives: all processes call them in the same order, one thread at a time; handlers run meanwhile --- */

CCS_API int CCS_bcast(void* buf, size_t count, CCS_datadesc_t datadesc, CCS_node_t root);
/* `src` may be `dest`. */
CCS_API int CCS_reduce(const void* src, void* dest, size_t count, CCS_number_t type, CCS_combine_t op, CCS_node_t root);
CCS_API int CCS_allreduce(const void* src, void* dest, size_t count, CCS_number_t type, CCS_combine_t op);
/* Registered memory at the same address of all processes. */
CCS_API int CCS_malloc_symmetric(size_t bytes, void** addr);
CCS_API int CCS_free_symmetric(void* addr);

/* --- descriptions of data. Displacements and strides are in bytes. Those that are counts of elements lie their extent
 * apart. Bounds are as in MPI-1: CCS_DATA_LB and CCS_DATA_UB in a struct set them. --- */

#define CCS_DATA_NULL ((CCS_datadesc_t)0x000)
#define CCS_DATA8 ((CCS_datadesc_t)0x001)
#define CCS_DATA16 ((CCS_datadesc_t)0x002)
#define CCS_DATA32 ((CCS_datadesc_t)0x004)
#define CCS_DATA64 ((CCS_datadesc_t)0x008)
#define CCS_DATA128 ((CCS_datadesc_t)0x010)
#define CCS_DATA_LB ((CCS_datadesc_t)0x100)
#define CCS_DATA_UB ((CCS_datadesc_t)0x200)
#define CCS_DATA_PACKED ((CCS_datadesc_t)0x300) /* bytes as they lie */
#define CCS_DATA_LAST CCS_DATA_PACKED
#define CCS_DATA_SIZE_MASK ((CCS_datadesc_t)0xff) /* of a builtin one: its size in bytes */
#define CCS_datadesc_is_builtin(desc) ((desc) <= CCS_DATA_LAST)

CCS_API int CCS_datadesc_create_contiguous(int count, CCS_datadesc_t olddesc, CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_vector(int count, int blocklength, int stride, CCS_datadesc_t olddesc,
                                       CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_struct(int count, int* blocklengths, CCS_aint_t* displacements, CCS_datadesc_t* descs,
                                       CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_indexed(int count, int* blocklengths, CCS_aint_t* displacements, CCS_datadesc_t olddesc,
                                        CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_blockindexed(int count, int blocklength, CCS_aint_t* displacements,
                                             CCS_datadesc_t olddesc, CCS_datadesc_t* newdesc);
/* Quickly from the layouts of ARMCI and LAPI. Strided: counts[0] bytes, counts[1] times strides[0] bytes apart, and so
 * on; `levels` strides. */
CCS_API int CCS_datadesc_create_strided(int levels, const int* strides_bytes, const int* counts,
                                        CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_iov(int n, const CCS_aint_t* displacements, const size_t* lengths,
                                    CCS_datadesc_t* newdesc);
CCS_API CCS_aint_t CCS_datadesc_extent(CCS_datadesc_t desc);
CCS_API CCS_aint_t CCS_datadesc_size(CCS_datadesc_t desc);
/* Sets *desc to CCS_DATA_NULL. Operations in progress, and descriptions made from it, keep what they need. */
CCS_API void CCS_datadesc_free(CCS_datadesc_t* desc);
/* Between `count` elements of a description and contiguous memory of `bytes` bytes: CCS_FAILURE if that is less. */
CCS_API int CCS_pack(void* dest, void* src, int count, CCS_datadesc_t desc, size_t bytes);
CCS_API int CCS_unpack(void* dest, void* src, int count, CCS_datadesc_t desc, size_t bytes);

/* --- locks for handlers and threads. A thread that holds one runs no handlers; until it releases the lock it must not
 * wait: not poll, fence, enter a barrier, or take the lock again, which ends the job. --- */

typedef struct CCS_lock {
  void* owner;
  unsigned state;
} CCS_lock_t;
#define CCS_LOCK_INITIALIZER \
  { 0, 0 }
CCS_API int CCS_lock_init(CCS_lock_t* lock);
CCS_API int CCS_lock(CCS_lock_t* lock);
/* CCS_AGAIN: another thread holds it. */
CCS_API int CCS_trylock(CCS_lock_t* lock);
CCS_API int CCS_unlock(CCS_lock_t* lock);
CCS_API int CCS_lock_destroy(CCS_lock_t* lock);

/* Between these, which nest, no handler or callback runs in this thread: they are run later. */
CCS_API int CCS_nointerrupt_begin(void);
CCS_API int CCS_nointerrupt_end(void);

#ifdef __cplusplus
}

/* A handler with ordinary parameters. */
template <class... Args>
inline int CCS_register_handler(CCS_context_t context, unsigned handler_id,
                                void (*handler_ptr)(CCS_token_t, void*, unsigned, Args...)) {
  static_assert(sizeof...(Args) <= CCS_MAX_HANDLER_ARGS, "a handler has at most 16 arguments");
  return CCS_register_spread_handler(context, handler_id, reinterpret_cast<void (*)(void)>(handler_ptr),
                                     static_cast<int>(sizeof...(Args)));
}
inline int CCS_sender_rank(CCS_token_t token, int* sender) {
  CCS_node_t node = 0;
  const int result = CCS_sender_rank(token, &node);
  if (result == CCS_SUCCESS) *sender = static_cast<int>(node);
  return result;
}
#elif defined(__GNUC__)
/* Chooses by the type of the function which kind of handler it is. */
#define CCS_register_handler(context, handler_id, handler_ptr)                                                       \
  __extension__(_Generic((handler_ptr), CCS_amhandler_t : 1, default : 0)                                            \
                    ? CCS_register_vhandler((context), (handler_id), (CCS_amhandler_t)(void (*)(void))(handler_ptr)) \
                    : CCS_register_spread_handler((context), (handler_id), (void (*)(void))(handler_ptr), -1))
#endif

#endif
