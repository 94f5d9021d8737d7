/* Log lines for programs that use na.h: "prefix: file:line: function: text" on standard error or standard output. */
#ifndef NA_ERROR_H
#define NA_ERROR_H

#include <na_config.h>
#include <stdio.h>

/* For C++98, g++ -pedantic warns of macros with a variable number of arguments, except in headers of the system. */
#if defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif

/* Macros with a variable number of arguments are newer than C89, for which programs may be compiled with -pedantic. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvariadic-macros"
#define NA_LOG_LINE_(stream, prefix, ...)                                                   \
  do {                                                                                      \
    fprintf(stream, "%s: %s:%d: %s: ", prefix, __FILE__, __LINE__, __extension__ __func__); \
    fprintf(stream, __VA_ARGS__);                                                           \
    fprintf(stream, "\n");                                                                  \
  } while (0)

#define NA_LOG_ERROR(...) NA_LOG_LINE_(stderr, "na: error", __VA_ARGS__)
#define NA_LOG_WARNING(...) NA_LOG_LINE_(stderr, "na: warning", __VA_ARGS__)
#define NA_LOG_DEBUG(...) NA_LOG_LINE_(stdout, "na: debug", __VA_ARGS__)
#pragma GCC diagnostic pop

#endif
