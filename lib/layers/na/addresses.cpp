#include "lib/layers/na/addresses.hpp"

#include "lci.hpp"

namespace na {
address_book::address_book(uint32_t last, uint32_t number)
    : last_(last), mark_(magic | static_cast<uint64_t>(number & 0xff) << 52), peers_(new peer[last + 1]) {
  if (last >= uint32_t{1} << rank_bits) throw lci::invalid_argument_error("max_peers is too large for NA");
}

na_addr_t address_book::assign(uint32_t rank, const identity& who, const std::string& name) {
  const std::lock_guard guard(mutex_);
  peer& p = peers_[rank];
  p.who = who;
  p.mark.store(mark_of(who), std::memory_order_relaxed);
  p.name = name;
  const uint32_t before = p.generation.load(std::memory_order_relaxed);
  p.generation.store((before | 1) == before ? before + 2 : before + 1, std::memory_order_release);
  return of(rank);
}

void address_book::forget(addr gone) {
  const std::lock_guard guard(mutex_);
  peer& p = peers_[gone.rank];
  if ((gone.generation & 1) == 0 || p.generation.load(std::memory_order_relaxed) != gone.generation) return;
  p.generation.store(gone.generation + 1, std::memory_order_seq_cst);
}

na_addr_t address_book::find(const identity& who) const {
  const std::lock_guard guard(mutex_);
  for (uint32_t i = 0; i <= last_; ++i)
    if ((peers_[i].generation.load(std::memory_order_relaxed) & 1) != 0 && peers_[i].who == who) return of(i);
  return NA_ADDR_NULL;
}

na_addr_t address_book::find(const std::string& name) const {
  const std::lock_guard guard(mutex_);
  for (uint32_t i = 0; i <= last_; ++i)
    if ((peers_[i].generation.load(std::memory_order_relaxed) & 1) != 0 && peers_[i].name == name) return of(i);
  return NA_ADDR_NULL;
}

bool address_book::name_of(addr a, std::string* name) const {
  const std::lock_guard guard(mutex_);
  if (!is_last(a)) return false;
  *name = peers_[a.rank].name;
  return true;
}

}  // namespace na
