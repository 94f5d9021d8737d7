#include "network/shm/heap.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "network/shm/limits.hpp"

namespace lci::network::shm {

namespace {

constexpr const char* heap_size_attribute = "LCI_ATTR_SHARED_HEAP_SIZE";
constexpr size_t page = 4096;

size_t memory_of_this_machine() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(size) : size_t{1} << 30;
}

size_t whole_pages(size_t size) { return (std::max(size, page) + page - 1) / page * page; }

/// An address that nobody is likely to use: between what programs have at their start and the libraries below the
/// stack. Processes whose numbers are close get places that don't overlap, so that peers find the same addresses free.
uint64_t quiet_address(size_t size) {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer has the range below for itself. The system begins at the other end of this one.
  constexpr uint64_t lowest = 0x7e8000000000, highest = 0x7f0000000000;
#else
  constexpr uint64_t lowest = uint64_t{1} << 44, highest = uint64_t{5} << 44;  // 16 TiB .. 80 TiB
#endif
  constexpr uint64_t later_heaps = 521;  // places between two heaps of a process
  static std::atomic<uint64_t> made{0};
  const uint64_t places = (highest - lowest) / size;
  if (places == 0) return 0;
  const uint64_t place = static_cast<uint64_t>(getpid()) + made.fetch_add(1, std::memory_order_relaxed) * later_heaps;
  return lowest + place % places * size;
}

}  // namespace

own_heap::own_heap(size_t size, int ranks_of_host, segment_view announce_in)
    : file_("lci-heap", whole_pages(size == 0 ? within_limits(memory_of_this_machine(), ranks_of_host) : size),
            heap_size_attribute),
      map_(file_.map(quiet_address(file_.size()))) {
  heap_place& place = announce_in.header().heap;
  place.name = file_.name();
  place.base = reinterpret_cast<uint64_t>(map_.base());
  place.made.store(1, std::memory_order_release);  // R1: pairs with A1 in peer_heap
}

heap_window own_heap::window() const { return {reinterpret_cast<uint64_t>(map_.base()), map_.base(), map_.size()}; }

void own_heap::discard(std::byte* begin, size_t size) const {
  const auto from = (static_cast<size_t>(begin - map_.base()) + page - 1) / page * page;
  const auto to = (static_cast<size_t>(begin - map_.base()) + size) / page * page;
  if (from < to) file_.punch(from, to - from);
}

peer_heap::peer_heap(const address& owner, segment_view segment, int rank) {
  heap_place& place = segment.header().heap;
  if (place.made.load(std::memory_order_acquire) == 0) return;  // A1
  // The file is opened under this name and size.
  file_name name;
  name.fd = read_once(place.name.fd);
  name.size = read_once(place.name.size);
  name.file_system = read_once(place.name.file_system);
  name.file = read_once(place.name.file);
  const uint64_t base = read_once(place.base);
  map_ = map_peer(owner, name, rank, heap_size_attribute, base);
  window_ = {base, map_.base(), map_.size()};
}

}  // namespace lci::network::shm
