// Connections with peers outside of the job: connect, disconnect, and the address to connect to.
#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "generated/core_operations.hpp"
#include "lib/base/check.hpp"
#include "lib/base/log.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/net_context.hpp"
#include "lib/core/device/progress_backoff.hpp"
#include "lib/core/operation/make_status.hpp"
#include "lib/core/operation/timers.hpp"

namespace lci::core {

namespace {

LCI_COLD void log_failure(const std::string& reason) {
  try {
    log_warning("connect: " + reason);
  } catch (const std::bad_alloc&) {
    log_warning(reason);
  }
}

/// A connection attempt by the device's context. Owned by a connect() that blocks and polls state(), else by the list
/// of deferred work, which calls run() until the peer is connected or the attempt has failed; run() then signals the
/// completion object and deletes the attempt. Used by one thread at a time.
struct attempt : deferred_task {
  attempt(device& d, int64_t until, comp_impl_t* c, void* context)
      : deferred_task(run), by(d), deadline(until), comp(c), user_context(context) {}
  device& by;
  int peer = -1;     // until the context has begun to connect
  int64_t deadline;  // as timers::now()
  comp_impl_t* comp;
  void* user_context;

  network::context& net() const { return *by.net_context.p_impl->net; }

  /// The state of the connection. After the deadline the attempt is withdrawn.
  network::contact state() {
    network::contact now = net().contact_with(peer);
    if (now.what == network::contact::state::moved) {
      peer = now.peer;
      now.what = peer == by.rt.rank() ? network::contact::state::made : network::contact::state::under_way;
    }
    if (now.what != network::contact::state::under_way) return now;
    if (timers::now() < deadline && !by.lifetime.closing()) return now;
    network::contact late{network::contact::state::gone,
                          "the runtime at that address did not answer in time: it must make progress; raise "
                          "connect's timeout, or check whether the process hangs"};
    net().disconnect(peer);  // last, as the id may be another peer's from then on
    return late;
  }

  /// The same, but what state() throws ends the attempt; without memory for an answer, it is asked for again.
  network::contact state_of_deferred() {
    network::contact failed{network::contact::state::gone};
    try {
      return state();
    } catch (const std::bad_alloc&) {
      return {};
    } catch (const std::exception& e) {
      try {
        failed.reason = e.what();
      } catch (const std::bad_alloc&) {
        // The warning then says only that connect() has failed.
      }
    }
    net().disconnect(peer);
    return failed;
  }

  static bool run(deferred_task* self) {
    std::unique_ptr<attempt> a(static_cast<attempt*>(self));
    network::contact now = a->state_of_deferred();
    if (now.what == network::contact::state::under_way) {
      device& d = a->by;
      d.rt.deferred.push(a.release());
      return false;
    }
    const bool made = now.what == network::contact::state::made;
    if (!made) log_failure(now.reason);
    // In a destructor, since the handler may throw; after signal(), since a device is drained only when all completion
    // objects have been signalled.
    struct ending {
      device& of;
      ~ending() {
        of.pending.fetch_sub(1, std::memory_order_release);
        of.lifetime.end_task();
      }
    } const at_end{a->by};
    const errorcode_t code = made                       ? errorcode_t::done
                             : a->by.lifetime.closing() ? errorcode_t::cancelled
                                                        : errorcode_t::fatal;
    a->comp->signal(make_status(code, a->peer, nullptr, 0, 0, a->user_context));
    return true;
  }

  /// Waits until it has succeeded; throws if it fails.
  void wait() {
    for (progress_backoff rounds(by);;) {
      network::contact now;
      try {
        now = state();
        if (now.what == network::contact::state::under_way) rounds.next();
      } catch (...) {
        net().disconnect(peer);
        throw;
      }
      if (now.what == network::contact::state::made) return;
      if (now.what == network::contact::state::refused) throw resource_error("connect: " + now.reason);
      if (now.what == network::contact::state::gone) throw peer_failure_error(-1, "connect: " + now.reason);
    }
  }
};

void require_external_peers(const char* operation, const runtime& rt) {
  if (rt.external_peers == nullptr)
    throw_invalid(operation, "max_peers", "0", "at least 1 when the runtime is allocated",
                  "set LCI_ATTR_BOOTSTRAP=none for a runtime without a launcher, or LCI_ATTR_MAX_PEERS");
}

/// Where the runtime can be reached from outside of the job.
std::string address_of(const char* operation, net_context& context) {
  std::string address = context.net->own_address();
  if (address.empty())
    throw_invalid(operation, "net_context", "of backend " + to_string(context.attr.backend),
                  "of shared memory, or one with peer_listen",
                  "LCI_ATTR_PEER_LISTEN=tcp://127.0.0.1:0 listens for peers of this host, other addresses for more; or "
                  "leave LCI_ATTR_BACKEND unset");
  return address;
}

}  // namespace

std::string get_address(get_address_args& a) {
  require_external_peers("get_address", *a.runtime.p_impl);
  return address_of("get_address", *a.net_context.p_impl);
}

status_t connect(connect_args& a) {
  device& d = *a.device.p_impl;
  require_external_peers("connect", d.rt);
  const bool waits = !can_signal(a.local_comp);
  if (waits && tls_in_progress)
    throw_invalid("connect", "local_comp", "empty", "a completion object inside a handler",
                  "the connection can't be waited for there");
  if (std::isnan(a.timeout)) reject_timeout("connect");
  auto connecting = std::make_unique<attempt>(d, timers::after(a.timeout), a.local_comp.p_impl, a.user_context);
  connecting->peer = d.net_context.p_impl->net->connect(a.address);
  const auto done = [&] { return make_status(errorcode_t::done, connecting->peer, nullptr, 0, 0, a.user_context); };
  if (connecting->peer == d.rt.rank()) return done();
  if (waits) {
    connecting->wait();
    return done();
  }
  d.pending.fetch_add(1, std::memory_order_relaxed);
  d.lifetime.begin_task();
  d.rt.deferred.push(connecting.release());
  return errorcode_t::posted;
}

void disconnect(disconnect_args& a) {
  device& d = *a.device.p_impl;
  require_external_peers("disconnect", d.rt);
  const network::external_peer_book& book = *d.rt.external_peers;
  if (a.rank < book.first() || a.rank - book.first() >= book.capacity())
    throw_invalid("disconnect", "rank", std::to_string(a.rank),
                  std::to_string(book.first()) + ".." + std::to_string(book.first() + book.capacity() - 1),
                  "ranks of the job stay connected");
  d.rt.external_peers->end(a.rank, network::departure::disconnected);
  d.net_context.p_impl->net->disconnect(a.rank);
}

}  // namespace lci::core
