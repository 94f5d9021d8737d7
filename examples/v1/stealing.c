/* LCI v1.7: a loop whose iterations take very different times. Ranks without work ask others for half of theirs;
 * requests and answers are short messages to a queue. */
#include <lci.h>
#include <string.h>

enum { iterations = 4000 };
enum { ASK = 1, ANSWER, DONE, STOP };

static long begin, end; /* what this rank has yet to do */
static long done_here, sum, all_done;
static int asked, stopped;

static void put(int rank, LCI_tag_t what, long first, long last) {
  LCI_short_t s;
  memset(&s, 0, sizeof s);
  ((long*)&s)[0] = first;
  ((long*)&s)[1] = last;
  while (LCI_puts(LCI_UR_ENDPOINT, s, rank, what, LCI_DEFAULT_COMP_REMOTE) == LCI_ERR_RETRY)
    LCI_progress(LCI_UR_DEVICE);
}

static void serve(void) {
  LCI_request_t r;
  LCI_progress(LCI_UR_DEVICE);
  while (LCI_queue_pop(LCI_UR_CQ, &r) == LCI_OK) {
    const long* numbers = (const long*)&r.data.immediate;
    if (r.tag == ASK) { /* half of the rest, or nothing */
      const long half = (end - begin) / 2;
      put(r.rank, ANSWER, end - half, end);
      end -= half;
    } else if (r.tag == ANSWER) {
      asked = 0;
      begin = numbers[0];
      end = numbers[1];
    } else if (r.tag == DONE) { /* at rank 0 */
      int i;
      all_done += numbers[0];
      sum += numbers[1];
      if (all_done == iterations)
        for (i = 0; i < LCI_NUM_PROCESSES; ++i) put(i, STOP, 0, 0);
    } else {
      stopped = 1;
    }
  }
}

static long work(long i) {
  volatile long x = 0;
  long k;
  for (k = 0; k < i * 20; ++k) x += k & 1; /* later iterations take longer */
  return i;
}

int main(void) {
  long n = 0, part = 0;
  unsigned seed;
  if (LCI_initialize() != LCI_OK) return 1;
  seed = (unsigned)LCI_RANK + 1;
  begin = LCI_RANK * (long)iterations / LCI_NUM_PROCESSES;
  end = (LCI_RANK + 1) * (long)iterations / LCI_NUM_PROCESSES;
  while (!stopped) {
    if (begin < end) {
      part += work(begin++);
      ++n;
      if (n % 16 == 0) serve();
    } else {
      if (n > 0) {
        put(0, DONE, n, part);
        done_here += n;
        n = part = 0;
      }
      if (!asked && LCI_NUM_PROCESSES > 1) {
        asked = 1;
        seed = seed * 1103515245u + 12345u;
        put((LCI_RANK + 1 + (int)((seed >> 8) % (unsigned)(LCI_NUM_PROCESSES - 1))) % LCI_NUM_PROCESSES, ASK, 0, 0);
      }
      serve();
    }
  }
  printf("rank %d has done %ld of %d iterations\n", LCI_RANK, done_here, iterations);
  LCI_finalize(); /* collective; requests that have arrived too late are not answered */
  if (LCI_RANK == 0) printf("the sum is %ld\n", sum);
  return LCI_RANK == 0 && sum != (long)iterations * (iterations - 1) / 2;
}
