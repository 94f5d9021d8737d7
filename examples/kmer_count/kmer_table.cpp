#include "kmer_table.hpp"

namespace kmer_count {

void kmer_table::reserve(uint64_t kmers) {
  // Parts differ slightly in size, so leave room.
  const uint64_t each = kmers / count_;
  for (size_t i = 0; i < count_; ++i) parts_[i].counts.reserve(each + each / 64 + 64);
}

void kmer_table::finish() {
  for (size_t i = 0; i < count_; ++i) look(i);
}

size_t kmer_table::size() const {
  size_t all = 0;
  for (size_t i = 0; i < count_; ++i) all += parts_[i].counts.size();
  return all;
}

size_t kmer_table::bytes() const {
  size_t slots = 0;
  for (size_t i = 0; i < count_; ++i) slots += parts_[i].counts.capacity();
  return slots * (sizeof(map::value_type) + 1);  // and one control byte per slot
}

void kmer_table::count(map& counts, batch* b) {
  for (size_t i = 0; i < b->size; ++i) counts.prefetch(b->kmers[i]);
  for (size_t i = 0; i < b->size; ++i) ++counts[b->kmers[i]];
  b->pool->give_back(b);
}

void kmer_table::look(size_t thread) {
  part& own = parts_[thread];
  batch* b = own.inbox.exchange(nullptr, std::memory_order_acquire);  // K1: pairs with K2
  while (b != nullptr) {
    batch* const next = b->next;
    count(own.counts, b);
    b = next;
  }
}

void kmer_table::writer::hand_over(size_t to, batch* b) {
  part& its = table_.parts_[to];
  if (to == thread_) return count(its.counts, b);
  b->next = its.inbox.load(std::memory_order_relaxed);
  while (!its.inbox.compare_exchange_weak(b->next, b, std::memory_order_release,  // K2: with K1
                                          std::memory_order_relaxed)) {
  }
}

void kmer_table::writer::flush() {
  for (size_t i = 0; i < table_.count_; ++i)
    if (batch* b = gathered_.close(static_cast<int>(i))) hand_over(i, b);
}

}  // namespace kmer_count
