#include "network/shm/connection_area.hpp"

namespace lci::network::shm {

namespace {

constexpr uint32_t sealed = ~uint32_t{0};
uint32_t connection_in(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t lane_in(uint64_t word) { return static_cast<uint32_t>(word); }
uint64_t pack(uint32_t connection, uint32_t lane) { return uint64_t{connection} << 32 | lane; }

}  // namespace

void connection_area_view::notify_close(connection_id s) const {
  auto& left = entry_at(s.index).left;
  uint32_t before = left.load(std::memory_order_relaxed);
  // Never decrease it: the entry may belong to another connection by now, which has also ended.
  while (before < s.connection &&
         !left.compare_exchange_weak(before, s.connection, std::memory_order_release,  // R1: A1
                                     std::memory_order_relaxed)) {
  }
}

// Connection numbers only grow, so a process that finds a larger one than its own is too late.
bool connection_area_view::announce_lane(connection_id s, uint32_t place, uint32_t lane) const {
  lane_notice& n = notice(s.index, place);
  uint64_t before = n.load(std::memory_order_relaxed);
  do {
    if (connection_in(before) > s.connection) return false;
    if (connection_in(before) == s.connection && lane_in(before) == sealed) return false;
  } while (!n.compare_exchange_weak(before, pack(s.connection, lane + 1),
                                    std::memory_order_release,  // R2: pairs with A2
                                    std::memory_order_relaxed));
  return true;
}

uint32_t connection_area_view::announced_lane(connection_id s, uint32_t place) const {
  const uint64_t word = notice(s.index, place).load(std::memory_order_acquire);  // A2
  return connection_in(word) == s.connection && lane_in(word) != sealed ? lane_in(word) : 0;
}

void connection_area_view::unlist(connection_id s, uint32_t place) const {
  uint64_t word = notice(s.index, place).load(std::memory_order_relaxed);
  if (connection_in(word) == s.connection)
    notice(s.index, place).compare_exchange_strong(word, 0, std::memory_order_acq_rel);
}

uint32_t connection_area_view::seal(connection_id s, uint32_t place) const {
  const uint64_t word =
      notice(s.index, place).exchange(pack(s.connection, sealed), std::memory_order_acq_rel);  // A2
  return connection_in(word) == s.connection && lane_in(word) != sealed ? lane_in(word) : 0;
}

}  // namespace lci::network::shm
