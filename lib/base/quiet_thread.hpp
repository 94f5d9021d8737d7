// Threads of the library.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace lci {

/// Runs `body` in a new thread that blocks all signals, so that the program's signal handlers run only in the program's
/// threads. `name` has at most 15 characters. Throws std::system_error.
template <class F>
std::thread quiet_thread(const char* name, F body) {
  struct all_blocked {  // the new thread inherits it
    sigset_t before;
    all_blocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~all_blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } const quiet;
  std::thread t(std::move(body));
  pthread_setname_np(t.native_handle(), name);
  return t;
}

}  // namespace lci
