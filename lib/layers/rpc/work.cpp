#include "lib/layers/rpc/work.hpp"

#include <string>
#include <system_error>
#include <utility>

#include "lib/layers/rpc/incoming.hpp"

namespace lci::rpc::detail {

std::thread start_thread(std::function<void()> f) {
  try {
    return std::thread(std::move(f));
  } catch (const std::system_error& e) {
    throw resource_error(std::string("rpc::engine: the system has no further thread: ") + e.what());
  }
}

workers::workers(int n, std::function<void(incoming*)> execute) : execute_(std::move(execute)) {
  try {
    for (int i = 0; i < n; ++i) threads_.push_back(start_thread([this] { run(); }));
  } catch (...) {
    stop();  // a thread that is not joined must not be destroyed
    throw;
  }
}

void workers::stop() {
  {
    std::lock_guard guard(lock_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

bool workers::push(incoming* in) {
  {
    std::lock_guard guard(lock_);
    waiting_.push(in);
  }
  changed_.notify_one();
  // A nested wait increments nested_, then looks at waiting_. As both are read-modify-writes of nested_, either this
  // thread sees the increment and wakes the waiting thread, or that thread sees the call.
  return nested_.fetch_add(0, std::memory_order_acq_rel) != 0;
}

void workers::run() {
  std::unique_lock guard(lock_);
  for (;;) {
    changed_.wait(guard, [this] { return ends_ || !waiting_.is_empty(); });
    incoming* const in = waiting_.pop();
    if (in == nullptr && ends_) return;
    if (in == nullptr) continue;  // its caller has left, or another thread executes it
    guard.unlock();
    execute_(in);
    guard.lock();
  }
}

}  // namespace lci::rpc::detail
