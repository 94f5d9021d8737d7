/* Log lines and assertions for test programs of LCI v1.7, over the logs of lct.h. Thread-safe, except LCM_Fina(). Test
 * programs include "../../src/log/lcm_log.h", which needs the flags of lci-v1/pkgconfig/liblci.pc.
 *
 * From the environment: LCM_LOG_LEVEL (none, warn, trace, info, debug, max; warn if it is not set), LCM_LOG_OUTFILE
 * (stderr, stdout, or a file, in whose name % becomes the rank), LCM_LOG_WHITELIST and LCM_LOG_BLACKLIST (types of
 * lines, with commas). */
#ifndef LCM_LOG_H
#define LCM_LOG_H

#include <lci.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

enum LCM_log_level_t { LCM_LOG_NONE = 0, LCM_LOG_WARN, LCM_LOG_TRACE, LCM_LOG_INFO, LCM_LOG_DEBUG, LCM_LOG_MAX };

/* The program's log, shared by all files of a program or library. LCM_Init() or the first log line creates it. */
extern LCT_log_ctx_t LCM_log_;
__attribute__((weak)) LCT_log_ctx_t LCM_log_ = NULL;

static inline LCT_log_ctx_t LCM_log_of_program_(void) {
  static const char* const levels[] = {"none", "warn", "trace", "info", "debug", "max"};
  LCT_log_ctx_t made, none = NULL, there = __atomic_load_n(&LCM_log_, __ATOMIC_ACQUIRE);
  if (there != NULL) return there;
  if (LCT_get_rank() < 0 && LCI_RANK >= 0) LCT_set_rank(LCI_RANK);
  made = LCT_log_ctx_alloc(levels, LCM_LOG_MAX + 1, LCM_LOG_WARN, "lcm", getenv("LCM_LOG_OUTFILE"),
                           getenv("LCM_LOG_LEVEL"), getenv("LCM_LOG_WHITELIST"), getenv("LCM_LOG_BLACKLIST"));
  if (__atomic_compare_exchange_n(&LCM_log_, &none, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
  LCT_log_ctx_free(&made);
  return none;
}

/* Optional. Sets the rank that log lines show before LCI_initialize(). */
static inline void LCM_Init(int rank) {
  LCT_set_rank(rank);
  (void)LCM_log_of_program_();
}
/* Frees the log. No thread may log meanwhile. */
static inline void LCM_Fina(void) {
  LCT_log_ctx_t log = __atomic_exchange_n(&LCM_log_, (LCT_log_ctx_t)NULL, __ATOMIC_ACQ_REL);
  if (log != NULL) LCT_log_ctx_free(&log);
}
static inline void LCM_Log_flush(void) { LCT_Log_flush(LCM_log_of_program_()); }

/* The last arguments are those of printf(). If `expr` is false, prints them and calls abort(). */
#define LCM_Assert(expr, ...) LCT_Assert(LCM_log_of_program_(), expr, __VA_ARGS__)
#define LCM_Log(level, type, ...) LCT_Log(LCM_log_of_program_(), level, type, __VA_ARGS__)
#define LCM_Log_default(level, ...) LCT_Log(LCM_log_of_program_(), level, NULL, __VA_ARGS__)
#define LCM_Warn(...) LCM_Log_default(LCM_LOG_WARN, __VA_ARGS__)

#ifdef LCM_DEBUG
#define LCM_DBG_Assert(...) LCM_Assert(__VA_ARGS__)
#define LCM_DBG_Log(...) LCM_Log(__VA_ARGS__)
#define LCM_DBG_Log_default(...) LCM_Log_default(__VA_ARGS__)
#define LCM_DBG_Warn(...) LCM_Warn(__VA_ARGS__)
#else
#define LCM_DBG_Assert(...) ((void)0)
#define LCM_DBG_Log(...) ((void)0)
#define LCM_DBG_Log_default(...) ((void)0)
#define LCM_DBG_Warn(...) ((void)0)
#endif

#ifdef __cplusplus
}
#endif
#endif
