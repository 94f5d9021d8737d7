/* What lct.h needs to know of compiler and machine. C and C++. */
#ifndef LCT_CONFIG_H
#define LCT_CONFIG_H

#include <limits.h>

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

/* Static assertions. */
#define LCT_JOIN2_(a, b) a##b
#define LCT_JOIN_(a, b) LCT_JOIN2_(a, b)
#define LCT_OLD_ASSERT_(expr) \
  typedef char LCT_JOIN_(LCT_static_assert_, __LINE__)[(expr) ? 1 : -1] __attribute__((unused))
#if defined(__cplusplus) ? __cplusplus < 201103L : !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
/* Compilers for C89 and C++98 warn of types and macros that the interface needs, except in headers of the system. */
#pragma GCC system_header
#define LCT_OLD_LANGUAGE_
#define LCT_STATIC_ASSERT_(expr, text) LCT_OLD_ASSERT_(expr)
#elif defined(__cplusplus)
#define LCT_STATIC_ASSERT_(expr, text) static_assert(expr, text)
#elif __STDC_VERSION__ >= 201112L
#define LCT_STATIC_ASSERT_(expr, text) _Static_assert(expr, text)
#else
#define LCT_STATIC_ASSERT_(expr, text) LCT_OLD_ASSERT_(expr)
#endif

/* Forms of macros of lct.h that do nothing unless the program defines LCT_DEBUG. */
#ifdef LCT_DEBUG
#define LCT_DBG_Assert(...) LCT_Assert(__VA_ARGS__)
#define LCT_DBG_Log(...) LCT_Log(__VA_ARGS__)
#define LCT_DBG_Warn(...) LCT_Warn(__VA_ARGS__)
#else
#define LCT_DBG_Assert(...) ((void)0)
#define LCT_DBG_Log(...) ((void)0)
#define LCT_DBG_Warn(...) ((void)0)
#endif

#endif
