/* A user's program in C: each rank publishes a text and reads its neighbour's. */
#include <lct.h>
#include <string.h>

int main(void) {
  char key[] = "name", value[LCT_PMI_STRING_LIMIT], expected[LCT_PMI_STRING_LIMIT];
  int rank, next;
  LCT_init();
  LCT_pmi_initialize();
  rank = LCT_pmi_get_rank();
  next = (rank + 1) % LCT_pmi_get_size();
  snprintf(value, sizeof value, "I am %d", rank);
  snprintf(expected, sizeof expected, "I am %d", next);
  LCT_pmi_publish(key, value);
  LCT_pmi_barrier();
  LCT_pmi_getname(next, key, value);
  printf("rank %d of %d reads: %s\n", rank, LCT_pmi_get_size(), value);
  LCT_pmi_barrier();
  LCT_pmi_finalize();
  LCT_fina();
  return strcmp(value, expected) != 0;
}
