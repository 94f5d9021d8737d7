/* LCT: what programs around LCI need beside a network. Link with liblct (pkg-config lct, CMake LCI::LCT).
 *
 * C99 and later, and C++. Functions that allocate return NULL with errno ENOMEM when memory is short. A call that
 * makes no sense, or that can't do what it promises and has no result to say so, prints one line on standard error,
 * which begins with "lct: " and the function's name, and ends the process with status 1. All functions may be
 * called by any thread at any time, unless it is said otherwise, but freeing what others still use. */
#ifndef LCT_H
#define LCT_H

#include <lct_config.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- life ---
 * LCT_init() learns the host's name and makes the default log; calls are counted, the last LCT_fina() ends the log.
 * What does not need these works without, too. */

LCT_API void LCT_init(void);
LCT_API void LCT_fina(void);

/* What lines of the log call this process; -1 until somebody says so. */
extern LCT_API int LCT_rank;
LCT_API void LCT_set_rank(int rank);
LCT_API int LCT_get_rank(void);
/* Empty before LCT_init(). */
extern LCT_API char LCT_hostname[];

/* --- time: in ticks of a clock that never goes back and that all threads share --- */

typedef int64_t LCT_time_t;
LCT_API LCT_time_t LCT_now(void);
LCT_API double LCT_time_to_ns(LCT_time_t time);
LCT_API double LCT_time_to_us(LCT_time_t time);
LCT_API double LCT_time_to_ms(LCT_time_t time);
LCT_API double LCT_time_to_s(LCT_time_t time);

/* --- text --- */

/* A copy of `in` with the first, or every, `from` replaced by `to`; for the caller to free(). */
LCT_API const char* LCT_str_replace_one(const char* in, const char* from, const char* to);
LCT_API const char* LCT_str_replace_all(const char* in, const char* from, const char* to);

typedef struct {
  const char* key;
  int val;
} LCT_dict_str_int_t;

/* Whether the dictionary has `key` (which may be NULL, as an entry's); *val is its value, or else `default_val`. */
LCT_API int LCT_str_int_search(LCT_dict_str_int_t dict[], int count, const char* key, int default_val, int* val);

/* The values, or-ed, of all keys that are named in a list such as "send,recv". Names that are unknown are warned of. */
LCT_API uint64_t LCT_parse_arg(LCT_dict_str_int_t dict[], int count, const char* key, const char* delimiter);

/* --- threads --- */

/* A number from 0 for the calling thread, which it keeps and nobody has after it. */
LCT_API int LCT_get_thread_id(void);
/* How many threads have got a number so far. */
LCT_API int LCT_get_nthreads(void);

/* --- log --- */

typedef void* LCT_log_ctx_t;

enum LCT_log_level_default_t {
  LCT_LOG_ERROR,
  LCT_LOG_WARN,
  LCT_LOG_DIAG,
  LCT_LOG_INFO,
  LCT_LOG_DEBUG,
  LCT_LOG_TRACE,
  LCT_LOG_MAX
};

/* A log with `count` levels, of which it prints those up to the one that `level_str` names, or, where that is NULL,
 * `default_level`. `filename`: NULL or "stderr", "stdout", or a file that is opened at the first line; a % in it
 * becomes the rank. Lists are of tags, with commas: of lines with a tag only those are printed that are on the
 * whitelist, if there is one, and not on the blacklist. `levels` must live as long as the log. */
LCT_API LCT_log_ctx_t LCT_log_ctx_alloc(const char* const levels[], int count, int default_level, const char* name,
                                        char* filename, char* level_str, char* whitelist, char* blacklist);
LCT_API void LCT_log_ctx_free(LCT_log_ctx_t* ctx);

/* NULL as a log is standard error, up to warnings. */
LCT_API int LCT_log_get_level(LCT_log_ctx_t ctx);
LCT_API void LCT_Log_(LCT_log_ctx_t ctx, int level, const char* tag, const char* file, const char* func, int line,
                      const char* format, ...) LCT_PRINTF_(7, 8);
LCT_API void LCT_Logv_(LCT_log_ctx_t ctx, int level, const char* tag, const char* file, const char* func, int line,
                       const char* format, va_list arguments) LCT_PRINTF_(7, 0);
/* Prints, whatever the level, and calls abort(). */
LCT_API void LCT_Report_false_assert(LCT_log_ctx_t ctx, const char* expr, const char* file, const char* func, int line,
                                     const char* format, ...) LCT_PRINTF_(6, 7) __attribute__((noreturn, cold));
LCT_API void LCT_Log_flush(LCT_log_ctx_t ctx);

/* Between LCT_init() and LCT_fina(). As LCT_LOG_LEVEL, LCT_LOG_OUTFILE, LCT_LOG_WHITELIST and LCT_LOG_BLACKLIST
 * in the environment say. */
extern LCT_API LCT_log_ctx_t LCT_log_ctx_default;

/* The last argument of these is a format with what belongs to it. */
#define LCT_Assert(ctx, expr, ...)                                                                               \
  do {                                                                                                           \
    if (LCT_unlikely(!(expr))) LCT_Report_false_assert((ctx), #expr, __FILE__, __func__, __LINE__, __VA_ARGS__); \
  } while (0)
#define LCT_Log(ctx, level, tag, ...)                                                  \
  do {                                                                                 \
    if ((int)(level) <= LCT_log_get_level(ctx))                                        \
      LCT_Log_((ctx), (int)(level), (tag), __FILE__, __func__, __LINE__, __VA_ARGS__); \
  } while (0)
#define LCT_Logv(ctx, level, tag, format, arguments)                                              \
  do {                                                                                            \
    if ((int)(level) <= LCT_log_get_level(ctx))                                                   \
      LCT_Logv_((ctx), (int)(level), (tag), __FILE__, __func__, __LINE__, (format), (arguments)); \
  } while (0)
#define LCT_Warn(ctx, ...) LCT_Log(ctx, LCT_LOG_WARN, NULL, __VA_ARGS__)

#ifdef LCT_DEBUG
#define LCT_DBG_Assert(...) LCT_Assert(__VA_ARGS__)
#define LCT_DBG_Log(...) LCT_Log(__VA_ARGS__)
#define LCT_DBG_Warn(...) LCT_Warn(__VA_ARGS__)
#else
#define LCT_DBG_Assert(...) ((void)0)
#define LCT_DBG_Log(...) ((void)0)
#define LCT_DBG_Warn(...) ((void)0)
#endif

/* --- performance counters --- */

typedef enum {
  LCT_PCOUNTER_NONE,    /* counts nothing */
  LCT_PCOUNTER_COUNTER, /* a sum */
  LCT_PCOUNTER_TREND,   /* a sum, whose growth between two LCT_pcounter_record() is dumped, too */
  LCT_PCOUNTER_TIMER    /* a sum of lengths of time */
} LCT_pcounter_type_t;
typedef void* LCT_pcounter_ctx_t;
typedef struct {
  LCT_pcounter_type_t type;
  int idx;
} LCT_pcounter_handle_t;

LCT_API LCT_pcounter_ctx_t LCT_pcounter_ctx_alloc(const char* name);
LCT_API void LCT_pcounter_ctx_free(LCT_pcounter_ctx_t* ctx);
/* The same name gives the same counter. */
LCT_API LCT_pcounter_handle_t LCT_pcounter_register(LCT_pcounter_ctx_t ctx, const char* name, LCT_pcounter_type_t type);
LCT_API void LCT_pcounter_add(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter, int64_t value);
/* Of a timer: any thread may end what any has started, and many at once; only the sum is kept. */
LCT_API void LCT_pcounter_start(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter);
LCT_API void LCT_pcounter_end(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter);
LCT_API void LCT_pcounter_startt(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter, LCT_time_t time);
LCT_API void LCT_pcounter_endt(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter, LCT_time_t time);
LCT_API void LCT_pcounter_record(LCT_pcounter_ctx_t ctx);
/* One line for each counter, and one for each point of a trend:
 *     pcounter,<log name>,<rank>,<counter>,counter,<sum>,<times>
 *     pcounter,<log name>,<rank>,<counter>,timer,<ns>,<times>
 *     trend,<log name>,<rank>,<counter>,<seconds since the log was made>,<growth> */
LCT_API void LCT_pcounter_dump(LCT_pcounter_ctx_t ctx, FILE* out);

/* --- queues of pointers ---
 * All give out what has been pushed first, in one order that all threads agree on. _ST and _STD are for one thread
 * at a time, the others for any number of producers and consumers.
 * Arrays hold `length` items, or somewhat more; the length of the others has no meaning. A push to an array that is
 * full waits until another thread has popped; to one of _ST, where nobody else can, it is a misuse. */

typedef enum {
  LCT_QUEUE_ARRAY_ATOMIC_FAA,
  LCT_QUEUE_ARRAY_ATOMIC_CAS,
  LCT_QUEUE_ARRAY_ATOMIC_BASIC,
  LCT_QUEUE_ARRAY_ST,
  LCT_QUEUE_ARRAY_MUTEX,
  LCT_QUEUE_STD,
  LCT_QUEUE_STD_MUTEX,
  LCT_QUEUE_MS,
  LCT_QUEUE_LCRQ,
  LCT_QUEUE_LPRQ,
  LCT_QUEUE_FAAARRAY,
  LCT_QUEUE_LAZY_INDEX
} LCT_queue_type_t;
typedef void* LCT_queue_t;

LCT_API LCT_queue_t LCT_queue_alloc(LCT_queue_type_t type, size_t length);
LCT_API void LCT_queue_free(LCT_queue_t* queue);
/* Anything but NULL. */
LCT_API void LCT_queue_push(LCT_queue_t queue, void* item);
/* NULL: there is nothing, or the oldest item is still being pushed. */
LCT_API void* LCT_queue_pop(LCT_queue_t queue);

/* --- ranks: the job that this process was started in, whatever has started it ---
 * Keys and values are texts of less than LCT_PMI_STRING_LIMIT bytes. Calls are counted between _initialize and
 * _finalize. With LCI in the same process, all ranks must make their collective calls in the same order:
 * LCT_pmi_barrier(), and allocating and freeing runtimes and devices. */

#define LCT_PMI_STRING_LIMIT 255

/* Also sets LCT_rank, unless somebody has. */
LCT_API void LCT_pmi_initialize(void);
LCT_API int LCT_pmi_initialized(void);
LCT_API int LCT_pmi_get_rank(void);
LCT_API int LCT_pmi_get_size(void);
/* To be read after the next barrier. Each key once. */
LCT_API void LCT_pmi_publish(char* key, char* value);
/* What `rank` has published; `value` has room for LCT_PMI_STRING_LIMIT bytes. */
LCT_API void LCT_pmi_getname(int rank, char* key, char* value);
LCT_API void LCT_pmi_barrier(void);
LCT_API void LCT_pmi_finalize(void);

/* --- arguments of the command line. One thread at a time --- */

typedef void* LCT_args_parser_t;

LCT_API LCT_args_parser_t LCT_args_parser_alloc(void);
LCT_API void LCT_args_parser_free(LCT_args_parser_t parser);
/* --name VALUE sets *ptr to an integer, or, without has_arg, --name sets it to 1. What it was before is the default.
 * `name`, and keys of dictionaries, must live as long as the parser. */
LCT_API void LCT_args_parser_add(LCT_args_parser_t parser, const char* name, int has_arg, int* ptr);
/* The value is one of the dictionary's keys. */
LCT_API void LCT_args_parser_add_dict(LCT_args_parser_t parser, const char* name, int has_arg, int* ptr,
                                      LCT_dict_str_int_t dict[], int count);
/* An option that is unknown, or a value that makes no sense, ends the process with a message and status 1; --help
 * prints the options and ends it with 0. */
LCT_API void LCT_args_parser_parse(LCT_args_parser_t parser, int argc, char* argv[]);
/* The values in one line; verbose: one line each, with names instead of numbers. */
LCT_API void LCT_args_parser_print(LCT_args_parser_t parser, bool verbose);

/* --- barrier of threads --- */

typedef void* LCT_tbarrier_t;

LCT_API LCT_tbarrier_t LCT_tbarrier_alloc(int nthreads);
LCT_API void LCT_tbarrier_free(LCT_tbarrier_t* barrier);
/* The ticket is for _test and _wait of the same thread or any other. */
LCT_API int64_t LCT_tbarrier_arrive(LCT_tbarrier_t barrier);
LCT_API bool LCT_tbarrier_test(LCT_tbarrier_t barrier, int64_t ticket);
LCT_API void LCT_tbarrier_wait(LCT_tbarrier_t barrier, int64_t ticket);
LCT_API void LCT_tbarrier_arrive_and_wait(LCT_tbarrier_t barrier);

/* --- files --- */

/* Reads up to max - 1 bytes of a file whose name is a format, and puts a 0 behind them. Returns how many, or -1 and
 * errno. */
LCT_API ssize_t LCT_read_file(char* buffer, size_t max, const char* filename_fmt, ...) LCT_PRINTF_(3, 4);

/* --- layout of structs: for the scope of a file, a function or, in C++, a class --- */

#define LCT_LINE_OF_(type, member) (offsetof(type, member) / LCT_CACHE_LINE)
#define LCT_ASSERT_SAME_CACHE_LINE(type, a, b)                       \
  LCT_STATIC_ASSERT_(LCT_LINE_OF_(type, a) == LCT_LINE_OF_(type, b), \
                     #a " and " #b " of " #type " must share a cache line")
#define LCT_ASSERT_DIFF_CACHE_LINE(type, a, b)                       \
  LCT_STATIC_ASSERT_(LCT_LINE_OF_(type, a) != LCT_LINE_OF_(type, b), \
                     #a " and " #b " of " #type " must not share a cache line")

#ifdef __cplusplus
}
#endif

#endif
