// Posts of a device.
#include "network/ibv/device.hpp"

#include <cerrno>
#include <cstring>

#include "lib/concurrent/attempt.hpp"

namespace lci::network::ibv {

namespace {

/// The pieces of a work request. Empty ones are left out, as they have no key.
struct pieces {
  void add(const void* base, size_t size, uint64_t lkey) {
    if (size == 0) return;
    list[n++] = {reinterpret_cast<uintptr_t>(base), static_cast<uint32_t>(size), static_cast<uint32_t>(lkey)};
    total += size;
  }

  std::array<ibv_sge, max_segments> list;
  int n = 0;
  size_t total = 0;
};

}  // namespace

errorcode_t device::inject(int to, message_head head, const void* payload, size_t size) {
  pieces all;
  all.add(&head, sizeof head, 0);
  all.add(payload, size, 0);
  ibv_send_wr work{};
  work.sg_list = all.list.data();
  work.num_sge = all.n;
  work.opcode = IBV_WR_SEND;
  work.send_flags = IBV_SEND_INLINE;
  return submit(to, work, nullptr);
}

errorcode_t device::post(const net_op& op) {
  pieces all;
  for (int i = 0; i < op.n_segments; ++i) all.add(op.segments[i].base, op.segments[i].size, op.segments[i].lkey);
  ibv_send_wr work{};
  work.sg_list = all.list.data();
  work.num_sge = all.n;
  // Small data goes inline, so the card need not fetch it. (Not for a read: inline, it would have no destination.)
  if (op.kind != verb::get && all.total <= inline_size_) work.send_flags = IBV_SEND_INLINE;
  work.wr.rdma.remote_addr = op.remote_addr;
  work.wr.rdma.rkey = static_cast<uint32_t>(key_of(op.remote_key));
  switch (op.kind) {
    case verb::send:
      work.opcode = IBV_WR_SEND;
      break;
    case verb::get:
      work.opcode = IBV_WR_RDMA_READ;
      break;
    case verb::put:
      work.opcode = op.has_imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
      work.imm_data = op.imm;  // in host byte order, which all ranks share
      break;
  }
  return submit(op.peer, work, &op);
}

errorcode_t device::submit(int to, ibv_send_wr& work, const net_op* op) {
  peer& p = peer_at(to);
  if (LCI_UNLIKELY(is_gone(to))) return errorcode_t::fatal;
  const bool silent = op == nullptr || op->inject;
  errorcode_t result;
  {
    const attempt lock(*p.lock);
    if (lock.failed()) return errorcode_t::retry_lock;
    result = hand_over(p, work, silent ? nullptr : op->context, silent, op != nullptr && op->urgent);
  }
  if (LCI_UNLIKELY(result == errorcode_t::retry_nomem)) read_ahead();
  return result;
}

errorcode_t device::hand_over(peer& p, ibv_send_wr& work, void* owner, bool silent, bool reserved) {
  const auto rank = static_cast<int>(&p - peers_.get());
  const bool takes_buffer = work.opcode != IBV_WR_RDMA_WRITE && work.opcode != IBV_WR_RDMA_READ;
  const bool last = work.opcode == IBV_WR_SEND_WITH_IMM;  // a close notification needs no credit
  if (LCI_UNLIKELY(!p.queue.has_room(reserved) || (takes_buffer && !last && !credits_->may_send(rank))))
    return errorcode_t::retry_nomem;
  const bool signalled = !silent || p.queue.must_signal();
  if (signalled) work.send_flags |= IBV_SEND_SIGNALED;
  work.wr_id = work_id{false, rank, p.queue.begin(owner)}.packed();
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(p.pair.get(), &work, &refused);
  if (LCI_UNLIKELY(error != 0)) {
    if (error == ENOMEM || error == EAGAIN) return errorcode_t::retry_nomem;
    fail_peer(rank, text_if_memory([error] {
                return std::string("ibv_post_send: ") + std::strerror(error) + " (" + std::to_string(error) + ")";
              }));
    return errorcode_t::fatal;
  }
  p.queue.end(signalled);
  if (takes_buffer) credits_->sent(rank);
  context_.peers().meet(rank);
  return silent ? errorcode_t::done : errorcode_t::posted;
}

errorcode_t device::post_recv(segment buffer, void* context) {
  const attempt lock(receive_lock_);
  if (lock.failed()) return errorcode_t::retry_lock;
  uint32_t slot;
  if (LCI_UNLIKELY(!slots_.take(slot))) return errorcode_t::retry_nomem;
  slots_[slot].buffer = buffer;
  slots_[slot].context = context;
  slots_.publish(slot);
  const int error = post_buffer(slot);
  if (LCI_LIKELY(error == 0)) return errorcode_t::done;
  slots_.give(slot);
  if (error == ENOMEM || error == EAGAIN) return errorcode_t::retry_nomem;
  refused("ibv_post_srq_recv", error);
}

int device::post_buffer(uint32_t slot) {
  const segment& buffer = slots_[slot].buffer;
  ibv_sge piece{reinterpret_cast<uintptr_t>(buffer.base), static_cast<uint32_t>(buffer.size),
                static_cast<uint32_t>(buffer.lkey)};
  ibv_recv_wr work{};
  work.wr_id = work_id{true, 0, slot}.packed();
  work.sg_list = &piece;
  work.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_srq_recv(receives_.get(), &work, &refused);
  if (LCI_LIKELY(error == 0)) credits_->buffer_posted();
  return error;
}

bool device::acknowledge(int to, uint32_t taken) {
  peer& p = peer_at(to);
  if (is_gone(to)) return true;
  ibv_sge word{reinterpret_cast<uintptr_t>(&taken), sizeof taken, 0};
  ibv_send_wr work{};
  work.sg_list = &word;
  work.num_sge = 1;
  work.opcode = IBV_WR_RDMA_WRITE;
  work.send_flags = IBV_SEND_INLINE;
  work.wr.rdma.remote_addr = p.credits_at;
  work.wr.rdma.rkey = p.credits_key;
  const attempt lock(*p.lock);
  return !lock.failed() && hand_over(p, work, nullptr, true, true) != errorcode_t::retry_nomem;
}

}  // namespace lci::network::ibv
