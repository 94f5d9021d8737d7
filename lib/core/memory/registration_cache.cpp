#include "lib/core/memory/registration_cache.hpp"

#include <utility>

#include "lci/errors.hpp"

namespace lci::core {

namespace {

constexpr uintptr_t whole_bit = 1;  // of a handle, see registration_cache::entry

}  // namespace

registration_cache::registration_cache(network::device& net, const limits& most, std::shared_ptr<mapping_watch> watch)
    : net_(net), most_(most), watch_(std::move(watch)) {
  stats_.active = true;
  stats_.watched = watch_ != nullptr;
}

registration_cache::~registration_cache() {
  entries dead;
  while (!kept_.empty()) retire(kept_.front(), kept_, dead);
  while (!used_.empty()) retire(used_.front(), used_, dead);
  drop(dead);
}

network::registration registration_cache::acquire(void* base, size_t size) {
  const auto begin = reinterpret_cast<uint64_t>(base), end = begin + size;
  entries dead;
  network::registration shared;
  std::unique_lock lock(mutex_);
  const bool hit = find(begin, end, shared, dead);
  (hit ? stats_.hits : stats_.misses) += 1;
  lock.unlock();
  drop(dead);
  if (hit) return shared;

  entries made(1);
  entry& e = made.front();
  e.self = made.begin();
  e.begin = begin;
  e.end = end;
  // Watched before it is registered, so that a change in between is noticed.
  e.watched = watch_ != nullptr && watch_->add(e.pages, changes_, base, size);
  try {
    e.reg = make(base, size);
  } catch (...) {
    if (e.watched) watch_->remove(e.pages);
    throw;
  }
  lock.lock();
  used_.splice(used_.end(), made);
  stats_.used += 1;
  stats_.used_bytes += size;
  tree_.insert(e);
  e.listed = true;
  return take(e, begin, end);
}

bool registration_cache::find(uint64_t begin, uint64_t end, network::registration& found, entries& dead) {
  retire_changed(dead);
  while (interval* covering = tree_.covering(begin, end)) {
    auto& e = static_cast<entry&>(*covering);
    if (usable(e)) {
      if (e.users == 0) {
        used_.splice(used_.end(), kept_, e.self);
        stats_.kept -= 1;
        stats_.kept_bytes -= e.end - e.begin;
        stats_.used += 1;
        stats_.used_bytes += e.end - e.begin;
      }
      found = take(e, begin, end);
      return true;
    }
    stats_.invalidations += e.watched ? 1 : 0;
    e.users == 0 ? retire(e, kept_, dead) : unlist(e);
  }
  return false;
}

bool registration_cache::usable(const entry& e) {
  if (most_.trust) return true;
  // A program does not unmap a range that it has registered itself, as a whole.
  if (!e.watched) return e.whole_users > 0;
  // Only a range without such a user needs a system call to be checked.
  return e.whole_users > 0 ? !e.pages.changed() : watch_->unchanged(e.pages);
}

network::registration registration_cache::take(entry& e, uint64_t begin, uint64_t end) {
  const bool whole = begin == e.begin && end == e.end;
  e.users += 1;
  e.whole_users += whole ? 1 : 0;
  network::registration shared = e.reg;
  shared.handle = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(&e) | (whole ? whole_bit : 0));
  return shared;
}

bool registration_cache::is_current(const network::registration& registration) {
  const entry& e = *reinterpret_cast<entry*>(reinterpret_cast<uintptr_t>(registration.handle) & ~whole_bit);
  std::lock_guard guard(mutex_);
  return most_.trust || (e.watched && watch_->unchanged(e.pages));
}

void registration_cache::release(const network::registration& registration) {
  const auto handle = reinterpret_cast<uintptr_t>(registration.handle);
  entry& e = *reinterpret_cast<entry*>(handle & ~whole_bit);
  entries dead;
  {
    std::lock_guard guard(mutex_);
    retire_changed(dead);
    e.users -= 1;
    e.whole_users -= handle & whole_bit;
    if (e.users == 0) keep_or_retire(e, dead);
  }
  drop(dead);
}

void registration_cache::keep_or_retire(entry& e, entries& dead) {
  const size_t size = e.end - e.begin;
  if (!e.listed || !keepable(e)) {
    if (e.listed && e.watched) stats_.invalidations += 1;  // otherwise it would have been kept
    return retire(e, used_, dead);
  }
  if (size > most_.bytes) {  // evicting the others would not make room for it
    stats_.evictions += 1;
    return retire(e, used_, dead);
  }
  kept_.splice(kept_.end(), used_, e.self);
  stats_.used -= 1;
  stats_.used_bytes -= size;
  stats_.kept += 1;
  stats_.kept_bytes += size;
  while (stats_.kept_bytes > most_.bytes || stats_.kept > most_.count) retire_oldest(dead);
}

bool registration_cache::evict_one() {
  entries dead;
  {
    std::lock_guard guard(mutex_);
    if (kept_.empty()) return false;
    retire_oldest(dead);
  }
  drop(dead);
  return true;
}

void registration_cache::unlist(entry& e) {
  if (!std::exchange(e.listed, false)) return;
  tree_.remove(e);
}

void registration_cache::retire(entry& e, entries& from, entries& dead) {
  unlist(e);
  if (e.watched) watch_->remove(e.pages);
  const size_t size = e.end - e.begin;
  (&from == &kept_ ? stats_.kept : stats_.used) -= 1;
  (&from == &kept_ ? stats_.kept_bytes : stats_.used_bytes) -= size;
  dead.splice(dead.end(), from, e.self);
}

void registration_cache::retire_changed(entries& dead) {
  // Each caller retires all changed entries: those that are never used again must not stay pinned.
  if (watch_ == nullptr || most_.trust || !watch_->take_changes(changes_)) return;
  for (auto next = kept_.begin(); next != kept_.end();) {
    entry& e = *next++;
    if (!e.pages.changed()) continue;
    stats_.invalidations += 1;
    retire(e, kept_, dead);
  }
}

void registration_cache::retire_oldest(entries& dead) {
  stats_.evictions += 1;
  retire(kept_.front(), kept_, dead);
}

void registration_cache::drop(entries& dead) {
  for (const entry& e : dead) net_.deregister_memory(e.reg);
}

network::registration registration_cache::make(void* base, size_t size) {
  for (;;) {
    try {
      return net_.register_memory(base, size);
    } catch (const resource_error&) {
      if (!evict_one()) throw;
    }
  }
}

reg_cache_stats_t registration_cache::stats() {
  entries dead;
  reg_cache_stats_t now;
  {
    std::lock_guard guard(mutex_);
    retire_changed(dead);
    now = stats_;
  }
  drop(dead);
  return now;
}

}  // namespace lci::core
