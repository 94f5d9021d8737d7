#include "lib/layers/lct/queues.hpp"

#include <lct.h>

#include <cstddef>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>

#include "lib/base/cpu.hpp"

namespace {

using namespace lct;

constexpr const char* a_queue = "a queue";

/// More than fits in any memory, and small enough that sizes computed from it do not overflow.
constexpr size_t longest = std::numeric_limits<size_t>::max() / (4 * lci::cache_line);

queue* make(const char* function, LCT_queue_type_t type, size_t length) {
  if (type <= LCT_QUEUE_ARRAY_MUTEX) {
    if (length == 0) fail(function, "length = 0, but must be at least 1 for an array");
    if (length > longest) throw std::bad_alloc();
  }
  switch (type) {
    case LCT_QUEUE_ARRAY_ATOMIC_FAA:
    case LCT_QUEUE_ARRAY_ATOMIC_CAS:
    case LCT_QUEUE_ARRAY_ATOMIC_BASIC:
      return new array_queue(length);
    case LCT_QUEUE_ARRAY_ST:
      return new single_thread_queue<ring>(length);
    case LCT_QUEUE_ARRAY_MUTEX:
      return new locked_queue<ring>(length);
    case LCT_QUEUE_STD:
      return new single_thread_queue<list>();
    case LCT_QUEUE_STD_MUTEX:
      return new locked_queue<list>();
    case LCT_QUEUE_MS:
    case LCT_QUEUE_LCRQ:
    case LCT_QUEUE_LPRQ:
    case LCT_QUEUE_FAAARRAY:
    case LCT_QUEUE_LAZY_INDEX:
      return new endless_queue();
  }
  fail(function, "type = %d, but must be one of LCT_queue_type_t", static_cast<int>(type));
}

/// Retries until another thread has made room; logs a warning after 10 s.
LCI_COLD void push_to_full(queue& q, void* item) {
  constexpr const char* me = "LCT_queue_push";
  if (!q.is_shared())
    fail(me, "the queue is full, and only this thread could make room: pop first, or allocate it longer");
  constexpr LCT_time_t long_wait = 10'000'000'000;  // ns
  const LCT_time_t begin = LCT_now();
  bool told = false;
  for (unsigned i = 0; !q.push(item); ++i) {
    i < 1000 ? lci::cpu_pause() : std::this_thread::yield();
    if (told || i % 1024 != 0 || LCT_now() - begin < long_wait) continue;
    LCT_Warn(LCT_log_ctx_default, "%s has waited for 10 s: the queue is full, and no thread pops", me);
    told = true;
  }
}

}  // namespace

LCT_queue_t LCT_queue_alloc(LCT_queue_type_t type, size_t length) {
  constexpr const char* me = "LCT_queue_alloc";
  return or_null(me, [&]() -> queue* {
    try {
      return make(me, type, length);
    } catch (const std::length_error&) {
      throw std::bad_alloc();  // std::vector throws length_error for such sizes
    }
  });
}

void LCT_queue_free(LCT_queue_t* q) { release<queue>("LCT_queue_free", a_queue, q); }

void LCT_queue_push(LCT_queue_t handle, void* item) {
  constexpr const char* me = "LCT_queue_push";
  queue& q = get<queue>(me, a_queue, handle);
  if (LCI_UNLIKELY(item == nullptr)) fail(me, "item is NULL, which LCT_queue_pop returns for an empty queue");
  or_fail(me, [&] {
    if (LCI_UNLIKELY(!q.push(item))) push_to_full(q, item);
  });
}

void* LCT_queue_pop(LCT_queue_t handle) { return get<queue>("LCT_queue_pop", a_queue, handle).pop(); }
