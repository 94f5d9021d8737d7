/* Types and macros of na.h that depend on the compiler. The macros of plugins (NA_HAS_BMI, NA_HAS_MPI, NA_HAS_SSM) are
 * undefined: NA accepts the names of all plugins, and uses LCI for each. */
#ifndef NA_CONFIG_H
#define NA_CONFIG_H

#include <stdint.h>

typedef int8_t na_int8_t;
typedef uint8_t na_uint8_t;
typedef int16_t na_int16_t;
typedef uint16_t na_uint16_t;
typedef int32_t na_int32_t;
typedef uint32_t na_uint32_t;
typedef int64_t na_int64_t;
typedef uint64_t na_uint64_t;

typedef na_uint8_t na_bool_t;
typedef na_uint64_t na_ptr_t;

#define NA_TRUE 1
#define NA_FALSE 0

#define NA_BUILD_SHARED_LIBS
#define NA_HAS_VERBOSE_ERROR

/* Marks the functions that the library exports. */
#define NA_EXPORT __attribute__((visibility("default")))
#define NA_INLINE __inline__
#define NA_WARN_UNUSED_RESULT __attribute__((warn_unused_result))

#endif
