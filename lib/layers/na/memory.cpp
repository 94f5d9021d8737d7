#include "lib/layers/na/memory.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace na {
namespace {

// A serialized handle: a head, then an entry for each piece. Integers are little-endian, as in the core's messages.
struct head {
  uint32_t magic;
  uint32_t flags;
  uint64_t n;
  uint64_t owner;  // mark_of() the identity of the process that has registered it
  uint64_t check;  // checksum of all other bytes
};
struct entry {
  lci::rmr_t rmr;
  uint64_t size;
};
static_assert(sizeof(head) == 32 && sizeof(entry) == 32, "without gaps");
constexpr uint32_t head_magic = 0x324d414e;  // "NAM2"

/// Detects damage by accident only. A process that can send a handle is allowed to access the memory anyway.
class checksum {
 public:
  void add(const void* bytes, size_t n) {  // n: a multiple of 8
    for (size_t i = 0; i < n; i += 8) {
      uint64_t word;
      std::memcpy(&word, static_cast<const char*>(bytes) + i, 8);
      sum_ = (sum_ ^ word) * 0x9e3779b97f4a7c15;
      sum_ ^= sum_ >> 29;
    }
  }
  uint64_t value() const { return sum_; }

 private:
  uint64_t sum_ = 0x6e612e6d656d6f72;
};

uint64_t check_of(head h, const char* entries) {
  h.check = 0;
  checksum sum;
  sum.add(&h, sizeof h);
  sum.add(entries, h.n * sizeof(entry));
  return sum.value();
}

}  // namespace

void memory::add(uint64_t address, uint64_t size) {
  constexpr uint64_t most = uint64_t{1} << 62;
  if (size > most - size_ || address + size < address)
    throw lci::invalid_argument_error("a segment leaves the address space: " + std::to_string(size) + " bytes");
  piece p;
  p.address = address;
  p.size = size;
  p.start = size_;
  pieces_.push_back(p);
  size_ += size;
}

memory::memory(const na_segment* segments, size_t n, bool read_only) : read_only_(read_only) {
  pieces_.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    if (segments[i].address == 0 && segments[i].size != 0)
      throw lci::invalid_argument_error("segment " + std::to_string(i) + " has the address NULL");
    if (segments[i].size != 0 || n == 1) add(segments[i].address, segments[i].size);
  }
}

memory::memory(const void* bytes, size_t size) : remote_(true) {
  head h;
  if (size < sizeof h) throw std::length_error("the bytes of a memory handle are cut");
  std::memcpy(&h, bytes, sizeof h);
  const char* const entries = static_cast<const char*>(bytes) + sizeof h;
  if (h.magic != head_magic || (h.flags & ~1u) != 0)
    throw std::domain_error("these are not the bytes of a memory handle");
  if (h.n > (size - sizeof h) / sizeof(entry)) throw std::length_error("the bytes of a memory handle are cut");
  if (check_of(h, entries) != h.check) throw std::domain_error("the bytes of a memory handle are damaged");
  read_only_ = (h.flags & NA_MEM_READ_ONLY) != 0;
  owner_ = h.owner;
  pieces_.reserve(h.n);
  for (size_t i = 0; i < h.n; ++i) {
    entry e;
    std::memcpy(&e, entries + i * sizeof e, sizeof e);
    if (e.size > e.rmr.size()) throw std::domain_error("a memory handle is larger than its registration");
    add(e.rmr.base, e.size);
    pieces_.back().rmr = e.rmr;
  }
}

memory::~memory() {
  deregister();
  magic = 0;
}

void memory::register_with(lci::runtime_t runtime, lci::device_t device, uint64_t owner) {
  const std::lock_guard guard(mutex_);
  if (registered_) return;
  runtime_ = runtime;
  owner_ = owner;
  try {
    for (piece& p : pieces_) {
      if (p.size == 0) continue;
      p.mr = lci::register_memory_x(reinterpret_cast<void*>(p.address), p.size)
                 .runtime(runtime)
                 .device(device)
                 .read_only(read_only_)();
      p.rmr = lci::get_rmr_x(p.mr).runtime(runtime)();
    }
  } catch (...) {
    release_pieces();
    throw;
  }
  registered_ = true;
}

void memory::release_pieces() {
  for (piece& p : pieces_)
    if (!p.mr.is_empty()) lci::deregister_memory_x(&p.mr).runtime(runtime_)();
}

void memory::deregister() {
  const std::lock_guard guard(mutex_);
  if (!registered_) return;
  registered_ = false;
  release_pieces();
}

bool memory::registered() const {
  const std::lock_guard guard(mutex_);
  return registered_;
}

size_t memory::serialized_size() const { return sizeof(head) + pieces_.size() * sizeof(entry); }

void memory::serialize(void* to) const {
  const std::lock_guard guard(mutex_);
  char* const entries = static_cast<char*>(to) + sizeof(head);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const entry e{pieces_[i].rmr, pieces_[i].size};
    std::memcpy(entries + i * sizeof e, &e, sizeof e);
  }
  head h{head_magic, read_only_ ? 1u : 0u, pieces_.size(), owner_, 0};
  h.check = check_of(h, entries);
  std::memcpy(to, &h, sizeof h);
}

size_t memory::piece_at(uint64_t offset) const {
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), offset, [](uint64_t o, const piece& p) { return o < p.start; });
  return static_cast<size_t>(after - pieces_.begin()) - 1;
}

void memory::plan(const memory& local, uint64_t local_offset, const memory& remote, uint64_t remote_offset, uint64_t n,
                  transfer* to) {
  if (n == 0) return;
  size_t l = local.piece_at(local_offset), r = remote.piece_at(remote_offset);
  uint64_t in_l = local_offset - local.pieces_[l].start, in_r = remote_offset - remote.pieces_[r].start;
  to->contiguous = local.pieces_[l].size - in_l >= n && remote.pieces_[r].size - in_r >= n;
  if (to->contiguous) {
    to->local = reinterpret_cast<void*>(local.pieces_[l].address + in_l);
    to->rmr = remote.pieces_[r].rmr;
    to->offset = in_r;
    return;
  }
  to->local_pieces.reserve(local.piece_at(local_offset + n - 1) - l + 1);
  to->remote_pieces.reserve(remote.piece_at(remote_offset + n - 1) - r + 1);
  for (uint64_t left = n; left > 0; ++l, in_l = 0) {
    const piece& p = local.pieces_[l];
    const uint64_t size = std::min(left, p.size - in_l);
    if (size > 0) to->local_pieces.push_back({p.address + in_l, size});
    left -= size;
  }
  for (uint64_t left = n; left > 0; ++r, in_r = 0) {
    const piece& p = remote.pieces_[r];
    const uint64_t size = std::min(left, p.size - in_r);
    if (size > 0) to->remote_pieces.push_back({p.rmr, in_r, size});
    left -= size;
  }
}

}  // namespace na
