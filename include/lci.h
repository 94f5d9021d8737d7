/* LCI v1.7: the C interface of the lightweight communication interface. Link with liblci-v1 (pkg-config lci-v1, CMake
 * LCI::v1). docs/guide/lci-v1.md says how to build programs that were written for it, and how they move to lci.hpp.
 *
 * C99 and later, and C++. Functions return LCI_OK, LCI_ERR_RETRY (a resource is short or nothing is there yet: make
 * progress and call again) or LCI_ERR_FATAL, for which one line on standard error gives function, argument, value and
 * remedy. Any thread may call any function at any time, with these exceptions: one thread at a time makes progress on a
 * device; collective functions (LCI_initialize, LCI_finalize, LCI_barrier, LCI_device_*, LCI_endpoint_*,
 * LCI_gfence_wait) are called by one thread at a time for each device, in the same order on all ranks; nothing is freed
 * while others still use it. Communication is not ordered.
 *
 * LCI_V1_CHECK=1 in the environment checks the arguments of each call. Define LCI_STRICT_DOCUMENT before the header to
 * get, in C99, the parameter types of the specification where public versions had others; C11 and C++ take both. */
#ifndef LCI_H
#define LCI_H

#include <lci_config.h>
#include <lct.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#undef LCI_API /* lci.hpp defines it likewise */
#define LCI_API __attribute__((visibility("default")))

/* --- results, kinds --- */

typedef enum {
  LCI_OK = 0,
  LCI_ERR_RETRY,
  LCI_ERR_FATAL,
  LCI_ERR_RETRY_LOCK,  /* never returned */
  LCI_ERR_RETRY_NOMEM, /* never returned */
  LCI_ERR_FEATURE_NA   /* never returned */
} LCI_error_t;

/* The criteria by which a receive matches a message. */
typedef enum { LCI_MATCH_RANKTAG = 0, LCI_MATCH_TAG } LCI_match_t;
/* The two ports of an endpoint: completions of operations that this process posts, and of messages that arrive. */
typedef enum { LCI_PORT_COMMAND = 0, LCI_PORT_MESSAGE = 1 } LCI_port_t;
typedef enum {
  LCI_COMPLETION_NONE = 0,
  LCI_COMPLETION_QUEUE,
  LCI_COMPLETION_HANDLER,
  LCI_COMPLETION_SYNC
} LCI_comp_type_t;
typedef enum { LCI_IMMEDIATE, LCI_MEDIUM, LCI_LONG, LCI_IOVEC } LCI_data_type_t;

/* Remote completion: the default completion object of the target's endpoint. */
#define LCI_DEFAULT_COMP_REMOTE 0
/* Remote completion of LCI_putl, putm, putmn, putv, putvs, getl and getv: none. */
#define LCI_NO_COMP_REMOTE UINTPTR_MAX
/* Segment of a local buffer that the library registers if necessary. Not valid for remote buffers. */
#define LCI_SEGMENT_ALL NULL
/* Rank of a receive on an endpoint that matches by tag. */
#define LCI_RANK_ANY (-1)
/* Bytes of a short message. */
#define LCI_SHORT_SIZE 32
/* Bytes that LCI_segment_serialize() writes at most, with the final 0. */
#define LCI_SEGMENT_SERIALIZED_MAX 64

/* --- types --- */

/* Valid tags are 0..LCI_MAX_TAG. */
typedef uint32_t LCI_tag_t;
/* A completion object: queue, synchronizer or handler. Cast to uintptr_t, it names the object to other processes. */
typedef void* LCI_comp_t;
typedef struct LCII_mr_t* LCI_segment_t;
typedef LCI_segment_t LCI_reg_t;
typedef struct LCI_device_s* LCI_device_t;
typedef struct LCI_endpoint_s* LCI_endpoint_t;
typedef struct LCI_plist_s* LCI_plist_t;

#ifdef LCI_USE_AVX
#define LCI_VECTOR_(type) __attribute__((vector_size(32), aligned(8))) type
typedef LCI_VECTOR_(uint8_t) LCI_u8_t;
typedef LCI_VECTOR_(uint16_t) LCI_u16_t;
typedef LCI_VECTOR_(uint32_t) LCI_u32_t;
typedef LCI_VECTOR_(uint64_t) LCI_u64_t;
typedef LCI_VECTOR_(int8_t) LCI_s8_t;
typedef LCI_VECTOR_(int16_t) LCI_s16_t;
typedef LCI_VECTOR_(int32_t) LCI_s32_t;
typedef LCI_VECTOR_(int64_t) LCI_s64_t;
typedef LCI_VECTOR_(double) LCI_dbl_t;
typedef LCI_VECTOR_(float) LCI_flt_t;
#define LCI_VECTOR_MEMBERS_ \
  LCI_u8_t u8;              \
  LCI_u16_t u16;            \
  LCI_u32_t u32;            \
  LCI_u64_t u64;            \
  LCI_s8_t s8;              \
  LCI_s16_t s16;            \
  LCI_s32_t s32;            \
  LCI_s64_t s64;            \
  LCI_dbl_t dbl;            \
  LCI_flt_t flt;
#else
#define LCI_VECTOR_MEMBERS_
#endif

/* A short message, passed by value. Aligned to 8 bytes, since programs store numbers through its address. */
typedef union LCI_short_t {
  char val[LCI_SHORT_SIZE];
  uint64_t words[LCI_SHORT_SIZE / 8];
  LCI_VECTOR_MEMBERS_
} LCI_short_t;

typedef struct LCI_mbuffer_t {
  void* address;
  size_t length;
} LCI_mbuffer_t;

typedef struct LCI_lbuffer_t {
  LCI_segment_t segment;
  void* address;
  size_t length;
} LCI_lbuffer_t;

/* At most LCI_IOVEC_SIZE long buffers and LCI_get_iovec_piggy_back_size(count) further bytes, in one message. */
typedef struct LCI_iovec_t {
  LCI_mbuffer_t piggy_back;
  LCI_lbuffer_t* lbuffers;
  int count;
} LCI_iovec_t;

typedef union LCI_data_t {
  LCI_short_t immediate;
  LCI_mbuffer_t mbuffer;
  LCI_lbuffer_t lbuffer;
  LCI_iovec_t iovec;
} LCI_data_t;

/* A completed communication. flag: LCI_OK, or LCI_ERR_FATAL if it has failed (or a message was truncated). rank: the
 * peer. For a put by a peer, data is the received data, and user_context is NULL; for an iovec whose target the peer
 * has named, data has the piggy-back buffer and the number of long buffers, but lbuffers is NULL. */
typedef struct LCI_request_t {
  LCI_error_t flag;
  int rank;
  LCI_tag_t tag;
  LCI_data_type_t type;
  LCI_data_t data;
  void* user_context;
} LCI_request_t;

/* A handler. Runs inside LCI_progress() or a call that posts, in the calling thread. It must not call LCI. */
typedef void (*LCI_handler_t)(LCI_request_t request);

/* --- globals, for reading --- */

extern LCI_API int LCI_NUM_PROCESSES, LCI_RANK, LCI_NUM_DEVICES;
extern LCI_API LCI_device_t LCI_UR_DEVICE;
extern LCI_API LCI_endpoint_t LCI_UR_ENDPOINT;
extern LCI_API LCI_comp_t LCI_UR_CQ;

/* Settings; most of them are read from environment variables of the same names by LCI_initialize(). */
extern LCI_API int LCI_MAX_ENDPOINTS; /* endpoints of a process at a time */
extern LCI_API int LCI_MAX_TAG;       /* largest tag */
extern LCI_API int LCI_MEDIUM_SIZE;   /* bytes of a medium buffer; -1 before LCI_initialize() */
extern LCI_API int LCI_IOVEC_SIZE;    /* long buffers of an iovec */
extern LCI_API int LCI_MAX_SYNC_LENGTH;
extern LCI_API int LCI_PACKET_SIZE;     /* bytes of a packet: a medium buffer and a header */
extern LCI_API int LCI_SERVER_NUM_PKTS; /* packets of the process */
extern LCI_API int LCI_USE_DREG;        /* whether registrations on the fly are cached */
extern LCI_API int LCI_SERVER_MAX_SENDS, LCI_SERVER_MAX_RECVS, LCI_SERVER_MAX_CQES; /* of a device's network */
/* Queues and matching tables grow without a limit of their own; these have no effect. */
extern LCI_API int LCI_DEFAULT_QUEUE_LENGTH, LCI_MAX_QUEUE_LENGTH, LCI_DEFAULT_TABLE_LENGTH, LCI_MAX_TABLE_LENGTH;
/* Settings of the published implementation, which have no effect here. */
extern LCI_API int LCI_PACKET_RETURN_THRESHOLD, LCI_IBV_USE_ODP, LCI_TOUCH_LBUFFER, LCI_IBV_USE_PREFETCH;
extern LCI_API int LCI_SEND_SLOW_DOWN_USEC, LCI_RECV_SLOW_DOWN_USEC;
__extension__ extern LCI_API bool LCI_IBV_ENABLE_EVENT_POLLING_THREAD; /* C89 has no bool */
extern LCI_API size_t LCI_MAX_SINGLE_MESSAGE_SIZE;

/* --- start and end --- */

/* Collective. Creates LCI_UR_DEVICE, LCI_UR_ENDPOINT and LCI_UR_CQ. Parts of a program may each call it, and call
 * LCI_finalize() as often: only the first call initializes, and further ones are counted and return at once. One thread
 * at a time may be in these two functions. */
LCI_API LCI_error_t LCI_initialize(void);
/* Collective; the call that matches the first LCI_initialize() waits for all ranks and frees everything, the others
 * only count. After that LCI_initialize() may be called again. */
LCI_API LCI_error_t LCI_finalize(void);
/* Sets *flag to 1 from LCI_initialize() to the last LCI_finalize(), else to 0. May be called at any time. */
LCI_API LCI_error_t LCI_initialized(int* flag);
/* Waits for all ranks, with progress on LCI_UR_DEVICE, and on other devices if no thread calls LCI_progress() for
 * them. */
LCI_API LCI_error_t LCI_barrier(void);

/* --- devices, endpoints and their properties --- */

/* Collective, also of LCI_UR_DEVICE: the devices that the ranks create in one call are a group. Messages do not leave
 * their group. */
LCI_API LCI_error_t LCI_device_init(LCI_device_t* device);
LCI_API LCI_error_t LCI_device_initx(LCI_device_t* device);
LCI_API LCI_error_t LCI_device_free(LCI_device_t* device);
/* Polls the device. LCI_OK: something has happened; LCI_ERR_RETRY: nothing has. */
LCI_API LCI_error_t LCI_progress(LCI_device_t device);

/* Matching by rank and tag, queues on both ports, LCI_UR_CQ as default completion object. */
LCI_API LCI_error_t LCI_plist_create(LCI_plist_t* plist);
LCI_API LCI_error_t LCI_plist_free(LCI_plist_t* plist);
/* A copy of an endpoint's list, for the caller to free. */
LCI_API LCI_error_t LCI_plist_get(LCI_endpoint_t endpoint, LCI_plist_t* plist);
/* Writes the list as text of less than 160 bytes. */
LCI_API LCI_error_t LCI_plist_decode(LCI_plist_t plist, char* string);
LCI_API LCI_error_t LCI_plist_set_match(LCI_plist_t* plist, LCI_match_t match);
LCI_API LCI_error_t LCI_plist_set_match_type(LCI_plist_t plist, LCI_match_t match);
LCI_API LCI_error_t LCI_plist_set_comp_type(LCI_plist_t plist, LCI_port_t port, LCI_comp_type_t type);
LCI_API LCI_error_t LCI_plist_set_default_comp(LCI_plist_t plist, LCI_comp_t comp);

/* Collective, but does not wait for other ranks. The k-th endpoint of a device communicates with the k-th endpoints
 * of the other ranks. */
LCI_API LCI_error_t LCI_endpoint_init(LCI_endpoint_t* endpoint, LCI_device_t device, LCI_plist_t plist);
LCI_API LCI_error_t LCI_endpoint_free(LCI_endpoint_t* endpoint);

/* --- memory --- */

LCI_API LCI_error_t LCI_memory_register(LCI_device_t device, void* address, size_t length, LCI_segment_t* segment);
/* Also frees what LCI_segment_deserialize() has made. Sets *segment to NULL. */
LCI_API LCI_error_t LCI_memory_deregister(LCI_segment_t* segment);
/* Printable text of at most LCI_SEGMENT_SERIALIZED_MAX bytes, for other ranks to put to and get from the segment. */
LCI_API LCI_error_t LCI_segment_serialize(LCI_segment_t segment, char* string);
LCI_API LCI_error_t LCI_segment_deserialize(char* string, LCI_segment_t* segment);

/* Returns LCI_ERR_RETRY if all packets are in use. */
LCI_API LCI_error_t LCI_mbuffer_alloc(LCI_device_t device, LCI_mbuffer_t* mbuffer);
LCI_API LCI_error_t LCI_mbuffer_free(LCI_mbuffer_t mbuffer);
LCI_API LCI_error_t LCI_medium_free(LCI_mbuffer_t mbuffer);
LCI_API LCI_error_t LCI_lbuffer_alloc(LCI_device_t device, size_t size, LCI_lbuffer_t* lbuffer);
LCI_API LCI_error_t LCI_lbuffer_memalign(LCI_device_t device, size_t size, size_t alignment, LCI_lbuffer_t* lbuffer);
/* For buffers of the two functions above, and long buffers that the library has allocated for a message. */
LCI_API LCI_error_t LCI_lbuffer_free(LCI_lbuffer_t lbuffer);
LCI_API size_t LCI_get_iovec_piggy_back_size(int count);

/* --- completion objects --- */

/* Queues grow. `device` may be NULL: waits then make progress on all devices. */
LCI_API LCI_error_t LCI_queue_create(LCI_device_t device, LCI_comp_t* cq);
LCI_API LCI_error_t LCI_queue_createx(LCI_device_t device, size_t max_length, LCI_comp_t* cq);
LCI_API LCI_error_t LCI_queue_free(LCI_comp_t* cq);
/* Returns LCI_ERR_RETRY if the queue is empty. */
LCI_API LCI_error_t LCI_queue_pop(LCI_comp_t cq, LCI_request_t* request);
LCI_API LCI_error_t LCI_queue_pop_multiple(LCI_comp_t cq, size_t request_count, LCI_request_t* requests,
                                           size_t* return_count);
/* The waits make progress unless another thread does, and sleep while there is nothing to do. LCI_queue_wait_multiple()
 * takes its requests together, when there are as many: until then others can take them. */
LCI_API LCI_error_t LCI_queue_wait(LCI_comp_t cq, LCI_request_t* request);
LCI_API LCI_error_t LCI_queue_wait_multiple(LCI_comp_t cq, size_t request_count, LCI_request_t* requests);
LCI_API LCI_error_t LCI_queue_len(LCI_comp_t cq, size_t* len);

/* Fires after `threshold` completions, then counts anew. More than that may arrive before it is tested, up to 65536;
 * they count for the next rounds. `requests`: `threshold` of them, or NULL. */
LCI_API LCI_error_t LCI_sync_create(LCI_device_t device, int threshold, LCI_comp_t* synchronizer);
LCI_API LCI_error_t LCI_sync_free(LCI_comp_t* synchronizer);
LCI_API LCI_error_t LCI_sync_signal(LCI_comp_t synchronizer, LCI_request_t request);
LCI_API LCI_error_t LCI_sync_wait(LCI_comp_t synchronizer, LCI_request_t requests[]);
LCI_API LCI_error_t LCI_sync_test(LCI_comp_t synchronizer, LCI_request_t requests[]);

/* Valid until LCI_finalize(). */
LCI_API LCI_error_t LCI_handler_create(LCI_device_t device, LCI_handler_t handler, LCI_comp_t* completion);

/* --- send and receive ---
 * Short, medium, long messages and iovecs are matched among themselves. sends, sendm and sendmn are complete when they
 * return LCI_OK. The others signal `completion`, which may be NULL except where the library allocates the buffer. */

LCI_API LCI_error_t LCI_sends(LCI_endpoint_t ep, LCI_short_t src, int rank, LCI_tag_t tag);
LCI_API LCI_error_t LCI_sendm(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag);
/* The buffer is one of LCI_mbuffer_alloc(), or was received. The library has it afterwards, also if the target has
 * failed; unless LCI_ERR_RETRY is returned, or an argument is invalid. The same holds for LCI_putmn(), LCI_putmna(). */
LCI_API LCI_error_t LCI_sendmn(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag);
LCI_API LCI_error_t LCI_sendmc(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, LCI_comp_t completion,
                               void* user_context);
LCI_API LCI_error_t LCI_sendl(LCI_endpoint_t ep, LCI_lbuffer_t buffer, int rank, LCI_tag_t tag, LCI_comp_t completion,
                              void* user_context);
LCI_API LCI_error_t LCI_sendv(LCI_endpoint_t ep, LCI_iovec_t iovec, int rank, LCI_tag_t tag, LCI_comp_t completion,
                              void* user_context);
LCI_API LCI_error_t LCI_recvs(LCI_endpoint_t ep, int rank, LCI_tag_t tag, LCI_comp_t completion, void* user_context);
LCI_API LCI_error_t LCI_recvm(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, LCI_comp_t completion,
                              void* user_context);
LCI_API LCI_error_t LCI_recvmn(LCI_endpoint_t ep, int rank, LCI_tag_t tag, LCI_comp_t completion, void* user_context);
/* buffer.address NULL: the library allocates the buffer; free it with LCI_lbuffer_free(). */
LCI_API LCI_error_t LCI_recvl(LCI_endpoint_t ep, LCI_lbuffer_t buffer, int rank, LCI_tag_t tag, LCI_comp_t completion,
                              void* user_context);
/* As many long buffers as were sent, none of them shorter. The array iovec.lbuffers must live until the receive is
 * complete: the library writes the lengths of the message to it. iovec.lbuffers NULL: the library allocates all; free
 * the array and a piggy-back buffer with free(), the long buffers with LCI_lbuffer_free(). */
LCI_API LCI_error_t LCI_recvv(LCI_endpoint_t ep, LCI_iovec_t iovec, int rank, LCI_tag_t tag, LCI_comp_t completion,
                              void* user_context);

/* --- put and get ---
 * `remote_completion`: LCI_DEFAULT_COMP_REMOTE, or a completion object of the target as a number. Buffers that the
 * library allocates at the target are freed there as for receives. */

LCI_API LCI_error_t LCI_puts(LCI_endpoint_t ep, LCI_short_t src, int rank, LCI_tag_t tag, uintptr_t remote_completion);
/* Puts the data into `remote`, memory of the target. */
LCI_API LCI_error_t LCI_putm(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, LCI_mbuffer_t remote,
                             uintptr_t remote_completion);
LCI_API LCI_error_t LCI_putmn(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, LCI_mbuffer_t remote,
                              uintptr_t remote_completion);
LCI_API LCI_error_t LCI_putma(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag,
                              uintptr_t remote_completion);
LCI_API LCI_error_t LCI_putmna(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag,
                               uintptr_t remote_completion);
LCI_API LCI_error_t LCI_putmac(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag,
                               uintptr_t remote_completion, LCI_comp_t local_completion, void* user_context);
/* remote.segment: from LCI_segment_deserialize(). */
LCI_API LCI_error_t LCI_putl(LCI_endpoint_t ep, LCI_lbuffer_t local, LCI_comp_t local_completion, int rank,
                             LCI_tag_t tag, LCI_lbuffer_t remote, uintptr_t remote_completion, void* user_context);
LCI_API LCI_error_t LCI_putla(LCI_endpoint_t ep, LCI_lbuffer_t buffer, LCI_comp_t completion, int rank, LCI_tag_t tag,
                              uintptr_t remote_completion, void* user_context);
/* Reads `length` bytes into *local. */
LCI_API LCI_error_t LCI_getl(LCI_endpoint_t ep, LCI_lbuffer_t* local, size_t length, LCI_comp_t local_completion,
                             int rank, LCI_tag_t tag, LCI_lbuffer_t remote, uintptr_t remote_completion,
                             void* user_context);
LCI_API LCI_error_t LCI_putv(LCI_endpoint_t ep, LCI_iovec_t local, LCI_comp_t local_completion, int rank, LCI_tag_t tag,
                             LCI_iovec_t remote, uintptr_t remote_completion, void* user_context);
/* LCI_putv() without local completion: the long buffers are free after LCI_fence_wait(). */
LCI_API LCI_error_t LCI_putvs(LCI_endpoint_t ep, LCI_iovec_t local, int rank, LCI_tag_t tag, LCI_iovec_t remote,
                              uintptr_t remote_completion, void* user_context);
LCI_API LCI_error_t LCI_putva(LCI_endpoint_t ep, LCI_iovec_t iovec, LCI_comp_t completion, int rank, LCI_tag_t tag,
                              uintptr_t remote_completion, void* user_context);
LCI_API LCI_error_t LCI_getv(LCI_endpoint_t ep, LCI_iovec_t local, LCI_comp_t local_completion, int rank, LCI_tag_t tag,
                             LCI_iovec_t remote, uintptr_t remote_completion, void* user_context);

/* --- fences --- */

/* Waits until all communications that this process has issued on the endpoint are complete here; receives, which wait
 * for others, do not count. */
LCI_API LCI_error_t LCI_fence_wait(LCI_endpoint_t endpoint);
/* Collective. Waits until all communications that any rank has issued on this endpoint are complete at both ends; but
 * the handler of a short message may still be running in another thread. */
LCI_API LCI_error_t LCI_gfence_wait(LCI_endpoint_t endpoint);

/* --- collective operations, experimental in the public versions ---
 * All ranks must start the operations of one endpoint and tag in the same order, and at most four of them may be
 * incomplete at a time. Other messages of the endpoint do not match those of collective operations.
 * Call LCIX_coll_progress() until it returns something else than LCI_ERR_RETRY: then the operation is complete, and the
 * handle is NULL. A function that starts an operation sets the handle to NULL if the operation is already complete.
 * Completion signals `completion`, which may be NULL, with the buffer, this rank and `user_context`. If an operation
 * fails at one rank, it completes with LCI_ERR_FATAL at all ranks that depend on that rank. */

typedef struct LCIX_collective_s* LCIX_collective_t;
/* Computes dst[] = dst[] op src[] for `length` bytes. Must be associative and commutative. */
typedef void (*LCI_op_t)(void* dst, const void* src, size_t length);

/* Makes progress on the operation and on the endpoint's device. One thread at a time may call it for a handle. */
LCI_API LCI_error_t LCIX_coll_progress(LCIX_collective_t* collective);
LCI_API LCI_error_t LCIX_barrier(LCI_endpoint_t ep, LCI_tag_t tag, LCI_comp_t completion, void* user_context,
                                 LCIX_collective_t* collective);
LCI_API LCI_error_t LCIX_bcastm(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int root, LCI_tag_t tag, LCI_comp_t completion,
                                void* user_context, LCIX_collective_t* collective);
LCI_API LCI_error_t LCIX_bcastl(LCI_endpoint_t ep, LCI_lbuffer_t buffer, int root, LCI_tag_t tag, LCI_comp_t completion,
                                void* user_context, LCIX_collective_t* collective);
/* Reduces the buffers of all ranks, and stores the result in each rank's buffer. */
LCI_API LCI_error_t LCIX_allreducem(LCI_endpoint_t ep, LCI_mbuffer_t buffer, LCI_op_t op, LCI_tag_t tag,
                                    LCI_comp_t completion, void* user_context, LCIX_collective_t* collective);
LCI_API LCI_error_t LCIX_allreducel(LCI_endpoint_t ep, LCI_lbuffer_t buffer, LCI_op_t op, LCI_tag_t tag,
                                    LCI_comp_t completion, void* user_context, LCIX_collective_t* collective);

/* --- functions of which the specification has parameters of other types --- */

LCI_API LCI_error_t LCI_queue_pop_p(LCI_comp_t* cq, LCI_request_t* request);
/* The first request that was not filled, if any, has the flag LCI_ERR_RETRY, unless request_count is SIZE_MAX. */
LCI_API LCI_error_t LCI_queue_pop_multiple_p(LCI_comp_t* cq, size_t request_count, LCI_request_t requests[],
                                             size_t return_count);
LCI_API LCI_error_t LCI_recvm_p(LCI_endpoint_t ep, LCI_mbuffer_t* buffer, int rank, LCI_tag_t tag,
                                LCI_comp_t completion, void* user_context);

#ifdef __cplusplus
} /* extern "C" */

extern "C++" { /* because programs include this header inside of their own extern "C" */
inline LCI_error_t LCI_queue_pop(LCI_comp_t* cq, LCI_request_t* request) { return LCI_queue_pop_p(cq, request); }
inline LCI_error_t LCI_queue_pop_multiple(LCI_comp_t* cq, size_t request_count, LCI_request_t* requests,
                                          size_t return_count) {
  return LCI_queue_pop_multiple_p(cq, request_count, requests, return_count);
}
/* The queue's address, with the address of the number: without this, the address would convert to LCI_comp_t. A
 * template, so that a 0 in place of the number means the function above. */
template <class Count>
inline LCI_error_t LCI_queue_pop_multiple(LCI_comp_t* cq, size_t request_count, LCI_request_t* requests,
                                          Count* return_count) {
  return LCI_queue_pop_multiple(*cq, request_count, requests, return_count);
}
inline LCI_error_t LCI_recvm(LCI_endpoint_t ep, LCI_mbuffer_t* buffer, int rank, LCI_tag_t tag, LCI_comp_t completion,
                             void* user_context) {
  return LCI_recvm_p(ep, buffer, rank, tag, completion, user_context);
}
} /* extern "C++" */
#elif defined(LCI_STRICT_DOCUMENT)
#define LCI_queue_pop LCI_queue_pop_p
#define LCI_queue_pop_multiple LCI_queue_pop_multiple_p
#define LCI_recvm LCI_recvm_p
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/* By the exact type, since any pointer converts to LCI_comp_t. The names without arguments are those functions. */
#define LCI_queue_pop(cq, ...) _Generic((cq), LCI_comp_t * : LCI_queue_pop_p, default : LCI_queue_pop)(cq, __VA_ARGS__)
/* The commas of a compound literal, for example (LCI_mbuffer_t){p, n}, separate arguments of the macro. With more of
 * them than the function has, the public form is called. */
#define LCI_queue_pop_multiple(...)                                                                                   \
  LCI_FIFTEENTH_(__VA_ARGS__, LCI_POPM_, LCI_POPM_, LCI_POPM_, LCI_POPM_, LCI_POPM_, LCI_POPM_, LCI_POPM_, LCI_POPM_, \
                 LCI_POPM_, LCI_POPM_, LCI_POPM_BY_TYPE_, LCI_POPM_, LCI_POPM_, LCI_POPM_)                            \
  (__VA_ARGS__)
#define LCI_POPM_(...) (LCI_queue_pop_multiple)(__VA_ARGS__)
/* The queue's address with the number's address, as in C++: the public form of the queue. */
#define LCI_POPM_BY_TYPE_(cq, request_count, requests, return_count)                                         \
  LCI_POPM_FORM_(cq, return_count, LCI_queue_pop_multiple_p, LCI_queue_pop_multiple, LCI_queue_pop_multiple) \
  (LCI_POPM_FORM_(cq, return_count, cq, *(LCI_comp_t*)(cq), cq), request_count, requests, return_count)
#define LCI_POPM_FORM_(cq, return_count, specification, both, public) \
  _Generic((cq), LCI_comp_t * : _Generic((return_count), size_t * : both, default : specification), default : public)
#define LCI_recvm(...)                                                                                            \
  LCI_FIFTEENTH_(__VA_ARGS__, LCI_RECVM_, LCI_RECVM_, LCI_RECVM_, LCI_RECVM_, LCI_RECVM_, LCI_RECVM_, LCI_RECVM_, \
                 LCI_RECVM_, LCI_RECVM_BY_TYPE_, LCI_RECVM_, LCI_RECVM_, LCI_RECVM_, LCI_RECVM_, LCI_RECVM_)      \
  (__VA_ARGS__)
#define LCI_FIFTEENTH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, fifteenth, ...) fifteenth
#define LCI_RECVM_(...) (LCI_recvm)(__VA_ARGS__)
#define LCI_RECVM_BY_TYPE_(ep, buffer, rank, tag, completion, user_context) \
  _Generic((buffer), LCI_mbuffer_t *                                        \
           : LCI_recvm_p, default                                           \
           : LCI_recvm)(ep, buffer, rank, tag, completion, user_context)
#endif

LCT_STATIC_ASSERT_(sizeof(LCI_short_t) == 32 && sizeof(LCI_data_t) == 32, "the layout that programs rely on");
LCT_STATIC_ASSERT_(sizeof(LCI_request_t) == 56 && offsetof(LCI_request_t, data) == 16, "as above");

#endif
