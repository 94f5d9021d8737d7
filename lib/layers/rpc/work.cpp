#include "lib/layers/rpc/work.hpp"

#include "lib/layers/rpc/incoming.hpp"

namespace lci::rpc::detail {

workers::workers(int n, std::function<void(incoming*)> execute) : execute_(std::move(execute)) {
  for (int i = 0; i < n; ++i) threads_.emplace_back([this] { run(); });
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

void workers::push(incoming* in) {
  {
    std::lock_guard guard(lock_);
    waiting_.push(in);
  }
  changed_.notify_one();
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
