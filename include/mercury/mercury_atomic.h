/* Integers that threads share. All accesses are sequentially consistent. */
#ifndef MERCURY_ATOMIC_H
#define MERCURY_ATOMIC_H

#include <mercury_util_config.h>

typedef hg_util_int32_t hg_atomic_int32_t;

#ifdef __cplusplus
extern "C" {
#endif

static HG_UTIL_INLINE void hg_atomic_set32(hg_atomic_int32_t* ptr, hg_util_int32_t value) {
  __atomic_store_n(ptr, value, __ATOMIC_SEQ_CST);
}

static HG_UTIL_INLINE hg_util_int32_t hg_atomic_get32(hg_atomic_int32_t* ptr) {
  return __atomic_load_n(ptr, __ATOMIC_SEQ_CST);
}

/* Increment and decrement return the new value. */
static HG_UTIL_INLINE hg_util_int32_t hg_atomic_incr32(hg_atomic_int32_t* ptr) {
  return __atomic_add_fetch(ptr, 1, __ATOMIC_SEQ_CST);
}

static HG_UTIL_INLINE hg_util_int32_t hg_atomic_decr32(hg_atomic_int32_t* ptr) {
  return __atomic_sub_fetch(ptr, 1, __ATOMIC_SEQ_CST);
}

/* Stores swap_value if the value equals compare_value. Returns whether it was stored. */
static HG_UTIL_INLINE hg_util_bool_t hg_atomic_cas32(hg_atomic_int32_t* ptr, hg_util_int32_t compare_value,
                                                     hg_util_int32_t swap_value) {
  return (hg_util_bool_t)__atomic_compare_exchange_n(ptr, &compare_value, swap_value, 0, __ATOMIC_SEQ_CST,
                                                     __ATOMIC_SEQ_CST);
}

#ifdef __cplusplus
}
#endif

#endif
