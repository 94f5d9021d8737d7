// Engines whose threads the system refuses to create.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

#include "tests/layers/rpc/engines.hpp"

using namespace test;

namespace {

/// How many further threads can be created; negative: any number.
std::atomic<int> threads_left{-1};

}  // namespace

extern "C" int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0) --threads_left;
  return real(made, attributes, run, argument);
}

TEST_CASE("an engine whose threads the system refuses is an exception, and the next one works") {
  for (int n = 0; n < 7; ++n) {
    threads_left = n;
    const std::string text = thrown_by<lci::resource_error>(
        [] { const rpc::engine e("tcp://127.0.0.1", rpc::options().client().background().pool(6)); });
    threads_left = -1;
    CHECK(has(text, "thread"));
  }
  rpc::engine e("self", rpc::options().background().pool(6));
  const auto one = e.define(
      "one", [] { return 1; }, rpc::where::pool);
  CHECK(one.on(e.self())() == 1);
}
