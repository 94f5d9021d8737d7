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
typedef hg_bool_t hg_status_t;   /* whether a call or a transfer has completed */
typedef hg_int32_t hg_error_t;   /* an error code of a program */
typedef void* hg_request_t;      /* an outstanding call */
typedef void* hg_proc_t;         /* encodes, decodes, or frees */
typedef void* hg_handle_t;       /* a call at its target, or at its origin if created by HG_Create() */
typedef void* hg_bulk_t;         /* memory that peers read and write */
typedef void* hg_bulk_request_t; /* an outstanding transfer */

/* A push copies from local to origin memory, a pull from origin to local memory. */
typedef enum { HG_BULK_PUSH, HG_BULK_PULL } hg_bulk_op_t;

#define HG_BULK_READWRITE NA_MEM_READWRITE
#define HG_BULK_READ_ONLY NA_MEM_READ_ONLY
#define HG_BULK_WRITE_ONLY NA_MEM_READWRITE /* peers may read such memory, too */

#define HG_STATUS_IGNORE ((hg_status_t*)1) /* pass this if the status is not needed */
#define HG_MAX_IDLE_TIME NA_MAX_IDLE_TIME  /* a time limit in ms that is practically unlimited */

#define HG_REQUEST_NULL ((hg_request_t)0)
#define HG_PROC_NULL ((hg_proc_t)0)
#define HG_HANDLE_NULL ((hg_handle_t)0)
#define HG_BULK_NULL ((hg_bulk_t)0)
#define HG_BULK_REQUEST_NULL ((hg_bulk_request_t)0)

typedef enum { HG_ENCODE, HG_DECODE, HG_FREE } hg_proc_op_t;

/* The checksum that a processor appends to encoded data, and verifies after decoding. */
typedef enum { HG_CRC16, HG_CRC64, HG_NOHASH } hg_proc_hash_t;

/* The negative value makes the enumeration compatible with int in C, so that functions which return int can be
 * registered. */
typedef enum hg_return {
  HG_FAIL = -1,      /* misuse of a function, or an error without a specific code */
  HG_SUCCESS = 0,    /* success */
  HG_NA_ERROR,       /* the network or the peer has failed */
  HG_TIMEOUT,        /* the time limit has passed */
  HG_INVALID_PARAM,  /* an argument is invalid */
  HG_SIZE_ERROR,     /* a buffer is too small, a message too large, or a range ends beyond its memory */
  HG_NOMEM_ERROR,    /* no memory is left */
  HG_PROTOCOL_ERROR, /* a message that is not one of this protocol and version */
  HG_NO_MATCH,       /* the peer has no such function */
  HG_CHECKSUM_ERROR  /* the checksum of a message is wrong */
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
