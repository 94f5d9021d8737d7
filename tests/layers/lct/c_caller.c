/* Calls each part of LCT from C, compiled as C99 and as C11. The C++ tests check the parts in detail. */
#include <lct.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
#define CHECK(expr)                                            \
  do {                                                         \
    if (!(expr)) {                                             \
      printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #expr); \
      ++failures;                                              \
    }                                                          \
  } while (0)

struct layout {
  char a, b;
  char room[LCT_CACHE_LINE];
  char c;
};
LCT_ASSERT_SAME_CACHE_LINE(struct layout, a, b);
LCT_ASSERT_DIFF_CACHE_LINE(struct layout, a, c);

static LCT_tbarrier_t barrier;
static LCT_queue_t queue;

static void* helper(void* item) {
  LCT_queue_push(queue, item);
  LCT_tbarrier_wait(barrier, LCT_tbarrier_arrive(barrier));
  return NULL;
}

static void threads_and_queues(void) {
  int item = 0;
  pthread_t thread;
  barrier = LCT_tbarrier_alloc(2);
  queue = LCT_queue_alloc(LCT_QUEUE_LCRQ, 0);
  CHECK(barrier != NULL && queue != NULL);
  CHECK(pthread_create(&thread, NULL, helper, &item) == 0);
  LCT_tbarrier_arrive_and_wait(barrier);
  CHECK(LCT_tbarrier_test(barrier, 0));
  CHECK(LCT_queue_pop(queue) == &item);
  CHECK(LCT_queue_pop(queue) == NULL);
  pthread_join(thread, NULL);
  LCT_queue_free(&queue);
  LCT_tbarrier_free(&barrier);
  CHECK(queue == NULL && barrier == NULL);
  CHECK(LCT_get_thread_id() >= 0 && LCT_get_thread_id() < LCT_get_nthreads());
}

static void life_time_and_text(void) {
  LCT_dict_str_int_t dict[] = {{"one", 1}, {"two", 2}};
  char buffer[64];
  const char* text;
  int val = 0;
  LCT_time_t begin = LCT_now();
  CHECK(LCT_time_to_ns(LCT_now() - begin) >= 0);
  CHECK(LCT_time_to_s(0) == 0 && LCT_time_to_ms(0) == 0 && LCT_time_to_us(0) == 0);
  CHECK(LCT_get_rank() == LCT_rank);
  LCT_set_rank(5);
  CHECK(LCT_get_rank() == 5);
  LCT_set_rank(-1);
  CHECK(LCT_hostname[0] != '\0' && strlen(LCT_hostname) <= HOST_NAME_MAX);
  text = LCT_str_replace_all("a.a", ".", "");
  CHECK(strcmp(text, "aa") == 0);
  free((void*)text);
  text = LCT_str_replace_one("a.a.", ".", "");
  CHECK(strcmp(text, "aa.") == 0);
  free((void*)text);
  CHECK(LCT_str_int_search(dict, 2, "two", 0, &val) && val == 2);
  CHECK(LCT_parse_arg(dict, 2, "one,two", ",") == 3);
  CHECK(LCT_read_file(buffer, sizeof buffer, "/proc/%s/comm", "self") > 0);
  CHECK(LCT_likely(1) && !LCT_unlikely(0));
}

static void log_and_counters(void) {
  static const char* const levels[] = {"low", "high"};
  LCT_log_ctx_t log = LCT_log_ctx_alloc(levels, 2, 0, "c", NULL, NULL, NULL, NULL);
  LCT_pcounter_ctx_t counters = LCT_pcounter_ctx_alloc("c");
  LCT_pcounter_handle_t counter = LCT_pcounter_register(counters, "n", LCT_PCOUNTER_COUNTER);
  LCT_pcounter_handle_t timer = LCT_pcounter_register(counters, "t", LCT_PCOUNTER_TIMER);
  FILE* out = tmpfile();
  char line[256] = "";
  CHECK(LCT_log_get_level(log) == 0);
  LCT_Log(log, 1, "tag", "not %s", "this");
  LCT_Assert(log, counter.type == LCT_PCOUNTER_COUNTER, "of %d", counter.type);
  LCT_Log_flush(log);
  LCT_Log(LCT_log_ctx_default, LCT_LOG_TRACE, "tag", "not this");
  LCT_DBG_Log(log, 0, "tag", "not this");
  LCT_DBG_Warn(log, "not this");
  LCT_DBG_Assert(log, 0, "not this");
  LCT_log_ctx_free(&log);
  LCT_pcounter_add(counters, counter, 3);
  LCT_pcounter_start(counters, timer);
  LCT_pcounter_end(counters, timer);
  LCT_pcounter_startt(counters, timer, 1);
  LCT_pcounter_endt(counters, timer, 2);
  LCT_pcounter_record(counters);
  CHECK(out != NULL);
  LCT_pcounter_dump(counters, out);
  rewind(out);
  CHECK(fgets(line, sizeof line, out) != NULL);
  CHECK(strcmp(line, "pcounter,c,-1,n,counter,3,1\n") == 0);
  fclose(out);
  LCT_pcounter_ctx_free(&counters);
}

static void arguments(void) {
  LCT_dict_str_int_t dict[] = {{"one", 1}, {"two", 2}};
  char name[] = "c_caller", first[] = "--n", second[] = "6", third[] = "--which=two";
  char* argv[] = {name, first, second, third, NULL};
  int n = 0, which = 0;
  LCT_args_parser_t parser = LCT_args_parser_alloc();
  LCT_args_parser_add(parser, "n", 1, &n);
  LCT_args_parser_add_dict(parser, "which", 1, &which, dict, 2);
  LCT_args_parser_parse(parser, 4, argv);
  CHECK(n == 6 && which == 2);
  LCT_args_parser_print(parser, true);
  LCT_args_parser_free(parser);
}

static void ranks(void) {
  char key[] = "k", value[LCT_PMI_STRING_LIMIT] = "v";
  CHECK(!LCT_pmi_initialized());
  LCT_pmi_initialize();
  CHECK(LCT_pmi_initialized());
  CHECK(LCT_pmi_get_rank() < LCT_pmi_get_size());
  LCT_pmi_publish(key, value);
  LCT_pmi_barrier();
  value[0] = '\0';
  LCT_pmi_getname(LCT_pmi_get_size() - 1, key, value);
  CHECK(strcmp(value, "v") == 0);
  LCT_pmi_finalize();
}

int main(void) {
  LCT_init();
  threads_and_queues();
  life_time_and_text();
  log_and_counters();
  arguments();
  ranks();
  LCT_fina();
  printf("cases: %d passed, %d failed, 0 skipped\n", failures == 0, failures != 0);
  return failures != 0;
}
