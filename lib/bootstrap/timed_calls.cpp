#include "lib/bootstrap/timed_calls.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/quiet_thread.hpp"
#include "lib/bootstrap/meanwhile.hpp"

namespace lci::network {

/// Shared by the thread and timed_calls, since a blocked thread may outlive timed_calls.
struct timed_calls::state {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> call;
  std::exception_ptr thrown;
  bool due = false, stop = false;
  std::thread thread;

  void loop() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return due || stop; });
      if (!due) return;
      const auto work = std::move(call);
      lock.unlock();
      std::exception_ptr error;
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      thrown = error;
      due = false;
      changed.notify_all();
    }
  }
};

timed_calls::timed_calls(double timeout) : state_(std::make_shared<state>()), timeout_(timeout) {}

timed_calls::~timed_calls() {
  if (!state_->thread.joinable()) return;
  {
    std::lock_guard guard(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
  }
  if (lost_) {
    state_->thread.detach();
  } else {
    state_->thread.join();
  }
}

void timed_calls::run(std::function<void()> call, const std::string& late) {
  if (lost_) throw bootstrap_error("an earlier call has not returned: " + late);
  std::unique_lock lock(state_->mutex);
  state_->call = std::move(call);
  state_->due = true;
  if (state_->thread.joinable()) {
    state_->changed.notify_all();
  } else {
    try {
      state_->thread = quiet_thread("lci-timed_calls", [shared = state_] { shared->loop(); });
    } catch (const std::system_error& e) {
      state_->due = false;
      throw bootstrap_error(std::string("no thread for calls to the launcher's library: ") + e.what() +
                            "; raise `ulimit -u`");
    }
  }
  lost_ = !wait_until(state_->changed, lock, timeout_, [this] { return !state_->due; });
  if (lost_) throw bootstrap_error(late);
  if (state_->thrown != nullptr) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
}

}  // namespace lci::network
