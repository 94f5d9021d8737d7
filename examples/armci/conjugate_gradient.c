/* Conjugate gradient for Poisson's equation on a square. Lines of the grid are spread over the processes; before each
 * product with the matrix, a process gets the lines beside its own from their owners' memory.
 *
 *   lcirun -n 2 armci_conjugate_gradient [LINES]
 *
 * Each process solves the same equation alone, too, and compares. */
#include <armci.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, nproc, lines;

static int first_of(int proc) { return lines * proc / nproc; }

/* q = A p for `count` lines that stand at p; above and below them are one line each. */
static void multiply(const double* p, double* q, int count) {
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < lines; ++j) {
      const double* const at = p + (i + 1) * lines + j;
      const double left = j > 0 ? at[-1] : 0, right = j + 1 < lines ? at[1] : 0;
      q[i * lines + j] = 4 * at[0] - left - right - at[-lines] - at[lines];
    }
}

static double dot(const double* x, const double* y, int count, int together) {
  double sum = 0;
  for (int i = 0; i < count * lines; ++i) sum += x[i] * y[i];
  if (together) armci_msg_dgop(&sum, 1, "+");
  return sum;
}

static double right_side(int line, int column) { return sin(0.1 * line) + 0.01 * column; }

/* Lines beside those of this process. The barriers keep an owner from changing what others still get. */
static void get_neighbours(double** all, double* p, int count) {
  const size_t bytes = (size_t)lines * sizeof(double);
  ARMCI_Barrier();
  for (int above = me - 1; above >= 0; --above) {
    const int theirs = first_of(above + 1) - first_of(above);
    if (theirs == 0) continue; /* fewer lines than processes */
    ARMCI_Get(all[above] + theirs * lines, p, (int)bytes, above);
    break;
  }
  for (int below = me + 1; below < nproc; ++below) {
    if (first_of(below + 1) == first_of(below)) continue;
    ARMCI_Get(all[below] + lines, p + (count + 1) * lines, (int)bytes, below);
    break;
  }
  ARMCI_Barrier();
}

/* Solves for `count` lines from `begin`; `p`, with a line more at both ends, is where others get lines from, if there
 * are others. Returns the number of steps. */
static int solve(double* x, double* p, double** all, int begin, int count) {
  const int together = all != NULL;
  const size_t values = (size_t)(count * lines);
  double *r = malloc(values * sizeof(double) + 1), *q = malloc(values * sizeof(double) + 1);
  memset(p, 0, sizeof(double) * (values + 2 * (size_t)lines));
  for (int i = 0; i < count * lines; ++i) {
    x[i] = 0;
    r[i] = p[lines + i] = right_side(begin + i / lines, i % lines);
  }
  double rr = dot(r, r, count, together);
  const double enough = 1e-24 * rr;
  int steps = 0;
  for (; rr > enough && steps < 20 * lines; ++steps) {
    if (together) get_neighbours(all, p, count);
    multiply(p, q, count);
    const double alpha = rr / dot(p + lines, q, count, together);
    for (int i = 0; i < count * lines; ++i) {
      x[i] += alpha * p[lines + i];
      r[i] -= alpha * q[i];
    }
    const double before = rr;
    rr = dot(r, r, count, together);
    for (int i = 0; i < count * lines; ++i) p[lines + i] = r[i] + rr / before * p[lines + i];
  }
  free(r);
  free(q);
  return steps;
}

int main(int argc, char** argv) {
  ARMCI_Init();
  me = armci_msg_me();
  nproc = armci_msg_nproc();
  lines = argc > 1 ? atoi(argv[1]) : 48;
  if (lines < 1 || lines > 10000) ARMCI_Error("LINES must be 1..10000", 1);
  const int begin = first_of(me), count = first_of(me + 1) - begin;
  const size_t line = (size_t)lines * sizeof(double);
  double** all = malloc(sizeof(double*) * (size_t)nproc);
  if (ARMCI_Malloc((void**)all, (armci_size_t)((size_t)(count + 2) * line)) != 0) ARMCI_Error("no memory", 1);
  double *x = malloc((size_t)count * line + 1), *serial = malloc((size_t)lines * line);
  double* p = malloc((size_t)(lines + 2) * line);
  const int steps = solve(x, all[me], all, begin, count);
  const int serial_steps = solve(serial, p, NULL, 0, lines);
  double difference = 0, largest = 0;
  for (int i = 0; i < count * lines; ++i) difference = fmax(difference, fabs(x[i] - serial[begin * lines + i]));
  for (int i = 0; i < lines * lines; ++i) largest = fmax(largest, fabs(serial[i]));
  armci_msg_dgop(&difference, 1, "max");
  if (me == 0)
    printf("%d lines: %d steps (alone: %d), largest difference %.1e of %.1f\n", lines, steps, serial_steps, difference,
           largest);
  free(p);
  free(serial);
  free(x);
  ARMCI_Free(all[me]);
  free(all);
  ARMCI_Finalize();
  return !(difference <= 1e-9 * largest && abs(steps - serial_steps) <= 2);
}
