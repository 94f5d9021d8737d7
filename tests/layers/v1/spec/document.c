/* The parameter types that the specification prints, where public versions have others. This file is compiled as C99,
 * in which LCI_STRICT_DOCUMENT chooses them, and as C11, which takes both. */
#if __STDC_VERSION__ < 201112L
#define LCI_STRICT_DOCUMENT
#define DOCUMENT document_c99
#else
#define DOCUMENT document_c11
#endif
#include <LCI.h>

#include "tests/layers/v1/spec/spec.h"

static void put_numbers(LCI_endpoint_t endpoint, int first, int n) {
  int i;
  for (i = first; i < first + n; ++i)
    AGAIN(LCI_puts(endpoint, short_of((uint64_t)i), LCI_RANK, 1, LCI_DEFAULT_COMP_REMOTE));
}

void DOCUMENT(void) {
  LCI_comp_t queue = NULL;
  LCI_endpoint_t endpoint;
  LCI_request_t request, requests[4];
  LCI_mbuffer_t into;
  char text[] = "document", buffer[16];
  struct patience patience = {0, 0};
  int i;
  CHECK_OK(LCI_queue_create(LCI_UR_DEVICE, &queue));
  endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, queue);

  CHECK_EQ(LCI_queue_pop(&queue, &request), LCI_ERR_RETRY);
  put_numbers(endpoint, 4, 1);
  while (LCI_queue_pop(&queue, &request) == LCI_ERR_RETRY) step(&patience, LCI_UR_DEVICE, "an entry");
  check_request(&request, LCI_RANK, 1, NULL);
  CHECK_EQ(number_in(&request), 4);

  put_numbers(endpoint, 0, 3);
  {
    size_t len = 0;
    while (len < 3) {
      CHECK_OK(LCI_queue_len(queue, &len));
      step(&patience, LCI_UR_DEVICE, "three entries");
    }
  }
  memset(requests, 0x77, sizeof requests);
  CHECK_OK(LCI_queue_pop_multiple(&queue, 4, requests, (size_t)0));
  {
    int seen = 0;
    for (i = 0; i < 3; ++i) seen |= 1 << number_in(&requests[i]);
    CHECK_EQ(seen, 7);
  }
  CHECK_EQ(requests[3].flag, LCI_ERR_RETRY); /* the first that was not filled */
  memset(requests, 0x77, sizeof requests);
  CHECK_OK(LCI_queue_pop_multiple(&queue, SIZE_MAX, requests, (size_t)0)); /* may be given an array without room */
  CHECK(requests[0].rank == 0x77777777 && requests[0].flag != LCI_ERR_RETRY);

  into = medium_of(buffer, sizeof buffer);
  AGAIN(LCI_recvm(endpoint, &into, LCI_RANK, 2, queue, buffer));
  AGAIN(LCI_sendm(endpoint, medium_of(text, sizeof text), LCI_RANK, 2));
  CHECK_OK(LCI_queue_wait(queue, &request));
  check_request(&request, LCI_RANK, 2, buffer);
  CHECK_EQ(request.data.mbuffer.length, sizeof text);
  CHECK(strcmp(buffer, text) == 0);
#if __STDC_VERSION__ >= 201112L
  /* The public forms as well, by the types of the arguments. */
  {
    size_t count = 7;
    CHECK_EQ(LCI_queue_pop(queue, &request), LCI_ERR_RETRY);
    CHECK_OK(LCI_queue_pop_multiple(queue, 4, requests, &count));
    CHECK_EQ(count, 0);
    count = 7; /* the queue's address, as the specification has it, and a number that can be returned */
    CHECK_OK(LCI_queue_pop_multiple(&queue, 4, requests, &count));
    CHECK_EQ(count, 0);
    memset(buffer, 0, sizeof buffer);
    AGAIN(LCI_recvm(endpoint, into, LCI_RANK, 3, queue, buffer));
    AGAIN(LCI_sendm(endpoint, medium_of(text, sizeof text), LCI_RANK, 3));
    CHECK_OK(LCI_queue_wait(queue, &request));
    CHECK(strcmp(buffer, text) == 0);
  }
#endif
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&endpoint));
  CHECK_OK(LCI_queue_free(&queue));
}
