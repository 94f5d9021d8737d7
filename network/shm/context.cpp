#include "network/shm/context.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>

#include "lci/errors.hpp"
#include "network/shm/bell.hpp"
#include "network/shm/device.hpp"
#include "network/shm/device_entries.hpp"

namespace lci::network::shm {

namespace {

constexpr uint64_t watch_interval_ms = 100;

uint64_t milliseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000 + static_cast<uint64_t>(t.tv_nsec) / 1000000;
}

}  // namespace

context::context(address_exchange& exchange, const net_context_attr_t& attr)
    : rank_(exchange.rank()),
      heap_size_(attr.shared_heap_size),
      peers_(static_cast<size_t>(exchange.size())) {
  prepare_bells();
  permit_attach();
  n_slots_ = std::bit_ceil(std::clamp<size_t>(attr.shm_lane_slots, 16, 1 << 20));
  data_size_ = std::bit_ceil(std::clamp<size_t>(attr.shm_lane_data_size, 64 << 10, 1 << 30));
  segment_ = std::make_unique<own_segment>(attr.shm_segment_size, n_slots_, data_size_);

  address mine;
  mine.pid = getpid();
  segment_->describe(mine);
  mine.space = process_space();
  mine.start_time = process_start_time(mine.pid);
  mine.probe = reinterpret_cast<uint64_t>(&probe_);
  const auto all = exchange.allgather({reinterpret_cast<const char*>(&mine), sizeof mine});
  for (size_t r = 0; r < peers_.size(); ++r) {
    if (all[r].size() != sizeof(address))
      throw bootstrap_error("shm: the address of rank " + std::to_string(r) + " has " +
                            std::to_string(all[r].size()) + " bytes instead of " +
                            std::to_string(sizeof(address)) +
                            "; all ranks must run the same version of LCI");
    std::memcpy(&peers_[r].where, all[r].data(), sizeof(address));
  }
  // Nobody watches himself, nor what runs where its process id means nothing.
  for (peer& p : peers_) p.gone = p.where.space != mine.space;
  peers_[static_cast<size_t>(rank_)].gone = true;
  peers_[static_cast<size_t>(rank_)].mapped.store(segment_->view().base(),
                                                  std::memory_order_relaxed);
  size_t neighbour = (static_cast<size_t>(rank_) + 1) % peers_.size();
  while (!reaches(static_cast<int>(neighbour))) neighbour = (neighbour + 1) % peers_.size();
  attach_works_ = attr.shm_cma && can_attach(peers_[neighbour].where);
  mine_ = mine;
}

void context::open_to_guests(guest_book& book) {
  guests_ = std::make_unique<shm::guests>(*this, book, mine_, attach_works_);
  news_ = &guests_->lobby().news();
}

int context::connect(const std::string& to) {
  return guests_ == nullptr ? network::context::connect(to) : guests_->connect(to);
}

context::~context() {
  segment_->close_file();  // whoever would connect now is too late; and it leaves us a descriptor
  if (heap_ != nullptr) heap_->close_file();
  if (guests_ != nullptr) guests_->close_file();
  say_goodbye();
}

void context::say_goodbye() {
  // To all, also those we never talked to: they watch us nevertheless.
  for (size_t r = 0; r < peers_.size(); ++r) {
    peer& p = peers_[r];
    if (static_cast<int>(r) == rank_ || has_left(static_cast<int>(r))) continue;
    if (std::byte* base = p.mapped.load(std::memory_order_acquire))
      segment_view(base).goodbye_of(rank_).store(1, std::memory_order_release);
    else if (p.where.space == peers_[static_cast<size_t>(rank_)].where.space)
      shm::say_goodbye(p.where, rank_);
  }
}

std::unique_ptr<network::device> context::create_device(const device_attr_t& attr,
                                                        size_t eager_size) {
  if (4 * eager_size > data_size_)
    throw resource_error("shm: a lane's ring of " + std::to_string(data_size_) +
                         " bytes is too small for messages of " + std::to_string(eager_size) +
                         "; raise LCI_ATTR_SHM_LANE_DATA_SIZE or lower LCI_ATTR_PACKET_SIZE");
  if (guests_ != nullptr) guests_->need_room_for(eager_size);
  return std::make_unique<device>(*this, attr, eager_size);
}

context::place context::open_device() {
  std::lock_guard guard(mutex_);
  const uint32_t number = next_device_++;
  const uint32_t entry = open_entry(own(), number);
  if (entry == ~0u)
    throw resource_error("alloc_device: more than " + std::to_string(max_devices) +
                         " devices at a time; free some");
  return {number, entry};
}

segment_view context::segment_of(int rank) {
  peer& p = peers_[static_cast<size_t>(rank)];
  if (std::byte* base = p.mapped.load(std::memory_order_acquire)) return segment_view(base);
  std::lock_guard guard(mutex_);
  if (p.mapped.load(std::memory_order_relaxed) == nullptr) {
    p.map = map_segment(p.where, rank);
    p.mapped.store(p.map.base(), std::memory_order_release);
  }
  return segment_view(p.map.base());
}

heap_window context::own_heap() {
  if (heap_ == nullptr) heap_ = std::make_unique<shm::own_heap>(heap_size_, own());
  return heap_->window();
}

heap_window context::heap_of(int rank) {
  if (is_guest(rank)) return {};  // may go while its memory is in use
  if (rank == rank_) return heap_ == nullptr ? heap_window{} : heap_->window();
  peer& p = peers_[static_cast<size_t>(rank)];
  if (p.where.space != process_space()) return {};
  if (p.heap == nullptr) {
    auto heap = std::make_unique<peer_heap>(p.where, segment_of(rank), rank);
    if (heap->window().size == 0) return {};
    p.heap = std::move(heap);
  }
  return p.heap->window();
}

// --- the watch ---

void context::watch_peers() {
  const uint64_t now = milliseconds();
  uint64_t due = next_watch_.load(std::memory_order_relaxed);
  if (now < due || (peers_.size() == 1 && guests_ == nullptr)) return;
  if (!next_watch_.compare_exchange_strong(due, now + watch_interval_ms,
                                           std::memory_order_relaxed))
    return;
  std::lock_guard guard(watch_mutex_);
  for (size_t r = 0; r < peers_.size(); ++r) {
    peer& p = peers_[r];
    if (p.gone || !p.watch.has_ended(p.where.pid, p.where.start_time)) continue;
    p.gone = true;
    if (has_left(static_cast<int>(r))) continue;  // it has said so before it ended
    failures_.push_back(static_cast<int>(r));
    p.failed.store(true, std::memory_order_release);
    n_failures_.store(failures_.size(), std::memory_order_release);
    news_->fetch_add(1, std::memory_order_release);  // R8: pairs with A8
  }
  if (guests_ != nullptr) guests_->watch();
}

int context::failure(size_t i) {
  std::lock_guard guard(watch_mutex_);
  return failures_[i];
}

}  // namespace lci::network::shm
