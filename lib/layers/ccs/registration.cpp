#include "lib/layers/ccs/registration.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "lib/layers/ccs/misuse.hpp"

namespace ccs {

registration_table::registration_table(lci::device_t device, size_t n_nodes, size_t threshold)
    : device_(device),
      n_nodes_(n_nodes),
      page_bits_(static_cast<unsigned>(__builtin_ctzl(static_cast<unsigned long>(sysconf(_SC_PAGESIZE))))),
      page_(uintptr_t{1} << page_bits_),
      threshold_(threshold) {}

registration_table::~registration_table() {
  for (auto& [begin, r] : regions_) insist("CCS_finalize", [&, &region = *r] { close(region); });
  for (auto& r : ending_) insist("CCS_finalize", [&] { close(*r); });
}

registration_table::region* registration_table::search(uintptr_t address) const {
  auto behind = regions_.upper_bound(address);
  if (behind == regions_.begin()) return nullptr;
  region* r = std::prev(behind)->second.get();
  if (address >= r->end) return nullptr;
  last_ = r;
  return r;
}

registration_table::region* registration_table::find_used(uintptr_t address) const {
  region* r = find(address);
  return r != nullptr && r->users.at(page_of(*r, address)) > 0 ? r : nullptr;
}

std::unique_ptr<registration_table::region> registration_table::make(uintptr_t begin, uintptr_t end) const {
  auto r = std::make_unique<region>(begin, end, (end - begin) >> page_bits_);
  r->users.prepare();
  r->holders.resize(n_nodes_);
  return r;
}

void registration_table::open(region& r) {
  r.mr = lci::register_memory_x(reinterpret_cast<void*>(r.begin), r.end - r.begin).device(device_)();
  r.rmr = lci::get_rmr(r.mr);
  r.id = next_id_++;
  ++calls_.registrations;
  pages_ += r.pages();
  unused_pages_ += r.unused();
}

void registration_table::close(region& r) {
  lci::deregister_memory(&r.mr);
  ++calls_.deregistrations;
}

void registration_table::count(region& r, uintptr_t begin, uintptr_t end, bool more) noexcept {
  unused_pages_ -= r.unused();
  const size_t first = page_of(r, begin), last = page_of(r, end);
  more ? r.users.add(first, last) : r.users.remove(first, last);
  unused_pages_ += r.unused();
  if (r.users.used() == 0) r.stamp = ++clock_;
}

void registration_table::add(uintptr_t address, size_t size, endings& ended) {
  const uintptr_t begin = address & ~(page_ - 1), end = (address + size + page_ - 1) & ~(page_ - 1);
  std::lock_guard guard(lock_);
  // First everything that may fail, then the counts.
  for (uintptr_t at = begin; at < end;) {
    if (region* const r = find(at)) {
      const uintptr_t until = std::min(end, r->end);
      if (has_unused(*r, at, until) && !lci::is_mr_current(r->mr))
        renew(regions_.find(r->begin), at, until, ended);
      else
        r->users.prepare();
      at = until;
      continue;
    }
    const auto next = regions_.upper_bound(at);
    const uintptr_t until = next == regions_.end() ? end : std::min(end, next->first);
    const auto made = regions_.emplace(at, make(at, until)).first;
    try {
      open(*made->second);
    } catch (...) {
      regions_.erase(made);
      throw;
    }
    at = until;
  }
  for (uintptr_t at = begin; at < end;) {
    region& r = *find(at);
    const uintptr_t until = std::min(end, r.end);
    count(r, at, until, true);
    at = until;
  }
}

bool registration_table::remove(uintptr_t address, size_t size, endings& ended) {
  const uintptr_t begin = address & ~(page_ - 1), end = (address + size + page_ - 1) & ~(page_ - 1);
  std::lock_guard guard(lock_);
  for (uintptr_t at = begin; at < end;) {
    region* const r = find(at);
    if (r == nullptr) return false;
    const uintptr_t until = std::min(end, r->end);
    if (has_unused(*r, at, until)) return false;
    r->users.prepare();
    at = until;
  }
  for (uintptr_t at = begin; at < end;) {
    region& r = *find(at);
    const uintptr_t until = std::min(end, r.end);
    count(r, at, until, false);
    at = until;
  }
  if (LCI_UNLIKELY(unused_pages_ > threshold_ >> page_bits_)) end_oldest(ended);
  return true;
}

void registration_table::renew(region_map::iterator at, uintptr_t begin, uintptr_t end, endings& ended) {
  const region& old = *at->second;
  const auto wanted = [&](size_t page) {
    const uintptr_t a = old.begin + page * page_;
    return old.users.at(page) > 0 || (a >= begin && a < end);
  };
  struct region_list {
    registration_table& of;
    region_map regions;
    ~region_list() {
      for (auto& [first, r] : regions) {
        if (r->mr.is_empty()) continue;  // registering it has failed
        of.pages_ -= r->pages();
        of.unused_pages_ -= r->unused();
        insist("CCS_register_mem", [&, &region = *r] { of.close(region); });
      }
    }
  } fresh{*this, {}};
  for (size_t page = 0; page < old.pages(); ++page) {
    if (!wanted(page)) continue;
    size_t last = page;
    while (last + 1 < old.pages() && wanted(last + 1)) ++last;
    const uintptr_t first = old.begin + page * page_;
    region& r = *fresh.regions.emplace(first, make(first, old.begin + (last + 1) * page_)).first->second;
    r.users = old.users.part(page, last + 1);
    r.users.prepare();
    open(r);
    page = last;
  }
  this->end(at, ended);
  regions_.merge(fresh.regions);
}

void registration_table::end(region_map::iterator at, endings& ended) {
  region& r = *at->second;
  ending e{r.id, {}};
  for (size_t node = 0; node < n_nodes_; ++node)
    if (r.holders[node] > 0) e.holders.push_back(static_cast<int>(node));
  std::list<std::unique_ptr<region>> waiting;
  if (e.holders.empty()) {
    close(r);
  } else {
    waiting.emplace_back();
    ended.push_back(std::move(e));
    waiting.front() = std::move(at->second);
  }
  pages_ -= r.pages();
  unused_pages_ -= r.unused();
  if (last_ == &r) last_ = nullptr;
  regions_.erase(at);
  ending_.splice(ending_.end(), waiting);
  n_ending_.store(ending_.size(), std::memory_order_release);
}

void registration_table::end_oldest(endings& ended) noexcept {
  while (unused_pages_ > threshold_ >> page_bits_) {
    auto oldest = regions_.end();
    for (auto at = regions_.begin(); at != regions_.end(); ++at)
      if (at->second->users.used() == 0 && (oldest == regions_.end() || at->second->stamp < oldest->second->stamp))
        oldest = at;
    if (oldest == regions_.end()) return;  // what is unused shares a registration with used pages
    try {
      end(oldest, ended);
    } catch (const std::bad_alloc&) {
      return;
    } catch (const lci::resource_error&) {
      return;
    }
  }
}

void registration_table::set_threshold(size_t bytes, endings& ended) {
  std::lock_guard guard(lock_);
  threshold_ = bytes;
  end_oldest(ended);
}

registration_table::stats registration_table::get_stats() const {
  std::lock_guard guard(lock_);
  stats s = calls_;
  s.registered = pages_ << page_bits_;
  s.unused = unused_pages_ << page_bits_;
  return s;
}

bool registration_table::covers(uintptr_t begin, uintptr_t end) const {
  if (begin >= end) return true;
  std::lock_guard guard(lock_);
  return find_used(begin) != nullptr && find_used(end - 1) != nullptr;
}

void registration_table::returned(int node, uint64_t id) {
  std::lock_guard guard(lock_);
  const auto at = std::find_if(ending_.begin(), ending_.end(), [=](const auto& r) { return r->id == id; });
  if (at == ending_.end()) return;
  region& r = **at;
  r.holders[static_cast<size_t>(node)] = 0;
  if (std::any_of(r.holders.begin(), r.holders.end(), [](unsigned n) { return n > 0; })) return;
  close(r);
  ending_.erase(at);
  n_ending_.store(ending_.size(), std::memory_order_release);
}

}  // namespace ccs
