/* Checks for test programs in C: a failed one is printed and counted; the program's status says whether any failed. */
#ifndef TESTS_LAYERS_V1_CHECK_H
#define TESTS_LAYERS_V1_CHECK_H

#include <lci.h>
#include <string.h>

/* Before variables of a rank: in a build whose ranks are threads, each has its own. */
#ifndef PER_RANK
#define PER_RANK
#endif

static PER_RANK int failed_checks = 0;
static PER_RANK int done_checks = 0;

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    ++done_checks;                                                                                \
    if (!(condition)) {                                                                           \
      ++failed_checks;                                                                            \
      fprintf(stderr, "%s:%d: rank %d: %s is false\n", __FILE__, __LINE__, LCI_RANK, #condition); \
    }                                                                                             \
  } while (0)

/* Calls until the result is not LCI_ERR_RETRY, with progress. */
#define AGAIN(call)                                                        \
  do {                                                                     \
    LCI_error_t code_;                                                     \
    while ((code_ = (call)) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE); \
    CHECK(code_ == LCI_OK);                                                \
  } while (0)

/* One line for the test runner; the program's status. */
static inline int conclude(const char* program) {
  printf("%s: rank %d: %d checks, %d failed\n", program, LCI_RANK, done_checks, failed_checks);
  printf("cases: %d passed, %d failed, 0 skipped\n", failed_checks == 0, failed_checks != 0);
  return failed_checks != 0;
}

/* Byte i of the message that `from` sends with this tag. */
static inline unsigned char pattern(int from, unsigned tag, size_t i) {
  return (unsigned char)(from * 31 + (int)tag * 7 + (int)(i % 251) + (int)(i >> 12));
}
static inline void fill_pattern(void* to, size_t n, int from, unsigned tag) {
  size_t i;
  for (i = 0; i < n; ++i) ((unsigned char*)to)[i] = pattern(from, tag, i);
}
static inline int has_pattern(const void* at, size_t n, int from, unsigned tag) {
  size_t i;
  for (i = 0; i < n; ++i)
    if (((const unsigned char*)at)[i] != pattern(from, tag, i)) return 0;
  return 1;
}

#endif
