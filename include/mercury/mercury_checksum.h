/* Checksums that are computed piece by piece. A checksum is used by one thread at a time. */
#ifndef MERCURY_CHECKSUM_H
#define MERCURY_CHECKSUM_H

#include <mercury_config.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* hg_checksum_t;
#define HG_CHECKSUM_NULL ((hg_checksum_t)0)

/* All functions but one return 0 or, if an argument makes no sense or memory is short, -1.
 *
 * Methods: "crc64" of 8 bytes, reflected, polynomial 0x95AC9329AC4BC9B5 with the lowest power at the top, from all
 * ones; "crc16" of 2 bytes, not reflected, polynomial 0x8BB7, from 0. */
HG_EXPORT int hg_checksum_init(const char* hash_method, hg_checksum_t* checksum);
HG_EXPORT int hg_checksum_destroy(hg_checksum_t checksum);
/* Begins anew. */
HG_EXPORT int hg_checksum_reset(hg_checksum_t checksum);
/* In bytes; 0 for NULL. */
HG_EXPORT size_t hg_checksum_get_size(hg_checksum_t checksum);
/* Copies the checksum of all data so far, an integer in the order of this machine, to a buffer of `size` bytes or more.
 * `finalize` has no effect: more data may follow. */
HG_EXPORT int hg_checksum_get(hg_checksum_t checksum, void* buf, size_t size, int finalize);
HG_EXPORT int hg_checksum_update(hg_checksum_t checksum, const void* data, size_t size);

#ifdef __cplusplus
}
#endif

#endif
