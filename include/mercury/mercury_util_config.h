/* Types and constants of Mercury's utility functions. */
#ifndef MERCURY_UTIL_CONFIG_H
#define MERCURY_UTIL_CONFIG_H

#include <stddef.h>
#include <stdint.h>

typedef int8_t hg_util_int8_t;
typedef uint8_t hg_util_uint8_t;
typedef int16_t hg_util_int16_t;
typedef uint16_t hg_util_uint16_t;
typedef int32_t hg_util_int32_t;
typedef uint32_t hg_util_uint32_t;
typedef int64_t hg_util_int64_t;
typedef uint64_t hg_util_uint64_t;
typedef uint8_t hg_util_bool_t;
typedef uint64_t hg_util_ptr_t;

#define HG_UTIL_FALSE 0
#define HG_UTIL_TRUE 1
#define HG_UTIL_SUCCESS 0
#define HG_UTIL_FAIL (-1)

#if defined(__GNUC__)
#define HG_UTIL_EXPORT __attribute__((visibility("default")))
#else
#define HG_UTIL_EXPORT
#endif
#define HG_UTIL_INLINE __inline__

#endif
