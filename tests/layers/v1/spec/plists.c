/* Section 4.8: property lists. */
#include "tests/layers/v1/spec/spec.h"

enum { TEXT = 160 };

static void decode(LCI_plist_t plist, char* text) {
  memset(text, 0x77, TEXT);
  CHECK_OK(LCI_plist_decode(plist, text));
  CHECK(memchr(text, 0, TEXT) != NULL && text[0] != 0);
  text[TEXT - 1] = 0;
}

/* Each combination has a text of its own, and an endpoint returns the combination that it was made with. */
static void combinations(void) {
  enum { ALL = 2 * 4 * 4 };
  static PER_RANK char texts[ALL][TEXT];
  struct box defaults[4];
  int match, command, message, n = 0, i, kind;
  for (kind = 0; kind < KINDS; ++kind) box_open(&defaults[kind], LCI_UR_DEVICE, kind);
  for (match = 0; match < 2; ++match)
    for (command = 0; command <= KINDS; ++command)
      for (message = 0; message <= KINDS; ++message, ++n) {
        LCI_plist_t plist = NULL, copy = NULL;
        LCI_endpoint_t endpoint = NULL;
        char text[TEXT];
        case_is("match %d, command port by %s, message port by %s", match, kind_names[command], kind_names[message]);
        CHECK_OK(LCI_plist_create(&plist));
        CHECK(plist != NULL);
        if (n % 2)
          CHECK_OK(LCI_plist_set_match(&plist, match ? LCI_MATCH_TAG : LCI_MATCH_RANKTAG));
        else
          CHECK_OK(LCI_plist_set_match_type(plist, match ? LCI_MATCH_TAG : LCI_MATCH_RANKTAG));
        CHECK_OK(LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, comp_type_of(message)));
        CHECK_OK(LCI_plist_set_comp_type(plist, LCI_PORT_COMMAND, comp_type_of(command)));
        if (message < KINDS) CHECK_OK(LCI_plist_set_default_comp(plist, defaults[message].comp));
        decode(plist, texts[n]);
        for (i = 0; i < n; ++i) CHECK(strcmp(texts[i], texts[n]) != 0);
        CHECK_OK(LCI_endpoint_init(&endpoint, LCI_UR_DEVICE, plist));
        CHECK_OK(LCI_plist_free(&plist));
        CHECK(plist == NULL);
        CHECK_OK(LCI_plist_get(endpoint, &copy));
        CHECK(copy != NULL);
        decode(copy, text);
        CHECK(strcmp(text, texts[n]) == 0);
        if (strcmp(text, texts[n]) != 0) fprintf(stderr, "%s; %s\n", texts[n], text);
        CHECK_OK(LCI_plist_free(&copy));
        CHECK(copy == NULL);
        CHECK_OK(LCI_endpoint_free(&endpoint));
      }
  for (kind = 0; kind < KINDS; ++kind) box_close(&defaults[kind]);
}

static void defaults_are(void) {
  LCI_plist_t plist = NULL, explicit_list = NULL, of_endpoint = NULL;
  char text[TEXT], explicit_text[TEXT];
  case_is("defaults: rank and tag, queues, LCI_UR_CQ");
  CHECK_OK(LCI_plist_create(&plist));
  CHECK_OK(LCI_plist_create(&explicit_list));
  CHECK(plist != explicit_list);
  CHECK_OK(LCI_plist_set_match_type(explicit_list, LCI_MATCH_RANKTAG));
  CHECK_OK(LCI_plist_set_comp_type(explicit_list, LCI_PORT_COMMAND, LCI_COMPLETION_QUEUE));
  CHECK_OK(LCI_plist_set_comp_type(explicit_list, LCI_PORT_MESSAGE, LCI_COMPLETION_QUEUE));
  CHECK_OK(LCI_plist_set_default_comp(explicit_list, LCI_UR_CQ));
  decode(plist, text);
  decode(explicit_list, explicit_text);
  CHECK(strcmp(text, explicit_text) == 0);
  CHECK_OK(LCI_plist_get(LCI_UR_ENDPOINT, &of_endpoint));
  decode(of_endpoint, text);
  CHECK(strcmp(text, explicit_text) == 0);
  CHECK_OK(LCI_plist_free(&plist));
  CHECK_OK(LCI_plist_free(&explicit_list));
  CHECK_OK(LCI_plist_free(&of_endpoint));
}

/* The list of an endpoint makes another one that works alike; changes of a list do not reach endpoints of it. */
static void copies(void) {
  struct box box;
  LCI_plist_t plist = NULL, copy = NULL;
  LCI_endpoint_t first = NULL, second = NULL, third = NULL;
  LCI_endpoint_t* endpoints[2];
  LCI_request_t request;
  const int wrong = rank_at(1);
  int i;
  case_is("an endpoint with the list of another");
  box_open(&box, LCI_UR_DEVICE, BY_SYNC);
  CHECK_OK(LCI_plist_create(&plist));
  CHECK_OK(LCI_plist_set_match(&plist, LCI_MATCH_TAG));
  CHECK_OK(LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, LCI_COMPLETION_SYNC));
  CHECK_OK(LCI_plist_set_default_comp(plist, box.comp));
  CHECK_OK(LCI_endpoint_init(&first, LCI_UR_DEVICE, plist));
  CHECK_OK(LCI_plist_get(first, &copy));
  CHECK_OK(LCI_plist_set_match(&plist, LCI_MATCH_RANKTAG));
  CHECK_OK(LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, LCI_COMPLETION_QUEUE));
  CHECK_OK(LCI_plist_set_default_comp(plist, LCI_UR_CQ));
  CHECK_OK(LCI_endpoint_init(&second, LCI_UR_DEVICE, copy));
  CHECK_OK(LCI_endpoint_init(&third, LCI_UR_DEVICE, plist));
  CHECK_OK(LCI_plist_free(&plist));
  CHECK_OK(LCI_plist_free(&copy));
  endpoints[0] = &first;
  endpoints[1] = &second;
  CHECK_OK(LCI_barrier());
  for (i = 0; i < 2; ++i) {
    /* By tag only, so that the rank of the receive does not matter; the default object is the box. */
    AGAIN(LCI_recvs(*endpoints[i], wrong, 2, box.comp, &box));
    AGAIN(LCI_sends(*endpoints[i], short_of(8), LCI_RANK, 2));
    box_wait(&box, LCI_UR_DEVICE, &request, 0);
    check_request(&request, LCI_RANK, 2, &box);
    AGAIN(LCI_puts(*endpoints[i], short_of(9), LCI_RANK, 3, LCI_DEFAULT_COMP_REMOTE));
    box_wait(&box, LCI_UR_DEVICE, &request, 0);
    check_request(&request, LCI_RANK, 3, NULL);
    CHECK_EQ(number_in(&request), 9);
  }
  AGAIN(LCI_puts(third, short_of(10), LCI_RANK, 4, LCI_DEFAULT_COMP_REMOTE));
  CHECK_OK(LCI_queue_wait(LCI_UR_CQ, &request));
  check_request(&request, LCI_RANK, 4, NULL);
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&first));
  CHECK_OK(LCI_endpoint_free(&second));
  CHECK_OK(LCI_endpoint_free(&third));
  box_close(&box);
}

/* Ports without completion: puts into named memory and fences are enough. */
static void without_completion(void) {
  LCI_endpoint_t endpoint =
      endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_NONE, LCI_COMPLETION_NONE, NULL);
  const int to = rank_at(1);
  const int from = rank_at(-1);
  char mine[100], into[100];
  uint64_t address = (uintptr_t)into, addresses[64];
  case_is("an endpoint without completion");
  exchange(&address, addresses, sizeof address);
  memcpy(mine, payload(LCI_RANK, 5), sizeof mine);
  memset(into, 0, sizeof into);
  CHECK_OK(LCI_barrier());
  AGAIN(LCI_putm(endpoint, medium_of(mine, sizeof mine), to, 5, medium_of((void*)(uintptr_t)addresses[to], sizeof into),
                 LCI_NO_COMP_REMOTE));
  CHECK_OK(LCI_gfence_wait(endpoint));
  CHECK(has_payload(into, sizeof into, from, 5));
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&endpoint));
}

void plists(void) {
  combinations();
  defaults_are();
  copies();
  without_completion();
}
