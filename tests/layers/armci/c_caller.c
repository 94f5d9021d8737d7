/* A program in C, in the style of 2000: the words of the document, positional initialisers, an uninitialised
 * request. */
#include <armci.h>
#include <armcix.h>
#include <message.h>
#include <stdio.h>
#include <stdlib.h>

/* The document's own spelling. */
static int put_segments(armci_giov_t dscr_arr[], int arr_len, int proc) { return ARMCI_PutV(dscr_arr, arr_len, proc); }

/* Never called: it has to link. */
void unused(void);
void unused(void) {
  armci_lockmem(NULL, NULL, 0);
  armci_unlockmem();
  ARMCI_Cleanup();
  ARMCI_Error("message", 1);
  puts(mp_group_name);
}

int ARMCI_Get(void* src, void* dst, int bytes, int proc); /* a second declaration does no harm */

int main(int argc, char** argv) {
  double a[10][20], *b;
  void** base;
  int me, nproc, req, i, count[2], stride[1];
  void *src[2], *dst[2];
  armci_msg_init(&argc, &argv);
  me = armci_msg_me();
  nproc = armci_msg_nproc();
  armci_msg_barrier();
  if (ARMCI_Init()) return 1;
  base = malloc(sizeof(void*) * (size_t)nproc);
  if (ARMCI_Malloc(base, 1000 * sizeof(double))) return 2;
  b = base[me];
  for (i = 0; i < 1000; ++i) b[i] = 0;
  for (i = 0; i < 200; ++i) a[i / 20][i % 20] = i;
  stride[0] = 20 * sizeof(double);
  count[0] = 6 * sizeof(double);
  count[1] = 3;
  if (ARMCI_NbPutS(&a[1][2], stride, b, stride, count, 1, me, &req)) return 3;
  if (ARMCI_Wait(&req)) return 4;
  if (b[20] != a[2][2]) return 5;
  ARMCI_Put1(&a[3][0], &b[700], sizeof(double), me); /* a statement, as programs write it */
  if (b[700] != a[3][0] || ARMCI_Put1(&a[3][1], &b[700], 8, me) != 0 || b[700] != a[3][1]) return 11;
  src[0] = &a[0][0];
  src[1] = &a[9][0];
  dst[0] = b + 500;
  dst[1] = b + 600;
  {
    armci_giov_t v = {src, dst, 8, 2};
    if (v.ptr_ar_len != 2 || v.src_ptr_array != src || v.src_ptr_ar != (void*)src) return 6;
    if (put_segments(&v, 1, me) || b[600] != a[9][0]) return 7;
  }
  ARMCI_Fence(me);
  ARMCI_AllFence();
  ARMCI_Barrier();
  if (ARMCI_Free(base[me])) return 8;
  ARMCI_Finalize();
  armci_msg_finalize();
  free(base);
  return sizeof(ARMCI_Group) == 32 && sizeof(armci_giov_t) == 24 && sizeof(armci_hdl_t) == 4 ? 0 : 9;
}
