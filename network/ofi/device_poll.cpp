// Polling: messages, completions, failures.
#include <algorithm>
#include <cstring>

#include "lib/base/log.hpp"
#include "network/ofi/bundle.hpp"
#include "network/ofi/device.hpp"

namespace lci::network::ofi {

ssize_t device::read_queue(completion* to, size_t most) {
  ssize_t n;
  {
    const attempt lock = try_for(poll_lock_, LCI_NET_TRYLOCK_POLL);
    if (lock.failed()) return -FI_EBUSY;
    n = fi_cq_read(queue_.get(), to, most);
    if (LCI_UNLIKELY(n == -FI_EAVAIL)) n = read_failure(*to);
  }
  return n;
}

ssize_t device::read_failure(completion& to) {
  fi_cq_err_entry e{};
  const ssize_t n = fi_cq_readerr(queue_.get(), &e, 0);
  if (n != 1) return n < 0 ? n : -FI_EAGAIN;  // -FI_EAGAIN: another thread has read it
  to = {};
  to.op_context = e.op_context;
  to.flags = failed;
  to.data = static_cast<uint64_t>(e.err);
  return 1;
}

int device::poll(event_sink& sink, int max_events) {
  std::array<completion, batch> entries;
  int n_events = 0;
  note_poll();
  flush_bundles();
  if (LCI_UNLIKELY(deferred_.any())) n_events = report_deferred(sink);
  const ssize_t n = read_queue(entries.data(), static_cast<size_t>(std::clamp<int>(max_events, 1, batch)));
  if (LCI_LIKELY(n == -FI_EAGAIN)) {
    count_idle();
    return n_events;
  }
  if (LCI_UNLIKELY(n < 0)) return end_vain_poll(n, n_events);
  count_result();
  const auto handle_one = [&](const completion& e) { handle(e, sink); };
  deferred_.handle_all(unhandled_, entries.data(), entries.data() + n, handle_one);
  flush_bundles();
  return n_events + static_cast<int>(n);
}

int device::end_vain_poll(ssize_t error, int n_events) {
  if (error == -FI_EBUSY) return n_events > 0 ? n_events : -1;
  // Each poll reports this error as long as it persists: operations in flight will not complete.
  if (error != -FI_EINTR && error != -FI_ENOMEM) check(error, "fi_cq_read of " + provider_.name());
  return n_events;
}

void device::read_on() {
  std::array<completion, batch> entries;
  if (!deferred_.make_space(unhandled_, spare_completions)) return;  // what can't be kept stays in the queue
  const ssize_t n = read_queue(entries.data(), entries.size());
  if (n <= 0) return count_idle();
  completion* const end = entries.data() + n;
  completion* const own = std::remove_if(entries.data(), end, [this](const completion& e) { return end_own(e); });
  if (own == entries.data()) return;
  deferred_.add(unhandled_, entries.data(), own);
  // For a thread that sleeps, these are events that its descriptor no longer shows.
  if (has_sleepers_after_event()) unpark();
}

bool device::end_own(const completion& e) {
  if ((e.flags & (FI_REMOTE_WRITE | failed)) != 0) return false;
  request& r = *static_cast<request*>(e.op_context);
  if (r.of_core()) return false;
  end(r);
  return true;
}

void device::handle(const completion& e, event_sink& sink) {
  if (LCI_UNLIKELY((e.flags & (FI_REMOTE_WRITE | failed)) != 0))
    return (e.flags & failed) != 0 ? handle_failure(e, sink) : handle_put(e.data, sink);
  request& r = *static_cast<request*>(e.op_context);
  if (r.what == request::kind::recv) return handle_message(e, sink);
  void* const context = r.context;
  const bool of_core = r.of_core();
  end(r);
  if (of_core) sink.on_complete(context);
}

void device::handle_message(const completion& e, event_sink& sink) {
  request& r = *static_cast<request*>(e.op_context);
  uint64_t bits = e.data;
  bool understood = (e.flags & FI_REMOTE_CQ_DATA) != 0;
  if (LCI_UNLIKELY(trailer_ != 0)) {
    understood = e.len >= trailer_size;
    if (understood) std::memcpy(&bits, r.buffer + e.len - trailer_size, trailer_size);
  }
  message_tag tag;
  understood = understood && message_tag::unpack(bits, context_.size(), tag);
  if (LCI_LIKELY(understood)) meet(tag.rank);
  if (understood && tag.what == message_tag::kind::bundle) return handle_bundle(e, tag.rank, sink);
  if (LCI_UNLIKELY(!understood || tag.what != message_tag::kind::message)) {
    repost(r);  // first, as the rest may throw for want of memory
    if (understood) return handle_control(tag);
    return log_warning("ofi: a message of " + std::to_string(e.len) + " bytes was not sent by LCI; ignored");
  }
  const std::byte* const data = r.buffer;
  void* const context = r.context;
  requests_.give(r);
  sink.on_recv(tag.rank, data, e.len - trailer_, context);
}

void device::handle_bundle(const completion& e, int peer, event_sink& sink) {
  request& r = *static_cast<request*>(e.op_context);
  struct rest {  // if a handler throws
    device& of;
    const completion& e;
    request& r;
    bool whole = false;
    ~rest() {
      if (LCI_UNLIKELY(!whole)) {
        of.deferred_.add(of.unhandled_, e);
      } else {
        r.delivered = 0;
        of.repost(r);
      }
    }
  } left{*this, e, r};
  const std::byte* message;
  size_t size;
  while (bundle::next(r.buffer, e.len - trailer_, r.delivered, message, size))
    sink.on_recv(peer, message, size, nullptr);
  if (r.delivered != e.len - trailer_)
    log_warning("ofi: a bundle of rank " + std::to_string(peer) + " is truncated; the rest is ignored");
  left.whole = true;
}

void device::handle_put(uint64_t bits, event_sink& sink) {
  const uint64_t rank = bits >> 32;
  if (rank < static_cast<uint64_t>(context_.size()))
    sink.on_remote_write(static_cast<int>(rank), static_cast<uint32_t>(bits));
}

void device::handle_failure(const completion& e, event_sink& sink) {
  const int error = static_cast<int>(e.data);
  if (e.op_context == nullptr) return lose_message(error);  // of a put with immediate data to us
  request& r = *static_cast<request*>(e.op_context);
  if (r.what == request::kind::recv) {
    const size_t size = r.size;
    repost(r);  // first, as the rest may throw for want of memory
    if (error == FI_ETRUNC)
      log_warning("ofi: a message of more than " + std::to_string(size) + " bytes is ignored");
    else if (error != FI_ECANCELED)  // a canceled receive buffer
      lose_message(error);
    return;
  }
  const int peer = r.peer;
  const bool by_key = r.what == request::kind::put || r.what == request::kind::get;
  // A rejected key is not a sign of a failed peer.
  const bool refused = by_key && (error == FI_EACCES || error == FI_EKEYREJECTED);
  const bool reported = refused || is_reported_gone(peer);
  if (!r.of_core()) {
    end(r);
  } else {
    count_end(r);
    reported ? report_failed(r, sink) : fail_later(r);
  }
  if (!reported) suspect_unreachable(peer, error);
}

void device::report_failed(request& r, event_sink& sink) {
  void* const context = r.context;
  const int peer = r.peer;
  requests_.give(r);
  sink.on_operation_failure(context, peer);
}

ssize_t device::offer_buffer(request& r) {
  const attempt lock = try_for(receive_lock_, LCI_NET_TRYLOCK_RECV);
  if (lock.failed()) return -FI_EAGAIN;
  return fi_recv(endpoint_.get(), r.buffer, r.size, r.descriptor, FI_ADDR_UNSPEC, &r.space);
}

void device::repost(request& r) {
  if (offer_buffer(r) != 0) deferred_.add(unposted_, &r);
}

int device::report_deferred(event_sink& sink) {
  deferred_.begin_report();
  deferred_.report(unposted_, [&](request* r) {
    const ssize_t result = offer_buffer(*r);
    if (result == 0) return;
    deferred_.add(unposted_, r);
    if (result != -FI_EAGAIN && result != -FI_ENOMEM) check(result, "fi_recv of " + provider_.name());
  });
  deferred_.report(unacknowledged_, [&](int peer) { acknowledge_close(peer); });
  int n_events = deferred_.report(unhandled_, [&](const completion& e) { handle(e, sink); });
  // First the failures of peers, then the operations that failed because of them.
  n_events += deferred_.report_failures(sink, [&](int peer) {
    peers_[static_cast<size_t>(peer)].reported.store(true, std::memory_order_relaxed);
    return true;
  });
  deferred_.report(failed_, [&](request* r) {
    if (!is_reported_gone(r->peer)) return deferred_.add_silently(failed_, r);
    ++n_events;
    report_failed(*r, sink);
  });
  return n_events;
}

}  // namespace lci::network::ofi
