#include "lib/layers/rpc/work.hpp"

namespace lci::rpc::detail {

workers::workers(int n, std::function<void(incoming*)> execute) : execute_(std::move(execute)) {
  for (int i = 0; i < n; ++i) threads_.emplace_back([this] { run(); });
}

workers::~workers() {
  {
    std::lock_guard guard(lock_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void workers::push(incoming* in) {
  {
    std::lock_guard guard(lock_);
    waiting_.push_back(in);
    size_.store(waiting_.size(), std::memory_order_release);
  }
  changed_.notify_one();
}

void workers::run() {
  std::unique_lock guard(lock_);
  for (;;) {
    changed_.wait(guard, [this] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    incoming* const in = waiting_.front();
    waiting_.pop_front();
    size_.store(waiting_.size(), std::memory_order_release);
    guard.unlock();
    execute_(in);
    guard.lock();
  }
}

}  // namespace lci::rpc::detail
