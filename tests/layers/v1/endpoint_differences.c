/* In the checking mode, ranks are told that an endpoint has another match type at a peer, and that a peer has receives
 * on the endpoints of a device that all ranks free. Two ranks; standard error is the test's to read. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <unistd.h>

#include "tests/layers/v1/check.h"

static char texts[1 << 16];

/* What the library has written to standard error so far. */
static const char* written(FILE* file) {
  size_t n;
  fflush(stderr);
  rewind(file);
  n = fread(texts, 1, sizeof texts - 1, file);
  texts[n] = 0;
  return texts;
}

static LCI_error_t create(LCI_endpoint_t* ep, LCI_device_t device, LCI_match_t match) {
  LCI_plist_t plist;
  LCI_error_t code;
  LCI_plist_create(&plist);
  LCI_plist_set_match_type(plist, match);
  code = LCI_endpoint_init(ep, device, plist);
  LCI_plist_free(&plist);
  return code;
}

/* Rank 1 creates the endpoint after rank 0, so its function fails. Or its progress does, if it learns of the endpoint
 * of rank 0 only then; rank 0 may notice in that case, too. */
static void different_match_types(LCI_device_t device, LCI_endpoint_t common, FILE* file) {
  LCI_endpoint_t ep = NULL;
  LCI_error_t code;
  LCI_request_t r;
  LCI_short_t value;
  memset(&value, 0, sizeof value);
  if (LCI_RANK == 0) {
    CHECK(create(&ep, device, LCI_MATCH_TAG) == LCI_OK);
    CHECK(LCI_puts(common, value, 1, 1, LCI_DEFAULT_COMP_REMOTE) == LCI_OK);
    while (LCI_queue_pop(LCI_UR_CQ, &r) != LCI_OK) LCI_progress(device);
  } else {
    const char* text;
    while (LCI_queue_pop(LCI_UR_CQ, &r) != LCI_OK) LCI_progress(device);
    code = create(&ep, device, LCI_MATCH_RANKTAG);
    while (code != LCI_ERR_FATAL) code = LCI_progress(device);
    text = written(file);
    CHECK(strstr(text, "endpoint 1 of device 1") != NULL);
    CHECK(strstr(text, "LCI_MATCH_RANKTAG at rank 1") != NULL && strstr(text, "LCI_MATCH_TAG at rank 0") != NULL);
    CHECK(LCI_puts(common, value, 0, 1, LCI_DEFAULT_COMP_REMOTE) == LCI_OK);
  }
}

static void pending_receive(LCI_device_t device, LCI_endpoint_t ep, FILE* file) {
  LCI_device_t copy = device;
  LCI_short_t value;
  LCI_request_t r;
  memset(&value, 0, sizeof value);
  if (LCI_RANK == 1) CHECK(LCI_recvs(ep, 0, 5, LCI_UR_CQ, NULL) == LCI_OK);
  /* All ranks get an error, and none waits for the others. The device remains. */
  CHECK(LCI_device_free(&copy) == LCI_ERR_FATAL && copy == device);
  CHECK(strstr(written(file), LCI_RANK == 1 ? "of the device has 1 receives" : "rank 1 has an endpoint of the device"));
  LCI_barrier();
  if (LCI_RANK == 0) CHECK(LCI_sends(ep, value, 1, 5) == LCI_OK);
  if (LCI_RANK == 1)
    while (LCI_queue_pop(LCI_UR_CQ, &r) != LCI_OK) LCI_progress(device);
  LCI_barrier();
}

/* Where only one rank is in the checking mode, both free a device all the same, and both learn that it can't be
 * freed. */
static int checked_at_one_rank(int rank) {
  LCI_device_t device, copy;
  LCI_endpoint_t ep;
  LCI_request_t r;
  LCI_short_t value;
  memset(&value, 0, sizeof value);
  if (rank == 0) setenv("LCI_V1_CHECK", "1", 1);
  if (LCI_initialize() != LCI_OK) return 1;
  CHECK(LCI_device_init(&device) == LCI_OK);
  CHECK(create(&ep, device, LCI_MATCH_RANKTAG) == LCI_OK);
  copy = device;
  if (LCI_RANK == 0) CHECK(LCI_recvs(ep, 1, 5, LCI_UR_CQ, NULL) == LCI_OK);
  CHECK(LCI_device_free(&copy) == LCI_ERR_FATAL && copy == device);
  LCI_barrier();
  if (LCI_RANK == 1) CHECK(LCI_sends(ep, value, 0, 5) == LCI_OK);
  if (LCI_RANK == 0)
    while (LCI_queue_pop(LCI_UR_CQ, &r) != LCI_OK) LCI_progress(device);
  LCI_barrier();
  CHECK(LCI_device_free(&device) == LCI_OK);
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("endpoint_differences one_rank");
}

int main(int argc, char** argv) {
  LCI_device_t device;
  LCI_endpoint_t ep;
  FILE* file = tmpfile();
  int standard_error = dup(2), saved;
  if (argc == 2 && strcmp(argv[1], "one_rank") == 0)
    return checked_at_one_rank(getenv("PMI_RANK") != NULL ? atoi(getenv("PMI_RANK")) : 0);
  if (file == NULL || dup2(fileno(file), 2) != 2) return 2;
  setenv("LCI_V1_CHECK", "1", 1);
  if (LCI_initialize() != LCI_OK) return 1;
  CHECK(LCI_NUM_PROCESSES == 2);
  CHECK(LCI_device_init(&device) == LCI_OK);
  CHECK(create(&ep, device, LCI_MATCH_RANKTAG) == LCI_OK); /* the same at both ranks: no text */
  LCI_barrier();
  CHECK(strstr(written(file), "lci: ") == NULL);
  different_match_types(device, ep, file);
  pending_receive(device, ep, file);
  CHECK(LCI_device_free(&device) == LCI_OK);
  LCI_barrier();
  CHECK(LCI_finalize() == LCI_OK);
  saved = failed_checks;
  dup2(standard_error, 2);
  if (saved != 0) fprintf(stderr, "%s", written(file));
  return conclude("endpoint_differences");
}
