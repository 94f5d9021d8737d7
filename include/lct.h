/* LCT: utilities for programs that use LCI: clocks, texts, logs, counters, barriers and queues of threads, options, and
 * the ranks of a job without a runtime. Link with liblct (pkg-config lct, CMake LCI::LCT).
 *
 * C and C++. Functions that allocate return NULL with errno ENOMEM if there is no memory. On an invalid
 * argument, and on a failure that a function can't return, a function prints one line on standard error, which begins
 * with "lct: " and the function's name, and ends the process with status 1. Thread-safe, unless a comment says
 * otherwise; but an object must not be freed while another thread uses it. */
#ifndef LCT_H
#define LCT_H

#include <lct_config.h>
#ifdef LCT_OLD_LANGUAGE_
#pragma GCC system_header
#endif
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- initialization ---
 * LCT_init() gets the host's name and allocates the default log; the last LCT_fina(), as calls are counted, frees it.
 * Functions that use neither work without LCT_init(). */

LCT_API void LCT_init(void);
LCT_API void LCT_fina(void);

/* The rank of this process in lines of the log; -1 until it is set. */
extern LCT_API int LCT_rank;
LCT_API void LCT_set_rank(int rank);
LCT_API int LCT_get_rank(void);
/* Empty before LCT_init(). */
extern LCT_API char LCT_hostname[];

/* --- time: in ticks of a monotonic clock, the same for all threads --- */

typedef int64_t LCT_time_t;
LCT_API LCT_time_t LCT_now(void);
LCT_API double LCT_time_to_ns(LCT_time_t time);
LCT_API double LCT_time_to_us(LCT_time_t time);
LCT_API double LCT_time_to_ms(LCT_time_t time);
LCT_API double LCT_time_to_s(LCT_time_t time);

/* --- text --- */

/* Returns a copy of `in` with the first, or every, `from` replaced by `to`. The caller must free() it. */
LCT_API const char* LCT_str_replace_one(const char* in, const char* from, const char* to);
LCT_API const char* LCT_str_replace_all(const char* in, const char* from, const char* to);

typedef struct {
  const char* key;
  int val;
} LCT_dict_str_int_t;

/* Returns whether the dictionary has `key`, and sets *val to its value, or else to `default_val`. A key may be NULL. */
LCT_API int LCT_str_int_search(LCT_dict_str_int_t dict[], int count, const char* key, int default_val, int* val);

/* Returns the bitwise or of the values of the keys in a list such as "send,recv". Warns about unknown keys. */
LCT_API uint64_t LCT_parse_arg(LCT_dict_str_int_t dict[], int count, const char* key, const char* delimiter);

/* --- threads --- */

/* The number of the calling thread: 0, 1, ... in the order of first calls. Numbers are not reused. */
LCT_API int LCT_get_thread_id(void);
/* The number of threads that have called LCT_get_thread_id(). */
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

/* Allocates a log with the levels `levels[0]` to `levels[count - 1]`. It prints lines up to the level that `level_str`
 * names, or up to `default_level` if that is NULL. `filename`: NULL or "stderr", "stdout", or a file, which the first
 * line opens; each % in it is replaced by the rank. `whitelist` and `blacklist`: lists of tags, separated by commas, or
 * NULL. A line with a tag is printed if the tag is on the whitelist, or there is none, and it is not on the blacklist.
 * `levels` must exist as long as the log. */
LCT_API LCT_log_ctx_t LCT_log_ctx_alloc(const char* const levels[], int count, int default_level, const char* name,
                                        char* filename, char* level_str, char* whitelist, char* blacklist);
LCT_API void LCT_log_ctx_free(LCT_log_ctx_t* ctx);

/* The log NULL prints errors and warnings to standard error. */
LCT_API int LCT_log_get_level(LCT_log_ctx_t ctx);
LCT_API void LCT_Log_(LCT_log_ctx_t ctx, int level, const char* tag, const char* file, const char* func, int line,
                      const char* format, ...) LCT_PRINTF_(7, 8);
LCT_API void LCT_Logv_(LCT_log_ctx_t ctx, int level, const char* tag, const char* file, const char* func, int line,
                       const char* format, va_list arguments) LCT_PRINTF_(7, 0);
/* Prints a line at any level, and calls abort(). */
LCT_API void LCT_Report_false_assert(LCT_log_ctx_t ctx, const char* expr, const char* file, const char* func, int line,
                                     const char* format, ...) LCT_PRINTF_(6, 7) __attribute__((noreturn, cold));
LCT_API void LCT_Log_flush(LCT_log_ctx_t ctx);

/* The default log: exists from LCT_init() to LCT_fina(). Its level, file and lists are the environment variables
 * LCT_LOG_LEVEL, LCT_LOG_OUTFILE, LCT_LOG_WHITELIST and LCT_LOG_BLACKLIST. */
extern LCT_API LCT_log_ctx_t LCT_log_ctx_default;

/* `...` is a format of printf and its arguments. LCT_DBG_Assert, LCT_DBG_Log and LCT_DBG_Warn do the same if the
 * program defines LCT_DEBUG before it includes this, else nothing. */
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

/* --- performance counters --- */

typedef enum {
  LCT_PCOUNTER_NONE,    /* counts nothing */
  LCT_PCOUNTER_COUNTER, /* a sum */
  LCT_PCOUNTER_TREND,   /* a sum; its growth between two calls of LCT_pcounter_record() is dumped as well */
  LCT_PCOUNTER_TIMER    /* a sum of durations */
} LCT_pcounter_type_t;
typedef void* LCT_pcounter_ctx_t;
typedef struct {
  LCT_pcounter_type_t type;
  int idx;
} LCT_pcounter_handle_t;

LCT_API LCT_pcounter_ctx_t LCT_pcounter_ctx_alloc(const char* name);
LCT_API void LCT_pcounter_ctx_free(LCT_pcounter_ctx_t* ctx);
/* Returns the counter of this name, which the first call creates. */
LCT_API LCT_pcounter_handle_t LCT_pcounter_register(LCT_pcounter_ctx_t ctx, const char* name, LCT_pcounter_type_t type);
LCT_API void LCT_pcounter_add(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter, int64_t value);
/* Start and end of an interval of a timer. Intervals may overlap, and another thread may end one; their sum counts. */
LCT_API void LCT_pcounter_start(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter);
LCT_API void LCT_pcounter_end(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter);
LCT_API void LCT_pcounter_startt(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter, LCT_time_t time);
LCT_API void LCT_pcounter_endt(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t counter, LCT_time_t time);
LCT_API void LCT_pcounter_record(LCT_pcounter_ctx_t ctx);
/* Prints one line for each counter, and one for each point of a trend:
 *     pcounter,<log name>,<rank>,<counter>,counter,<sum>,<times>
 *     pcounter,<log name>,<rank>,<counter>,timer,<ns>,<times>
 *     trend,<log name>,<rank>,<counter>,<seconds since the context was allocated>,<growth> */
LCT_API void LCT_pcounter_dump(LCT_pcounter_ctx_t ctx, FILE* out);

/* --- queues of pointers ---
 * Items are popped in the order of pushes, which is the same for all threads. One thread at a time may use a queue of
 * type _ST or _STD; any number of threads may use the others.
 * An array holds at least `length` items; other types ignore `length`. A push to a full array waits until another
 * thread has popped. A push to a full _ST array is an error, since no other thread can pop. */

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
/* Pushes an item, which must not be NULL. */
LCT_API void LCT_queue_push(LCT_queue_t queue, void* item);
/* Returns the oldest item; NULL if the queue is empty, or if the oldest item is still being pushed. */
LCT_API void* LCT_queue_pop(LCT_queue_t queue);

/* --- ranks: the job in which a launcher has started this process ---
 * Keys and values are texts of less than LCT_PMI_STRING_LIMIT bytes. The last LCT_pmi_finalize() takes effect, as calls
 * of LCT_pmi_initialize() are counted. If the process uses LCI as well, all ranks must make their collective calls in
 * the same order: LCT_pmi_barrier(), and allocating and freeing runtimes and devices. */

#define LCT_PMI_STRING_LIMIT 255

/* Also sets LCT_rank, unless the program has set it. */
LCT_API void LCT_pmi_initialize(void);
LCT_API int LCT_pmi_initialized(void);
LCT_API int LCT_pmi_get_rank(void);
LCT_API int LCT_pmi_get_size(void);
/* Other ranks can get the value after the next LCT_pmi_barrier(). A rank may publish a key once. */
LCT_API void LCT_pmi_publish(char* key, char* value);
/* Copies the value that `rank` has published to `value`, a buffer of LCT_PMI_STRING_LIMIT bytes. */
LCT_API void LCT_pmi_getname(int rank, char* key, char* value);
LCT_API void LCT_pmi_barrier(void);
LCT_API void LCT_pmi_finalize(void);

/* --- arguments of the command line. One thread at a time may use a parser --- */

typedef void* LCT_args_parser_t;

LCT_API LCT_args_parser_t LCT_args_parser_alloc(void);
LCT_API void LCT_args_parser_free(LCT_args_parser_t parser);
/* Adds an option: with has_arg, `--name VALUE` sets *ptr to an integer; without, `--name` sets it to 1. The default is
 * the value of *ptr. `name`, and the keys of dictionaries, must exist as long as the parser. */
LCT_API void LCT_args_parser_add(LCT_args_parser_t parser, const char* name, int has_arg, int* ptr);
/* Adds an option whose VALUE is a key of the dictionary; *ptr is set to the key's value. */
LCT_API void LCT_args_parser_add_dict(LCT_args_parser_t parser, const char* name, int has_arg, int* ptr,
                                      LCT_dict_str_int_t dict[], int count);
/* Sets the options' values. Ends the process with a message and status 1 if an option is unknown or a value is invalid.
 * `--help` prints the options and ends the process with status 0. */
LCT_API void LCT_args_parser_parse(LCT_args_parser_t parser, int argc, char* argv[]);
/* Prints the values in one line; with `verbose` one line for each option, with keys instead of numbers. */
LCT_API void LCT_args_parser_print(LCT_args_parser_t parser, bool verbose);

/* --- barrier of threads --- */

typedef void* LCT_tbarrier_t;

LCT_API LCT_tbarrier_t LCT_tbarrier_alloc(int nthreads);
LCT_API void LCT_tbarrier_free(LCT_tbarrier_t* barrier);
/* Arrives at the barrier without waiting. Any thread may pass the ticket to LCT_tbarrier_test() and _wait(). */
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
