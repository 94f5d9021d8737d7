// Puts and gets between processes of a host: copies by the kernel, in one call.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "lci/errors.hpp"
#include "lib/base/copy_bytes.hpp"
#include "lib/base/log.hpp"
#include "network/shm/device.hpp"
#include "network/shm/device_entries.hpp"

namespace lci::network::shm {

namespace {

std::atomic<uint64_t> next_rkey{1};

/// While it exists, peers see that this device writes what they have asked for.
class answering_guard {
 public:
  explicit answering_guard(device_entry* entry) : entry_(entry) {
    if (entry_ == nullptr) return;
    entry_->answers_begun.fetch_add(1, std::memory_order_relaxed);
  }
  ~answering_guard() {
    if (entry_ != nullptr) entry_->answers_ended.fetch_add(1, std::memory_order_relaxed);
  }
  answering_guard(const answering_guard&) = delete;
  answering_guard& operator=(const answering_guard&) = delete;

 private:
  device_entry* const entry_;
};

}  // namespace

int device::copy_now(const net_op& op) {
  const segment& local = op.segments[0];
  if (op.peer == context_.rank()) {
    void* const remote = reinterpret_cast<void*>(op.remote_addr);
    void* const to = op.kind == verb::put ? remote : local.base;
    const void* const from = op.kind == verb::put ? local.base : remote;
    if (local.size > 0) move_bytes(to, from, local.size);
    return 0;
  }
  const int pid = context_.pid_of(op.peer);
  context_.note_access(op.peer);
  const presence there = pid == 0 ? presence::closed : presence_of(op.peer);
  const answering_guard answering(op.has_imm ? &entry_ : nullptr);
  if (there == presence::unknown) return EAGAIN;
  if (there == presence::closed) return ESRCH;
  return op.kind == verb::put ? write_memory(pid, local.base, op.remote_addr, local.size)
                              : read_memory(pid, local.base, op.remote_addr, local.size);
}

errorcode_t device::put_or_get(const net_op& op) {
  out_lane* lane = nullptr;
  std::unique_lock<biased_lock> guard;
  if (op.has_imm) {
    // Ensure that the immediate data can follow before anything is written.
    errorcode_t why = errorcode_t::retry_nomem;
    lane = lane_of(thread_index(), op.peer);
    if (lane == nullptr && (lane = open_lane(op.peer, why)) == nullptr) return why;
    if (lane->shared_by_threads) {
      guard = std::unique_lock(lane->lock, std::try_to_lock);
      if (!guard) return errorcode_t::retry_lock;
      if (lane_of(thread_index(), op.peer) != lane) return errorcode_t::retry_lock;  // taken away meanwhile
    }
    if (!lane->has_room()) return no_room(*lane, op.peer);
  }
  const int error = copy_now(op);
  if (lane != nullptr && error == 0) {
    lane->push_immediate(op.imm);
    after_send(*lane);
  }
  if (LCI_LIKELY(error == 0)) return errorcode_t::done;
  if (error == EAGAIN || error == ENOMEM) return errorcode_t::retry_nomem;  // a later post copies all again
  if (error != ESRCH) throw_refused(op, error);
  return errorcode_t::fatal;
}

errorcode_t device::post_pieces(verb kind, int peer, const piece* pieces, size_t n) {
  // Pieces of the own memory cost no call of the kernel.
  if (peer == context_.rank()) return errorcode_t::retry_nomem;
  const int pid = context_.pid_of(peer);
  context_.note_access(peer);
  const presence there = pid == 0 ? presence::closed : presence_of(peer);
  if (there == presence::unknown) return errorcode_t::retry_nomem;
  const int error = there == presence::closed ? ESRCH : copy_pieces(pid, kind, pieces, n);
  if (error == 0) return errorcode_t::done;
  if (error == ESRCH) return errorcode_t::fatal;
  if (error == ENOMEM) return errorcode_t::retry_nomem;  // a later call copies all again
  net_op op;
  op.kind = kind;
  op.peer = peer;
  op.segments[0] = {pieces[0].local, pieces[0].size, 0};
  op.remote_addr = pieces[0].remote_addr;
  throw_refused(op, error);
}

presence device::presence_of(int peer) {
  if (const out_lane* lane = lane_of(thread_index(), peer))
    return lane->receiver_closed() ? presence::closed : presence::open;
  if (context_.is_external(peer)) return presence::open;
  uint32_t entry = 0;
  try {
    const presence there = find_entry(context_.segment_of(peer), place_.number, entry);
    if (there == presence::closed) {
      std::lock_guard guard(mutex_);
      note_closed(peer);
    }
    return there;
  } catch (const shortage_error& e) {
    warn_of_delay(e);
    return presence::unknown;
  } catch (const peer_failure_error&) {
    std::lock_guard guard(mutex_);
    note_gone(peer);
    return presence::closed;
  }
}

void device::warn_of_delay(const shortage_error& e) {
  if (!warned_of_delay_.exchange(true, std::memory_order_relaxed))
    log_warning(std::string(e.what()) + "; messages to it, and puts and gets of its memory, are delayed until it can");
}

void device::throw_refused(const net_op& op, int error) const {
  char where[160];
  std::snprintf(where, sizeof where, "shm: %s rank %d (pid %d), %zu bytes at 0x%llx: ",
                op.kind == verb::put ? "process_vm_writev to" : "process_vm_readv from", op.peer,
                context_.pid_of(op.peer), op.segments[0].size, static_cast<unsigned long long>(op.remote_addr));
  const std::string text =
      where + std::string(std::strerror(error)) +
      (error == EFAULT ? "; the memory must stay mapped at both ranks, and the rmr of a put or get must be of the rank "
                         "that the post names"
                       : "; LCI_ATTR_SHM_CMA=0 does without this call");
  if (error == EPERM || error == EACCES || error == ENOSYS) throw access_denied_error(text);
  throw resource_error(text);
}

registration device::register_memory(void*, size_t) {
  registration r;
  r.rkey = next_rkey.fetch_add(1, std::memory_order_relaxed);
  return r;
}

}  // namespace lci::network::shm
