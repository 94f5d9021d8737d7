// Puts, gets and atomics by rank 0 on rank 1's memory; non-contiguous buffers.
#include <array>
#include <cstring>

#include "tests/sweep/flow.hpp"
#include "tests/sweep/scenarios.hpp"

namespace sweep {

namespace {

/// Rank 1 has a window for each message.
struct windows {
  std::array<lci::mr_t, n_messages> registrations;

  windows() {
    for (int i = 0; i < n_messages; ++i) {
      auto& mr = registrations[static_cast<size_t>(i)];
      mr = lci::register_memory(buffer_for(i), size_of(i) + 64);
      const lci::rmr_t key = lci::get_rmr(mr);
      if (me == n_ranks - 1) std::memcpy(&page->keys[static_cast<size_t>(i)], &key, sizeof key);
      std::memset(buffer_for(i), 0, size_of(i) + 64);
    }
    meet();
  }
  ~windows() {
    for (lci::mr_t& mr : registrations) lci::deregister_memory(&mr);
  }
  lci::rmr_t key(int i) const {
    lci::rmr_t key;
    std::memcpy(static_cast<void*>(&key), &page->keys[static_cast<size_t>(i)], sizeof key);
    return key;
  }
};

void mark(int i, bool good) { page->outcomes[1][static_cast<size_t>(i)].store(good ? outcome::good : outcome::failed); }

/// Returns whether a peer failure was reported. Then signals may be lost although their data was delivered, and the end
/// of a put or get says nothing about them.
bool may_lack_signals() { return is_broken() || has_lost(me) || has_lost(peer()); }

/// A queue of each rank for the signals of puts and gets, and the peer's handle.
struct signals {
  lci::comp_t queue = lci::alloc_cq();
  lci::rcomp_t handle = lci::register_rcomp(queue), peers;

  signals() {
    page->words[static_cast<size_t>(me)].store(handle);
    meet();
    peers = static_cast<lci::rcomp_t>(page->words[static_cast<size_t>(peer())].load());
  }
  ~signals() {
    lci::deregister_rcomp(handle);
    lci::free_comp(&queue);
  }
};

void put_to(bool signal) {
  const windows there;
  signals notified;
  auto sent = lci::alloc_cq();
  flow(
      promise::delivered, sent,
      [&](int i) {
        return lci::post_put_x(peer(), content_of(i), size_of(i), sent, 0, there.key(i))
            .comp_semantic(lci::comp_semantic_t::remote)
            .tag(static_cast<lci::tag_t>(i))
            .remote_comp(signal ? notified.peers : 0)
            .user_context(context_of(i))();
      },
      [] {},
      [&] {
        for (lci::status_t s; !(s = lci::cq_pop(notified.queue)).is_retry();) {
          const int i = static_cast<int>(s.tag);
          if (!is_content(i, buffer_for(i), s.size)) fail("the signal of put %d arrives before its data", i);
          mark(i, true);
        }
        if (signal && !may_lack_signals()) return;
        for (int i = 0; i < n_messages; ++i)
          if (page->outcomes[0][static_cast<size_t>(i)].load() == outcome::good)
            mark(i, is_content(i, buffer_for(i), size_of(i)));
      });
  lci::free_comp(&sent);
}

void get_by(bool signal) {
  if (me == n_ranks - 1)
    for (int i = 0; i < n_messages; ++i) std::memset(buffer_for(i), 0, size_of(i));
  const windows there;
  // Rank 1's windows contain the data; rank 0 reads into its own windows.
  if (me == n_ranks - 1)
    for (int i = 0; i < n_messages; ++i) std::memcpy(buffer_for(i), content_of(i), size_of(i));
  signals notified;
  auto sent = lci::alloc_cq();
  struct at_end {
    ~at_end() {
      for (int i = 0; me == 0 && n_ranks == 2 && i < n_messages; ++i)
        if (page->outcomes[0][static_cast<size_t>(i)].load() == outcome::good &&
            !is_content(i, buffer_for(i), size_of(i)))
          fail("get %d is done without its data", i);
    }
  } const look;
  flow(
      promise::delivered, sent,
      [&](int i) {
        return lci::post_get_x(peer(), buffer_for(i), size_of(i), sent, 0, there.key(i))
            .tag(static_cast<lci::tag_t>(i))
            .remote_comp(signal ? notified.peers : 0)
            .user_context(context_of(i))();
      },
      [] {},
      [&] {
        for (lci::status_t s; !(s = lci::cq_pop(notified.queue)).is_retry();) mark(static_cast<int>(s.tag), true);
        if (signal && !may_lack_signals()) return;
        for (int i = 0; i < n_messages; ++i)
          if (page->outcomes[0][static_cast<size_t>(i)].load() == outcome::good) mark(i, true);
      });
  lci::free_comp(&sent);
}

}  // namespace

void put() { put_to(false); }
void put_signal() { put_to(true); }
void get() { get_by(false); }
void get_signal() { get_by(true); }

void atomic() {
  const windows there;
  auto sent = lci::alloc_cq();
  const uint64_t one = 1;
  std::array<uint64_t, n_messages> before{};
  flow(
      promise::delivered, sent,
      [&](int i) {
        return lci::post_atomic_x(peer(), lci::atomic_op_t::add, &one, &before[static_cast<size_t>(i)], sent, 0,
                                  there.key(i))
            .user_context(context_of(i))();
      },
      [] {},
      [&] {
        for (int i = 0; i < n_messages; ++i) {
          uint64_t value;
          std::memcpy(&value, buffer_for(i), sizeof value);
          if (value > 1) fail("atomic %d was done %d times", i, static_cast<int>(value));
          if (value == 1) mark(i, true);
        }
      });
  lci::free_comp(&sent);
}

void layout() {
  // Every other 100 bytes of a buffer of the message's size.
  const windows there;
  auto sent = lci::alloc_cq(), received = lci::alloc_cq();
  constexpr size_t piece = 100;
  const size_t strides[] = {2 * piece};
  const auto with_layout = [&](int i, auto f) {
    const size_t counts[] = {piece, (size_of(i) + 1) / (2 * piece)};
    const lci::layout_t l = lci::layout_t::strided(counts, strides, 1);
    return f(l);
  };
  const auto bytes = [&](int i) { return (size_of(i) + 1) / (2 * piece) * piece; };
  flow(
      promise::buffer_is_free, sent,
      [&](int i) {
        return with_layout(i, [&](const lci::layout_t& l) {
          // Of three messages one is sent, one is put, and one is put with a remote layout.
          const lci::tag_t tag = static_cast<lci::tag_t>(i);
          if (i % 3 == 0)
            return lci::post_send_x(peer(), content_of(i), bytes(i), tag, sent)
                .layout(&l)
                .user_context(context_of(i))();
          if (i % 3 == 1)
            return lci::post_put_x(peer(), content_of(i), bytes(i), sent, 0, there.key(i))
                .layout(&l)
                .user_context(context_of(i))();
          return lci::post_put_x(peer(), content_of(i), bytes(i), sent, 0, there.key(i))
              .remote_layout(&l)
              .user_context(context_of(i))();
        });
      },
      [&] {
        for (int i = 0; i < n_messages; i += 3)
          with_layout(i, [&](const lci::layout_t& l) {
            insist("post_recv", [&] {
              lci::status_t s;
              until("a receive", [&] {
                s = lci::post_recv_x(peer(), buffer_for(i), bytes(i), static_cast<lci::tag_t>(i), received)
                        .layout(&l)();
                return !s.is_retry();
              });
              if (!s.is_posted()) mark(i, s.is_done());
            });
          });
      },
      [&] {
        for (lci::status_t s; !(s = lci::cq_pop(received)).is_retry();) mark(static_cast<int>(s.tag), s.is_done());
        for (int i = 0; i < n_messages; ++i)
          if (i % 3 != 0 && page->outcomes[0][static_cast<size_t>(i)].load() == outcome::good) mark(i, true);
      });
  lci::free_comp(&sent);
}

}  // namespace sweep
