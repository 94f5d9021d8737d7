#include "lib/layers/armci/applier.hpp"

#include <strings.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "lib/base/quiet_thread.hpp"
#include "lib/layers/armci/errors.hpp"

namespace armci_layer {

namespace {

/// Limit of queued requests, each in a buffer as large as a packet. Beyond it the receiving thread handles requests
/// itself. Two accumulates of 1 MiB fill this many packets.
constexpr size_t most_queued = 64;
/// The longest time in ns between two accumulates after which the second one is queued. If accumulates are rarer, each
/// one would have to wake the thread.
constexpr int64_t together = 100000;
/// One each for the program, the receiving thread, and the applier's thread.
constexpr unsigned processors_needed = 3;

int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::optional<bool> applier::requested() {
  const char* const text = std::getenv("ARMCI_APPLIER");
  if (text == nullptr || *text == '\0') return std::nullopt;
  // The words that attributes of the core accept.
  for (const char* const yes : {"1", "on", "true", "yes"})
    if (strcasecmp(text, yes) == 0) return true;
  for (const char* const no : {"0", "off", "false", "no"})
    if (strcasecmp(text, no) == 0) return false;
  throw error(internal_failure, std::string("ARMCI_APPLIER=") + text +
                                    ": not understood; accepted: 1 on true yes 0 off false no; unset it for a choice "
                                    "by the number of processors");
}

bool applier::is_useful(int neighbours) {
  const unsigned mine = std::thread::hardware_concurrency();
  // A launcher that binds processes assigns separate processors to each.
  const bool bound = static_cast<long>(mine) < sysconf(_SC_NPROCESSORS_ONLN);
  return (bound ? mine : mine / static_cast<unsigned>(neighbours)) >= processors_needed;
}

applier::applier(int n, size_t largest, handler handle)
    : handle_(std::move(handle)), largest_(largest), origins_(std::make_unique<origin[]>(static_cast<size_t>(n))) {
  unused_.reserve(most_queued);
  thread_ = lci::quiet_thread("lci-armci-apply", [this] { run(); });
}

applier::~applier() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  thread_.join();
}

std::unique_ptr<std::byte[]> applier::buffer() {
  {
    const std::lock_guard guard(mutex_);
    if (!unused_.empty()) {
      std::unique_ptr<std::byte[]> b = std::move(unused_.back());
      unused_.pop_back();
      return b;
    }
  }
  return std::unique_ptr<std::byte[]>(new std::byte[largest_]);  // not zeroed
}

bool applier::take(int source, const std::byte* bytes, size_t size, bool worth) {
  origin& o = origins_[static_cast<size_t>(source)];
  bool queue = o.queued.load(std::memory_order_acquire) != 0;  // A1: pairs with R1 in handle_one()
  if (worth) {
    const int64_t now = nanoseconds();
    queue |= now - std::exchange(o.last_worth, now) < together;
  }
  if (!queue) return false;
  bool wake, full;
  try {
    entry e{source, size, buffer()};
    std::memcpy(e.bytes.get(), bytes, size);
    const std::lock_guard guard(mutex_);
    queue_.push_back(std::move(e));
    o.queued.fetch_add(1, std::memory_order_relaxed);
    full = queue_.size() > most_queued;
    wake = std::exchange(sleeping_, false);
  } catch (const std::bad_alloc&) {
    // The caller must handle this request itself, but after the queued ones of the same process.
    if (is_handling()) end_job("a request of another process", "no memory is left to store it", 1);
    while (o.queued.load(std::memory_order_acquire) != 0) handle_one();  // A1
    return false;
  }
  if (wake) work_.notify_one();
  // A handler that makes progress may call take(), too. It must not start another request before it returns.
  if (full && !is_handling()) handle_one();
  return true;
}

bool applier::handle_one() {
  // Lock before taking the entry, so that no other thread takes the next entry before this one has been handled.
  const std::lock_guard role(handling_);
  entry e;
  {
    const std::lock_guard guard(mutex_);
    if (queue_.empty()) return false;
    e = std::move(queue_.front());
    queue_.pop_front();
  }
  handler_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  handle_(e.source, e.bytes.get(), e.size);
  handler_.store(std::thread::id(), std::memory_order_relaxed);
  // R1: a thread that reads the decremented count also sees the memory that this request has changed.
  origins_[static_cast<size_t>(e.source)].queued.fetch_sub(1, std::memory_order_release);
  const std::lock_guard guard(mutex_);
  if (unused_.size() < most_queued) unused_.push_back(std::move(e.bytes));
  return true;
}

void applier::run() {
  for (;;) {
    while (handle_one()) {
    }
    std::unique_lock guard(mutex_);
    while (queue_.empty() && !stop_) {
      sleeping_ = true;
      work_.wait(guard);
    }
    sleeping_ = false;
    if (queue_.empty()) return;
  }
}

}  // namespace armci_layer
