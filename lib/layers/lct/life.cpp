// Initialization and finalization; host name, rank and thread numbers.
#include <lct.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "lib/layers/lct/misuse.hpp"

int LCT_rank = -1;
char LCT_hostname[HOST_NAME_MAX + 1];
LCT_log_ctx_t LCT_log_ctx_default;

namespace {

std::mutex init_mutex;
int n_inits = 0;  // under init_mutex

std::atomic<int> n_threads{0};
thread_local int thread_id = -1;

const char* const default_levels[] = {"error", "warn", "diag", "info", "debug", "trace"};
static_assert(sizeof default_levels / sizeof *default_levels == LCT_LOG_MAX);

}  // namespace

void LCT_init() {
  lct::or_fail("LCT_init", [] {
    std::lock_guard guard(init_mutex);
    if (n_inits > 0) {
      ++n_inits;
      return;
    }
    if (gethostname(LCT_hostname, sizeof LCT_hostname) != 0) LCT_hostname[0] = '\0';
    LCT_hostname[HOST_NAME_MAX] = '\0';
    LCT_log_ctx_default = LCT_log_ctx_alloc(default_levels, LCT_LOG_MAX, LCT_LOG_WARN, "default",
                                            std::getenv("LCT_LOG_OUTFILE"), std::getenv("LCT_LOG_LEVEL"),
                                            std::getenv("LCT_LOG_WHITELIST"), std::getenv("LCT_LOG_BLACKLIST"));
    if (LCT_log_ctx_default == nullptr) throw std::bad_alloc();
    ++n_inits;
  });
}

void LCT_fina() {
  lct::or_fail("LCT_fina", [] {
    std::lock_guard guard(init_mutex);
    if (n_inits == 0) lct::fail("LCT_fina", "called more often than LCT_init");
    if (--n_inits == 0) LCT_log_ctx_free(&LCT_log_ctx_default);
  });
}

void LCT_set_rank(int rank) { LCT_rank = rank; }
int LCT_get_rank() { return LCT_rank; }

int LCT_get_thread_id() {
  if (__builtin_expect(thread_id < 0, 0)) thread_id = n_threads.fetch_add(1, std::memory_order_relaxed);
  return thread_id;
}

int LCT_get_nthreads() { return n_threads.load(std::memory_order_relaxed); }
