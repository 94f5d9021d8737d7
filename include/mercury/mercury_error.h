/* Macros that print errors and warnings, and with HG_HAS_VERBOSE_ERROR also debug messages, on standard error, each
 * with its source location. The arguments are those of printf(). */
#ifndef MERCURY_ERROR_H
#define MERCURY_ERROR_H

#include <mercury_config.h>
#include <stdarg.h>
#include <stdio.h>

/* For C++98, g++ -pedantic warns of macros with a variable number of arguments, except in headers of the system. */
#if defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif

#if defined(__GNUC__)
__attribute__((unused, format(printf, 5, 6)))
#endif
static HG_INLINE void
hg_log_line(const char* kind, const char* file, int line, const char* function, const char* format, ...) {
  /* One fprintf() for the whole line, so that lines of several threads don't mix. A builtin, since <stdio.h> does not
   * declare vsnprintf() for C89. */
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  if (__builtin_vsnprintf(text, sizeof(text), format, arguments) < 0) text[0] = 0;
  fprintf(stderr, "mercury: %s: %s:%d: %s(): %s\n", kind, file, line, function, text);
  va_end(arguments);
}

/* Macros with a variable number of arguments are newer than C89, for which programs may be compiled with -pedantic. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvariadic-macros"
#define HG_LOG_ERROR(...) hg_log_line("error", __FILE__, __LINE__, __extension__ __func__, __VA_ARGS__)
#define HG_LOG_WARNING(...) hg_log_line("warning", __FILE__, __LINE__, __extension__ __func__, __VA_ARGS__)
#if defined(HG_HAS_VERBOSE_ERROR)
#define HG_LOG_DEBUG(...) hg_log_line("debug", __FILE__, __LINE__, __extension__ __func__, __VA_ARGS__)
#else
#define HG_LOG_DEBUG(...) (void)0
#endif
#define HG_ERROR_DEFAULT(...) HG_LOG_ERROR(__VA_ARGS__)
#define HG_WARNING_DEFAULT(...) HG_LOG_WARNING(__VA_ARGS__)
#pragma GCC diagnostic pop

#endif
