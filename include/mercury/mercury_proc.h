/* Processors encode the arguments of functions, decode them, and free memory that decoding has allocated; one routine
 * for each type does all three. Encoded integers are little-endian. One thread at a time may use a processor.
 *
 * A routine returns HG_SUCCESS, or the reason of its failure. After a failed decoding, the same routine with HG_FREE
 * frees the memory that was allocated, provided that the structure was all zero before decoding. */
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

/* Allocates page-aligned memory, for large buffers. Returns NULL if there is none. */
HG_EXPORT void* hg_proc_buf_alloc(size_t size);
HG_EXPORT hg_return_t hg_proc_buf_free(void* buf);

/* Creates a processor for a buffer. With HG_DECODE, the encoded data may be shorter than buf_size; with HG_FREE, the
 * buffer may be NULL. */
HG_EXPORT hg_return_t hg_proc_create(void* buf, size_t buf_size, hg_proc_op_t op, hg_proc_hash_t hash, hg_proc_t* proc);
HG_EXPORT hg_return_t hg_proc_free(hg_proc_t proc);
HG_EXPORT hg_proc_op_t hg_proc_get_op(hg_proc_t proc);

/* The size of the buffer, or of the extra buffer if there is one. */
HG_EXPORT size_t hg_proc_get_size(hg_proc_t proc);
/* Makes room for `size` bytes in total. If the buffer is smaller, the encoder allocates an extra buffer, copies the
 * encoded data there and continues in it. It also does so when the buffer is full. */
HG_EXPORT hg_return_t hg_proc_set_size(hg_proc_t proc, size_t size);
HG_EXPORT size_t hg_proc_get_size_left(hg_proc_t proc);
/* The position of the next byte. The setter returns HG_SIZE_ERROR for a position outside of the buffer. */
HG_EXPORT void* hg_proc_get_buf_ptr(hg_proc_t proc);
HG_EXPORT hg_return_t hg_proc_set_buf_ptr(hg_proc_t proc, void* buf_ptr);

/* The extra buffer and its size; NULL and 0 if there is none. By default the processor owns it. With HG_TRUE, ownership
 * is transferred to the caller, who must free it with hg_proc_buf_free(). */
HG_EXPORT void* hg_proc_get_extra_buf(hg_proc_t proc);
HG_EXPORT size_t hg_proc_get_extra_size(hg_proc_t proc);
HG_EXPORT hg_return_t hg_proc_set_extra_buf_is_mine(hg_proc_t proc, hg_bool_t mine);

/* To be called last: appends the checksum, or verifies it and returns HG_CHECKSUM_ERROR if it differs. */
HG_EXPORT hg_return_t hg_proc_flush(hg_proc_t proc);

/* Writes or reads `data_size` bytes without conversion. No effect with HG_FREE. HG_SIZE_ERROR if the message is too
 * short. */
HG_EXPORT hg_return_t hg_proc_memcpy(hg_proc_t proc, void* data, size_t data_size);
HG_EXPORT hg_return_t hg_proc_raw(hg_proc_t proc, void* buf, size_t buf_size);

/* The implementation of hg_proc_get_xdr_ptr() below. */
HG_EXPORT void* hg_proc_get_xdr(hg_proc_t proc);

HG_EXPORT hg_return_t hg_proc_hg_int8_t(hg_proc_t proc, hg_int8_t* data);
HG_EXPORT hg_return_t hg_proc_hg_uint8_t(hg_proc_t proc, hg_uint8_t* data);
HG_EXPORT hg_return_t hg_proc_hg_int16_t(hg_proc_t proc, hg_int16_t* data);
HG_EXPORT hg_return_t hg_proc_hg_uint16_t(hg_proc_t proc, hg_uint16_t* data);
HG_EXPORT hg_return_t hg_proc_hg_int32_t(hg_proc_t proc, hg_int32_t* data);
HG_EXPORT hg_return_t hg_proc_hg_uint32_t(hg_proc_t proc, hg_uint32_t* data);
HG_EXPORT hg_return_t hg_proc_hg_int64_t(hg_proc_t proc, hg_int64_t* data);
HG_EXPORT hg_return_t hg_proc_hg_uint64_t(hg_proc_t proc, hg_uint64_t* data);
/* HG_BULK_NULL is encoded, too. Decoding creates a handle, which HG_FREE frees. */
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

/* Copies to or from `buf` and returns the position after the data. For routines that make room with hg_proc_set_size()
 * and access the buffer directly. */
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
/* For programs that define HG_HAS_XDR and link with libtirpc: a stream for XDR routines. It reads and writes at the
 * processor's position. The processor owns it. NULL if there is no memory. */
static HG_INLINE XDR* hg_proc_get_xdr_ptr(hg_proc_t proc) { return (XDR*)hg_proc_get_xdr(proc); }
#endif

#endif
