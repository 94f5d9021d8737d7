/* What middleware builds from active messages and RMA, as a user of CCS would write it: floods, chains of messages that
 * handlers send, a rendezvous (message, get, message), handlers that are replaced, a second job in one process. */
#include <ccs.h>
#include <stdint.h>
#include <string.h>

enum { TO_COUNT = 1, TO_PASS_ON = 3, TO_LEARN = 4, TO_PULL = 5, FLOOD = 20000, STEPS = 40, PART = 8192 };
static CCS_node_t rank, size;
static CCS_context_t context;
static volatile int counted, counted_anew, learnt, steps, pulled;
static char* memory;
static void** peers; /* their `memory` */

#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "%u: line %d: %s\n", rank, __LINE__, #condition); \
      abort();                                                          \
    }                                                                   \
  } while (0)

static void count(CCS_token_t token, void* buffer, unsigned length) {
  (void)token, (void)buffer, (void)length;
  counted++;
}
static void count_anew(CCS_token_t token, void* buffer, unsigned length) {
  (void)token, (void)buffer, (void)length;
  counted_anew++;
}
static void pass_on(CCS_token_t token, void* buffer, unsigned length, int left) {
  (void)token;
  steps++;
  if (left > 0)
    CHECK(CCS_amrequest(context, (rank + (unsigned)left) % size, buffer, length, CCS_DATA8, TO_PASS_ON, 1, left - 1) ==
          CCS_SUCCESS);
}
static void learn(CCS_token_t token, void* buffer, unsigned length, void* address) {
  CCS_node_t sender;
  (void)buffer, (void)length;
  CHECK(CCS_sender_rank(token, &sender) == CCS_SUCCESS);
  peers[sender] = address;
  learnt++;
}
static void finish(void* node) {
  CHECK(CCS_amrequest(context, (CCS_node_t)(intptr_t)node, NULL, 0, CCS_DATA_NULL, TO_COUNT, 0) == CCS_SUCCESS);
  pulled++;
}
static void pull(CCS_token_t token, void* buffer, unsigned length, void* from, unsigned bytes) {
  CCS_node_t sender;
  (void)buffer, (void)length;
  CHECK(CCS_sender_rank(token, &sender) == CCS_SUCCESS);
  CHECK(CCS_get(sender, from, bytes, CCS_DATA8, memory + PART * (sender + 1), bytes, CCS_DATA8, finish,
                (void*)(intptr_t)sender) == CCS_SUCCESS);
}

static void start(void) {
  CHECK(CCS_init() == CCS_SUCCESS);
  CCS_get_rank(&rank);
  CCS_get_size(&size);
  counted = counted_anew = learnt = steps = pulled = 0;
  CHECK(CCS_new_context(&context) == CCS_SUCCESS);
  CHECK(CCS_register_handler(context, TO_COUNT, count) == CCS_SUCCESS);
  CHECK(CCS_register_handler(context, TO_PASS_ON, pass_on) == CCS_SUCCESS);
  CHECK(CCS_register_handler(context, TO_LEARN, learn) == CCS_SUCCESS);
  CHECK(CCS_register_handler(context, TO_PULL, pull) == CCS_SUCCESS);
  memory = malloc(PART * (size + 1));
  peers = malloc(size * sizeof *peers);
  CHECK(CCS_register_mem(memory, PART * (size + 1)) == CCS_SUCCESS);
  CHECK(CCS_barrier() == CCS_SUCCESS);
}

static void flood(void) {
  int i;
  for (i = 0; i < FLOOD; i++)
    CHECK(CCS_amrequest(context, (rank + 1) % size, "12345678", 8, CCS_DATA8, TO_COUNT, 0) == CCS_SUCCESS);
  while (counted < FLOOD) CCS_poll();
  CCS_barrier();
  counted = 0;
  CHECK(CCS_register_handler(context, TO_COUNT, count_anew) == CCS_SUCCESS);
  CCS_barrier();
  CHECK(CCS_amrequest(context, (rank + 1) % size, NULL, 0, CCS_DATA_NULL, TO_COUNT, 0) == CCS_SUCCESS);
  while (counted_anew == 0) CCS_poll();
  CHECK(counted == 0);
  CCS_barrier();
  CHECK(CCS_register_handler(context, TO_COUNT, count) == CCS_SUCCESS);
  CCS_barrier();
}

static void chains(void) {
  char data[3000];
  int32_t mine, all = 0;
  memset(data, 1, sizeof data);
  CHECK(CCS_amrequest(context, rank, data, sizeof data, CCS_DATA8, TO_PASS_ON, 1, STEPS) == CCS_SUCCESS);
  while (all != (STEPS + 1) * (int32_t)size) {
    mine = steps;
    CHECK(CCS_allreduce(&mine, &all, 1, CCS_INT32, CCS_SUM) == CCS_SUCCESS);
    CHECK(all <= (STEPS + 1) * (int32_t)size);
  }
}

static void rendezvous(void) {
  CCS_node_t p;
  int i;
  for (p = 0; p < size; p++)
    CHECK(CCS_amrequest(context, p, NULL, 0, CCS_DATA_NULL, TO_LEARN, 1, memory) == CCS_SUCCESS);
  while (learnt < (int)size) CCS_poll();
  memset(memory, 'a' + (int)rank % 26, PART);
  CCS_barrier();
  counted = 0;
  CCS_barrier();
  for (p = 0; p < size; p++)
    CHECK(CCS_amrequest(context, p, NULL, 0, CCS_DATA_NULL, TO_PULL, 2, memory, (unsigned)PART - 1) == CCS_SUCCESS);
  while (counted < (int)size || pulled < (int)size) CCS_poll();
  for (p = 0; p < size; p++)
    for (i = 0; i < PART - 1; i++) CHECK(memory[PART * (p + 1) + (unsigned)i] == (char)('a' + (int)p % 26));
  CCS_barrier();
  for (i = 0; i < 100; i++)
    CHECK(CCS_put((rank + 1) % size, memory, 100, CCS_DATA8, (char*)peers[(rank + 1) % size] + PART, 100, CCS_DATA8, 0,
                  0) == CCS_SUCCESS);
  CHECK(CCS_allfence() == CCS_SUCCESS);
  CCS_barrier();
  CHECK(memory[PART + 99] == (char)('a' + (int)((rank + size - 1) % size) % 26));
}

static void end(void) {
  CCS_barrier();
  CHECK(CCS_deregister_mem(memory, PART * (size + 1)) == CCS_SUCCESS);
  free(memory);
  free(peers);
  CHECK(CCS_finalize() == CCS_SUCCESS);
}

int main(void) {
  int job;
  for (job = 0; job < 2; job++) {
    start();
    flood();
    chains();
    rendezvous();
    end();
  }
  if (rank == 0) printf("cases: 1 passed, 0 failed, 0 skipped\n");
  return 0;
}
