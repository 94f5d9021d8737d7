// The end of a device: its outstanding operations end, here and at its peers.
//
// The device asks its peers to answer what waits for them (wire::ends), answers what of theirs waits here, and makes
// progress until all is answered. So neither end returns memory to its user while the other end accesses it. Its last
// message says that no other will follow (wire::has_ended), which ends what the peers have posted meanwhile.
#include "lib/core/device/close_device.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/log.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/endpoint.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/device/unexpected_messages.hpp"
#include "lib/core/stream/stream.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

using clock = std::chrono::steady_clock;

clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

/// As device_lifetime::longest_quiet_time, where only this library's answers are left. Networks wait as long for the
/// answers to their close notifications.
constexpr double longest_last_quiet_time = 2;

/// Calls f(), which makes progress or answers peers, and keeps what it throws, as the device is freed in any case.
/// Returns false if it threw.
template <class F>
bool completes(device& d, first_exception& thrown, F f) {
  const auto is_refused = [&d](const char* what) {
    // A network that is broken throws each time: log it once.
    if (d.lifetime.is_first_refusal()) log_warning(std::string("free_device: progress was refused meanwhile: ") + what);
  };
  try {
    f();
    return true;
  } catch (const peer_failure_error&) {
    // What waits for that peer has ended; the program's other devices report the failure.
  } catch (const resource_error& e) {
    is_refused(e.what());
  } catch (const std::bad_alloc& e) {
    is_refused(e.what());
  } catch (...) {
    thrown.keep(std::current_exception());
  }
  return false;
}

/// One round of progress of a device that is being freed; `idle` counts successive rounds without an event.
/// Returns false if the round threw before it was complete.
bool last_round(device& d, first_exception& thrown, int& idle) {
  bool happened = false;
  const bool complete = completes(d, thrown, [&] { happened = d.progress(); });
  idle = happened ? 0 : idle + 1;
  if (idle > 1000) d.net->wait(100);
  return complete;
}

/// Waits until no other thread runs a deferred task that may post to this device, or for the longest quiet time.
/// A task that begins later sees that closing() is true.
void await_posts_of_others(const device& d) {
  const auto deadline = clock::now() + duration_of(d.lifetime.longest_quiet_time);
  while (d.rt.deferred.any_device_is_used() && clock::now() < deadline) std::this_thread::yield();
}

/// Runs what graphs have deferred: posts to repeat, and posts whose turn has come. Within progress no post returns a
/// retry, so what can't be sent goes to the backlog, and nothing is posted after the device's end.
void finish_deferred_posts(device& d, first_exception& thrown) {
  await_posts_of_others(d);  // they may defer posts
  // A task that throws ends its round before the next task.
  int idle = 0;
  for (int left = d.rt.deferred.count.load(std::memory_order_acquire); left > 0 && !last_round(d, thrown, idle);)
    --left;
  await_posts_of_others(d);
}

/// Makes progress until backlog and deferred work are empty; `last`: also until the network has sent everything, so
/// that the peers receive the close notification. A task that another thread runs still uses the device, however long
/// its handler takes.
void drain(device& d, first_exception& thrown, bool last) {
  const auto over = [&] {
    return d.backlog.empty() && !d.lifetime.has_tasks() && (last ? d.net->flushed() : !d.lifetime.holds_messages());
  };
  // At the last only answers are left, to peers that may have ended themselves.
  const auto longest = duration_of(last ? longest_last_quiet_time : d.lifetime.longest_quiet_time);
  auto last_event = clock::now();
  for (int idle = 0; !over() && (clock::now() - last_event < longest || d.lifetime.has_tasks());) {
    (void)last_round(d, thrown, idle);
    if (idle == 0) last_event = clock::now();
  }
}

/// Adds the peer to the set of peers that this device tells that it closes. If there is no memory, the peer is not
/// told, and the operations that wait for its answer end without one.
void note_peer(std::set<int>& peers, int peer) {
  try {
    peers.insert(peer);
  } catch (const std::bad_alloc&) {
  }
}

/// The peers that outstanding operations wait for.
std::set<int> awaited_peers(device& d, first_exception& thrown) {
  std::set<int> peers;
  d.rt.operations.enter_each(&d, [&](operation_table::visit v) {
    note_peer(peers, v.op->status.rank);
    thrown.from([&] { leave_gate(d, v.op); });
  });
  return peers;
}

/// Counts messages that are dropped although their posts have returned `done`, and logs how many each rank will not
/// get. Whoever waits for another message learns of its end by the completion object.
class lost_messages {
 public:
  lost_messages() = default;
  ~lost_messages() { report(); }
  lost_messages(const lost_messages&) = delete;
  lost_messages& operator=(const lost_messages&) = delete;

  void add(const backlog::item& item) {
    if (item.what != backlog::item::type::message || item.completes != nullptr || item.awaited != 0) return;
    wire::header head;
    std::memcpy(&head, item.message.data(), sizeof head);
    if (head.what != wire::kind::am && head.what != wire::kind::send && head.what != wire::kind::signal &&
        head.what != wire::kind::am_ordered)
      return;  // the library's own
    if (item.peer != peer_) report();
    peer_ = item.peer;
    ++n_;
  }

 private:
  void report() noexcept {
    if (n_ == 0) return;
    std::array<char, 200> line;
    std::snprintf(line.data(), line.size(), "free_device: %zu message%s to rank %d, which takes no more, %s lost", n_,
                  n_ == 1 ? "" : "s", peer_, n_ == 1 ? "is" : "are");
    log_warning(line.data());
    n_ = 0;
  }

  int peer_ = -1;  // of the messages that are counted
  size_t n_ = 0;
};

/// Drops the library's own messages for which there was no memory, and which were not sent since.
void drop_kept(device& d) {
  d.backlog.drain_reserve([](int, const std::byte*, size_t) { return true; });
}

LCI_COLD void end_unanswered(device& d, first_exception& thrown) {
  log_warning("free_device: peers have not answered within " + std::to_string(d.attr.close_timeout) +
              " s (LCI_ATTR_CLOSE_TIMEOUT); what waits for them ends as `cancelled`. Peers make progress on a "
              "device until nothing is under way through it");
  lost_messages lost;
  d.backlog.drain([&](backlog::item& item) {
    lost.add(item);
    thrown.from([&] { end_unsent(d, item, failure::cancelled); });
    return true;
  });
  drop_kept(d);
  d.rt.operations.enter_each(&d, [&](operation_table::visit v) {
    if (v.op->gate.close()) v.op->fail_as(failure::cancelled);
    thrown.from([&] { leave_gate(d, v.op); });
  });
}

}  // namespace

void first_exception::keep(const std::exception_ptr& thrown) noexcept {
  if (thrown_ == nullptr) {
    thrown_ = thrown;
    return;
  }
  log_exception("free_device: a further handler has thrown", thrown);
}

void close_device(device& d, first_exception& thrown) {
  d.lifetime.begin_to_close();
  d.collective_numbers->close();
  finish_deferred_posts(d, thrown);
  drain(d, thrown, false);
  std::set<int> asked = awaited_peers(d, thrown);
  wire::header end;
  end.what = wire::kind::device_end;
  end.policy = wire::ends;
  for (const int peer : asked) send_or_queue(d, peer, end);
  (void)completes(d, thrown, [&] { answer_unexpected(d, -1); });
  for (receive_window::request refused; refuse_request(d, -1, refused);) note_peer(asked, refused.peer);
  // Puts and gets of the network's own wait for no answer of a peer's device, but for the network.
  if (!asked.empty() || !d.drained()) {
    // A peer that makes no progress may be computing for hours.
    const auto deadline = clock::now() + duration_of(d.attr.close_timeout);
    for (int idle = 0; !d.drained() && clock::now() < deadline;) (void)last_round(d, thrown, idle);
    if (!d.drained()) end_unanswered(d, thrown);
    end.policy = wire::has_ended;
    for (const int peer : asked) send_or_queue(d, peer, end);
  }
  (void)completes(d, thrown, [&] { answer_unexpected(d, -1); });  // messages that have arrived meanwhile
  drain(d, thrown, true);
  lost_messages lost;
  d.backlog.drain([&](const backlog::item& item) { return lost.add(item), true; });
  drop_kept(d);
  for (const outgoing_stream::held_message& message : d.rt.streams.take_held(d)) lost.add(message.item);
}

void destroy_device(device* d, first_exception& thrown) {
  std::vector<unfinished> rest;
  d->lifetime.collect_in(rest);
  if (d->progress_endpoint != d->default_endpoint) delete d->progress_endpoint.p_impl;
  delete d->default_endpoint.p_impl;
  delete d;
  for (const unfinished& each : rest) thrown.from([&each] { each.comp->signal(each.status); });
}

}  // namespace lci::core
