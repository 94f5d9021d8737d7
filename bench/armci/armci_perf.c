/* Measures ARMCI between two processes: the same source for LCI's ARMCI and for others.
 *
 *   lcirun -n 2 armci_perf [FIGURE...]
 *
 * Rank 0 works on memory of rank 1, which waits in a barrier. It prints a line for each figure: its name, the median of
 * some rounds, a unit. Figures whose names begin with "floor" are limits of the machine, without ARMCI. The figure
 * "sizes", which runs only if it is named, is latency and bandwidth of puts by size. */
#define _GNU_SOURCE
#include <armci.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { rounds = 9, most_in_turn = 2, side = 1024, part = 512, row = 1024, largest = 1 << 20, area = side * side * 8 };

static int me;
static void* base[2];   /* of ARMCI_Malloc */
static char* local;     /* of this process alone */
static char* mapped;    /* shared by both, without ARMCI */
static double* private; /* as large as `mapped` */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

typedef void (*work)(long n);

/* Seconds of one call of f, in n calls. */
static double seconds_of_calls(work f, long n) {
  const double begin = now();
  f(n);
  return (now() - begin) / (double)n;
}

static double median_of(double* times) {
  qsort(times, rounds, sizeof times[0], by_size);
  return times[rounds / 2];
}

/* The median of rounds of n calls. */
static double seconds_of_rounds(work f, long n) {
  double times[rounds];
  for (int i = 0; i < rounds; ++i) times[i] = seconds_of_calls(f, n);
  return median_of(times);
}

/* The number of calls of f that take about 20 ms. */
static long calls_of_round(work f) {
  f(1); /* the first touch of pages */
  for (long n = 1;; n *= 4) {
    const double took = seconds_of_calls(f, n) * (double)n;
    if (took > 0.01 || n > 1 << 26) return (long)(0.02 / took * (double)n) + 1;
  }
}

static void put8(long n) {
  for (; n > 0; --n) ARMCI_Put(local, base[1], 8, 1), ARMCI_Fence(1);
}
static void get8(long n) {
  for (; n > 0; --n) ARMCI_Get(base[1], local, 8, 1);
}
static void rmw(long n) {
  long old;
  for (; n > 0; --n) ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, base[1], 1, 1);
}
static void atomic_add(long n) {
  for (; n > 0; --n) __atomic_fetch_add((long*)mapped, 1, __ATOMIC_SEQ_CST);
}

static int strides[1] = {side * 8}, counts[2] = {part * 8, part};
static void put_block(long n) {
  for (; n > 0; --n) ARMCI_PutS(local, strides, base[1], strides, counts, 1, 1);
  ARMCI_Fence(1);
}
static void get_block(long n) {
  for (; n > 0; --n) ARMCI_GetS(base[1], strides, local, strides, counts, 1, 1);
}
static void put_rows(long n) {
  for (; n > 0; --n)
    for (int i = 0; i < part; ++i) memcpy(mapped + i * strides[0], local + i * strides[0], part * 8);
}
static void get_rows(long n) {
  for (; n > 0; --n)
    for (int i = 0; i < part; ++i) memcpy(local + i * strides[0], mapped + i * strides[0], part * 8);
}

static int bytes;
static double scale = 1.5;
static void accumulate(long n) {
  for (; n > 0; --n) ARMCI_Acc(ARMCI_ACC_DBL, &scale, local, base[1], bytes, 1);
  ARMCI_Fence(1);
}
static void plain_loop(long n) {
  const double* __restrict x = (const double*)(void*)local;
  double* __restrict y = private;
  const int count = bytes / 8;
  for (; n > 0; --n) {
    for (int i = 0; i < count; ++i) y[i] += scale * x[i];
    __asm__ volatile("" ::"r"(y) : "memory");
  }
}

static void put_window(long n) {
  armci_hdl_t handles[64];
  for (; n > 0; n -= 64) {
    for (int i = 0; i < 64; ++i) {
      ARMCI_INIT_HANDLE(&handles[i]);
      ARMCI_NbPut(local + 8 * i, (char*)base[1] + 8 * i, 8, 1, &handles[i]);
    }
    for (int i = 0; i < 64; ++i) ARMCI_Wait(&handles[i]);
  }
}
static void lock(long n) {
  for (; n > 0; --n) ARMCI_Lock(0, 1), ARMCI_Unlock(0, 1);
}

/* The same number of bytes as one contiguous piece, and as rows with gaps. */
static void put_whole(long n) {
  for (; n > 0; --n) ARMCI_Put(local, base[1], largest, 1);
  ARMCI_Fence(1);
}
static void get_whole(long n) {
  for (; n > 0; --n) ARMCI_Get(base[1], local, largest, 1);
}
static void get_64k(long n) {
  for (; n > 0; --n) ARMCI_Get(base[1], local, 65536, 1);
}
static int row_strides[1] = {2 * row}, row_counts[2] = {row, largest / row};
static void put_short_rows(long n) {
  for (; n > 0; --n) ARMCI_PutS(local, row_strides, base[1], row_strides, row_counts, 1, 1);
  ARMCI_Fence(1);
}

/* A figure is the time of a call in ns or, with `amount` bytes, a bandwidth in MB/s; `rate`: calls a microsecond. */
struct figure {
  const char* name;
  work f;
  int together; /* both processes run it at the same time */
  double amount;
  int rate;
  int size;    /* of accumulates */
  int in_turn; /* if not 0: rounds of it alternate with those of its neighbours of the same number */
};
static const struct figure figures[] = {{"put 8", put8, 0, 0, 0, 0, 0},
                                        {"get 8", get8, 0, 0, 0, 0, 0},
                                        {"rmw", rmw, 0, 0, 0, 0, 0},
                                        {"rmw by two", rmw, 1, 0, 0, 0, 0},
                                        {"floor atomic by two", atomic_add, 1, 0, 0, 0, 0},
                                        {"strided put", put_block, 0, part* part * 8.0, 0, 0, 1},
                                        {"floor rows out", put_rows, 0, part* part * 8.0, 0, 0, 1},
                                        {"strided get", get_block, 0, part* part * 8.0, 0, 0, 2},
                                        {"floor rows in", get_rows, 0, part* part * 8.0, 0, 0, 2},
                                        {"accumulate 64K", accumulate, 0, 65536, 0, 65536, 3},
                                        {"floor loop 64K", plain_loop, 0, 65536, 0, 65536, 3},
                                        {"accumulate 1M", accumulate, 0, largest, 0, largest, 4},
                                        {"floor loop 1M", plain_loop, 0, largest, 0, largest, 4},
                                        {"nbput 8", put_window, 0, 0, 1, 0, 0},
                                        {"lock", lock, 0, 0, 0, 0, 0},
                                        {"put 1M", put_whole, 0, largest, 0, 0, 0},
                                        {"get 64K", get_64k, 0, 65536, 0, 0, 0},
                                        {"get 1M", get_whole, 0, largest, 0, 0, 0},
                                        {"put rows of 1K", put_short_rows, 0, largest, 0, 0, 0}};

static int is_wanted(const char* name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(name, argv[i]) == 0) return 1;
  return argc < 2;
}

static void print(const struct figure* f, double t) {
  if (f->rate)
    printf("%s: %.4g M/s\n", f->name, 1e-6 / t);
  else if (f->amount > 0)
    printf("%s: %.5g MB/s\n", f->name, 1e-6 * f->amount / t);
  else
    printf("%s: %.4g ns\n", f->name, 1e9 * t);
}

/* Measures `n` figures, in turns. */
static void measure(const struct figure* const* f, int n) {
  long calls[most_in_turn];
  double times[most_in_turn][rounds];
  armci_msg_barrier();
  if (me == 0 || f[0]->together) {
    bytes = f[0]->size;
    for (int k = 0; k < n; ++k) calls[k] = calls_of_round(f[k]->f);
    for (int i = 0; i < rounds; ++i)
      for (int k = 0; k < n; ++k) times[k][i] = seconds_of_calls(f[k]->f, calls[k]);
    for (int k = 0; k < n && me == 0; ++k) print(f[k], median_of(times[k]));
  }
  armci_msg_barrier();
}

/* The wanted figures of those that are measured in turns, from figure `i` on; moves `i` behind them. */
static int next_in_turn(size_t* i, int argc, char** argv, const struct figure** found) {
  int n = 0;
  const int number = figures[*i].in_turn;
  do {
    if (is_wanted(figures[*i].name, argc, argv)) found[n++] = &figures[*i];
    ++*i;
  } while (number != 0 && *i < sizeof figures / sizeof figures[0] && figures[*i].in_turn == number);
  return n;
}

/* Both processes put in turn. Each waits for the last byte of the other's put. */
static unsigned char turn;
static void ping_pong(long n) {
  volatile unsigned char* const arrived = (volatile unsigned char*)base[me] + bytes - 1;
  for (; n > 0; --n) {
    local[bytes - 1] = (char)++turn;
    if (me == 0) ARMCI_Put(local, base[1], bytes, 1);
    while (*arrived != turn) {
    }
    if (me == 1) ARMCI_Put(local, base[0], bytes, 0);
  }
}
static void put_many(long n) {
  for (; n > 0; --n) ARMCI_NbPut(local, base[1], bytes, 1, NULL);
  ARMCI_WaitAll();
  ARMCI_Fence(1);
}

/* Latency and bandwidth of puts as in Fig. 2 and Fig. 3 of the paper on CCS, with the sizes of bench/ccs/figures.py. */
static void measure_sizes(void) {
  enum { passes = 1000, largest_latency = 8192, most_puts = 10000, most_bytes = 64 << 20 };
  for (bytes = 8; bytes <= largest_latency; bytes *= 4) {
    memset(base[me], 0, (size_t)bytes);
    turn = 0;
    armci_msg_barrier();
    ping_pong(passes / 10);
    const double t = seconds_of_rounds(ping_pong, passes);
    if (me == 0) printf("latency %d: %.4g ns\n", bytes, 5e8 * t);
    armci_msg_barrier();
  }
  for (bytes = 8; bytes <= largest; bytes *= 4) {
    const int n = most_bytes / bytes < most_puts ? most_bytes / bytes : most_puts;
    if (me == 0) {
      put_many(n / 10 + 1);
      printf("bandwidth %d: %.5g MB/s\n", bytes, 1e-6 * bytes / seconds_of_rounds(put_many, n));
    }
    armci_msg_barrier();
  }
}

/* Memory from mmap() that both processes have mapped. */
static void* map_shared(size_t size) {
  char name[64];
  if (me == 0) snprintf(name, sizeof name, "/armci_perf-%d", (int)getpid());
  armci_msg_bcast(name, sizeof name, 0);
  const int file = shm_open(name, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, (off_t)size) != 0) ARMCI_Error((char*)"no shared memory", 1);
  void* const p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  armci_msg_barrier();
  shm_unlink(name);
  close(file);
  return p;
}

int main(int argc, char** argv) {
#ifdef MPI_VERSION
  MPI_Init(&argc, &argv);
#endif
  const double begin = now();
  ARMCI_Init();
  const double started = now() - begin;
  me = armci_msg_me();
  if (armci_msg_nproc() != 2) ARMCI_Error((char*)"two processes are needed", 1);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(me % (int)sysconf(_SC_NPROCESSORS_ONLN), &one);
  sched_setaffinity(0, sizeof one, &one);

  if (ARMCI_Malloc(base, area) != 0 || ARMCI_Create_mutexes(1) != 0) ARMCI_Error((char*)"no memory", 1);
  memset(base[me], 0, area);
  mapped = map_shared(area);
  if (me == 0) memset(mapped, 0, area);
  local = aligned_alloc(4096, area);
  private = aligned_alloc(4096, area);
  memset(local, 1, area);
  memset(private, 0, area);
  for (int i = 0; i < largest / 8; ++i) ((double*)(void*)local)[i] = i;
  if (me == 0 && is_wanted("init", argc, argv)) printf("init: %.4g ms\n", 1e3 * started);
  for (size_t i = 0; i < sizeof figures / sizeof figures[0];) {
    const struct figure* found[most_in_turn];
    const int n = next_in_turn(&i, argc, argv, found);
    if (n > 0) measure(found, n);
  }
  if (argc > 1 && is_wanted("sizes", argc, argv)) measure_sizes();

  fflush(stdout);
  ARMCI_Destroy_mutexes();
  ARMCI_Free(base[me]);
  ARMCI_Finalize();
#ifdef MPI_VERSION
  MPI_Finalize();
#endif
  return 0;
}
