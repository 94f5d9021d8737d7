// The state of a thread inside of CCS: whether handlers and callbacks may run in it now.
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/base/own_counter.hpp"

namespace ccs {

/// Numbers of messages that a thread has sent and handled. Written by that thread, read by the one that finalizes.
struct thread_counts {
  std::atomic<uint64_t> sent{0}, handled{0};
  thread_counts* next = nullptr;

  // A1: pairs with R1 in process.cpp
  static void add_one(std::atomic<uint64_t>& to) { lci::increment_own_release(to); }
};

/// Used by its own thread only.
struct thread_state {
  unsigned busy = 0;                  ///< sections + locks + running; handlers and callbacks may run if it is 0
  unsigned sections = 0;              ///< no-interrupt sections
  unsigned locks = 0;                 ///< locks that the thread holds
  unsigned running = 0;               ///< handlers and callbacks on the stack: 0 or 1
  CCS_token_t token = nullptr;        ///< of the handler that is running
  int callback_status = CCS_SUCCESS;  ///< of the callback that is running
  unsigned at_once = 0;               ///< operations that have completed within their calls since the last poll
  thread_counts* counts = nullptr;    ///< valid for the `process` object with number `generation`
  uint64_t generation = 0;
};

/// The initial-exec model, since each call reads this variable. It is small enough for the static TLS block's reserve,
/// so dlopen() of the library works. constinit: otherwise each access would check whether it has been initialised.
inline constinit thread_local thread_state tls __attribute__((tls_model("initial-exec")));

/// Counts a message as sent. Constructed before the send, so that the receiver can't count it as handled before. The
/// destructor undoes the count if the send has failed. The calling thread's counts must be valid, as process::counts()
/// makes them; their address is not stored here, since it would occupy a register during the send.
class sent_mark {
 public:
  sent_mark() { thread_counts::add_one(tls.counts->sent); }
  ~sent_mark() {
    if (LCI_UNLIKELY(!kept_)) undo();
  }
  void keep() { kept_ = true; }
  sent_mark(const sent_mark&) = delete;
  sent_mark& operator=(const sent_mark&) = delete;

 private:
  /// A function of its own, so that the sender saves no register for it.
  [[gnu::cold, gnu::noinline]] static void undo() noexcept {
    std::atomic<uint64_t>& sent = tls.counts->sent;
    sent.store(sent.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }

  bool kept_ = false;
};

/// A scope in which a handler or callback runs.
class running_mark {
 public:
  running_mark() {
    ++tls.busy;
    ++tls.running;
  }
  ~running_mark() {
    --tls.busy;
    --tls.running;
  }
  running_mark(const running_mark&) = delete;
  running_mark& operator=(const running_mark&) = delete;
};

/// Prints a line and ends the job if the calling thread must not wait, since it runs a handler or callback, is in a
/// no-interrupt section, or holds a lock.
void must_be_able_to_wait(const char* function) noexcept;

}  // namespace ccs
