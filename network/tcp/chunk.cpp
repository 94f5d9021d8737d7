#include "network/tcp/chunk.hpp"

#include <cstring>
#include <mutex>
#include <new>

namespace lci::network::sockets {

namespace {

constexpr std::align_val_t alignment{cache_line};
// Number of free chunks that a pool retains for reuse. Further ones, which exist after a burst of messages, are freed.
constexpr size_t most_spare = 16;

}  // namespace

// Not initialized: the first touch of a page takes longer than most uses of a chunk.
chunk::chunk(size_t size) : capacity(size), bytes(static_cast<std::byte*>(::operator new[](size, alignment))) {}

void chunk::release::operator()(std::byte* p) const { ::operator delete[](p, alignment); }

void chunk::compact() {
  if (begin == frame_begin) return;
  std::memmove(bytes.get() + frame_begin, data(), size());
  end = frame_begin + size();
  begin = frame_begin;
}

chunk_pool::chunk_pool(size_t capacity) : capacity_(capacity) { spare_.reserve(most_spare); }

std::unique_ptr<chunk> chunk_pool::take() {
  {
    std::lock_guard guard(lock_);
    if (!spare_.empty()) {
      std::unique_ptr<chunk> c = std::move(spare_.back());
      spare_.pop_back();
      return c;
    }
  }
  return std::make_unique<chunk>(capacity_);
}

void chunk_pool::give(std::unique_ptr<chunk> c) noexcept {
  if (c == nullptr || c->capacity != capacity_) return;  // a larger one, made for a longer message
  c->clear();
  std::lock_guard guard(lock_);
  if (spare_.size() < most_spare) spare_.push_back(std::move(c));
}

}  // namespace lci::network::sockets
