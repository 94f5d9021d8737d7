/* Sections 4.5 and 4.6: registration, serialised segments, long and medium buffers. */
#include "tests/layers/v1/spec/spec.h"

#include <sys/mman.h>

enum { TAG = 21 };

/* The next rank writes to and reads from this rank's `bytes`, a part of `segment`. */
static void use_from_afar(LCI_segment_t segment, char* bytes, size_t length) {
  struct card {
    char segment[LCI_SEGMENT_SERIALIZED_MAX];
    uint64_t address, length;
  } mine, all[64];
  const int to = rank_at(1);
  const int from = rank_at(-1);
  LCI_segment_t far_segment = NULL;
  LCI_lbuffer_t into;
  LCI_comp_t sync = NULL;
  char* copy = malloc(length + 1);
  if (!copy) give_up("memory");
  memset(&mine, 0x77, sizeof mine);
  CHECK_OK(LCI_segment_serialize(segment, mine.segment));
  CHECK(memchr(mine.segment, 0, sizeof mine.segment) != NULL);
  mine.address = (uintptr_t)bytes;
  mine.length = length;
  exchange(&mine, all, sizeof mine);
  CHECK_EQ(all[to].length, length);
  CHECK_OK(LCI_segment_deserialize(all[to].segment, &far_segment));
  CHECK(far_segment != NULL);
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync));
  memset(bytes, UNTOUCHED, length);
  CHECK_OK(LCI_barrier());
  AGAIN(LCI_putl(LCI_UR_ENDPOINT, long_of(LCI_SEGMENT_ALL, payload(LCI_RANK, TAG), length), sync, to, TAG,
                 long_of(far_segment, (void*)(uintptr_t)all[to].address, length), LCI_NO_COMP_REMOTE, NULL));
  CHECK_OK(LCI_sync_wait(sync, NULL));
  CHECK_OK(LCI_gfence_wait(LCI_UR_ENDPOINT));
  CHECK(has_payload(bytes, length, from, TAG));
  memcpy(bytes, payload(LCI_RANK, TAG + 1), length);
  CHECK_OK(LCI_barrier());
  into = long_of(LCI_SEGMENT_ALL, copy, length);
  AGAIN(LCI_getl(LCI_UR_ENDPOINT, &into, length, sync, to, TAG,
                 long_of(far_segment, (void*)(uintptr_t)all[to].address, length), LCI_NO_COMP_REMOTE, NULL));
  CHECK_OK(LCI_sync_wait(sync, NULL));
  CHECK(has_payload(copy, length, to, TAG + 1));
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_sync_free(&sync));
  CHECK_OK(LCI_memory_deregister(&far_segment));
  CHECK(far_segment == NULL);
  free(copy);
}

static void registration(void) {
  const size_t sizes[] = {1, 100, 4096, 1 << 20};
  char* memory = malloc((1 << 20) + 64);
  size_t i, offset;
  if (!memory) give_up("memory");
  for (i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    for (offset = 0; offset < 64; offset += 13) {
      LCI_segment_t segment = NULL, again = NULL;
      LCI_reg_t inner = NULL;
      case_is("%zu bytes at offset %zu, registered twice, and a part of it once", sizes[i], offset);
      CHECK_OK(LCI_memory_register(LCI_UR_DEVICE, memory + offset, sizes[i], &segment));
      CHECK_OK(LCI_memory_register(LCI_UR_DEVICE, memory + offset, sizes[i], &again));
      CHECK_OK(LCI_memory_register(LCI_UR_DEVICE, memory + offset + sizes[i] / 2, sizes[i] - sizes[i] / 2, &inner));
      CHECK(segment && again && inner);
      CHECK(segment != LCI_SEGMENT_ALL);
      if (offset == 13) {
        use_from_afar(segment, memory + offset, sizes[i]);
        CHECK_OK(LCI_memory_deregister(&segment));
        CHECK(segment == NULL);
        use_from_afar(again, memory + offset, sizes[i]); /* the other registrations persist */
        CHECK_OK(LCI_memory_deregister(&again));
        use_from_afar(inner, memory + offset + sizes[i] / 2, sizes[i] - sizes[i] / 2);
        CHECK_OK(LCI_memory_deregister(&inner));
      } else {
        CHECK_OK(LCI_memory_deregister(&inner));
        CHECK_OK(LCI_memory_deregister(&segment));
        CHECK_OK(LCI_memory_deregister(&again));
      }
      CHECK(!segment && !again && !inner);
    }
  free(memory);
}

/* A range may be registered with several devices. */
static void on_two_devices(void) {
  LCI_device_t device = NULL;
  LCI_segment_t here = NULL, there = NULL;
  LCI_endpoint_t endpoint;
  struct box box;
  LCI_request_t request;
  char memory[300], into[300];
  const int to = rank_at(1);
  const int from = rank_at(-1);
  case_is("memory that is registered with two devices");
  CHECK_OK(LCI_device_init(&device));
  CHECK_OK(LCI_memory_register(LCI_UR_DEVICE, memory, sizeof memory, &here));
  CHECK_OK(LCI_memory_register(device, memory, sizeof memory, &there));
  use_from_afar(here, memory, sizeof memory);
  box_open(&box, device, BY_QUEUE);
  endpoint = endpoint_with(device, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, box.comp);
  memcpy(memory, payload(LCI_RANK, TAG), sizeof memory);
  AGAIN_ON(device, LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, into, sizeof into), from, TAG, box.comp, &box));
  AGAIN_ON(device, LCI_sendl(endpoint, long_of(there, memory, sizeof memory), to, TAG, NULL, NULL));
  box_wait(&box, device, &request, 0);
  check_request(&request, from, TAG, &box);
  CHECK(has_payload(into, sizeof into, from, TAG));
  CHECK_OK(LCI_gfence_wait(endpoint));
  CHECK_OK(LCI_endpoint_free(&endpoint));
  box_close(&box);
  CHECK_OK(LCI_memory_deregister(&there));
  use_from_afar(here, memory, sizeof memory);
  CHECK_OK(LCI_memory_deregister(&here));
  CHECK_OK(LCI_device_free(&device));
}

static void text_of_segment(void) {
  char memory[100], text[LCI_SEGMENT_SERIALIZED_MAX + 8], guard[8];
  LCI_segment_t segment = NULL, copy = NULL;
  size_t i;
  case_is("the text of a segment");
  CHECK_OK(LCI_memory_register(LCI_UR_DEVICE, memory, sizeof memory, &segment));
  memset(text, UNTOUCHED, sizeof text);
  memset(guard, UNTOUCHED, sizeof guard);
  CHECK_OK(LCI_segment_serialize(segment, text));
  CHECK(memcmp(text + LCI_SEGMENT_SERIALIZED_MAX, guard, sizeof guard) == 0);
  CHECK(strlen(text) > 0 && strlen(text) < LCI_SEGMENT_SERIALIZED_MAX);
  for (i = 0; text[i]; ++i) CHECK(text[i] > ' ' && text[i] < 127);
  CHECK_OK(LCI_segment_deserialize(text, &copy));
  CHECK(copy != NULL);
  memset(text, 0, sizeof text); /* the text is no longer needed */
  CHECK_OK(LCI_memory_deregister(&copy));
  CHECK(copy == NULL);
  use_from_afar(segment, memory, sizeof memory); /* is still registered */
  CHECK_OK(LCI_memory_deregister(&segment));
}

static void long_buffers(void) {
  const size_t sizes[] = {1, 8, 4095, 100000, 1 << 20};
  const size_t alignments[] = {0, 1, 2, 8, 16, 64, 4096, 65536}; /* 0: LCI_lbuffer_alloc() */
  size_t i, k;
  for (i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    for (k = 0; k < sizeof alignments / sizeof *alignments; ++k) {
      LCI_lbuffer_t buffer, other;
      case_is("a long buffer of %zu bytes, alignment %zu", sizes[i], alignments[k]);
      memset(&buffer, 0x77, sizeof buffer);
      if (alignments[k])
        CHECK_OK(LCI_lbuffer_memalign(LCI_UR_DEVICE, sizes[i], alignments[k], &buffer));
      else
        CHECK_OK(LCI_lbuffer_alloc(LCI_UR_DEVICE, sizes[i], &buffer));
      CHECK_OK(LCI_lbuffer_alloc(LCI_UR_DEVICE, sizes[i], &other));
      CHECK(buffer.address != NULL && buffer.address != other.address);
      CHECK(buffer.segment != LCI_SEGMENT_ALL);
      CHECK_EQ(buffer.length, sizes[i]);
      if (alignments[k]) CHECK_EQ((uintptr_t)buffer.address % alignments[k], 0);
      memset(other.address, 1, sizes[i]);
      use_from_afar(buffer.segment, buffer.address, sizes[i]);
      CHECK(is_all(other.address, sizes[i], 1));
      CHECK_OK(LCI_lbuffer_free(buffer));
      CHECK_OK(LCI_lbuffer_free(other));
    }
}

/* All packets: LCI_ERR_RETRY then, and room again after one was freed. */
static void medium_buffers(void) {
  const size_t most = (size_t)LCI_SERVER_NUM_PKTS + 1;
  LCI_mbuffer_t* all = calloc(most, sizeof *all);
  LCI_error_t code = LCI_OK;
  LCI_request_t request;
  char into[500];
  LCI_comp_t queue = NULL;
  const int to = rank_at(1);
  const int from = rank_at(-1);
  size_t n = 0, i;
  case_is("all %d medium buffers", LCI_SERVER_NUM_PKTS);
  if (!all) give_up("memory");
  CHECK_OK(LCI_queue_create(LCI_UR_DEVICE, &queue));
  AGAIN(LCI_recvm(LCI_UR_ENDPOINT, medium_of(into, sizeof into), from, TAG, queue, into));
  CHECK_OK(LCI_barrier());
  while (n < most && (code = LCI_mbuffer_alloc(LCI_UR_DEVICE, &all[n])) == LCI_OK) {
    CHECK_EQ(all[n].length, LCI_MEDIUM_SIZE);
    CHECK(all[n].address != NULL);
    memcpy(all[n].address, &n, sizeof n);
    memcpy((char*)all[n].address + LCI_MEDIUM_SIZE - sizeof n, &n, sizeof n);
    ++n;
  }
  CHECK_EQ(code, LCI_ERR_RETRY);
  CHECK(n > 0 && n <= (size_t)LCI_SERVER_NUM_PKTS);
  for (i = 0; i < n; ++i) {
    CHECK(memcmp(all[i].address, &i, sizeof i) == 0);
    CHECK(memcmp((char*)all[i].address + LCI_MEDIUM_SIZE - sizeof i, &i, sizeof i) == 0);
  }
  CHECK_EQ(LCI_mbuffer_alloc(LCI_UR_DEVICE, &all[n < most ? n : 0]), LCI_ERR_RETRY);
  CHECK_OK(LCI_mbuffer_free(all[--n]));
  CHECK_OK(LCI_mbuffer_alloc(LCI_UR_DEVICE, &all[n]));
  /* One of them is sent on: it is the library's then. Lack of packets at the target is no failure. */
  memcpy(all[n].address, payload(LCI_RANK, TAG), sizeof into);
  all[n].length = sizeof into;
  AGAIN(LCI_sendmn(LCI_UR_ENDPOINT, all[n], to, TAG));
  {
    struct patience patience = {0, 0};
    while ((code = LCI_queue_pop(queue, &request)) == LCI_ERR_RETRY) step(&patience, LCI_UR_DEVICE, "a medium message");
  }
  CHECK_EQ(code, LCI_OK);
  check_request(&request, from, TAG, into);
  CHECK(has_payload(into, sizeof into, from, TAG));
  for (i = 0; i < n; ++i) CHECK_OK(LCI_mbuffer_free(all[i]));
  CHECK_OK(LCI_barrier());
  AGAIN(LCI_mbuffer_alloc(LCI_UR_DEVICE, &all[0]));
  CHECK_OK(LCI_mbuffer_free(all[0]));
  CHECK_OK(LCI_queue_free(&queue));
  free(all);
}

/* LCI_SEGMENT_ALL: memory that was unmapped and mapped again, at the same address, is registered anew. */
static void on_the_fly(void) {
  const size_t size = 1 << 20;
  const int to = rank_at(1);
  const int from = rank_at(-1);
  LCI_comp_t sync = NULL;
  char *memory = NULL, *into = NULL;
  LCI_tag_t tag;
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 2, &sync));
  for (tag = 0; tag < (whole ? 100u : 8u); ++tag) {
    case_is("new memory at an old address, round %d", (int)tag);
    memory = mmap(memory, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    into = mmap(into, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || into == MAP_FAILED) give_up("memory");
    memcpy(memory, payload(LCI_RANK, tag), size);
    AGAIN(LCI_recvl(LCI_UR_ENDPOINT, long_of(LCI_SEGMENT_ALL, into, size), from, tag, sync, NULL));
    AGAIN(LCI_sendl(LCI_UR_ENDPOINT, long_of(LCI_SEGMENT_ALL, memory, size), to, tag, sync, NULL));
    CHECK_OK(LCI_sync_wait(sync, NULL));
    CHECK(has_payload(into, size, from, tag));
    munmap(memory, size);
    munmap(into, size);
  }
  CHECK_OK(LCI_sync_free(&sync));
}

void memory(void) {
  registration();
  on_two_devices();
  text_of_segment();
  long_buffers();
  medium_buffers();
  on_the_fly();
}
