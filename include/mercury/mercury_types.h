/* Types and constants of the HG interface. C99 and later, and C++. */
#ifndef MERCURY_TYPES_H
#define MERCURY_TYPES_H

#include <limits.h>
#include <mercury_config.h>
#include <na.h>
#include <stddef.h>
#include <stdint.h>

typedef int8_t hg_int8_t;
typedef uint8_t hg_uint8_t;
typedef int16_t hg_int16_t;
typedef uint16_t hg_uint16_t;
typedef int32_t hg_int32_t;
typedef uint32_t hg_uint32_t;
typedef int64_t hg_int64_t;
typedef uint64_t hg_uint64_t;
typedef uint64_t hg_ptr_t;
typedef uint8_t hg_bool_t;
#define HG_TRUE 1
#define HG_FALSE 0

typedef hg_uint32_t hg_id_t;     /* a function that can be called */
typedef hg_bool_t hg_status_t;   /* whether something has completed */
typedef hg_int32_t hg_error_t;   /* an error code of a program */
typedef void* hg_request_t;      /* a call under way */
typedef void* hg_proc_t;         /* encodes, decodes, or frees */
typedef void* hg_handle_t;       /* a call, at whoever executes it, or one made by HG_Create() */
typedef void* hg_bulk_t;         /* memory that peers read and write */
typedef void* hg_bulk_request_t; /* a transfer under way */

/* To push copies from local memory to the origin's, to pull from the origin's to local memory. */
typedef enum { HG_BULK_PUSH, HG_BULK_PULL } hg_bulk_op_t;

#define HG_BULK_READWRITE NA_MEM_READWRITE
#define HG_BULK_READ_ONLY NA_MEM_READ_ONLY
#define HG_BULK_WRITE_ONLY NA_MEM_READWRITE /* peers may read such memory, too */

#define HG_STATUS_IGNORE ((hg_status_t*)1) /* instead of the address of a status that is not wanted */
#define HG_MAX_IDLE_TIME NA_MAX_IDLE_TIME  /* in ms, about as good as no limit */

#define HG_REQUEST_NULL ((hg_request_t)0)
#define HG_PROC_NULL ((hg_proc_t)0)
#define HG_HANDLE_NULL ((hg_handle_t)0)
#define HG_BULK_NULL ((hg_bulk_t)0)
#define HG_BULK_REQUEST_NULL ((hg_bulk_request_t)0)

typedef enum { HG_ENCODE, HG_DECODE, HG_FREE } hg_proc_op_t;

/* What a processor adds to what it encodes, and verifies when it has decoded. */
typedef enum { HG_CRC16, HG_CRC64, HG_NOHASH } hg_proc_hash_t;

/* The negative value gives the enumeration the size and type of int in C, so that functions which return int can be
 * registered, too. */
typedef enum hg_return {
  HG_FAIL = -1,      /* misuse of a function, or an error that has no code of its own */
  HG_SUCCESS = 0,    /* done */
  HG_NA_ERROR,       /* the network failed, or the peer has */
  HG_TIMEOUT,        /* not in time */
  HG_INVALID_PARAM,  /* an argument is out of its range */
  HG_SIZE_ERROR,     /* too small a buffer, too large a message, or beyond the end of a range */
  HG_NOMEM_ERROR,    /* no memory is left */
  HG_PROTOCOL_ERROR, /* a message that is not one of this protocol and version */
  HG_NO_MATCH,       /* the peer has no such function */
  HG_CHECKSUM_ERROR  /* a message that was changed on its way */
} hg_return_t;

/* Encodes, decodes or frees the members of *in_struct. */
typedef hg_return_t (*hg_proc_cb_t)(hg_proc_t proc, void* in_struct);
/* Executes a call. */
typedef hg_return_t (*hg_rpc_cb_t)(hg_handle_t handle);

struct hg_context {
  na_class_t* na_class;
  na_context_t* na_context;
};

#endif
