/* Transposes a matrix whose rows are spread over the processes: each puts its part of every other's columns with one
 * ARMCI_PutS, whose strides exchange rows and columns.
 *
 *   lcirun -n 2 armci_transpose [ROWS]
 *
 * Each process knows what its rows of the result must be. */
#include <armci.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  ARMCI_Init();
  const int me = armci_msg_me(), nproc = armci_msg_nproc(), n = argc > 1 ? atoi(argv[1]) : 500;
  if (n < 1 || n > 10000) ARMCI_Error("ROWS must be 1..10000", 1);
  const int element = sizeof(double), row = n * element;
  const int begin = n * me / nproc, rows = n * (me + 1) / nproc - begin;
  double** result = malloc(sizeof(double*) * (size_t)nproc);
  if (ARMCI_Malloc((void**)result, (armci_size_t)rows * row) != 0) ARMCI_Error("no memory", 1);
  double* mine = malloc((size_t)rows * (size_t)row + 1);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < n; ++j) mine[i * n + j] = (begin + i) * 10000.0 + j;

  for (int k = 0; k < nproc; ++k) {
    const int proc = (me + k) % nproc; /* not all to the same at once */
    const int first = n * proc / nproc, columns = n * (proc + 1) / nproc - first;
    if (columns == 0) continue; /* fewer rows than processes */
    /* Down my column, which is along a row there; then from column to column, which are rows there. */
    int from[2] = {row, element}, to[2] = {element, row}, count[3] = {element, rows, columns};
    ARMCI_PutS(mine + first, from, result[proc] + begin, to, count, 2, proc);
  }
  ARMCI_Barrier();

  int wrong = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < n; ++j) wrong += result[me][i * n + j] != j * 10000.0 + begin + i;
  armci_msg_igop(&wrong, 1, "+");
  if (me == 0) printf("%d x %d: %d elements are wrong\n", n, n, wrong);
  free(mine);
  ARMCI_Free(result[me]);
  free(result);
  ARMCI_Finalize();
  return wrong != 0;
}
