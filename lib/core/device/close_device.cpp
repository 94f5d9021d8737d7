// The end of a device: whatever is under way through it ends, here and at its peers.
//
// The device that is freed asks its peers to answer what waits for them (wire::ends), answers what of theirs
// waits for it, and goes on making progress until all is answered. So neither end gives memory back to its
// user that the other end still reads or writes. Last it says that nothing will come any more
// (wire::has_ended), for what its peers have posted meanwhile.
#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/endpoint.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/raw/raw_network.hpp"

namespace lci::core {

namespace {

using clock = std::chrono::steady_clock;

clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

/// Seconds without any event after which what the program has posted and can't be sent is given up.
constexpr double longest_rest = 10;
/// The same if only answers of this device are outstanding. Networks wait as long for answers to their close
/// notifications.
constexpr double longest_last_rest = 2;

/// What the sender of a message is told that no receive will meet.
struct answer {
  int peer;
  uint64_t operation;
  bool is_fin;
};

void throw_again(std::exception_ptr thrown) {
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace

void device::last_round(int& idle) {
  try {
    idle = progress() ? 0 : idle + 1;
  } catch (const peer_failure_error&) {
    // What waits for that peer has ended; the program learns of the failure by its other devices.
  } catch (const resource_error& e) {
    // The device goes all the same: a network that is broken says so each time.
    if (!closing_refused_.exchange(true, std::memory_order_relaxed))
      log_warning(std::string("free_device: progress was refused meanwhile: ") + e.what());
    ++idle;
  }
  if (idle > 1000) net->wait(100);
}

void device::let_out(bool to_the_end) {
  const auto over = [&] {
    return backlog.empty() && tasks_.load(std::memory_order_acquire) == 0 && (!to_the_end || net->flushed());
  };
  // At the end only answers of ours are left, to peers that may have ended themselves.
  const auto longest = duration_of(to_the_end ? longest_last_rest : longest_rest);
  auto last_event = clock::now();
  for (int idle = 0; !over() && clock::now() - last_event < longest;) {
    last_round(idle);
    if (idle == 0) last_event = clock::now();
  }
}

void device::close() {
  closing_.store(true, std::memory_order_release);
  let_out(false);
  std::set<int> asked;
  rt.operations.enter_each(this, [&](operation_table::visit v) {
    try {
      asked.insert(v.op->status.rank);
    } catch (const std::bad_alloc&) {
      // What waits for that peer ends without its answer.
    }
    leave(v.op);
  });
  wire::header end;
  end.what = wire::kind::device_end;
  end.policy = wire::ends;
  for (const int peer : asked) send_or_queue(peer, end);
  answer_unexpected(-1);
  for (const receive_window::request& r : receive_window.forget(-1)) {
    pending.fetch_sub(1, std::memory_order_release);
    (void)refuse(r.peer, r.rts.operation, wire::cancelled);
    asked.insert(r.peer);
  }
  // Puts and gets of the network's own wait for no answer of a peer's device, but for the network.
  if (!asked.empty() || !drained()) {
    // A peer that makes no progress may be computing for hours.
    const auto deadline = clock::now() + duration_of(attr.close_timeout);
    for (int idle = 0; !drained() && clock::now() < deadline;) last_round(idle);
    if (!drained()) end_unanswered();
    end.policy = wire::has_ended;
    for (const int peer : asked) send_or_queue(peer, end);
  }
  answer_unexpected(-1);  // what has come meanwhile
  let_out(true);
}

void device::end_unanswered() {
  log_warning("free_device: peers have not answered within " + std::to_string(attr.close_timeout) +
              " s (LCI_ATTR_CLOSE_TIMEOUT); what waits for them ends as `cancelled`. Peers make progress on a "
              "device until nothing is under way through it");
  backlog.drain([this](backlog::item& item) { return drop(item, failure::cancelled), true; });
  throw_again(end_waiting(failure::cancelled, [](const operation*) { return true; }));
}

void device::drop(backlog::item& item, failure how) {
  switch (item.what) {
    case backlog::item::type::resume:
      item.resume->fail_as(how);
      (void)try_advance(item.resume);  // which ends it
      break;
    case backlog::item::type::message:
      if (item.awaited != 0) end_unsent(item.peer, item.handle, item.awaited, how);
      if (item.completes == nullptr) break;
      item.completes->fail_as(how);
      on_complete(item.completes);
      break;
    case backlog::item::type::op:
      if (item.op.context == nullptr) break;
      static_cast<operation*>(item.op.context)->fail_as(how);
      on_complete(item.op.context);
      break;
    case backlog::item::type::taken:
      break;
  }
}

void device::destroy() {
  std::vector<unfinished> rest;
  unfinished_ = &rest;
  if (progress_endpoint != default_endpoint) delete progress_endpoint.p_impl;
  delete default_endpoint.p_impl;
  delete this;
  for (const unfinished& each : rest) {
    try {
      each.comp->signal(each.status);
    } catch (const std::exception& e) {
      log_warning(std::string("free_device: a handler has thrown: ") + e.what());
    }
  }
}

void device::answer_unexpected(int peer) {
  std::vector<answer> answers;
  const auto answer_each = [&](matching_engine& engine) {
    const auto look_at = [&](void* entry) {
      auto& u = *static_cast<unexpected*>(entry);
      if (u.device_uid != attr.uid || (peer >= 0 && u.peer != peer)) return false;
      if (u.rendezvous && !u.cancelled) {
        insist_on_memory([&] { answers.push_back({u.peer, u.rts.operation, true}); });
        u.cancelled = true;  // it stays for its receive, which is to end, too
      } else if (!u.rendezvous && (u.rts.operation & wire::wants_ack) != 0) {
        insist_on_memory([&] { answers.push_back({u.peer, u.rts.operation, false}); });
        u.rts.operation = 0;  // its data is here: a receive may still have it
      }
      return false;
    };
    engine.remove_if(matching_entry_type_t::send, std::ref(look_at));  // by reference: needs no memory
  };
  rt.for_each_engine(answer_each);
  if (raw_network* raw = raw_.load(std::memory_order_acquire)) answer_each(raw->engine);
  for (const answer& a : answers)
    a.is_fin ? send_fin(a.peer, a.operation, wire::cancelled) : send_ack(a.peer, a.operation, wire::cancelled);
}

void device::answer_discarded(const unexpected& u) {
  if (u.rendezvous && !u.cancelled)
    send_fin(u.peer, u.rts.operation, wire::cancelled);
  else if (!u.rendezvous && (u.rts.operation & wire::wants_ack) != 0)
    send_ack(u.peer, u.rts.operation, wire::cancelled);
}

void device::cancel_receive(operation* op, int peer, tag_t tag) {
  op->belong_to(this);
  op->status.rank = peer;
  op->status.tag = tag;
  pending.fetch_add(1, std::memory_order_relaxed);
  op->fail_as(failure::cancelled);
  fail(op);
}

// --- the end of a peer's device ---

void device::note_device_end(int peer, uint8_t how) {
  failures.add_device_end(peer, how);
  if (how == wire::has_ended) flow.forget(peer);
}

bool device::receive_device_end(int peer, const wire::message& m) {
  if (m.head.policy > wire::has_ended) return false;
  if (m.head.policy == wire::ends) {
    note_device_end(peer, wire::ends);
    answer_unexpected(peer);
    for (const receive_window::request& r : receive_window.forget(peer)) {
      pending.fetch_sub(1, std::memory_order_release);
      (void)refuse(r.peer, r.rts.operation, wire::cancelled);
    }
    return true;
  }
  on_device_end(peer);
  return true;
}

void device::on_device_end(int peer) {
  note_device_end(peer, wire::has_ended);
  answer_unexpected(peer);
  std::exception_ptr thrown =
      end_waiting(failure::cancelled, [peer](const operation* op) { return op->status.rank == peer; });
  end_queued(peer, thrown);
  throw_again(thrown);
}

}  // namespace lci::core
