#include "lib/layers/v1/vector_steps.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/base/insist_on_memory.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/record.hpp"
#include "lib/layers/v1/vectors.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

namespace {

std::array<std::byte, sizeof(step_head)> bytes_of(const step_head& head) {
  std::array<std::byte, sizeof(step_head)> bytes;
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

}  // namespace

void step_packet::fill(const step_head& head, const std::vector<LCI_lbuffer_t>& lengths, const void* piggy_back) {
  auto* at = static_cast<std::byte*>(packet_);
  const auto put = [&at](const void* from, size_t size) {
    if (size > 0) std::memcpy(at, from, size);
    at += size;
  };
  put(bytes_of(head).data(), sizeof head);
  for (const LCI_lbuffer_t& b : lengths) {
    const uint64_t length = b.length;
    put(&length, sizeof length);
  }
  put(piggy_back, head.piggy_back);
  size_ = static_cast<size_t>(at - static_cast<std::byte*>(packet_));
}

void step_packet::post(LCI_endpoint_s& ep, int rank, LCI_tag_t tag) {
  (void)lci::post_am_x(rank, packet_, size_, lci::COMP_NULL, ep.ports->steps).device(ep.core).tag(ep.id_bits | tag)();
  taken();
}

namespace {

void post_bytes(lci::device_t device, int rank, lci::tag_t tag, const void* bytes, size_t size) {
  (void)lci::post_am_x(rank, bytes, size, lci::COMP_NULL, the_world().ports.steps).device(device).tag(tag)();
}

}  // namespace

bool try_post_step(lci::device_t device, int rank, lci::tag_t tag, const step_head& head) noexcept {
  const auto bytes = bytes_of(head);
  return try_post([&] { post_bytes(device, rank, tag, bytes.data(), bytes.size()); });
}

void post_step(LCI_endpoint_s& ep, int rank, LCI_tag_t tag, const step_head& head, const void* piggy_back) {
  const auto post = [&](const void* bytes, size_t size) { post_bytes(ep.core, rank, ep.id_bits | tag, bytes, size); };
  const auto bytes = bytes_of(head);
  if (head.piggy_back == 0) return post(bytes.data(), bytes.size());
  std::vector<std::byte> memory =
      lci::insist_on_memory([&] { return std::vector<std::byte>(sizeof head + head.piggy_back); });
  std::memcpy(memory.data(), bytes.data(), bytes.size());
  std::memcpy(memory.data() + bytes.size(), piggy_back, head.piggy_back);
  post(memory.data(), memory.size());
}

issued_vector::issued_vector(LCI_endpoint_s& e, comp& to, int peer, LCI_tag_t t, const LCI_iovec_t& iovec,
                             LCI_data_type_t type, void* user_context)
    : ep(e), rank(peer), tag(t), buffers(iovec.lbuffers, iovec.lbuffers + iovec.count), to_(to) {
  request_.rank = peer;
  request_.tag = t;
  request_.type = type;
  if (type == LCI_LONG)
    request_.data.lbuffer = iovec.lbuffers[0];
  else
    request_.data.iovec = iovec;
  request_.user_context = user_context;
}

void issued_vector::begin() { period_ = ep.issued.begin(); }

void issued_vector::withdraw() {
  ep.issued.withdraw(period_);
  delete this;
}

void issued_vector::signal(lci::status_t status) { end_piece(flag_of(status) == LCI_OK); }

void issued_vector::end_piece(bool good) {
  if (!good) failed_.store(true, std::memory_order_relaxed);
  // A1: pairs with itself: the thread that ends the last piece sees what the others did.
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) pieces_ended(!failed_.load(std::memory_order_relaxed));
}

void issued_vector::answered(const step_head& answer, const void*) { finish(answer.accepted != 0); }

void issued_vector::finish(bool good) {
  request_.flag = good ? LCI_OK : LCI_ERR_FATAL;
  const LCI_request_t ended = request_;
  comp& to = to_;
  // Ends the operation after the delivery, so that a thread that has waited for a fence finds the completion.
  const issued_operations::delivering delivers(&ep.issued, period_);
  delete this;
  to.deliver(ended);
}

uint64_t awaited_vectors::next_id() {
  std::lock_guard guard(mutex_);
  return ++last_;
}

void awaited_vectors::add(uint64_t id, issued_vector* v) {
  std::lock_guard guard(mutex_);
  by_id_.emplace(id, v);
}

issued_vector* awaited_vectors::take(uint64_t id, int rank) {
  std::lock_guard guard(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || found->second->rank != rank) return nullptr;
  issued_vector* v = found->second;
  by_id_.erase(found);
  return v;
}

issued_vector* awaited_vectors::take_any(int rank) {
  std::lock_guard guard(mutex_);
  const auto found =
      std::find_if(by_id_.begin(), by_id_.end(), [rank](const auto& entry) { return entry.second->rank == rank; });
  if (found == by_id_.end()) return nullptr;
  issued_vector* v = found->second;
  by_id_.erase(found);
  return v;
}

void awaited_vectors::clear() {
  std::lock_guard guard(mutex_);
  for (const auto& entry : by_id_) delete entry.second;
  by_id_.clear();
}

void end_vectors_of(int rank) noexcept {
  world* w = detail::current;
  if (w == nullptr) return;
  while (issued_vector* v = w->awaited.take_any(rank)) v->finish(false);
}

}  // namespace v1
