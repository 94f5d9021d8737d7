#include "lib/core/runtime/progress_thread.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/quiet_thread.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/long_sleep.hpp"

namespace lci::core {

namespace {

using std::chrono::steady_clock;

// Idle time before the thread sleeps. A message that arrives during a sleep costs a system call at its sender and
// a wake-up here.
constexpr std::chrono::microseconds awake_in_event_mode{5};
constexpr std::chrono::microseconds awake_in_adaptive_mode{500};
// Limits of a sleep, in us: without work; and with work that waits for room in the network or for packets, whose
// release rings no bell.
constexpr int64_t longest_sleep = 100000;
constexpr int64_t shortest_slice = 50, longest_slice = 1000;
constexpr int rounds_between_looks = 32;
// Sleeps, in us, beside a program that polls.
constexpr int64_t shortest_aside = 50, longest_aside = 500;

}  // namespace

progress_worker::progress_worker(std::vector<device*> devices, progress_mode_t mode, int cpu)
    : devices_(std::move(devices)), mode_(mode), aside_us_(shortest_aside) {
  try {
    thread_ = quiet_thread("lci-progress", [this] { run(); });
  } catch (const std::system_error& e) {
    throw resource_error(std::string("can't create a progress thread: ") + e.what());
  }
  if (cpu >= 0) bind_to(cpu);
}

progress_worker::~progress_worker() { stop(); }

void progress_worker::stop() {
  stop_.store(true, std::memory_order_relaxed);
  for (device* d : devices_) d->net->unpark();
  thread_.join();
  for (device* d : devices_) d->polls.answer();
}

void progress_worker::bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = cpu < CPU_SETSIZE;
  if (known) CPU_SET(cpu, &set);
  const int error = known ? pthread_setaffinity_np(thread_.native_handle(), sizeof set, &set) : EINVAL;
  if (error == 0) return;
  stop();
  throw_invalid("alloc_progress_thread", "progress_cpu", std::to_string(cpu), "a processor that this process may use",
                std::strerror(error));
}

bool progress_worker::round() {
  bool happened = false;
  for (device* d : devices_) {
    std::exception_ptr thrown;
    try {
      happened |= d->make_progress();
    } catch (...) {
      thrown = std::current_exception();
    }
    if (LCI_LIKELY(thrown == nullptr)) continue;
    d->failures.add_exception(std::move(thrown));
    happened = true;
  }
  return happened;
}

void progress_worker::run() {
  const auto awake = mode_ == progress_mode_t::event ? awake_in_event_mode : awake_in_adaptive_mode;
  steady_clock::time_point quiet_since = steady_clock::now();
  int64_t slice = shortest_slice;
  if (mode_ != progress_mode_t::spin) devices_.front()->polls.ask();
  while (!stop_.load(std::memory_order_relaxed)) {
    if (mode_ != progress_mode_t::spin && stand_aside()) continue;
    bool happened = false;
    for (int i = 0; i < rounds_between_looks; ++i) happened |= round();
    if (mode_ == progress_mode_t::spin) {
      if (!happened) sched_yield();  // cheap if no other thread is runnable on this processor
      continue;
    }
    const steady_clock::time_point now = steady_clock::now();
    if (happened) {
      quiet_since = now;
      slice = shortest_slice;
    } else if (now - quiet_since >= awake) {
      park(slice);
      devices_.front()->polls.ask();
    }
  }
}

// A thread of the program that polls handles messages sooner than this one, which each of them would wake; where both
// share a processor, this one would also interrupt the other. So it leaves the device alone while polls go on, and
// looks again after a time in which no message waits for long.
bool progress_worker::stand_aside() {
  program_polls& polls = devices_.front()->polls;
  if (!polls.answered()) {
    aside_us_ = shortest_aside;
    return false;
  }
  polls.ask();
  std::this_thread::sleep_for(std::chrono::microseconds(aside_us_));
  aside_us_ = std::min(2 * aside_us_, longest_aside);
  return true;
}

void progress_worker::park(int64_t& slice) {
  device& d = *devices_.front();
  d.bell.announce();
  // Wakes for the next deadline as well; a deadline added meanwhile rings the bell.
  const int64_t longest = std::min(may_sleep_long(d) ? longest_sleep : slice, d.deadlines.left() / 1000 + 1);
  if (!stop_.load(std::memory_order_relaxed) && longest > 0) {
    // A thread of the program that waited when this one was made may still be in park().
    if (d.line.try_to_lead()) {
      d.net->park(longest);
      d.line.stop_leading();
    } else {
      d.net->wait(std::min(longest, longest_slice));
    }
  }
  d.bell.leave();
  slice = std::min(2 * slice, longest_slice);
}

// --- the resource ---

progress_thread::~progress_thread() {
  std::lock_guard guard(mutex_);
  workers_.clear();
  for (device* d : devices_) {
    d->rt.bells.remove(d->bell);
    d->service.store(nullptr, std::memory_order_release);
  }
}

void progress_thread::add(const char* operation, device& d) {
  std::lock_guard guard(mutex_);
  progress_thread* nobody = nullptr;
  if (!d.service.compare_exchange_strong(nobody, this, std::memory_order_acq_rel))
    throw_invalid(operation, "device", "served by a progress thread", "one that is not",
                  "call progress_thread_remove_device(), or leave out LCI_ATTR_PROGRESS_THREAD");
  try {
    devices_.reserve(devices_.size() + 1);
    d.rt.bells.add(d.bell, *d.net);
  } catch (...) {
    d.service.store(nullptr, std::memory_order_release);
    throw;
  }
  devices_.push_back(&d);
  try {
    start(d);
  } catch (...) {
    devices_.pop_back();
    d.rt.bells.remove(d.bell);
    d.service.store(nullptr, std::memory_order_release);
    throw;
  }
}

bool progress_thread::remove(device& d) {
  std::lock_guard guard(mutex_);
  const auto at = std::find(devices_.begin(), devices_.end(), &d);
  if (at == devices_.end()) return false;
  stop(d);
  devices_.erase(at);
  d.rt.bells.remove(d.bell);
  d.service.store(nullptr, std::memory_order_release);
  return true;
}

// A thread that spins serves all devices in turn. When its list changes, which is rare, a new thread replaces it. The
// new one is created before the old one stops, so that nothing has changed if no thread can be created.
void progress_thread::start(device& d) {
  if (attr.progress_mode == progress_mode_t::spin) {
    replace(devices_);
  } else {
    workers_.push_back(std::make_unique<progress_worker>(std::vector{&d}, attr.progress_mode, attr.progress_cpu));
  }
}

void progress_thread::stop(device& d) {
  if (attr.progress_mode == progress_mode_t::spin) {
    std::vector<device*> others = devices_;
    others.erase(std::find(others.begin(), others.end(), &d));
    replace(std::move(others));
  } else {
    workers_.erase(std::find_if(workers_.begin(), workers_.end(), [&](const auto& w) { return w->serves(&d); }));
  }
}

void progress_thread::replace(std::vector<device*> devices) {
  std::vector<std::unique_ptr<progress_worker>> next;
  if (!devices.empty())
    next.push_back(std::make_unique<progress_worker>(std::move(devices), attr.progress_mode, attr.progress_cpu));
  workers_.swap(next);
}

}  // namespace lci::core
