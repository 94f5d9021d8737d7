// Flow control of unexpected sends: how many bytes of one peer's messages may wait at a device, and
// which peers have paused this device's sends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci::core {

/// A receiver counts the bytes of unexpected messages of each peer. Above the limit it requests that the peer pause; at
/// half of it, that it resume. The limit may be exceeded by messages in flight.
///
/// Two ranks that send to each other without receiving would pause each other for ever. So a rank whose send
/// is refused by a peer that it has paused itself allows that peer as many bytes again (give_more()): both continue.
///
/// In a circle of more ranks each waits for the next, which has paused it. A rank whose send is refused, and that
/// has paused some peer, begins a search: a message to the peer that refuses, which forwards it to the peers that
/// refuse its own sends, each rank once per search. If the search returns, the peer that delivers it waits in a circle,
/// and is allowed as many bytes again. Of the refusals that make a circle one is the last: its search finds the others.
/// Without a circle, as in a chain of ranks that forward what they receive, no peer is allowed more.
///
/// Pause messages are numbered, since they may overtake each other: the latest takes effect.
///
/// Thread-safe. The table takes up no physical memory until a peer's entry is touched.
class unexpected_flow {
 public:
  /// A pause message to send to a peer. Number 0: none.
  struct pause_message {
    uint32_t number = 0;
    bool pause = false;
  };

  unexpected_flow(int n_peers, size_t limit)
      : n_peers_(n_peers),
        limit_(static_cast<int64_t>(limit)),
        peers_(static_cast<entry*>(std::calloc(static_cast<size_t>(n_peers), sizeof(entry)))) {
    if (peers_ == nullptr) throw std::bad_alloc();
  }

  // --- the receiver ---

  /// An unexpected message of `size` bytes was stored.
  pause_message add(int peer, size_t size) {
    if (limit_ == 0) return {};
    entry& e = of(peer);
    const int64_t now =
        e.bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_seq_cst) + static_cast<int64_t>(size);
    if (LCI_LIKELY(now <= limit_ + e.more.load(std::memory_order_relaxed)) || e.paused.load(std::memory_order_relaxed))
      return {};
    return begin_pause(e);
  }

  /// An unexpected message was freed.
  pause_message remove(int peer, size_t size) {
    if (limit_ == 0) return {};
    entry& e = of(peer);
    // S1: pairs with S2. Either this thread sees the pause, or the thread that begins it sees the lower count and
    // does not.
    const int64_t now =
        e.bytes.fetch_sub(static_cast<int64_t>(size), std::memory_order_seq_cst) - static_cast<int64_t>(size);
    const bool paused = e.paused.load(std::memory_order_seq_cst);
    if (LCI_LIKELY(now > limit_ / 2 || !(paused || e.more.load(std::memory_order_relaxed) != 0))) return {};
    return end_pause(e);
  }

  /// This rank and the peer wait for each other, perhaps through others. If this rank has paused it, allows it to send
  /// as many bytes again.
  LCI_COLD pause_message give_more(int peer) {
    entry& e = of(peer);
    std::lock_guard guard(e.lock);
    if (!e.paused.load(std::memory_order_relaxed)) return {};
    e.more.store(e.bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
    e.paused.store(false, std::memory_order_relaxed);
    count_paused(-1);
    return {++e.number, false};
  }

  /// The message could not be sent: it is sent later, unless there is a newer one by then.
  LCI_COLD void keep_unsent(int peer, pause_message m) {
    entry& e = of(peer);
    std::lock_guard guard(e.lock);
    if (e.number == m.number) e.unsent = true;
  }
  /// Calls send(peer, message) for each peer with such a message.
  template <class F>
  LCI_COLD void for_each_unsent(F send) {
    for (int peer = 0; peer < n_peers_; ++peer) {
      pause_message m;
      {
        entry& e = of(peer);
        std::lock_guard guard(e.lock);
        if (!e.unsent) continue;
        e.unsent = false;
        m = {++e.number, e.paused.load(std::memory_order_relaxed)};
      }
      send(peer, m);
    }
  }

  // --- the sender ---

  /// Returns whether the peer has paused this device's sends.
  bool is_paused_by(int peer) const { return peers_.get()[peer].paused_by.load(std::memory_order_relaxed); }
  /// Receives a pause message from the peer. Returns by how much the number of peers that pause this device has
  /// changed.
  LCI_COLD int receive(int peer, pause_message m) {
    entry& e = of(peer);
    std::lock_guard guard(e.lock);
    if (static_cast<int32_t>(m.number - e.received) <= 0) return 0;  // a later one has overtaken it
    e.received = m.number;
    return set_paused_by(e, m.pause);
  }
  /// A send to the peer was refused. Returns the number of the search to begin; 0: none.
  LCI_COLD uint32_t note_refusal(int peer) {
    entry& e = of(peer);
    std::lock_guard guard(circle_lock_);
    if (e.refused || !e.paused_by.load(std::memory_order_relaxed)) return 0;
    e.refused = true;
    if (!e.listed) {
      e.listed = true;
      e.next_listed = last_listed_;
      last_listed_ = peer;
    }
    if (n_paused_ == 0) return 0;  // no peer waits for this rank, so this refusal closes no circle
    return ++searches_ != 0 ? searches_ : ++searches_;
  }
  /// The search that note_refusal() began could not be sent: the next refusal begins another.
  LCI_COLD void forget_refusal(int peer) {
    std::lock_guard guard(circle_lock_);
    of(peer).refused = false;
  }
  /// Receives a search that another rank began: calls pass(peer) for each peer to forward it to, once per search.
  template <class F>
  LCI_COLD void pass_on(int begun_by, uint32_t number, F pass) {
    int peer;
    {
      std::lock_guard guard(circle_lock_);
      uint32_t& latest = of(begun_by).search;
      if (static_cast<int32_t>(number - latest) <= 0) return;  // already forwarded
      latest = number;
      peer = last_listed_;
    }
    while (peer >= 0) {
      bool refuses;
      int next;
      {
        std::lock_guard guard(circle_lock_);
        refuses = of(peer).refused;
        next = of(peer).next_listed;
      }
      if (refuses) pass(peer);
      peer = next;
    }
  }
  /// The peer sends no more pause messages, and its id may be reused. Returns as receive().
  LCI_COLD int forget(int peer) {
    entry& e = of(peer);
    std::lock_guard guard(e.lock);
    e.number = e.received = 0;
    e.unsent = false;
    e.more.store(0, std::memory_order_relaxed);
    if (e.paused.exchange(false, std::memory_order_relaxed)) count_paused(-1);
    return set_paused_by(e, false);
  }

 private:
  struct entry {
    std::atomic<int64_t> bytes;   // of unexpected messages
    std::atomic<int64_t> more;    // bytes allowed beyond the limit
    std::atomic<bool> paused;     // this device has paused the peer; changed under lock
    std::atomic<bool> paused_by;  // the peer has paused this device; changed under lock
    spinlock lock;
    uint32_t number;    // of the latest pause message to the peer; under lock
    uint32_t received;  // number of the latest pause message from it; under lock
    bool unsent;        // the latest pause message has yet to be sent; under lock
    bool refused;       // a send was refused since the peer's latest pause; under circle_lock_
    bool listed;        // a send to it was refused at some time; under circle_lock_
    int next_listed;    // another such peer, or -1; does not change once listed
    uint32_t search;    // number of the latest search received that it began; under circle_lock_
  };
  struct free_memory {
    void operator()(entry* p) const { std::free(p); }
  };

  entry& of(int peer) { return peers_.get()[peer]; }

  LCI_COLD pause_message begin_pause(entry& e) {
    std::lock_guard guard(e.lock);
    if (e.paused.exchange(true, std::memory_order_seq_cst)) return {};
    // S2: pairs with S1
    if (e.bytes.load(std::memory_order_seq_cst) <= limit_ / 2) {
      e.paused.store(false, std::memory_order_relaxed);
      return {};
    }
    count_paused(1);
    return {++e.number, true};
  }
  LCI_COLD pause_message end_pause(entry& e) {
    std::lock_guard guard(e.lock);
    if (e.bytes.load(std::memory_order_relaxed) > limit_ / 2) return {};
    e.more.store(0, std::memory_order_relaxed);
    if (!e.paused.load(std::memory_order_relaxed)) return {};
    e.paused.store(false, std::memory_order_relaxed);
    count_paused(-1);
    return {++e.number, false};
  }
  void count_paused(int change) {  // under the entry's lock, so that count and `paused` change together
    std::lock_guard guard(circle_lock_);
    n_paused_ += change;
  }
  int set_paused_by(entry& e, bool paused) {
    if (!paused) {
      std::lock_guard guard(circle_lock_);
      e.refused = false;
    }
    return int{paused} - int{e.paused_by.exchange(paused, std::memory_order_relaxed)};
  }

  const int n_peers_;
  const int64_t limit_;
  const std::unique_ptr<entry[], free_memory> peers_;
  spinlock circle_lock_;   // may be taken under an entry's lock
  int n_paused_ = 0;       // peers that this device has paused; under circle_lock_
  int last_listed_ = -1;   // under circle_lock_
  uint32_t searches_ = 0;  // begun by this device; under circle_lock_
};

}  // namespace lci::core
