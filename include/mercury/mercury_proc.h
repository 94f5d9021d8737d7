/* Processors, which encode the arguments of functions, decode them, and free what decoding has allocated, all by one
 * routine for each type. Integers travel in little-endian order. A processor is used by one thread at a time.
 *
 * A routine returns HG_SUCCESS, or the reason why it failed. What a failed decoding has allocated is freed by the
 * routine with HG_FREE, if the structure was all zero before. */
#ifndef MERCURY_PROC_H
#define MERCURY_PROC_H

#include <mercury_bulk.h>
#include <mercury_error.h>
#include <mercury_types.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory at the begin of a page, for large buffers; NULL if there is none. */
HG_EXPORT void* hg_proc_buf_alloc(size_t size);
HG_EXPORT hg_return_t hg_proc_buf_free(void* buf);

/* A processor on a buffer. With HG_DECODE, buf_size is what the buffer has at most; with HG_FREE the buffer may be
 * NULL. */
HG_EXPORT hg_return_t hg_proc_create(void* buf, size_t buf_size, hg_proc_op_t op, hg_proc_hash_t hash, hg_proc_t* proc);
HG_EXPORT hg_return_t hg_proc_free(hg_proc_t proc);
HG_EXPORT hg_proc_op_t hg_proc_get_op(hg_proc_t proc);

/* The size of the buffer, or of the extra buffer where there is one. */
HG_EXPORT size_t hg_proc_get_size(hg_proc_t proc);
/* Makes room for `size` bytes in all. An encoder that has less room copies what it has encoded so far into an extra
 * buffer and continues there; it does that by itself when the buffer is full, too. */
HG_EXPORT hg_return_t hg_proc_set_size(hg_proc_t proc, size_t size);
HG_EXPORT size_t hg_proc_get_size_left(hg_proc_t proc);
/* Where the next byte is written or read. Outside of the buffer, HG_SIZE_ERROR. */
HG_EXPORT void* hg_proc_get_buf_ptr(hg_proc_t proc);
HG_EXPORT hg_return_t hg_proc_set_buf_ptr(hg_proc_t proc, void* buf_ptr);

/* The extra buffer and its size; NULL and 0 without one. The processor frees it unless it belongs to the caller
 * (HG_TRUE), who frees it with hg_proc_buf_free(). */
HG_EXPORT void* hg_proc_get_extra_buf(hg_proc_t proc);
HG_EXPORT size_t hg_proc_get_extra_size(hg_proc_t proc);
HG_EXPORT hg_return_t hg_proc_set_extra_buf_is_mine(hg_proc_t proc, hg_bool_t mine);

/* The last step: appends the checksum, or compares it; HG_CHECKSUM_ERROR if it is another. */
HG_EXPORT hg_return_t hg_proc_flush(hg_proc_t proc);

/* Writes or reads `data_size` bytes as they are; nothing with HG_FREE. HG_SIZE_ERROR if the message ends before. */
HG_EXPORT hg_return_t hg_proc_memcpy(hg_proc_t proc, void* data, size_t data_size);
HG_EXPORT hg_return_t hg_proc_raw(hg_proc_t proc, void* buf, size_t buf_size);

/* What hg_proc_get_xdr_ptr() below returns. */
HG_EXPORT void* hg_proc_get_xdr(hg_proc_t proc);

HG_EXPORT hg_return_t hg_proc_hg_int8_t(hg_proc_t proc, hg_int8_t* data);
HG_EXPORT hg_return_t hg_proc_hg_uint8_t(hg_proc_t proc, hg_uint8_t* data);
HG_EXPORT hg_return_t hg_proc_hg_int16_t(hg_proc_t proc, hg_int16_t* data);
HG_EXPORT hg_return_t hg_proc_hg_uint16_t(hg_proc_t proc, hg_uint16_t* data);
HG_EXPORT hg_return_t hg_proc_hg_int32_t(hg_proc_t proc, hg_int32_t* data);
HG_EXPORT hg_return_t hg_proc_hg_uint32_t(hg_proc_t proc, hg_uint32_t* data);
HG_EXPORT hg_return_t hg_proc_hg_int64_t(hg_proc_t proc, hg_int64_t* data);
HG_EXPORT hg_return_t hg_proc_hg_uint64_t(hg_proc_t proc, hg_uint64_t* data);
/* HG_BULK_NULL travels as such. Decoding makes a handle, which HG_FREE frees. */
HG_EXPORT hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, hg_bulk_t* handle);

#define hg_proc_int8_t hg_proc_hg_int8_t
#define hg_proc_uint8_t hg_proc_hg_uint8_t
#define hg_proc_int16_t hg_proc_hg_int16_t
#define hg_proc_uint16_t hg_proc_hg_uint16_t
#define hg_proc_int32_t hg_proc_hg_int32_t
#define hg_proc_uint32_t hg_proc_hg_uint32_t
#define hg_proc_int64_t hg_proc_hg_int64_t
#define hg_proc_uint64_t hg_proc_hg_uint64_t
#define hg_proc_hg_bool_t hg_proc_hg_uint8_t
#define hg_proc_hg_ptr_t hg_proc_hg_uint64_t
#define hg_proc_hg_id_t hg_proc_hg_uint32_t

/* Copies to or from `buf`, whose end it returns. For routines that reserve room by hg_proc_set_size() and write by
 * themselves. */
static HG_INLINE void* hg_proc_buf_memcpy(void* buf, void* data, size_t data_size, hg_proc_op_t op) {
  if (data_size > 0 && op == HG_ENCODE) memcpy(buf, data, data_size);
  if (data_size > 0 && op == HG_DECODE) memcpy(data, buf, data_size);
  return (char*)buf + data_size;
}

#ifdef __cplusplus
}
#endif

#if defined(HG_HAS_XDR)
#include <rpc/types.h>
#include <rpc/xdr.h>
/* For programs that define HG_HAS_XDR: a stream for the routines of XDR, which they link with (libtirpc). It reads and
 * writes where the processor does, and ends with it. NULL if no memory is left. */
static HG_INLINE XDR* hg_proc_get_xdr_ptr(hg_proc_t proc) { return (XDR*)hg_proc_get_xdr(proc); }
#endif

#endif
