/* Initializers and compound literals, as programs for the public versions write them. Compiled as C99, C11 and C17;
 * from C11 on, some functions are macros, whose arguments the commas of a literal separate. */
#include "tests/layers/v1/check.h"

struct context {
  int number;
  double share;
};

static void received(LCI_comp_t cq, const void* bytes, size_t n, int number) {
  LCI_request_t request = {0};
  AGAIN(LCI_queue_pop(cq, &request));
  CHECK(request.type == LCI_MEDIUM && request.data.mbuffer.length == n);
  CHECK(memcmp(request.data.mbuffer.address, bytes, n) == 0);
  CHECK(number == 0 || ((struct context*)request.user_context)->number == number);
}

static void medium(void) {
  char from[24] = "medium message", to[24];
  const size_t n = sizeof from;
  LCI_mbuffer_t buffer = {.address = to, .length = sizeof to};
  const LCI_comp_t cq = LCI_UR_CQ;
  LCI_error_t code;
  AGAIN(LCI_recvm(LCI_UR_ENDPOINT, (LCI_mbuffer_t){.address = to, .length = sizeof to}, LCI_RANK, 1, cq, NULL));
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, (LCI_mbuffer_t){.address = from, .length = n}, LCI_RANK, 1));
  received(cq, from, n, 0);
  AGAIN(LCI_recvm(LCI_UR_ENDPOINT, ((LCI_mbuffer_t){to, sizeof to}), LCI_RANK, 2, cq, NULL));
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, (LCI_mbuffer_t){from, n}, LCI_RANK, 2));
  received(cq, from, n, 0);
  /* Not within AGAIN, whose block ends the life of the contexts. */
  code = LCI_recvm(LCI_UR_ENDPOINT, buffer, LCI_RANK, 3, cq, &(struct context){.number = 3, .share = 0.5});
  CHECK(code == LCI_OK);
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, (LCI_mbuffer_t){from, n}, LCI_RANK, 3));
  received(cq, from, n, 3);
  code = LCI_recvm(LCI_UR_ENDPOINT, (LCI_mbuffer_t){to, sizeof to}, LCI_RANK, 4, cq, &(struct context){4, 0.5});
  CHECK(code == LCI_OK);
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, (LCI_mbuffer_t){from, n}, LCI_RANK, 4));
  received(cq, from, n, 4);
}

/* The specification's parameters, which C99 programs get with LCI_STRICT_DOCUMENT. */
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
static void document(void) {
  char from[24] = "as the document has it", to[24];
  LCI_mbuffer_t buffer = {to, sizeof to};
  LCI_comp_t cq = LCI_UR_CQ;
  LCI_request_t two[2] = {{.flag = LCI_ERR_RETRY}, {.flag = LCI_ERR_RETRY}};
  AGAIN(LCI_recvm(LCI_UR_ENDPOINT, &buffer, LCI_RANK, 5, cq, NULL));
  AGAIN(LCI_recvm(LCI_UR_ENDPOINT, (&(LCI_mbuffer_t){to, sizeof to}), LCI_RANK, 5, cq, NULL));
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, (LCI_mbuffer_t){from, sizeof from}, LCI_RANK, 5));
  AGAIN(LCI_queue_pop(&cq, &two[0]));
  CHECK(two[0].data.mbuffer.length == sizeof from && memcmp(to, from, sizeof from) == 0);
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, (LCI_mbuffer_t){from, sizeof from}, LCI_RANK, 5));
  do {
    LCI_progress(LCI_UR_DEVICE);
    CHECK(LCI_queue_pop_multiple(&cq, 1, two, 0) == LCI_OK);
  } while (two[0].flag == LCI_ERR_RETRY);
  CHECK(two[0].tag == 5);
}
#else
static void document(void) {}
#endif

static void others(void) {
  static char bytes[100], there[100];
  size_t n = 0;
  LCI_short_t zero = {0}, text = {.val = "text"};
  LCI_data_t data = {.mbuffer = {.address = bytes, .length = sizeof bytes}};
  LCI_data_t large = {.lbuffer = {.segment = LCI_SEGMENT_ALL, .address = bytes, .length = sizeof bytes}};
  LCI_lbuffer_t pieces[2] = {{LCI_SEGMENT_ALL, bytes, 10}, {.address = bytes + 10, .length = 20}};
  LCI_iovec_t iovec = {.piggy_back = {bytes, 5}, .lbuffers = pieces, .count = 2};
  LCI_request_t made = {.flag = LCI_OK,
                        .rank = 1,
                        .tag = 2,
                        .type = LCI_LONG,
                        .data = {.lbuffer = {NULL, bytes, 3}},
                        .user_context = bytes};
  LCI_request_t request = {0};
  LCI_error_t (*receive)(LCI_endpoint_t, LCI_mbuffer_t, int, LCI_tag_t, LCI_comp_t, void*) = LCI_recvm;
  LCI_comp_t sync;
  *(uint64_t*)&zero = 77;
  AGAIN(LCI_puts(LCI_UR_ENDPOINT, zero, LCI_RANK, 1, LCI_DEFAULT_COMP_REMOTE));
  AGAIN(LCI_queue_pop(LCI_UR_CQ, &request));
  CHECK(*(uint64_t*)&request.data.immediate == 77);
  AGAIN(LCI_puts(LCI_UR_ENDPOINT, (LCI_short_t){.val = {1, 2, 3}}, LCI_RANK, 1, LCI_DEFAULT_COMP_REMOTE));
  do LCI_progress(LCI_UR_DEVICE);
  while (LCI_queue_pop_multiple(LCI_UR_CQ, 2, (LCI_request_t[2]){{.rank = 1}, {.rank = 2}}, &n) == LCI_OK && n == 0);
  AGAIN(LCI_puts(LCI_UR_ENDPOINT, text, LCI_RANK, 1, LCI_DEFAULT_COMP_REMOTE));
  AGAIN(LCI_queue_pop(LCI_UR_CQ, &request));
  CHECK(strcmp(request.data.immediate.val, "text") == 0);
  AGAIN(receive(LCI_UR_ENDPOINT, data.mbuffer, LCI_RANK, 6, LCI_UR_CQ, NULL));
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, data.mbuffer, LCI_RANK, 6));
  AGAIN(LCI_queue_pop(LCI_UR_CQ, &request));
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync) == LCI_OK);
  CHECK(LCI_sync_signal(sync, made) == LCI_OK && LCI_sync_test(sync, &request) == LCI_OK);
  CHECK(memcmp(&request, &made, sizeof made) == 0);
  AGAIN(LCI_recvl(LCI_UR_ENDPOINT, (LCI_lbuffer_t){.segment = LCI_SEGMENT_ALL, .address = there, .length = 100},
                  LCI_RANK, 7, sync, NULL));
  AGAIN(LCI_sendl(LCI_UR_ENDPOINT, large.lbuffer, LCI_RANK, 7, NULL, NULL));
  AGAIN(LCI_sync_test(sync, &request));
  CHECK(request.data.lbuffer.length == 100);
  AGAIN(LCI_putva(LCI_UR_ENDPOINT, iovec, sync, LCI_RANK, 8, LCI_DEFAULT_COMP_REMOTE, NULL));
  AGAIN(LCI_sync_test(sync, NULL));
  AGAIN(LCI_queue_pop(LCI_UR_CQ, &request));
  CHECK(request.type == LCI_IOVEC && request.data.iovec.count == 2);
  for (n = 0; n < 2; ++n) CHECK(LCI_lbuffer_free(request.data.iovec.lbuffers[n]) == LCI_OK);
  free(request.data.iovec.lbuffers);
  free(request.data.iovec.piggy_back.address);
  CHECK(LCI_sync_free(&sync) == LCI_OK);
}

int main(void) {
  if (LCI_initialize() != LCI_OK) return 1;
  medium();
  document();
  others();
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("idioms");
}
