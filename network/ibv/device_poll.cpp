// Polling: messages, completions, failures.
#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "lci/errors.hpp"
#include "lib/concurrent/attempt.hpp"
#include "network/ibv/device.hpp"

namespace lci::network::ibv {

namespace {

// Looking for asynchronous events of the card and of the liveness connections takes system calls.
constexpr uint32_t idle_polls_per_check = 1 << 12;

std::string text_of_status(const char* when, ibv_wc_status status) {
  return text_if_memory([&] { return std::string(when) + library::get().wc_status_str(status); });
}

}  // namespace

int device::poll(event_sink& sink, int max_events) {
  int n_events = 0;
  if (LCI_UNLIKELY(deferred_.any())) n_events = report_deferred(sink);
  // The core has just posted all buffers it could.
  if (LCI_UNLIKELY(credits_->any_due()))
    credits_->acknowledge_due([this](int peer, uint32_t taken) { return acknowledge(peer, taken); });
  if (!poll_lock_.try_lock()) return n_events > 0 ? n_events : -1;
  std::array<completion, batch> taken;
  const int n = read_queue(taken.data(), std::clamp(max_events, 1, batch));
  poll_lock_.unlock();  // other threads may poll while this one handles its completions
  if (LCI_LIKELY(n == 0)) return n_events;
  // Each poll reports this error as long as it persists: operations in flight will not complete.
  if (LCI_UNLIKELY(n < 0))
    throw resource_error(std::string("ibv: ibv_poll_cq on ") + context_.card().name() + " says " + std::to_string(n) +
                         ": completions can't be read; the kernel's log may tell why (`dmesg`)");
  const auto handle_one = [&](const completion& c) { handle(c, sink); };
  deferred_.handle_all(unhandled_, taken.data(), taken.data() + n, handle_one);
  return n_events + n;
}

int device::read_queue(completion* to, int max) {
  std::array<ibv_wc, batch> entries;
  const int n = ibv_poll_cq(completions_.get(), max, entries.data());
  if (LCI_LIKELY(n == 0)) {
    if (LCI_UNLIKELY(idle_.is_due(idle_polls_per_check))) {
      read_card_events();
      check_peers();
    }
    return 0;
  }
  for (int i = 0; i < n; ++i) to[i] = look_at(entries[static_cast<size_t>(i)]);
  return n;
}

completion device::look_at(const ibv_wc& wc) {
  using kind = completion::kind;
  const work_id id = work_id::unpack(wc.wr_id);
  completion c{};
  c.status = wc.status;
  const bool good = wc.status == IBV_WC_SUCCESS;
  if (!id.receive) {
    c.what = LCI_LIKELY(good) ? kind::sent : kind::not_sent;
    c.peer = id.peer;
    c.context = peer_at(id.peer).queue.complete(id.sequence);
    return c;
  }
  credits_->buffer_used();
  c.slot = id.sequence;
  c.peer = numbers_.peer_of(wc.qp_num);
  c.size = wc.byte_len;
  c.imm = wc.imm_data;
  if (LCI_UNLIKELY(!good))
    c.what = kind::not_received;
  else if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
    c.what = kind::put_with_imm;
  else
    c.what = LCI_LIKELY((wc.wc_flags & IBV_WC_WITH_IMM) == 0) ? kind::message : kind::control;
  return c;
}

void device::read_ahead() {
  std::array<completion, batch> taken;
  if (!deferred_.make_space(unhandled_, spare_completions)) return;  // what can't be kept stays in the queue
  if (!poll_lock_.try_lock()) return;
  const int n = read_queue(taken.data(), batch);
  poll_lock_.unlock();
  if (n <= 0) return;
  deferred_.add(unhandled_, taken.begin(), taken.begin() + n);
}

void device::handle(const completion& c, event_sink& sink) {
  switch (c.what) {
    case completion::kind::sent:
      if (c.context != nullptr) sink.on_complete(c.context);
      return;
    case completion::kind::message: {
      const receive_slots::slot& slot = slots_.look_at(c.slot);
      const auto* const data = static_cast<const std::byte*>(slot.buffer.base);
      void* const context = slot.context;
      slots_.give(c.slot);
      credits_->taken(c.peer);
      context_.peers().meet(c.peer);
      return sink.on_recv(c.peer, data, c.size, context);
    }
    case completion::kind::put_with_imm:
      repost(c.slot);
      credits_->taken(c.peer);
      context_.peers().meet(c.peer);
      return sink.on_remote_write(c.peer, c.imm);
    case completion::kind::control:
      repost(c.slot);
      return handle_control(c.peer, c.imm);
    case completion::kind::not_received:
      repost(c.slot);
      // Also if it was flushed: a queue pair with a shared receive queue fails a receive only if it has matched a
      // message.
      if (c.peer >= 0) fail_peer(c.peer, text_of_status("receiving: ", c.status));
      return;
    case completion::kind::not_sent:
      return handle_unsent(c, sink);
  }
}

void device::handle_unsent(const completion& c, event_sink& sink) {
  // Requests behind the failed one are flushed: its own completion comes first, or an event of the card. If neither
  // has come, the queue pair is unusable all the same.
  if (c.status == IBV_WC_WR_FLUSH_ERR) read_card_events();
  fail_peer(c.peer, text_of_status("sending: ", c.status));
  read_card_events();
  // A peer that has freed its device sent a close notification first, maybe in this batch of completions. It is
  // reported before the operation's failure, so that the reason of the failure is known. If the sink throws then, a
  // later poll reports the operation.
  if (deferred_.any()) {
    struct kept_if_thrown {
      device& of;
      const completion& c;
      bool thrown = true;
      ~kept_if_thrown() {
        if (LCI_UNLIKELY(thrown)) of.deferred_.add(of.unhandled_, c);
      }
    } operation{*this, c};
    deferred_.report_failures(sink);
    operation.thrown = false;
  }
  if (c.context != nullptr) sink.on_operation_failure(c.context, c.peer);
}

int device::offer_slot(uint32_t slot) {
  (void)slots_.look_at(slot);
  const attempt lock(receive_lock_);
  return lock.failed() ? EAGAIN : post_buffer(slot);
}

void device::repost(uint32_t slot) {
  if (LCI_UNLIKELY(offer_slot(slot) != 0)) deferred_.add(unposted_, slot);
}

int device::report_deferred(event_sink& sink) {
  deferred_.begin_report();
  deferred_.report(unposted_, [&](uint32_t slot) {
    const int error = offer_slot(slot);
    if (error == 0) return;
    deferred_.add(unposted_, slot);
    if (error != EAGAIN && error != ENOMEM) refused("ibv_post_srq_recv", error);
  });
  const int n_events = deferred_.report(unhandled_, [&](const completion& c) { handle(c, sink); });
  return n_events + deferred_.report_failures(sink);
}

}  // namespace lci::network::ibv
