#include "network/shm/context.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "network/shm/bell.hpp"
#include "network/shm/device.hpp"
#include "network/shm/device_entries.hpp"
#include "network/shm/limits.hpp"

namespace lci::network::shm {

namespace {

constexpr uint64_t watch_interval_ms = 100;

// Messages of up to so many packets can go through the ring of any peer: the smallest ring has room for two messages of
// three packets of the default size. Which messages above a packet are eager is measured for each rank, up to half of
// its ring (core::protocol_table).
constexpr size_t most_packets = 3;

/// Returns the ranks presumed to be on this host. They decide only whose addresses are read at once, and, where the
/// process's address space is limited, how large the segment and the heap are.
rank_range presumed_neighbours(const address_exchange& exchange, const net_context_attr_t& attr) {
  int begin = 0, count = exchange.size();
  if (const int n = static_cast<int>(std::min<size_t>(attr.ranks_per_host, static_cast<size_t>(count))); n > 0) {
    begin = exchange.rank() / n * n;
    count = n;
  } else if (const auto here = exchange.place_on_host()) {
    begin = exchange.rank() - here->rank;
    count = here->size;
  }
  return {std::max(begin, 0), std::min(begin + count, exchange.size())};
}

uint64_t milliseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000 + static_cast<uint64_t>(t.tv_nsec) / 1000000;
}

}  // namespace

context::context(address_exchange& exchange, const net_context_attr_t& attr)
    : exchange_(exchange),
      rank_(exchange.rank()),
      may_attach_(attr.shm_cma),
      writes_lines_(attr.shm_write_lines),
      prefetches_lines_(attr.shm_prefetch_lines),
      pauses_long_(attr.shm_long_pauses),
      heap_size_(attr.shared_heap_size),
      peers_(static_cast<size_t>(exchange.size())) {
  prepare_bells();
  permit_attach();
  n_slots_ = cache_line / slot_size * std::bit_ceil(std::clamp<size_t>(attr.shm_lane_slots, 16, 1 << 20));
  data_size_ = std::bit_ceil(std::clamp<size_t>(attr.shm_lane_data_size, 64 << 10, 1 << 30));
  nearby_ = presumed_neighbours(exchange, attr);
  // A process that has its host for itself may map memory of processes outside of its job.
  const int sharing = std::max(nearby_.end - nearby_.begin, 2);
  segment_ = std::make_unique<own_segment>(within_limits(attr.shm_segment_size, sharing), n_slots_, data_size_);

  offered mine;
  mine.where.pid = getpid();
  segment_->describe(mine.where);
  mine.where.space = process_space();
  mine.where.start_time = process_start_time(mine.where.pid);
  mine.where.probe = reinterpret_cast<uint64_t>(&probe_);
  mine.nearby = nearby_;
  mine_ = mine.where;
  where_all_are_ = exchange.offer({reinterpret_cast<const char*>(&mine), sizeof mine});
}

void context::settle(acquaintance how) {
  if (how == acquaintance::all_at_once) {
    const std::vector<std::string> all = exchange_.read_all(where_all_are_);
    for (int r = 0; r < size(); ++r) {
      take_address(r, all[static_cast<size_t>(r)]);
      watch(r);
    }
  } else {
    // Ranks that know us from the start also notify us when they leave.
    for (int r = nearby_.begin; r < nearby_.end; ++r)
      if (take_address(r, exchange_.read(where_all_are_, r))) watch(r);
    if (!peers_[static_cast<size_t>(rank_)].known.load(std::memory_order_relaxed)) learn(rank_);
  }
  peers_[static_cast<size_t>(rank_)].shape = own().shape();
  peers_[static_cast<size_t>(rank_)].mapped.store(own().base(), std::memory_order_release);  // R10
  size_t neighbour = (static_cast<size_t>(rank_) + 1) % peers_.size();
  const auto is_near = [this](const peer& p) {
    return p.known.load(std::memory_order_relaxed) && p.where.space == mine_.space;
  };
  while (!is_near(peers_[neighbour])) neighbour = (neighbour + 1) % peers_.size();
  attach_works_ = may_attach_ && can_attach(peers_[neighbour].where);
}

// --- learning about peers ---

bool context::take_address(int rank, const std::string& blob) {
  offered its;
  if (blob.size() != sizeof its)
    throw bootstrap_error("shm: the address of rank " + std::to_string(rank) + " has " + std::to_string(blob.size()) +
                          " bytes instead of " + std::to_string(sizeof its) +
                          "; all ranks must run the same version of LCI");
  std::memcpy(&its, blob.data(), sizeof its);
  peer& p = peers_[static_cast<size_t>(rank)];
  p.where = its.where;
  p.known.store(true, std::memory_order_release);  // R9: pairs with A9
  return its.nearby.begin <= rank_ && rank_ < its.nearby.end;
}

context::peer& context::learn(int rank) {
  const std::string blob = exchange_.read(where_all_are_, rank);
  std::lock_guard guard(learn_mutex_);
  peer& p = peers_[static_cast<size_t>(rank)];
  if (!p.known.load(std::memory_order_relaxed)) take_address(rank, blob);
  return p;
}

void context::watch(int rank) {
  peer& p = peers_[static_cast<size_t>(rank)];
  if (p.watched.exchange(true, std::memory_order_relaxed)) return;
  // Neither this process nor one whose pid is meaningless here can be monitored.
  if (rank == rank_ || p.where.space != mine_.space) return;
  std::lock_guard guard(watch_mutex_);
  p.gone = false;
}

void context::meet(int rank) {
  try {
    known(rank);
    watch(rank);
  } catch (const bootstrap_error& error) {
    // This may be inside a poll, so only warn; a post to that peer gets the error.
    log_warning(std::string("shm: can't monitor rank ") + std::to_string(rank) + ": " + error.what());
    peers_[static_cast<size_t>(rank)].watched.store(true, std::memory_order_relaxed);
  }
}

// --- the rest ---

void context::open_to_external_peers(external_peer_book& book) {
  external_ = std::make_unique<shm::external_peers>(*this, book, mine_);
  changes_ = &external_->connection_area().changes();
}

int context::connect(const std::string& to) {
  return external_ == nullptr ? network::context::connect(to) : external_->connect(to);
}

context::~context() {
  segment_->close_file();  // no new connections from here on; also releases a descriptor
  if (heap_ != nullptr) heap_->close_file();
  if (external_ != nullptr) external_->close_file();
  send_close();
}

void context::send_close() {
  // Notifies all known peers, also those without messages, as they monitor us. Others look here.
  own().close_flag_of(rank_).store(1, std::memory_order_release);
  for (size_t r = 0; r < peers_.size(); ++r) {
    peer& p = peers_[r];
    if (static_cast<int>(r) == rank_ || !p.known.load(std::memory_order_acquire)) continue;
    if (has_left(static_cast<int>(r))) continue;
    if (const segment_view its = p.segment(); its.mapped())
      its.close_flag_of(rank_).store(1, std::memory_order_release);
    else if (p.where.space == mine_.space)
      shm::send_close(p.where, rank_);
  }
}

size_t context::largest_message(size_t eager_size) const { return std::min(most_packets * eager_size, data_size_ / 2); }

std::unique_ptr<network::device> context::create_device(const device_attr_t& attr, size_t eager_size) {
  if (4 * eager_size > data_size_)
    throw resource_error("shm: a lane's ring of " + std::to_string(data_size_) +
                         " bytes is too small for messages of " + std::to_string(eager_size) +
                         "; raise LCI_ATTR_SHM_LANE_DATA_SIZE or lower LCI_ATTR_PACKET_SIZE");
  if (external_ != nullptr) external_->need_room_for(largest_message(eager_size));
  return std::make_unique<device>(*this, attr, eager_size);
}

context::place context::open_device() {
  std::lock_guard guard(mutex_);
  const uint32_t number = next_device_;
  const uint32_t entry = open_entry(own(), number);
  if (entry == ~0u)
    throw resource_error("alloc_device: more than " + std::to_string(max_devices) + " devices at a time; free some");
  ++next_device_;
  return {number, entry};
}

segment_view context::segment_of(int rank) {
  peer& p = peers_[static_cast<size_t>(rank)];
  if (const segment_view known_already = p.segment(); LCI_LIKELY(known_already.mapped())) return known_already;
  known(rank);
  std::lock_guard guard(mutex_);
  if (p.mapped.load(std::memory_order_relaxed) == nullptr) {
    peer_segment its = map_segment(p.where, rank);
    p.map = std::move(its.map);
    p.shape = its.shape;
    p.mapped.store(p.map.base(), std::memory_order_release);  // R10
    watch(rank);
  }
  return p.segment();
}

heap_window context::own_heap() {
  if (heap_ == nullptr) heap_ = std::make_unique<shm::own_heap>(heap_size_, nearby_.end - nearby_.begin, own());
  return heap_->window();
}

heap_window context::heap_of(int rank) {
  if (is_external(rank)) return {};  // its memory might be unmapped while in use
  if (rank == rank_) return heap_ == nullptr ? heap_window{} : heap_->window();
  peer& p = known(rank);
  if (p.where.space != mine_.space) return {};
  if (p.heap == nullptr) {
    auto heap = std::make_unique<peer_heap>(p.where, segment_of(rank), rank);
    if (heap->window().size == 0) return {};
    p.heap = std::move(heap);
  }
  return p.heap->window();
}

// --- failure detection ---

void context::watch_peers() {
  const uint64_t now = milliseconds();
  uint64_t due = next_watch_.load(std::memory_order_relaxed);
  if (now < due || (peers_.size() == 1 && external_ == nullptr)) return;
  if (!next_watch_.compare_exchange_strong(due, now + watch_interval_ms, std::memory_order_relaxed)) return;
  std::lock_guard guard(watch_mutex_);
  for (size_t r = 0; r < peers_.size(); ++r) {
    peer& p = peers_[r];
    if (p.gone || !p.watch.has_ended(p.where.pid, p.where.start_time)) continue;
    p.gone = true;
    if (has_left(static_cast<int>(r))) continue;  // it has closed before it ended
    failures_.push_back(static_cast<int>(r));
    p.failed.store(true, std::memory_order_release);
    n_failures_.store(failures_.size(), std::memory_order_release);
    changes_->fetch_add(1, std::memory_order_release);  // R8: pairs with A8
  }
  if (external_ != nullptr) external_->watch();
}

int context::failure(size_t i) {
  std::lock_guard guard(watch_mutex_);
  return failures_[i];
}

}  // namespace lci::network::shm
