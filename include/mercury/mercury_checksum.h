/* Checksums of data in several pieces. One thread at a time may use a checksum. */
#ifndef MERCURY_CHECKSUM_H
#define MERCURY_CHECKSUM_H

#include <mercury_config.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* hg_checksum_t;
#define HG_CHECKSUM_NULL ((hg_checksum_t)0)

/* All functions except hg_checksum_get_size() return 0, or -1 if an argument is invalid or there is no memory.
 *
 * Methods: "crc64": 8 bytes, reflected, polynomial 0x95AC9329AC4BC9B5 (most significant bit: lowest power), initial
 * value all ones. "crc16": 2 bytes, not reflected, polynomial 0x8BB7, initial value 0. */
HG_EXPORT int hg_checksum_init(const char* hash_method, hg_checksum_t* checksum);
HG_EXPORT int hg_checksum_destroy(hg_checksum_t checksum);
/* Discards the data so far. */
HG_EXPORT int hg_checksum_reset(hg_checksum_t checksum);
/* The size of the checksum in bytes; 0 for NULL. */
HG_EXPORT size_t hg_checksum_get_size(hg_checksum_t checksum);
/* Copies the checksum of all data so far, an integer in native byte order, to `buf`. `size` must be at least
 * hg_checksum_get_size(). `finalize` has no effect: more data may follow. */
HG_EXPORT int hg_checksum_get(hg_checksum_t checksum, void* buf, size_t size, int finalize);
HG_EXPORT int hg_checksum_update(hg_checksum_t checksum, const void* data, size_t size);

#ifdef __cplusplus
}
#endif

#endif
