// How a device makes calls that send: serialization, and handling of failed calls.
#pragma once

#include "network/ofi/device.hpp"

namespace lci::network::ofi {

template <class F>
errorcode_t device::in_turn(int rank, F send) {
  if (bundle_size_ == 0) return send();
  const turn mine(peers_[static_cast<size_t>(rank)].out);
  if (mine.failed()) return errorcode_t::retry_lock;
  const errorcode_t before = send_waiting(rank);
  return LCI_LIKELY(before == errorcode_t::done) ? send() : before;
}

template <class F>
errorcode_t device::send_to(int rank, errorcode_t good, F call) {
  peer& p = peers_[static_cast<size_t>(rank)];
  if (LCI_UNLIKELY(is_out_of_reach(rank))) return why_out_of_reach(rank);
  fi_addr_t to = p.address.load(std::memory_order_acquire);  // A1: pairs with R1
  if (LCI_UNLIKELY(to == FI_ADDR_NOTAVAIL)) {
    if (const errorcode_t learnt = learn_address(rank); learnt != errorcode_t::done) return learnt;
    to = p.address.load(std::memory_order_acquire);  // A1
  }
  ssize_t result;
  {
    const attempt lock = try_for(send_lock_, LCI_NET_TRYLOCK_SEND);
    if (lock.failed()) return errorcode_t::retry_lock;
    result = call(to);
  }
  if (LCI_LIKELY(result == 0)) {
    meet(rank);
    return good;
  }
  if (result == -FI_EAGAIN || result == -FI_ENOMEM) {
    // Providers also return this if they can't connect to the peer, whose process or device may have ended.
    context_.peers().meet(rank);
    read_on();
    return errorcode_t::retry_nomem;
  }
  suspect_unreachable(rank, static_cast<int>(-result));
  return errorcode_t::retry_nomem;
}

template <class F>
errorcode_t device::begin(const net_op& op, request::kind what, F call) {
  if (what != request::kind::control && !takes_share(op.peer)) return errorcode_t::retry_nomem;
  struct attempted {  // the call may fail to allocate memory
    device& of;
    request& r;
    errorcode_t result;
    ~attempted() {
      if (LCI_UNLIKELY(result != errorcode_t::posted)) of.end(r);
    }
  } it{*this, take_request(), errorcode_t::fatal};
  it.r.what = what;
  it.r.context = op.context;
  it.r.peer = op.peer;
  count_begin(it.r);
  it.result = send_to(op.peer, errorcode_t::posted, [&](fi_addr_t to) { return call(it.r, to); });
  return it.result;
}

template <class F>
errorcode_t device::begin_copied(request& r, F call) {
  if (!takes_share(r.peer)) return errorcode_t::retry_nomem;
  struct counted {  // also if the call throws
    device& of;
    request& r;
    errorcode_t result;
    ~counted() {
      if (LCI_UNLIKELY(result != errorcode_t::posted)) of.count_end(r);
    }
  } it{*this, r, errorcode_t::fatal};
  count_begin(r);
  it.result = send_to(r.peer, errorcode_t::posted, call);
  return it.result;
}

template <class F>
errorcode_t device::inject_copy(request& r, F send) {
  struct attempted {  // also if the call throws
    device& of;
    request& r;
    errorcode_t result;
    ~attempted() {
      if (LCI_UNLIKELY(result != errorcode_t::posted)) of.copies_.give(r);
    }
  } it{*this, r, errorcode_t::fatal};
  it.result = send();
  return LCI_LIKELY(it.result == errorcode_t::posted) ? errorcode_t::done : it.result;
}

}  // namespace lci::network::ofi
