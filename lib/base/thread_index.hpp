// A small number for each living thread of the process, so that per-thread structures are arrays.
#pragma once

namespace lci {

/// If more threads than this are alive at once, the others share index `max_thread_index`: users of that index must
/// lock its data.
constexpr int max_thread_index = 1023;

namespace detail {
// constinit: without it each access would check whether the variable has been initialised.
extern constinit thread_local int tls_thread_index __attribute__((tls_model("initial-exec")));
int assign_thread_index();  // slow path: first call of a thread
}  // namespace detail

/// 0 .. max_thread_index. Unique among living threads below max_thread_index; numbers of ended
/// threads are reused, with a happens-before edge from the old owner to the new.
inline int thread_index() {
  const int i = detail::tls_thread_index;
  return __builtin_expect(i >= 0, 1) ? i : detail::assign_thread_index();
}

/// The same without a call: negative if this thread has no number yet.
inline int thread_index_if_known() { return detail::tls_thread_index; }

}  // namespace lci
