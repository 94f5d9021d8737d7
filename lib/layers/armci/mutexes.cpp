#include "lib/layers/armci/mutexes.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "lib/layers/armci/errors.hpp"
#include "lib/layers/armci/wire.hpp"

namespace armci_layer {

namespace {

// Futexes of memory that processes share.
void sleep_on(const void* word, uint32_t expected, long milliseconds) {
  const timespec t{0, milliseconds * 1000000};
  syscall(SYS_futex, word, FUTEX_WAIT, expected, &t, nullptr, 0);
}
/// The same for each call of a thread, and different from that of each other thread.
const void* this_thread() {
  thread_local const char one = 0;
  return &one;
}
void wake(const void* word, int n) { syscall(SYS_futex, word, FUTEX_WAKE, n, nullptr, nullptr, 0); }

}  // namespace

const mutex_set::of_process& mutexes::owner(const char* function, const mutex_set& set, int mutex, int proc) const {
  if (proc < 0 || proc >= static_cast<int>(set.owners.size()))
    misuse(function, "proc = " + std::to_string(proc) + ", but must be 0.." + std::to_string(set.owners.size() - 1));
  const mutex_set::of_process& o = set.owners[static_cast<size_t>(proc)];
  if (mutex < 0 || mutex >= o.count)
    misuse(function, "mutex = " + std::to_string(mutex) + ", but process " + std::to_string(proc) + " has created " +
                         std::to_string(o.count) + ", with numbers from 0");
  return o;
}

void mutexes::lock(const char* function, const mutex_set& set, int mutex, int proc) {
  const mutex_set::of_process& o = owner(function, set, mutex, proc);
  if (LCI_UNLIKELY(!memory_.is_near(o.proc))) {
    or_end(function, [&] { remote_.lock(address_of(o, mutex), o.proc, true); });
    return;
  }
  word& w = here(o, mutex);
  if (LCI_UNLIKELY(link_.size() == 1)) return lock_alone(w);
  uint32_t free = 0;
  const uint32_t mine = static_cast<uint32_t>(link_.me()) + 1;
  if (LCI_LIKELY(w.compare_exchange_strong(free, mine, std::memory_order_acquire))) return;  // A1: pairs with R1
  lock_slowly(w);
}

void mutexes::lock_alone(word& w) {
  // Since 2000, a lock in a job of one process returns at once. Other threads wait all the same.
  holding& h = holding_of(w);
  if (h.thread.load(std::memory_order_relaxed) == this_thread()) {
    ++h.again;
    return;
  }
  lock_slowly(w);
  hold_alone(w);
}

void mutexes::hold_alone(word& w) {
  holding& h = holding_of(w);
  h.again = 0;
  h.thread.store(this_thread(), std::memory_order_relaxed);
}

void mutexes::lock_slowly(word& w) {
  const uint32_t mine = static_cast<uint32_t>(link_.me()) + 1;
  for (int i = 0; i < 100; ++i) {
    uint32_t seen = w.load(std::memory_order_relaxed);
    if (seen == 0 && w.compare_exchange_strong(seen, mine, std::memory_order_acquire)) return;  // A1
    lci::cpu_pause();
  }
  // Who has slept does not know whether others do, so it takes the word as if they did.
  for (;;) {
    uint32_t seen = w.load(std::memory_order_relaxed);
    if (seen == 0) {
      if (w.compare_exchange_strong(seen, mine | someone_sleeps, std::memory_order_acquire)) return;  // A1
      continue;
    }
    if ((seen & someone_sleeps) == 0) {
      if (!w.compare_exchange_strong(seen, seen | someone_sleeps, std::memory_order_relaxed)) continue;
      seen |= someone_sleeps;
    }
    sleep_on(&w, seen, 100);
    if (w.load(std::memory_order_relaxed) == seen) {
      link_.look_around();
      if (take_from_dead(w, seen, mine | someone_sleeps, false)) return;
    }
  }
}

bool mutexes::take_from_dead(word& w, uint32_t seen, uint32_t mine, bool from_receiver) {
  const int holder = static_cast<int>(seen & holder_bits) - 1;
  if (holder < 0 || holder >= link_.size() || !link_.probe(holder, from_receiver)) return false;
  return w.compare_exchange_strong(seen, mine | (seen & (someone_sleeps | other_hosts_wait)),
                                   std::memory_order_acquire);
}

bool mutexes::try_lock(const char* function, const mutex_set& set, int mutex, int proc) {
  const mutex_set::of_process& o = owner(function, set, mutex, proc);
  if (!memory_.is_near(o.proc))
    return or_end(function, [&] { return remote_.lock(address_of(o, mutex), o.proc, false); });
  uint32_t free = 0;
  word& w = here(o, mutex);
  if (!w.compare_exchange_strong(free, static_cast<uint32_t>(link_.me()) + 1, std::memory_order_acquire))  // A1
    return false;
  if (link_.size() == 1) hold_alone(w);
  return true;
}

void mutexes::unlock(const char* function, const mutex_set& set, int mutex, int proc) {
  const mutex_set::of_process& o = owner(function, set, mutex, proc);
  if (LCI_UNLIKELY(!memory_.is_near(o.proc))) {
    // Follows this process's puts to the owner, so the next holder sees them.
    or_end(function, [&] { remote_.tell(wire::kind::unlock, address_of(o, mutex), o.proc); });
    return;
  }
  word& w = here(o, mutex);
  if (LCI_UNLIKELY((w.load(std::memory_order_relaxed) & holder_bits) != static_cast<uint32_t>(link_.me()) + 1))
    misuse(function, "mutex = " + std::to_string(mutex) + " of process " + std::to_string(proc) +
                         " is not locked by this process: ARMCI_Lock comes first");
  if (LCI_UNLIKELY(link_.size() == 1)) {
    holding& h = holding_of(w);
    if (h.again > 0) {
      --h.again;
      return;
    }
    h.thread.store(nullptr, std::memory_order_relaxed);
  }
  or_end(function, [&] { release(w, reinterpret_cast<uint64_t>(address_of(o, mutex)), o.proc, false); });
}

void mutexes::release(word& w, uint64_t owner_address, int owner, bool from_receiver) {
  const uint32_t before = w.exchange(0, std::memory_order_release);  // R1: pairs with A1
  if (LCI_LIKELY((before & (someone_sleeps | other_hosts_wait)) == 0)) return;
  if ((before & other_hosts_wait) != 0) {
    if (owner == link_.me())
      grant(owner_address, w);
    else
      remote_.tell(wire::kind::wake, reinterpret_cast<void*>(owner_address), owner);
  }
  if ((before & someone_sleeps) != 0) wake(&w, 1);
}

bool mutexes::any_in_use(const mutex_set& set) {
  const mutex_set::of_process* own = nullptr;
  for (const auto& o : set.owners)
    if (o.proc == link_.me()) own = &o;
  if (own == nullptr) return false;
  for (int i = 0; i < own->count; ++i)
    if (here(*own, i).load(std::memory_order_acquire) != 0) return true;
  return false;
}

mutexes::word* mutexes::own_word(uint64_t address) {
  if (address % sizeof(word) != 0 || !memory_.owns(address, address + sizeof(word))) return nullptr;
  return reinterpret_cast<word*>(address);
}

void mutexes::answer(const waiting& to, bool got) {
  packet p = link_.new_packet();
  p.add(wire::answer{to.token, 0, 0});
  p.add(int64_t{got ? 1 : 0});
  try {
    // The process has the mutex already if it has got it, and waits for this answer.
    insist([&] { link_.send(to.proc, link::box::answers, std::move(p), true); });
  } catch (const error&) {
    // It has died: check_holder of the next that waits finds out.
  } catch (const std::exception& e) {
    end_job("a request of another process", e.what(), 1);
  }
}

void mutexes::asked_to_lock(int source, uint32_t token, uint64_t address, bool only_if_free) {
  word* const w = own_word(address);
  if (w == nullptr || only_if_free) {
    uint32_t free = 0;
    const auto mine = static_cast<uint32_t>(source) + 1;
    answer({source, token}, w != nullptr && w->compare_exchange_strong(free, mine, std::memory_order_acquire));  // A1
    return;
  }
  {
    const std::lock_guard guard(mutex_);
    insist([&] { queues_[address].push_back({source, token}); });
  }
  grant(address, *w);
}

void mutexes::grant(uint64_t address, word& w) {
  waiting first;
  {
    const std::lock_guard guard(mutex_);
    const auto found = queues_.find(address);
    if (found == queues_.end()) return;
    std::deque<waiting>& queue = found->second;
    first = queue.front();
    for (;;) {
      uint32_t seen = w.load(std::memory_order_relaxed);
      if (seen != 0) {
        // Who unlocks it sees the bit and calls this again.
        if (w.compare_exchange_strong(seen, seen | other_hosts_wait, std::memory_order_relaxed)) return;
        continue;
      }
      const uint32_t more = queue.size() > 1 ? other_hosts_wait : 0;
      if (w.compare_exchange_strong(seen, (static_cast<uint32_t>(first.proc) + 1) | more, std::memory_order_acquire))
        break;  // A1
    }
    queue.pop_front();
    if (queue.empty()) queues_.erase(found);
  }
  answer(first, true);
}

void mutexes::asked_to_unlock(int source, uint64_t address) {
  word* const w = own_word(address);
  if (w == nullptr || (w->load(std::memory_order_relaxed) & holder_bits) != static_cast<uint32_t>(source) + 1) {
    say("ARMCI_Unlock", ("process " + std::to_string(source) + " has unlocked a mutex that it had not locked").c_str());
    return;
  }
  release(*w, address, link_.me(), true);
}

void mutexes::asked_to_look(uint64_t address, bool at_holder) {
  word* const w = own_word(address);
  if (w == nullptr) return;
  if (at_holder) {
    const uint32_t seen = w->load(std::memory_order_relaxed);
    if (seen != 0) {
      // As if the dead one had unlocked it; this process holds it meanwhile.
      if (!take_from_dead(*w, seen, static_cast<uint32_t>(link_.me()) + 1, true)) return;
      release(*w, address, link_.me(), true);
      return;
    }
  }
  grant(address, *w);
}

}  // namespace armci_layer
