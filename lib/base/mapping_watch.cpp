#include "lib/base/mapping_watch.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "lib/base/quiet_thread.hpp"

namespace lci {

namespace {

const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
uint64_t down(uint64_t address) { return address / page * page; }
uint64_t up(uint64_t address) { return down(address + page - 1); }

// UFFD_USER_MODE_ONLY, which older headers lack. Excludes page faults of the kernel, which are not needed here, so that
// no privilege is required.
constexpr int user_mode_only = 1;

constexpr uint64_t wanted = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP;

std::mutex process_mutex;
std::weak_ptr<mapping_watch> process_watch;  // under process_mutex

std::string said(const char* call, int error) { return std::string(call) + ": " + std::strerror(error); }

}  // namespace

std::shared_ptr<mapping_watch> mapping_watch::get(std::string& why_not) {
  std::lock_guard guard(process_mutex);
  std::shared_ptr<mapping_watch> watch = process_watch.lock();
  if (watch != nullptr) return watch;
  watch.reset(new mapping_watch);
  if (!watch->open(why_not)) return nullptr;
  process_watch = watch;
  return watch;
}

bool mapping_watch::open(std::string& why_not) {
  const int flags = O_CLOEXEC | O_NONBLOCK;
  events_ = static_cast<int>(syscall(SYS_userfaultfd, flags | user_mode_only));
  if (events_ < 0 && errno == EINVAL) events_ = static_cast<int>(syscall(SYS_userfaultfd, flags));
  if (events_ < 0) {
    why_not = said("userfaultfd", errno);
    return false;
  }
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = wanted;
  if (ioctl(events_, UFFDIO_API, &api) != 0 || (api.features & wanted) != wanted ||
      (api.features & UFFD_FEATURE_PAGEFAULT_FLAG_WP) == 0) {
    why_not = "this kernel's userfaultfd does not report changed mappings";
    return false;
  }
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_ < 0) {
    why_not = said("eventfd", errno);
    return false;
  }
  void* p = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    why_not = said("mmap", errno);
    return false;
  }
  probe_ = p;
  const auto at = reinterpret_cast<uint64_t>(p);
  try {
    thread_ = quiet_thread("lci-mappings", [this] { run(); });
  } catch (const std::system_error& e) {
    why_not = std::string("can't create a thread: ") + e.what();
    return false;
  }
  if (!set_watch(at, at + page) || !works()) {
    why_not = "this kernel's userfaultfd does not report unmapped memory";
    return false;
  }
  return true;
}

/// Tests the watch: a system may accept all calls and report no events (emulated kernels do).
bool mapping_watch::works() {
  void* p = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  subscriber self;
  range r;
  if (!add(r, self, p, page)) {
    munmap(p, page);
    return false;
  }
  const bool before = unchanged(r);
  munmap(p, page);
  const bool after = unchanged(r);
  remove(r);
  return before && !after && take_changes(self);
}

mapping_watch::~mapping_watch() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    while (write(stop_, &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
  } else if (events_ >= 0) {
    close(events_);
  }
  if (stop_ >= 0) close(stop_);
  if (probe_ != nullptr) munmap(probe_, page);
}

void mapping_watch::run() {
  pollfd fds[] = {{events_, POLLIN, 0}, {stop_, POLLIN, 0}};
  for (;;) {
    if (poll(fds, 2, -1) < 0) continue;  // interrupted
    if (fds[1].revents != 0) break;
    read_events();
  }
  // Closing it ends the watch on every range, and releases threads that wait for their event to be read. Done here,
  // since the end of this thread frees memory.
  close(events_);
}

void mapping_watch::read_events() {
  uffd_msg messages[16];
  std::lock_guard guard(mutex_);
  for (;;) {
    const ssize_t n = read(events_, messages, sizeof messages);
    if (n <= 0) return;
    for (const uffd_msg* m = messages; m < messages + static_cast<size_t>(n) / sizeof *m; ++m) {
      switch (m->event) {
        case UFFD_EVENT_UNMAP:
        case UFFD_EVENT_REMOVE:
          note(m->arg.remove.start, m->arg.remove.end);
          break;
        case UFFD_EVENT_REMAP:  // the kernel also watches the new address, which is not needed
          note(m->arg.remap.from, m->arg.remap.from + m->arg.remap.len);
          uncover(m->arg.remap.to, m->arg.remap.to + m->arg.remap.len);
          break;
        default:
          break;
      }
    }
  }
}

void mapping_watch::note(uint64_t begin, uint64_t end) {
  while (interval* found = ranges_.overlapping(begin, end)) {
    auto& r = *static_cast<range*>(found);
    ranges_.remove(r);
    r.watched_ = false;
    r.changed_.store(true, std::memory_order_relaxed);
    r.whose_->changes_ = true;
    // In three pieces: the changed part may now be of a kind for which the kernel refuses the call.
    uncover(r.begin, std::min(r.end, begin));
    uncover(std::max(r.begin, begin), std::min(r.end, end));
    uncover(std::max(r.begin, end), r.end);
  }
}

bool mapping_watch::add(range& r, subscriber& whose, const void* base, size_t size) {
  const auto address = reinterpret_cast<uint64_t>(base);
  std::lock_guard guard(mutex_);
  r.begin = down(address);
  r.end = up(address + size);
  r.whose_ = &whose;
  r.changed_.store(false, std::memory_order_relaxed);
  if (!set_watch(r.begin, r.end)) return false;
  ranges_.insert(r);
  r.watched_ = true;
  return true;
}

void mapping_watch::remove(range& r) {
  std::lock_guard guard(mutex_);
  if (!r.watched_) return;
  ranges_.remove(r);
  r.watched_ = false;
  uncover(r.begin, r.end);
}

bool mapping_watch::take_changes(subscriber& whose) {
  std::lock_guard guard(mutex_);
  return std::exchange(whose.changes_, false);
}

bool mapping_watch::unchanged(const range& r) {
  // A change is in progress from before the mapping changes until its thread continues after the event
  // was read. If there is none, the events of all earlier changes have been read, and were recorded before this thread
  // got the lock. If there is one, of any range, it ends soon unless its thread does not run.
  constexpr int most_tries = 32;
  for (int i = 0; i < most_tries; ++i) {
    {
      std::lock_guard guard(mutex_);
      if (r.changed()) return false;
      if (!change_under_way()) return true;
    }
    std::this_thread::yield();
  }
  return false;
}

// Registers for write protection but never protects pages: the registration mode that causes no page faults.
bool mapping_watch::set_watch(uint64_t begin, uint64_t end) {
  uffdio_register what{};
  what.range = {begin, end - begin};
  what.mode = UFFDIO_REGISTER_MODE_WP;
  return ioctl(events_, UFFDIO_REGISTER, &what) == 0;
}

void mapping_watch::uncover(uint64_t begin, uint64_t end) {
  while (begin < end) {
    const interval* next = ranges_.overlapping(begin, end);
    if (next == nullptr) return end_watch(begin, end);
    if (next->begin > begin) end_watch(begin, next->begin);
    begin = next->end;
  }
}

void mapping_watch::end_watch(uint64_t begin, uint64_t end) {
  // Fails where nothing is mapped any more. A page that stays watched needlessly only makes its unmapping slower.
  uffdio_range what{begin, end - begin};
  (void)ioctl(events_, UFFDIO_UNREGISTER, &what);
}

bool mapping_watch::change_under_way() {
  uffdio_writeprotect nothing{};  // removes a protection that was never set; fails during a change
  nothing.range = {reinterpret_cast<uint64_t>(probe_), page};
  return ioctl(events_, UFFDIO_WRITEPROTECT, &nothing) != 0;
}

}  // namespace lci
