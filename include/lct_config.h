/* What lct.h needs to know of compiler and machine. C and C++. */
#ifndef LCT_CONFIG_H
#define LCT_CONFIG_H

#include <limits.h>

/* Compilers for C89 and C++98 warn of types and macros that the interface needs, except in headers of the system. */
#if defined(__cplusplus) ? __cplusplus < 201103L : !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#pragma GCC system_header
#define LCT_OLD_LANGUAGE_
#endif

/* Marks the exported functions and variables. */
#define LCT_API __attribute__((visibility("default")))
#define LCT_PRINTF_(at, first) __attribute__((format(printf, at, first)))

#define LCT_likely(x) __builtin_expect(!!(x), 1)
#define LCT_unlikely(x) __builtin_expect(!!(x), 0)

/* Bytes that processors pass between each other at once. */
#define LCT_CACHE_LINE 64

/* POSIX lets a system leave it out, and so does a strict C compiler. Linux has 64. */
#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX 64
#endif

/* Static assertions in C and C++. */
#define LCT_JOIN2_(a, b) a##b
#define LCT_JOIN_(a, b) LCT_JOIN2_(a, b)
#if defined(__cplusplus) && !defined(LCT_OLD_LANGUAGE_)
#define LCT_STATIC_ASSERT_(expr, text) static_assert(expr, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define LCT_STATIC_ASSERT_(expr, text) _Static_assert(expr, text)
#else
#define LCT_STATIC_ASSERT_(expr, text) \
  typedef char LCT_JOIN_(LCT_static_assert_, __LINE__)[(expr) ? 1 : -1] __attribute__((unused))
#endif

#endif
