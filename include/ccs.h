/* CCS, the Common Communication Subsystem of Buntinas and Gropp: ordered active messages, puts and gets with callbacks,
 * descriptions of non-contiguous data, for several libraries at once, each in a context of its own. Link with libccs
 * (pkg-config ccs, CMake LCI::ccs). C99 and later, and C++. docs/guide/ccs.md explains it.
 *
 * Functions return CCS_SUCCESS, CCS_FAILURE or CCS_NOMEM. A function that fails has no effect. Misuse returns
 * CCS_FAILURE and prints one line on standard error, which begins with "ccs: " and the function's name. Three kinds of
 * errors end the job with such a line: an error that no return code can report, a call that would deadlock with itself,
 * and the failure of a process.
 *
 * Thread-safe: unless stated otherwise, any thread may call any function at any time between CCS_init() and
 * CCS_finalize(). Handlers and callbacks run inside calls of CCS, at most one at a time in each thread. Handlers of
 * messages from the same process run one after the other. All processes must run on machines of one kind, since data is
 * not converted. */
#ifndef CCS_H
#define CCS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CCS_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#define CCS_BUILTIN_(code) static_cast<CCS_datadesc_t>(code)
#else
#define CCS_BUILTIN_(code) ((CCS_datadesc_t)(code))
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
CCS_API int CCS_init(void);
CCS_API int CCS_finalize(void);
/* Local. All processes must create contexts in the same order, so that a number names the same context at each. */
CCS_API int CCS_new_context(CCS_context_t* context);
/* Collective. Waits for all processes; runs handlers and callbacks meanwhile. One thread at a time may call it. */
CCS_API int CCS_barrier(void);
CCS_API int CCS_get_size(CCS_node_t* size);
CCS_API int CCS_get_rank(CCS_node_t* rank);
/* Makes progress, and runs handlers and callbacks (none in a no-interrupt section). Never blocks. */
CCS_API void CCS_poll(void);
/* As malloc(), but processes of the same host can access the memory directly if the network supports it. Returns NULL
 * if there is no memory. */
CCS_API void* CCS_malloc(size_t size);
CCS_API void CCS_free(void* p);

/* --- active messages: ordered between each pair of processes, across all contexts --- */

CCS_API int CCS_register_handler(CCS_context_t context, unsigned handler_id, CCS_amhandler_t handler_ptr);
/* The functions behind CCS_register_handler(): the first for variadic handlers, the second for handlers with ordinary
 * parameters. `num_args`: number of parameters after buf_len, or -1 if it is unknown and not to be checked. */
CCS_API int CCS_register_vhandler(CCS_context_t context, unsigned handler_id, CCS_amhandler_t handler_ptr);
CCS_API int CCS_register_spread_handler(CCS_context_t context, unsigned handler_id, void (*handler_ptr)(void),
                                        int num_args);
/* The first attaches a pointer to a registered handler, until another handler is registered under its number. The
 * second returns that pointer inside the handler; NULL if none was attached. */
CCS_API int CCS_set_handler_data(CCS_context_t context, unsigned handler_id, void* data);
CCS_API void* CCS_handler_data(CCS_token_t token);
/* Sends `count` elements of `datadesc` at `buf`, packed, and `num_args` integers or pointers to a handler. `buf` may be
 * reused when the call returns. The variadic arguments must not include a double or a struct. */
CCS_API int CCS_amrequest(CCS_context_t context, CCS_node_t node, void* buf, unsigned count, CCS_datadesc_t datadesc,
                          unsigned handler_id, unsigned num_args, ...);
/* Sends a message to the sender of the request whose handler calls this, in the same context. Returns CCS_FAILURE in
 * the handler of a reply. */
CCS_API int CCS_amreply(CCS_token_t token, void* buf, unsigned count, CCS_datadesc_t datadesc, unsigned handler_id,
                        unsigned num_args, ...);
/* The process that has sent the message. May be called only inside the handler. */
CCS_API int CCS_sender_rank(CCS_token_t token, CCS_node_t* sender);

/* An active message of any size. At the target the handler runs in the order of messages, before any data is
 * transferred. To accept the message, it stores the memory for the data and a callback that runs when the data has
 * arrived, and returns CCS_SUCCESS. CCS_FAILURE refuses the message. With CCS_AGAIN the handler is called again later,
 * and later messages may overtake this one. `buf` may be reused when `local_done` is called; inside it,
 * CCS_callback_status() returns whether the target has refused the message. CCS_register_handler() takes such handlers
 * too. */
typedef int (*CCS_amlarge_handler_t)(CCS_token_t token, size_t len, void** dest, size_t* dest_count,
                                     CCS_datadesc_t* dest_desc, CCS_callback_t* done, void** done_arg,
                                     unsigned num_args, ...);
CCS_API int CCS_register_large_handler(CCS_context_t context, unsigned handler_id, CCS_amlarge_handler_t handler_ptr);
CCS_API int CCS_amlarge(CCS_context_t context, CCS_node_t node, void* buf, size_t count, CCS_datadesc_t datadesc,
                        unsigned handler_id, CCS_callback_t local_done, void* local_arg, unsigned num_args, ...);
/* To be called inside a callback. Returns CCS_FAILURE if the target has refused the large message, else CCS_SUCCESS. */
CCS_API int CCS_callback_status(void);

/* --- registration of memory that other processes put to and get from: by its owner, in units of pages --- */

CCS_API int CCS_register_mem(void* addr, size_t len);
/* Must be called before the memory is freed. Pages without users stay registered until their bytes exceed the
 * threshold. */
CCS_API int CCS_deregister_mem(void* addr, size_t len);
/* Sets the threshold: the bytes of pages without users that stay registered. Default: the environment variable
 * CCS_REG_CACHE_BYTES, else 256 MiB. A page without users that the network has registered together with a page in use
 * stays registered as long as that page is used, whatever the threshold is. */
CCS_API int CCS_reg_cache_threshold(size_t bytes);
/* Bytes that are registered, and those of them without users; numbers of registrations and deregistrations by the
 * network so far. Pointers may be NULL. */
CCS_API int CCS_reg_cache_stats(size_t* registered, size_t* unused, unsigned long* registrations,
                                unsigned long* deregistrations);

/* --- remote memory access: not ordered. The origin calls the callback, which may be NULL, once, when the data is in
 * the destination's memory. Source and destination must have the same number of bytes. --- */

/* Copies from local memory (src) to memory of `node` (dest). */
CCS_API int CCS_put(CCS_node_t node, void* src_buf, size_t src_count, CCS_datadesc_t src_datadesc, void* dest_buf,
                    size_t dest_count, CCS_datadesc_t dest_datadesc, CCS_callback_t callback, void* callback_arg);
/* Copies from memory of `node` (src) to local memory (dest). */
CCS_API int CCS_get(CCS_node_t node, void* src_buf, size_t src_count, CCS_datadesc_t src_datadesc, void* dest_buf,
                    size_t dest_count, CCS_datadesc_t dest_datadesc, CCS_callback_t callback, void* callback_arg);
/* Wait until all operations of this process on memory of one node, or of all nodes, have completed there. */
CCS_API int CCS_fence(CCS_node_t node);
CCS_API int CCS_allfence(void);
/* Writes `bytes` bytes to the address in *remote_ptr at `node`, then advances *remote_ptr by `bytes`. A node applies
 * such puts one after the other. */
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
/* An atomic operation on `var` at `node`, which must be aligned to 8 bytes. When the callback is called, *result is the
 * old value; `result` may be NULL for CCS_ATOMIC_WRITE only. CCS_ATOMIC_COMPARESWAP stores `val` if *var equals `cmp`.
 * Atomic with respect to all processes' atomic operations and accumulates, and to the owner's atomic instructions. */
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
  CCS_PROD, /* product, minimum and maximum are not defined for complex numbers */
  CCS_MIN,
  CCS_MAX,
  CCS_AND, /* these are bitwise, for integers only */
  CCS_OR,
  CCS_XOR,
  CCS_NUM_COMBINES
} CCS_combine_t;
/* dest = dest op (scale * src) for each number. `scale` points to one number, or is NULL for 1. Each number is updated
 * atomically, a complex one in two parts. Numbers at the destination must be aligned to their size, complex ones to
 * half of it. Each piece of both descriptions must be a whole number of numbers. */
CCS_API int CCS_accumulate(CCS_node_t node, CCS_combine_t op, CCS_number_t type, const void* scale, void* src_buf,
                           size_t src_count, CCS_datadesc_t src_datadesc, void* dest_buf, size_t dest_count,
                           CCS_datadesc_t dest_datadesc, CCS_callback_t callback, void* callback_arg);

/* --- collectives: all processes must call them in the same order, one thread at a time. Handlers run meanwhile. --- */

CCS_API int CCS_bcast(void* buf, size_t count, CCS_datadesc_t datadesc, CCS_node_t root);
/* `src` may be `dest`. */
CCS_API int CCS_reduce(const void* src, void* dest, size_t count, CCS_number_t type, CCS_combine_t op, CCS_node_t root);
CCS_API int CCS_allreduce(const void* src, void* dest, size_t count, CCS_number_t type, CCS_combine_t op);
/* Allocates registered memory at the same address in all processes. */
CCS_API int CCS_malloc_symmetric(size_t bytes, void** addr);
CCS_API int CCS_free_symmetric(void* addr);

/* --- data descriptions. Displacements and strides are in bytes. Elements of a description are its extent apart. Bounds
 * are as in MPI-1: CCS_DATA_LB and CCS_DATA_UB in a struct set them. --- */

#define CCS_DATA_NULL CCS_BUILTIN_(0x000)
#define CCS_DATA8 CCS_BUILTIN_(0x001)
#define CCS_DATA16 CCS_BUILTIN_(0x002)
#define CCS_DATA32 CCS_BUILTIN_(0x004)
#define CCS_DATA64 CCS_BUILTIN_(0x008)
#define CCS_DATA128 CCS_BUILTIN_(0x010)
#define CCS_DATA_LB CCS_BUILTIN_(0x100)
#define CCS_DATA_UB CCS_BUILTIN_(0x200)
#define CCS_DATA_PACKED CCS_BUILTIN_(0x300) /* bytes */
#define CCS_DATA_LAST CCS_DATA_PACKED
#define CCS_DATA_SIZE_MASK CCS_BUILTIN_(0xff) /* these bits of a builtin description are its size in bytes */
#define CCS_datadesc_is_builtin(desc) ((desc) <= CCS_DATA_LAST)

/* Where a call takes a buffer and a description, the buffer may be NULL if there is no data, or if the description has
 * absolute addresses as displacements. Otherwise the call returns CCS_FAILURE. */
CCS_API int CCS_datadesc_create_contiguous(int count, CCS_datadesc_t olddesc, CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_vector(int count, int blocklength, int stride, CCS_datadesc_t olddesc,
                                       CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_struct(int count, int* blocklengths, CCS_aint_t* displacements, CCS_datadesc_t* descs,
                                       CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_indexed(int count, int* blocklengths, CCS_aint_t* displacements, CCS_datadesc_t olddesc,
                                        CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_blockindexed(int count, int blocklength, CCS_aint_t* displacements,
                                             CCS_datadesc_t olddesc, CCS_datadesc_t* newdesc);
/* From the layouts of ARMCI and LAPI, faster than by nested constructors. Strided, with `levels` strides: counts[0]
 * contiguous bytes, repeated counts[1] times at a distance of strides[0] bytes, and so on. */
CCS_API int CCS_datadesc_create_strided(int levels, const int* strides_bytes, const int* counts,
                                        CCS_datadesc_t* newdesc);
CCS_API int CCS_datadesc_create_iov(int n, const CCS_aint_t* displacements, const size_t* lengths,
                                    CCS_datadesc_t* newdesc);
CCS_API CCS_aint_t CCS_datadesc_extent(CCS_datadesc_t desc);
CCS_API CCS_aint_t CCS_datadesc_size(CCS_datadesc_t desc);
/* Frees a description and sets *desc to CCS_DATA_NULL. Outstanding operations that use the description, and
 * descriptions that were constructed from it, stay valid. */
CCS_API void CCS_datadesc_free(CCS_datadesc_t* desc);
/* Copy between `count` elements of a description and contiguous memory of `bytes` bytes. CCS_FAILURE if the elements
 * have more bytes. */
CCS_API int CCS_pack(void* dest, void* src, int count, CCS_datadesc_t desc, size_t bytes);
CCS_API int CCS_unpack(void* dest, void* src, int count, CCS_datadesc_t desc, size_t bytes);

/* --- locks for handlers and threads. A thread that holds a lock runs no handlers. Until it releases the lock, it must
 * not poll, fence, enter a barrier or take the lock again: each of these ends the job. --- */

typedef struct CCS_lock_data {
  void* owner;
  unsigned state;
} CCS_lock_t;
#define CCS_LOCK_INITIALIZER \
  { 0, 0 }
CCS_API int CCS_lock_init(CCS_lock_t* lock);
CCS_API int CCS_lock(CCS_lock_t* lock);
/* Takes the lock, or returns CCS_AGAIN if another thread holds it. */
CCS_API int CCS_trylock(CCS_lock_t* lock);
CCS_API int CCS_unlock(CCS_lock_t* lock);
CCS_API int CCS_lock_destroy(CCS_lock_t* lock);

/* Begin and end of a no-interrupt section, in which no handler or callback runs in this thread. Sections may be nested.
 * A fence, a barrier or another collective call in a section ends the job, since it may wait for a handler. */
CCS_API int CCS_nointerrupt_begin(void);
CCS_API int CCS_nointerrupt_end(void);

#ifdef __cplusplus
} /* extern "C" */

extern "C++" { /* because programs include this header inside of their own extern "C" */
/* Registers a handler with ordinary parameters. The length may be an int, as C accepts it. */
#if __cplusplus >= 201103L
template <class Length, class... Args>
inline int CCS_register_handler(CCS_context_t context, unsigned handler_id,
                                void (*handler_ptr)(CCS_token_t, void*, Length, Args...)) {
  static_assert(sizeof(Length) == sizeof(unsigned), "the length of a handler's data is an unsigned or an int");
  static_assert(sizeof...(Args) <= CCS_MAX_HANDLER_ARGS, "a handler has at most 16 arguments");
  return CCS_register_spread_handler(context, handler_id, reinterpret_cast<void (*)(void)>(handler_ptr),
                                     static_cast<int>(sizeof...(Args)));
}
#else /* C++98 cannot count the parameters */
template <class Function>
inline int CCS_register_handler(CCS_context_t context, unsigned handler_id, Function* handler_ptr) {
  return CCS_register_spread_handler(context, handler_id, reinterpret_cast<void (*)(void)>(handler_ptr), -1);
}
#endif
/* Registers a handler of large messages. A template, so that NULL stays a CCS_amhandler_t. */
template <class Length>
inline int CCS_register_handler(CCS_context_t context, unsigned handler_id,
                                int (*handler_ptr)(CCS_token_t, Length, void**, size_t*, CCS_datadesc_t*,
                                                   CCS_callback_t*, void**, unsigned, ...)) {
  return CCS_register_large_handler(context, handler_id, handler_ptr);
}
inline int CCS_sender_rank(CCS_token_t token, int* sender) {
  CCS_node_t node = 0;
  const int result = CCS_sender_rank(token, &node);
  if (result == CCS_SUCCESS) *sender = static_cast<int>(node);
  return result;
}
} /* extern "C++" */
#elif defined(__GNUC__)
/* Registers a handler. The type of the function decides whether it is a variadic one, and whether it is one of large
 * messages. */
#define CCS_REGISTER_AS_(context, handler_id, handler_ptr, kind)                                             \
  ((kind) == 1   ? CCS_register_vhandler((context), (handler_id), (CCS_amhandler_t)(handler_ptr))            \
   : (kind) == 2 ? CCS_register_large_handler((context), (handler_id), (CCS_amlarge_handler_t)(handler_ptr)) \
                 : CCS_register_spread_handler((context), (handler_id), (handler_ptr), -1))
#define CCS_register_handler(context, handler_id, handler_ptr)                       \
  __extension__ CCS_REGISTER_AS_(context, handler_id, (void (*)(void))(handler_ptr), \
                                 _Generic((handler_ptr), CCS_amhandler_t : 1, CCS_amlarge_handler_t : 2, default : 0))
#endif

#endif
