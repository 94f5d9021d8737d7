/* Runs a test program's main() in LCI_TEST_RANKS threads, each of which is a rank over the simulated network. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#undef main /* in the program it is the following name */
int main_of_rank(int argc, char** argv);

static int count;
static char** arguments;
static void* run(void* unused) {
  (void)unused;
  return (void*)(size_t)main_of_rank(count, arguments);
}

int main(int argc, char** argv) {
  enum { most = 16 };
  const char* const text = getenv("LCI_TEST_RANKS");
  const int n = text != NULL ? atoi(text) : 1;
  pthread_t threads[most];
  pthread_attr_t attributes;
  int i, status = 0;
  if (n < 1 || n > most) return 2;
  count = argc;
  arguments = argv;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)256 << 20); /* variables of a rank are in its thread's */
  for (i = 0; i < n; ++i)
    if (pthread_create(&threads[i], &attributes, run, NULL) != 0) return 3;
  for (i = 0; i < n; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    if (result != NULL) status = 1;
  }
  return status;
}
