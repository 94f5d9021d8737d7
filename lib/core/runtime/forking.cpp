#include "lib/core/runtime/forking.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "lci/direct.hpp"
#include "lib/base/call_watch.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/direct_paths.hpp"

namespace lci::core {

namespace {

struct device_list {
  std::mutex mutex;              // held during fork(), so that the child sees a consistent list
  std::vector<device*> devices;  // under mutex
};

device_list& listed() {
  static device_list& list = *new device_list;  // never freed: handlers of pthread_atfork() can't be removed
  return list;
}

void before_fork() { listed().mutex.lock(); }
void in_parent() { listed().mutex.unlock(); }
void in_child() {
  call_watch.fetch_or(process_was_forked, std::memory_order_relaxed);
  detail::default_device.store(nullptr, std::memory_order_relaxed);
  for (device* d : listed().devices) close_direct_paths(*d);
  listed().mutex.unlock();
}

}  // namespace

void watch_for_forks() {
  static const int registered = pthread_atfork(before_fork, in_parent, in_child);
  (void)registered;  // if it fails for lack of memory, calls of children are not refused; nothing else changes
}

void list_for_forks(device& d) {
  watch_for_forks();
  std::lock_guard guard(listed().mutex);
  listed().devices.push_back(&d);
}

void unlist_for_forks(device& d) noexcept {
  std::lock_guard guard(listed().mutex);
  auto& all = listed().devices;
  all.erase(std::remove(all.begin(), all.end(), &d), all.end());
}

void forget_listed_devices() noexcept {
  std::lock_guard guard(listed().mutex);
  listed().devices.clear();
}

device* enter_next_device(uint64_t after) noexcept {
  std::lock_guard guard(listed().mutex);
  device* next = nullptr;
  for (device* const d : listed().devices)
    if (d->serial > after && !d->backlog.empty() && (next == nullptr || d->serial < next->serial)) next = d;
  if (next != nullptr) next->visitors.fetch_add(1, std::memory_order_relaxed);
  return next;
}

}  // namespace lci::core
