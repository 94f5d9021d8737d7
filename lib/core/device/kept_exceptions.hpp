// What progress() throws while another call waits.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/checking/collective_check.hpp"
#include "lib/core/device/device.hpp"

namespace lci::core {

/// Exceptions that the next progress() of the program throws, once the call that has caught them is over: if they were
/// given back before, the progress() of that call would throw them again. The first ones need no memory, since they may
/// say that a message was lost for lack of it. Used by one thread.
class exceptions_for_later {
 public:
  explicit exceptions_for_later(device& d) : device_(d) {}
  ~exceptions_for_later() {
    for (size_t i = 0; i < n_first_; ++i) device_.failures.add_exception(std::move(first_[i]));
    for (std::exception_ptr& thrown : more_) device_.failures.add_exception(std::move(thrown));
  }
  exceptions_for_later(const exceptions_for_later&) = delete;
  exceptions_for_later& operator=(const exceptions_for_later&) = delete;

  LCI_COLD void keep(const std::exception_ptr& thrown) noexcept {
    if (n_first_ < first_.size()) {
      first_[n_first_++] = thrown;
      return;
    }
    if (n_first_ + more_.size() >= peer_failures::most_exceptions) return;  // the device would drop it
    try {
      insist_on_memory([&] { more_.push_back(thrown); });
    } catch (const std::bad_alloc&) {
      log_warning("an exception that progress() threw while another call waited is dropped: no memory to keep it");
    }
  }

 private:
  device& device_;
  std::array<std::exception_ptr, 8> first_;
  size_t n_first_ = 0;
  std::vector<std::exception_ptr> more_;
};

/// A collective operation that has begun goes on when progress() throws: the other ranks wait for this one, and could
/// not tell that it has left. What was thrown, for a handler or a message without memory, is thrown by the next
/// progress() of the program instead; also misuse, as that of a handler whose post is refused. The failure of a rank of
/// the job ends the operation, and so does the report of the checks of calls that other ranks have called another
/// operation. Used by one thread.
class kept_exceptions {
 public:
  explicit kept_exceptions(device& d) : device_(d), kept_(d) {}

  /// Calls f(), which makes progress. Returns false if f() threw and must be called again. Throws what ends the
  /// operation, and the last of memory_tries exceptions in a row, as no progress is possible.
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
  LCI_COLD void keep(const std::exception_ptr& thrown) {
    kept_.keep(thrown);
    if (in_a_row_ > 0) await_memory();
  }

  device& device_;
  exceptions_for_later kept_;
  int in_a_row_ = 0;
};

}  // namespace lci::core
