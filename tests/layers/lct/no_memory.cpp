// The n-th allocation fails, for every n that a scenario reaches: functions that allocate return NULL with ENOMEM, all
// others print a line and exit with status 1. Each n has its own child process.
#include <lct.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/support/testing.hpp"

// The C library's own, for the program's to call. A sanitizer brings its own malloc().
extern "C" void* __libc_malloc(size_t);
extern "C" void* __libc_calloc(size_t, size_t);
extern "C" void* __libc_memalign(size_t, size_t);

namespace {

long until_failure = -1;  // negative: never

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#elif defined(__clang__)
#define OWN_MALLOC (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define OWN_MALLOC 1
#endif

#if OWN_MALLOC
namespace {

bool may_allocate() {
  if (until_failure < 0) return true;
  if (until_failure == 0) return false;
  --until_failure;
  return true;
}

}  // namespace

extern "C" void* malloc(size_t n) {
  if (may_allocate()) return __libc_malloc(n);
  errno = ENOMEM;
  return nullptr;
}
extern "C" void* calloc(size_t n, size_t size) {
  if (may_allocate()) return __libc_calloc(n, size);
  errno = ENOMEM;
  return nullptr;
}
extern "C" void* aligned_alloc(size_t alignment, size_t n) {
  if (may_allocate()) return __libc_memalign(alignment, n);
  errno = ENOMEM;
  return nullptr;
}
#endif

namespace {

constexpr int succeeded = 0, refused = 1, was_null = 2, wrong = 3;

/// The exit status and the output of `body()` in a child whose n-th allocation and all later ones fail.
struct outcome {
  int status;
  std::string said;
};
template <class F>
outcome with_failure_at(long n, F body) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {-1, "pipe"};
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    until_failure = n;
    const int status = body();
    until_failure = -1;
    _exit(status);
  }
  close(pipe_ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t got; (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<size_t>(got));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), said};
}

/// Tries n = 0, 1, ... until no allocation fails. Returns the number of allocations.
template <class F>
long sweep(const char* name, bool may_refuse, F body) {
  for (long n = 0; n < 1000; ++n) {
    const outcome o = with_failure_at(n, body);
    INFO(name << ", allocation " << n << ": status " << o.status << ", " << o.said);
    if (o.status == succeeded) return n;
    if (o.status == refused) {
      CHECK(may_refuse);
      CHECK(o.said.find("lct: LCT_") == 0);
      CHECK(o.said.find("memory") != std::string::npos);
    } else {
      CHECK(o.status == was_null);
    }
  }
  FAIL(name << " allocates more than 1000 times");
  return -1;
}

/// The exit status for the result of an allocation.
int status_of(const void* allocated) { return allocated != nullptr ? succeeded : errno == ENOMEM ? was_null : wrong; }

}  // namespace

TEST_CASE("functions that allocate return NULL with ENOMEM without memory", "[memory]") {
  if (lci_test::sanitized) LCI_SKIP("sanitizers bring their own malloc()");
  for (int type = LCT_QUEUE_ARRAY_ATOMIC_FAA; type <= LCT_QUEUE_LAZY_INDEX; ++type) {
    const long n = sweep("queue", false, [=] {
      LCT_queue_t q = LCT_queue_alloc(static_cast<LCT_queue_type_t>(type), 100);
      if (q == nullptr) return status_of(q);
      LCT_queue_free(&q);
      return succeeded;
    });
    CHECK(n >= 1);
  }
  static const char* const longer = "something longer than a string has room for";
  CHECK(sweep("barrier", false, [] { return status_of(LCT_tbarrier_alloc(2)); }) >= 1);
  CHECK(sweep("counters", false, [] { return status_of(LCT_pcounter_ctx_alloc(longer)); }) >= 2);
  CHECK(sweep("parser", false, [] { return status_of(LCT_args_parser_alloc()); }) >= 1);
  CHECK(sweep("text", false, [] { return status_of(LCT_str_replace_all("a", "a", longer)); }) >= 2);
  CHECK(sweep("log", false, [] {
          static const char* const levels[] = {"one", "two"};
          char list[] = "a tag that is too long to lie in a string, another", level[] = "two";
          LCT_log_ctx_t log = LCT_log_ctx_alloc(levels, 2, 0, "name", nullptr, level, list, list);
          return status_of(log);
        }) >= 3);
}

TEST_CASE("functions that return no pointer end the process with a message without memory", "[memory]") {
  if (lci_test::sanitized) LCI_SKIP("sanitizers bring their own malloc()");
  static int item = 0;
  for (int type = LCT_QUEUE_ARRAY_ATOMIC_FAA; type <= LCT_QUEUE_LAZY_INDEX; ++type) {
    LCT_queue_t q = LCT_queue_alloc(static_cast<LCT_queue_type_t>(type), 1024);
    const long n = sweep("push", true, [&] {
      for (int i = 0; i < 1024; ++i) LCT_queue_push(q, &item);
      for (int i = 0; i < 1024; ++i)
        if (LCT_queue_pop(q) != &item) return wrong;
      return succeeded;
    });
    CHECK((n > 0) == (type >= LCT_QUEUE_STD));  // arrays allocate everything at the start
    LCT_queue_free(&q);
  }
  CHECK(sweep("counter", true, [] {
          LCT_pcounter_ctx_t ctx = LCT_pcounter_ctx_alloc("c");
          if (ctx == nullptr) return was_null;
          for (int i = 0; i < 40; ++i) LCT_pcounter_register(ctx, std::to_string(i).c_str(), LCT_PCOUNTER_TREND);
          LCT_pcounter_record(ctx);
          return succeeded;
        }) >= 40);
  CHECK(sweep("life", true, [] {
          LCT_init();
          LCT_fina();
          return succeeded;
        }) >= 1);
  CHECK(sweep("ranks", true, [] {
          char key[] = "key", value[LCT_PMI_STRING_LIMIT] = "value";
          LCT_pmi_initialize();
          LCT_pmi_publish(key, value);
          LCT_pmi_barrier();
          LCT_pmi_getname(0, key, value);
          LCT_pmi_finalize();
          return std::strcmp(value, "value") == 0 ? succeeded : wrong;
        }) >= 3);
}

TEST_CASE("a log line is truncated without memory", "[memory]") {
  if (lci_test::sanitized) LCI_SKIP("sanitizers bring their own malloc()");
  static const std::string text(3000, 'x');
  const outcome o = with_failure_at(0, [] {
    LCT_Warn(nullptr, "%s", text.c_str());
    LCT_Warn(nullptr, "and the next");
    return succeeded;
  });
  CHECK(o.status == succeeded);
  CHECK(o.said.find("xxx\n") != std::string::npos);
  CHECK(o.said.find("and the next\n") != std::string::npos);
}
