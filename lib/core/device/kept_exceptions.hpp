// What progress() throws while a collective operation waits.
#pragma once

#include <exception>
#include <new>
#include <vector>

#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/checking/collective_check.hpp"
#include "lib/core/device/device.hpp"

namespace lci::core {

/// A collective operation that has begun goes on when progress() throws: the other ranks wait for this one, and could
/// not tell that it has left. What was thrown, for a handler or a message without memory, is thrown by the next
/// progress() of the program instead; also misuse, as that of a handler whose post is refused. The failure of a rank of
/// the job ends the operation, and so does the report of the checks of calls that other ranks have called another
/// operation. Used by one thread.
class kept_exceptions {
 public:
  explicit kept_exceptions(device& d) : device_(d) {}
  ~kept_exceptions() {
    for (std::exception_ptr& thrown : kept_) device_.failures.add_exception(std::move(thrown));
  }
  kept_exceptions(const kept_exceptions&) = delete;
  kept_exceptions& operator=(const kept_exceptions&) = delete;

  /// Calls f(), which makes progress. False: it threw, and is to be called again. Throws what ends the operation, and the
  /// last of memory_tries exceptions in a row, as no progress is possible.
  template <class F>
  bool call(F f) {
    try {
      f();
      in_a_row_ = 0;
      return true;
    } catch (const peer_failure_error& failure) {
      if (failure.failed_rank() < device_.n_ranks) throw;
      keep(std::current_exception());
    } catch (const unequal_calls_error&) {
      throw;
    } catch (...) {
      if (++in_a_row_ == memory_tries) throw;
      keep(std::current_exception());
    }
    return false;
  }

 private:
  LCI_COLD void keep(std::exception_ptr thrown) {
    try {
      insist_on_memory([&] { kept_.push_back(thrown); });
    } catch (const std::bad_alloc&) {
      log_warning("an exception that progress() threw in a collective operation is dropped: no memory to keep it");
    }
    if (in_a_row_ > 0) await_memory();
  }

  device& device_;
  std::vector<std::exception_ptr> kept_;
  int in_a_row_ = 0;
};

}  // namespace lci::core
