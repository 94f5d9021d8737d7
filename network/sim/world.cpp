#include "network/sim/world.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "lib/base/check.hpp"
#include "network/sim/device.hpp"

namespace lci::network::sim {

namespace {
std::mutex newest_mutex;
std::weak_ptr<world> newest;  // under newest_mutex; result of world::current()
std::atomic<uint64_t> n_worlds{0};
}  // namespace

std::pair<std::shared_ptr<world>, int> join_world(size_t ranks, uint64_t seed) {
  std::lock_guard newest_lock(newest_mutex);
  std::shared_ptr<world> w = newest.lock();
  if (!w || w->joined_ == w->size()) {
    w = std::make_shared<world>(ranks, seed);
    newest = w;
  } else if (static_cast<size_t>(w->size()) != ranks) {
    throw_invalid("alloc_net_context", "sim_ranks", std::to_string(ranks),
                  std::to_string(w->size()) + " as for the ranks that joined before",
                  "free them, or give all ranks of a world the same value");
  }
  return {w, w->joined_++};
}

std::pair<std::shared_ptr<world>, int> join_world_alone(uint64_t seed) {
  std::lock_guard newest_lock(newest_mutex);
  std::shared_ptr<world> w = newest.lock();
  if (!w) {
    w = std::make_shared<world>(1, seed);
    newest = w;
    return {w, w->joined_++};
  }
  std::lock_guard lock(w->mutex_);
  const int station = static_cast<int>(w->ranks_.size());
  w->ranks_.push_back({.base = station});
  return {w, station};
}

world::world(size_t ranks, uint64_t seed)
    : random_(seed), number_(++n_worlds), job_size_(static_cast<int>(ranks)), ranks_(ranks) {
  for (rank_state& r : ranks_) r.job_size = job_size_;
}

std::shared_ptr<world> world::current() {
  std::lock_guard lock(newest_mutex);
  return newest.lock();
}

void world::kill(int rank) {
  std::lock_guard lock(mutex_);
  if (rank < 0 || static_cast<size_t>(rank) >= ranks_.size())
    throw_invalid("sim::world::kill", "rank", std::to_string(rank), "0.." + std::to_string(ranks_.size() - 1));
  rank_state& victim = ranks_[rank];
  if (std::exchange(victim.cut_off, true)) return;
  for (int other = victim.base; other < victim.base + victim.job_size; ++other) {
    if (other == rank) continue;
    for (device* d : ranks_[other].devices)
      if (d != nullptr) d->cut_off_from(rank - victim.base);
    for (device* d : victim.devices)
      if (d != nullptr) d->cut_off_from(other - victim.base);
  }
  for (size_t i = 0; i < victim.links.size(); ++i) {
    if (victim.links[i].now != link::phase::connected) continue;
    begin_end(victim.links[i].station, victim.links[i].there, departure::died);
    begin_end(rank, victim.book->first() + static_cast<int>(i), departure::died);
  }
}

void world::announce_heap(int rank, heap_window heap) {
  std::lock_guard lock(mutex_);
  ranks_[static_cast<size_t>(rank)].heap = heap;
}

heap_window world::heap_of(int rank) const {
  std::lock_guard lock(mutex_);
  return ranks_[static_cast<size_t>(rank)].heap;
}

statistics world::stats() const {
  std::lock_guard lock(mutex_);
  statistics s = stats_;
  s.ticks = clock_;
  s.registrations = regions_.size();
  for (const rank_state& r : ranks_)
    for (const device* d : r.devices) {
      if (d == nullptr) continue;
      s.devices += 1;
      for (const auto& [when, e] : d->inbox_) s.in_flight += e.what == device::event::kind::recv;
    }
  return s;
}

std::vector<std::string> world::violations() const {
  std::lock_guard lock(mutex_);
  return violations_;
}

uint64_t world::soon(uint64_t max_delay) {
  uint64_t devices = 0;
  for (const rank_state& r : ranks_)
    devices += r.devices.size() - std::count(r.devices.begin(), r.devices.end(), nullptr);
  return clock_ + random_.up_to(max_delay * devices);
}

void world::advance() {
  ++clock_;
  apply_due_transfers();
}

void world::apply_due_transfers() {
  while (!transfers_.empty() && transfers_.begin()->first.first <= clock_) {
    transfer t = std::move(transfers_.extract(transfers_.begin()).mapped());
    apply(t);
  }
}

void world::apply(transfer& t) {
  const net_op& op = t.op;
  device& source = *t.source;
  const size_t size = total_size(op);
  device* target = find(t.target, source.index_);
  std::byte* remote = nullptr;
  try {
    std::string why;
    if (size > 0) remote = remote_memory(op, t.target, source.index_, size, why);
    if (target != nullptr && size > 0 && remote == nullptr) violation(why);
  } catch (const std::bad_alloc&) {  // for the text
  }
  if (target == nullptr || (size > 0 && remote == nullptr)) {
    stats_.rma_failed += 1;
    forget_notice(t);
    if (t.silent)
      source.peers_[op.peer].outstanding -= 1;
    else
      source.fail_operation(op.peer, op.context);
    return;
  }
  if (t.owns_payload) {
    if (size > 0) std::memcpy(remote, t.payload.data(), size);
  } else {
    for (int i = 0; i < op.n_segments; ++i) {
      const segment& s = op.segments[i];
      // memmove: a rank may put to, or get from, itself.
      if (s.size > 0 && op.kind == verb::put) std::memmove(remote, s.base, s.size);
      if (s.size > 0 && op.kind == verb::get) std::memmove(s.base, remote, s.size);
      if (remote != nullptr) remote += s.size;
    }
  }
  stats_.rma_applied += 1;
  using kind = device::event::kind;
  if (op.has_imm)
    target->schedule_reserved(soon(source.temper_.max_delay),
                              {.what = kind::remote_write, .peer = source.id_at(op.peer, t.target), .imm = op.imm});
  if (t.silent)
    source.peers_[op.peer].outstanding -= 1;
  else
    source.schedule_reserved(soon(source.temper_.max_delay),
                             {.what = kind::complete, .peer = op.peer, .context = op.context});
}

void world::forget_notice(const transfer& t) {
  if (device* target = t.op.has_imm ? find(t.target, t.source->index_) : nullptr) target->n_reserved_ -= 1;
}

std::byte* world::remote_memory(const net_op& op, int target, size_t device_index, size_t size, std::string& why) {
  const auto text = [&](const char* problem) {
    return std::string(op.kind == verb::put ? "put" : "get") + " of " + std::to_string(size) + " bytes at address " +
           std::to_string(op.remote_addr) + " of rank " + std::to_string(op.peer) + ": " + problem;
  };
  const auto it = regions_.find(op.remote_key);
  if (it == regions_.end() || it->second.rank != target) {
    why = text("nothing is registered there under this key");
    return nullptr;
  }
  const region& r = it->second;
  if (r.device_index != device_index) {
    why = text("the key belongs to another device");
    return nullptr;
  }
  if (op.remote_addr < r.base || size > r.size || op.remote_addr - r.base > r.size - size) {
    why = text("outside of the registered range");
    return nullptr;
  }
  if (r.read_only && op.kind != verb::get) {
    why = text("the memory is registered as read-only");
    return nullptr;
  }
  if (!intact(r, op.remote_addr, size)) {
    why = text("unmapped since it was registered");
    return nullptr;
  }
  return reinterpret_cast<std::byte*>(op.remote_addr);
}

device* world::find(int rank, size_t index) const {
  const auto& devices = ranks_[rank].devices;
  return index < devices.size() ? devices[index] : nullptr;
}

bool world::departed(int rank, size_t index) const {
  const auto& devices = ranks_[rank].devices;
  return index < devices.size() && devices[index] == nullptr;
}

bool world::separated(int a, int b) const { return a != b && (ranks_[a].cut_off || ranks_[b].cut_off); }

void world::violation(std::string what) {
  if (violations_.size() < 100) violations_.push_back(std::move(what));
}

void world::forget(std::map<uint64_t, region>::iterator r) {
  if (r->second.stamp != 0) pages_.unpin(r->second.base, r->second.size);
  regions_.erase(r);
}

uint64_t world::new_key() {
  uint64_t key = 0;
  while (key == 0 || ~key == 0 || regions_.count(key) != 0) key = random_.next();
  return key;
}

size_t total_size(const net_op& op) {
  size_t size = 0;
  for (int i = 0; i < op.n_segments; ++i) size += op.segments[i].size;
  return size;
}

}  // namespace lci::network::sim
