#include "lib/layers/na/unexpected_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "lib/layers/na/active_messages.hpp"
#include "lib/layers/na/class.hpp"
#include "lib/layers/na/context.hpp"

namespace na {
namespace {

constexpr uint32_t report_after = unexpected_messages::window / 4;

}  // namespace

unexpected_messages::message* unexpected_messages::copy_of(const lci::status_t& status, na_addr_t source) {
  void* const memory = ::operator new(offsetof(message, bytes) + std::max<size_t>(status.size, 1), std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* const m = static_cast<message*>(memory);
  m->next = nullptr;
  m->source = source;
  m->tag = static_cast<na_tag_t>(status.tag);
  m->size = static_cast<uint32_t>(status.size);
  if (status.size > 0) std::memcpy(m->bytes, status.buffer, status.size);
  return m;
}

void unexpected_messages::release(message* m) { ::operator delete(m); }

unexpected_messages::unexpected_messages(na_class& c) : lci::comp_impl_t(in_place()), class_(c), reports_(*this) {}

unexpected_messages::~unexpected_messages() {
  while (first_ != nullptr) release(std::exchange(first_, first_->next));
}

void unexpected_messages::open() {
  peers_ = std::make_unique<peer[]>(class_.book->last() + 1);
  open_channel(class_, channel::unexpected_messages, lci::comp_t(this));
  open_channel(class_, channel::reports, lci::comp_t(&reports_));
}

// --- sending ---

bool unexpected_messages::send(addr to, const void* buffer, size_t size, na_tag_t tag) {
  std::atomic<uint32_t>& here = peers_[to.rank].here;
  if (LCI_UNLIKELY(here.load(std::memory_order_relaxed) >= window)) {
    class_.direct.watch(to);  // otherwise nothing would end the send if the peer disconnects without a report
    return false;
  }
  // Threads check the window before they increment, so n threads may exceed it by n - 1.
  here.fetch_add(1, std::memory_order_relaxed);
  bool is_sent = false;
  try {
    is_sent = post(class_, to, channel::unexpected_messages, buffer, size, tag);
  } catch (...) {
    here.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  if (!is_sent) here.fetch_sub(1, std::memory_order_relaxed);
  return is_sent;
}

unexpected_messages::reports::reports(unexpected_messages& m) : lci::comp_impl_t(in_place()), messages_(m) {}

void unexpected_messages::reports::signal(lci::status_t status) {
  uint32_t n = 0;
  const auto rank = static_cast<uint32_t>(status.rank);
  if (!status.is_done() || rank > messages_.class_.book->last() || status.size != sizeof n) return;
  std::memcpy(&n, status.buffer, sizeof n);
  // A wrong report must not make the number wrap around.
  std::atomic<uint32_t>& here = messages_.peers_[rank].here;
  uint32_t before = here.load(std::memory_order_relaxed);
  while (!here.compare_exchange_weak(before, before - std::min(before, n), std::memory_order_relaxed)) {
  }
}

void unexpected_messages::on_new_peer(uint32_t rank) {
  if (peers_ == nullptr) return;
  peers_[rank].here.store(0, std::memory_order_relaxed);
  peers_[rank].taken.store(0, std::memory_order_relaxed);
  const std::lock_guard guard(lock_);
  of_the_departed_ += std::exchange(peers_[rank].stored, 0);  // of the last one, whose departure was not reported
}

void unexpected_messages::on_departure(uint32_t rank, na_addr_t value) {
  message* dropped = nullptr;
  {
    const std::lock_guard guard(lock_);
    const uint32_t n = std::exchange(peers_[rank].stored, 0);
    if (of_the_departed_ + n <= window)
      of_the_departed_ += n;
    else
      dropped = remove_of(value);
  }
  while (dropped != nullptr) release(std::exchange(dropped, dropped->next));
}

unexpected_messages::message* unexpected_messages::remove_of(na_addr_t source) {
  // The oldest is freed first: if the newest were, malloc would return memory to the system each time.
  message* removed = nullptr;
  message** end = &removed;
  last_ = nullptr;
  for (message** at = &first_; message* const m = *at;) {
    if (m->source == source) {
      *at = m->next;
      m->next = nullptr;
      *end = m;
      end = &m->next;
    } else {
      last_ = m;
      at = &m->next;
    }
  }
  return removed;
}

// --- receiving ---

void unexpected_messages::fill(operation* op, na_addr_t source, na_tag_t tag, const void* bytes, size_t size,
                               uint32_t rank) {
  const bool fits = size <= op->size;
  if (const size_t n = std::min(size, op->size); n > 0) std::memcpy(op->buffer, bytes, n);
  op->found = source;
  op->result = lci::status_t(lci::errorcode_t::done);
  op->result.rank = static_cast<int>(rank);
  op->result.size = size;
  op->result.tag = tag;
  op->is_cut = !fits;
}

void unexpected_messages::signal(lci::status_t status) {
  const na_addr_t source = source_of(class_, status);
  if (source == NA_ADDR_NULL) return;
  const auto rank = static_cast<uint32_t>(status.rank);
  operation* op = nullptr;
  bool is_lost = false, is_too_much = false;
  {
    const std::lock_guard guard(lock_);
    op = first_receive_;
    if (op != nullptr) {
      first_receive_ = op->next;
    } else if (LCI_UNLIKELY(class_.book->of(rank) != source)) {
      return;  // another thread has just reported that the peer has left
    } else if (LCI_UNLIKELY(peers_[rank].stored >= most_stored)) {
      is_too_much = true;
    } else if (message* const m = copy_of(status, source); LCI_LIKELY(m != nullptr)) {
      (first_ == nullptr ? first_ : last_->next) = m;
      last_ = m;
      ++peers_[rank].stored;
    } else {
      is_lost = true;
    }
  }
  if (LCI_UNLIKELY(is_too_much)) return class_.direct.end(class_.book->current(rank));
  if (LCI_UNLIKELY(is_lost)) {
    note_taken(rank);  // the sender's window has room again
    throw std::bad_alloc();
  }
  if (op == nullptr) return;
  fill(op, source, static_cast<na_tag_t>(status.tag), status.buffer, status.size, rank);
  class_.finish(op, op->result);
  note_taken(rank);
}

void unexpected_messages::receive(operation* op) {
  message* m = nullptr;
  addr from{};
  {
    const std::lock_guard guard(lock_);
    m = first_;
    if (m != nullptr) {
      first_ = m->next;
      class_.book->decode(m->source, &from);
      if (uint32_t& n = class_.book->valid(from) ? peers_[from.rank].stored : of_the_departed_; n > 0) --n;
    } else {
      op->next = nullptr;
      (first_receive_ == nullptr ? first_receive_ : last_receive_->next) = op;
      last_receive_ = op;
    }
  }
  if (m == nullptr) return;
  fill(op, m->source, m->tag, m->bytes, m->size, from.rank);
  release(m);
  class_.finish(op, op->result);
  if (class_.book->valid(from)) note_taken(from.rank);
}

bool unexpected_messages::remove(operation* op, na_op_id_t id) {
  const std::lock_guard guard(lock_);
  operation* before = nullptr;
  for (operation* i = first_receive_; i != nullptr; before = i, i = i->next) {
    if (i != op || operation_pool::id_of(*op) != id) continue;
    (before == nullptr ? first_receive_ : before->next) = op->next;
    if (last_receive_ == op) last_receive_ = before;
    return true;
  }
  return false;
}

// --- reports ---

void unexpected_messages::note_taken(uint32_t rank) {
  if (peers_[rank].taken.fetch_add(1, std::memory_order_relaxed) + 1 < report_after) return;
  if (!report(rank)) owe();
}

void unexpected_messages::owe() {
  if (!owes_.exchange(true, std::memory_order_seq_cst)) class_.wake_leader();
}

bool unexpected_messages::report(uint32_t rank) {
  const uint32_t n = peers_[rank].taken.exchange(0, std::memory_order_relaxed);
  if (n == 0) return true;
  try {
    if (post(class_, {rank, 0}, channel::reports, &n, sizeof n)) return true;
  } catch (const lci::peer_failure_error&) {
    return true;  // the peer has failed and needs no report
  }
  peers_[rank].taken.fetch_add(n, std::memory_order_relaxed);
  return false;
}

void unexpected_messages::report_all() {
  owes_.store(false, std::memory_order_relaxed);
  for (uint32_t rank = 0; rank <= class_.book->last(); ++rank)
    if (peers_[rank].taken.load(std::memory_order_relaxed) >= report_after && !report(rank)) owe();
}

}  // namespace na
