// Small messages, whose buffers are free when the post returns. A call to a provider may take as long as a hundred
// copies into memory, so messages in close succession are sent in bundles.
#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/ticks.hpp"
#include "network/ofi/bundle.hpp"
#include "network/ofi/calls.hpp"
#include "network/ofi/device.hpp"

namespace lci::network::ofi {

errorcode_t device::inject(int peer, message_head head, const void* payload, size_t size) {
  return inject_parts(peer, {&head, sizeof head, payload, size});
}

errorcode_t device::inject_parts(int peer, const parts& m) {
  if (LCI_UNLIKELY(is_out_of_reach(peer))) return why_out_of_reach(peer);
  while (bundle::room_for(m.size()) <= bundle_size_) {
    const joined how = join(peer, m);
    if (how == joined::alone) break;
    if (how == joined::waits) return errorcode_t::done;
    // A full bundle is sent at once, or by the next poll.
    const errorcode_t sent = send_bundles(peer);
    if (how == joined::filled) return errorcode_t::done;
    if (sent != errorcode_t::done) return sent;
  }
  return in_turn(peer, [&] { return inject_alone(peer, m); });
}

errorcode_t device::inject_alone(int peer, const parts& m) {
  if (m.size() > injected_end_) return send_copy(peer, m);
  std::array<std::byte, max_injected> bytes;
  m.copy_to(bytes.data());
  return send_to(peer, errorcode_t::done, [&](fi_addr_t to) {
    const uint64_t tag = tag_of(message_tag::kind::message);
    if (LCI_LIKELY(trailer_ == 0)) return fi_injectdata(endpoint_.get(), bytes.data(), m.size(), tag, to);
    std::memcpy(bytes.data() + m.size(), &tag, trailer_size);
    return fi_inject(endpoint_.get(), bytes.data(), m.size() + trailer_size, to);
  });
}

errorcode_t device::send_copy(int peer, const parts& m) {
  request& r = new_copy(peer);
  m.copy_to(r.copy.get());
  r.size = m.size();
  return inject_copy(r, [&] { return send_copied(r, message_tag::kind::message); });
}

device::joined device::join(int peer, const parts& m) {
  outbox& o = peers_[static_cast<size_t>(peer)].out;
  const size_t room = bundle::room_for(m.size());
  const uint64_t now = cpu_ticks();
  bool filled = false;
  std::lock_guard guard(o.lock);
  if (o.goes_alone(now)) return joined::alone;
  if (o.filling != nullptr && o.filling->size + room > bundle_size_) {
    if (o.ready != nullptr) return joined::no_room;
    o.ready = std::exchange(o.filling, nullptr);
    filled = true;
  }
  if (o.filling == nullptr) o.filling = &new_copy(peer);
  if (!o.listed) {
    bundles_.add(peer);  // may throw, so nothing was appended yet
    o.listed = true;
    context_.flusher().notice();
    // Either the sleeping thread sees the bundle before it sleeps, or this thread sees that it sleeps.
    if (LCI_UNLIKELY(has_sleepers())) unpark();
  }
  request& r = *o.filling;
  m.copy_to(bundle::begin_entry(r.copy.get() + r.size, m.size()));
  r.size += room;
  o.series.last = now;
  return filled ? joined::filled : joined::waits;
}

request& device::new_copy(int peer) {
  request& r = copies_.take([](size_t) {});
  try {
    make_copy(r);
  } catch (...) {
    copies_.give(r);
    throw;
  }
  r.what = request::kind::copy;
  r.peer = peer;
  r.size = 0;
  return r;
}

errorcode_t device::send_bundles(int peer) {
  return in_turn(peer, [] { return errorcode_t::done; });
}

errorcode_t device::send_waiting(int peer) {
  outbox& o = peers_[static_cast<size_t>(peer)].out;
  for (;;) {
    request* r;
    {
      std::lock_guard guard(o.lock);
      if (o.ready == nullptr) o.ready = std::exchange(o.filling, nullptr);
      r = o.ready;
    }
    if (r == nullptr) return errorcode_t::done;
    const errorcode_t sent = send_copied(*r, message_tag::kind::bundle);
    if (sent != errorcode_t::posted && sent != errorcode_t::fatal) return sent;
    {
      std::lock_guard guard(o.lock);
      o.ready = nullptr;
    }
    if (sent == errorcode_t::fatal) copies_.give(*r);
  }
}

errorcode_t device::send_copied(request& r, message_tag::kind what) {
  const uint64_t tag = tag_of(what);
  if (trailer_ != 0) std::memcpy(r.copy.get() + r.size, &tag, trailer_size);
  return begin_copied(r, [&](fi_addr_t to) {
    return send_message(r, {r.copy.get(), r.size + trailer_, r.copy_registration.lkey}, tag, to);
  });
}

void device::send_all_bundles() {
  bundles_.flush([this](int peer) {
    send_bundles(peer);
    outbox& o = peers_[static_cast<size_t>(peer)].out;
    std::lock_guard guard(o.lock);
    o.listed = o.ready != nullptr || o.filling != nullptr;
    return o.listed;
  });
}

bool device::flush_if_unpolled() {
  const bool polled = was_polled();
  if (!polled) flush_bundles();
  const bool under_way = copies_under_way_.load(std::memory_order_relaxed) != 0;
  // After it has accepted a message, a provider may need reads of its queue: for a rendezvous, or if a socket was full.
  if (!polled && under_way) read_on();
  return under_way || bundles_.any();
}

}  // namespace lci::network::ofi
