#include "lib/layers/na/background.hpp"

#include <chrono>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/errors.hpp"

namespace na {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds longest_pause{20}, shortest_pause{1};

/// Returns whether anything happened.
bool progress_until_quiet(na_class& c) {
  constexpr int polls = 16;
  bool happened = false;
  for (int quiet = 0; quiet < polls && !c.led.load(std::memory_order_relaxed); ++quiet) {
    if (!c.advance()) continue;
    happened = true;
    quiet = 0;
  }
  return happened;
}

}  // namespace

void background::start(na_class& c) {
  try {
    thread_ = std::thread([this, &c] { run(c); });
  } catch (const std::exception&) {
    throw lci::resource_error("no thread is left");
  }
}

void background::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard guard(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void background::run(na_class& c) {
  milliseconds pause = longest_pause;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, pause, [this] { return stops_; })) {
    lock.unlock();
    pause = longest_pause;
    // Relaxed loads may miss a thread that has just begun to make progress. Then both do so, which is harmless.
    if (!c.attended.exchange(false, std::memory_order_relaxed) && !c.led.load(std::memory_order_relaxed))
      guarded("NA_Progress", [&] {
        if (progress_until_quiet(c)) pause = shortest_pause;
        return NA_SUCCESS;
      });
    lock.lock();
  }
}

}  // namespace na
