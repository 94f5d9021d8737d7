#include "network/sim/context.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "lci/errors.hpp"
#include "network/sim/device.hpp"

namespace lci::network::sim {

namespace {

constexpr size_t default_heap_size = size_t{1} << 30;

}  // namespace

void context::open_to_external_peers(external_peer_book& book) {
  book_ = &book;
  world_->open(rank_, book);
}

context::~context() {
  if (book_ != nullptr) world_->close(rank_);
  if (heap_.size == 0) return;
  world_->announce_heap(rank_, {});
  munmap(heap_.here, heap_.size);
}

std::unique_ptr<network::device> context::create_device(const device_attr_t& attr, size_t eager_size) {
  return std::make_unique<device>(world_, rank_, attr_, attr, eager_size);
}

heap_window context::own_heap() {
  if (heap_.size != 0) return heap_;
  const size_t size = attr_.shared_heap_size == 0 ? default_heap_size : attr_.shared_heap_size;
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw resource_error("sim: can't map a shared heap of " + std::to_string(size) + " bytes: " + std::strerror(errno) +
                         "; lower LCI_ATTR_SHARED_HEAP_SIZE");
  heap_ = {reinterpret_cast<uint64_t>(p), static_cast<std::byte*>(p), size};
  world_->announce_heap(rank_, heap_);
  return heap_;
}

void context::discard(std::byte* begin, size_t size) {
  constexpr uintptr_t page = 4096;
  const auto from = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  const auto to = (reinterpret_cast<uintptr_t>(begin) + size) / page * page;
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

heap_window context::heap_of(int peer) {
  if (peer >= world_->job_size_of(rank_)) return {};  // its memory might be unmapped while in use
  const auto per_host = static_cast<int>(attr_.sim_ranks_per_host);
  if (per_host > 0 && peer / per_host != (rank_ - world_->base_of(rank_)) / per_host) return {};
  return world_->heap_of(world_->base_of(rank_) + peer);
}

}  // namespace lci::network::sim
