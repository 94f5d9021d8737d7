/* A sorted list whose elements lie in the memory of all processes; each inserts numbers at the same time as the others,
 * under a mutex.
 *
 *   lcirun -n 2 armci_linked_list [NUMBERS]
 *
 * At the end each process walks along the list, which must have all numbers, in order. */
#include <armci.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int proc, index; /* -1: the end */
} reference;
typedef struct {
  long value;
  reference next;
} element;

static int me, nproc, numbers;
static element** elements; /* of each process; the first one of process 0 is the list's head */

static element get(reference at) {
  element e;
  ARMCI_Get(&elements[at.proc][at.index], &e, sizeof e, at.proc);
  return e;
}
static void put(element* e, reference at) { ARMCI_Put(e, &elements[at.proc][at.index], sizeof *e, at.proc); }

/* The mutex is process 0's, elements are anybody's: so those that were put are fenced before the next may look. */
static void insert(long value, reference mine) {
  ARMCI_Lock(0, 0);
  reference before = {0, 0};
  element e = get(before);
  while (e.next.proc >= 0) {
    const element next = get(e.next);
    if (next.value >= value) break;
    before = e.next;
    e = next;
  }
  element new_one = {value, e.next};
  put(&new_one, mine);
  e.next = mine;
  put(&e, before);
  ARMCI_AllFence();
  ARMCI_Unlock(0, 0);
}

/* Different numbers for all processes, in no order. */
static long number(int proc, int i) { return (long)(i * 7919 % numbers) * nproc + proc; }

int main(int argc, char** argv) {
  ARMCI_Init();
  me = armci_msg_me();
  nproc = armci_msg_nproc();
  numbers = argc > 1 ? atoi(argv[1]) : 100;
  if (numbers < 1 || numbers > 100000) ARMCI_Error("NUMBERS must be 1..100000", 1);
  if (numbers % 7919 == 0) ++numbers;
  elements = malloc(sizeof(element*) * (size_t)nproc);
  if (ARMCI_Malloc((void**)elements, (armci_size_t)sizeof(element) * (numbers + 1)) != 0) ARMCI_Error("no memory", 1);
  elements[me][0] = (element){-1, {-1, -1}};
  ARMCI_Create_mutexes(me == 0 ? 1 : 0);
  ARMCI_Barrier();
  for (int i = 0; i < numbers; ++i) insert(number(me, i), (reference){me, i + 1});
  ARMCI_Barrier();

  int wrong = 0;
  long found = 0;
  for (reference at = get((reference){0, 0}).next; at.proc >= 0; ++found) {
    const element e = get(at);
    wrong += e.value != found; /* together they are 0, 1, 2 ... */
    at = e.next;
  }
  wrong += found != (long)numbers * nproc;
  armci_msg_igop(&wrong, 1, "+");
  if (me == 0) printf("%ld numbers, %d are wrong\n", found, wrong);
  ARMCI_Barrier();
  ARMCI_Destroy_mutexes();
  ARMCI_Free(elements[me]);
  free(elements);
  ARMCI_Finalize();
  return wrong != 0;
}
