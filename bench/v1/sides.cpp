#include "bench/v1/sides.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Numbers of handled messages and local completions. Not atomic, since the handlers run in this thread.
size_t arrived = 0;

void on_core(lci::status_t) { ++arrived; }
void on_v1(LCI_request_t) { ++arrived; }
size_t ended_here = 0;
void on_end(lci::status_t) { ++ended_here; }
void on_v1_end(LCI_request_t) { ++ended_here; }

void v1_progress() { (void)LCI_progress(LCI_UR_DEVICE); }

/// Calls f() until it returns false (no retry), and p() for progress in between.
template <class F, class P>
void insist(F f, P p) {
  while (f()) p();
}

}  // namespace

bool sides::open() {
  if (LCI_initialize() != LCI_OK) return false;
  lci::g_runtime_init();
  device_ = lci::get_default_device();
  handler_ = lci::alloc_handler_x(on_core).am_in_place(true)();
  to_handler_ = lci::register_rcomp(handler_);
  queue_ = lci::alloc_cq_x().zero_copy_am(true)();
  to_queue_ = lci::register_rcomp(queue_);
  counter_ = lci::alloc_handler(on_end);
  for (size_t i = 0; i < window; ++i) core_syncs_.push_back(lci::alloc_sync());
  buffer_ = static_cast<char*>(std::aligned_alloc(4096, largest));
  std::memset(buffer_, 1, largest);
  memory_ = lci::register_memory(buffer_, largest);
  lci::rmr_t keys[2] = {};
  const lci::rmr_t mine = lci::get_rmr(memory_);
  if (LCI_NUM_PROCESSES != 2) return true;  // the caller reports it
  lci::allgather(&mine, keys, sizeof mine);
  peer_memory_ = keys[1 - LCI_RANK];
  LCI_handler_create(LCI_UR_DEVICE, on_v1, &v1_handler_);
  LCI_handler_create(LCI_UR_DEVICE, on_v1_end, &ended_);
  LCI_queue_create(LCI_UR_DEVICE, &v1_queue_);
  LCI_plist_t plist = nullptr;
  LCI_plist_create(&plist);
  LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, LCI_COMPLETION_HANDLER);
  LCI_plist_set_default_comp(plist, v1_handler_);
  LCI_endpoint_init(&to_v1_handler_, LCI_UR_DEVICE, plist);
  LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, LCI_COMPLETION_QUEUE);
  LCI_plist_set_default_comp(plist, v1_queue_);
  LCI_endpoint_init(&to_v1_queue_, LCI_UR_DEVICE, plist);
  LCI_plist_free(&plist);
  v1_syncs_.resize(window);
  for (LCI_comp_t& s : v1_syncs_) LCI_sync_create(LCI_UR_DEVICE, 1, &s);
  struct {
    char text[LCI_SEGMENT_SERIALIZED_MAX];
    char* address;
  } out{}, all[2] = {};
  LCI_memory_register(LCI_UR_DEVICE, buffer_, largest, &v1_memory_);
  LCI_segment_serialize(v1_memory_, out.text);
  out.address = buffer_;
  lci::allgather(&out, all, sizeof out);
  LCI_segment_deserialize(all[1 - LCI_RANK].text, &v1_peer_memory_);
  peer_buffer_ = all[1 - LCI_RANK].address;
  return true;
}

void sides::close() {
  lci::barrier();
  LCI_memory_deregister(&v1_memory_);
  LCI_memory_deregister(&v1_peer_memory_);
  LCI_finalize();
  lci::deregister_memory(&memory_);
  for (lci::comp_t& s : core_syncs_) lci::free_comp(&s);
  lci::free_comp(&handler_);
  lci::free_comp(&queue_);
  lci::free_comp(&counter_);
  lci::g_runtime_fina();
  std::free(buffer_);
}

/// Seconds between two barriers.
template <class F>
double sides::timed(F loop) {
  arrived = ended_here = 0;
  lci::barrier();
  const auto begin = std::chrono::steady_clock::now();
  loop();
  lci::barrier();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double sides::core_latency(size_t n) {
  const uint64_t word = 1;
  const int peer = 1 - LCI_RANK;
  const double t = timed([&] {
    for (size_t i = 0; i < n; ++i) {
      const auto send = [&] {
        insist(
            [&] {
              return lci::post_am_x(peer, &word, 8, lci::COMP_NULL_RETRY, to_handler_).device(device_)().is_retry();
            },
            [&] { (void)lci::progress_x().device(device_)(); });
      };
      if (is_sender()) send();
      while (arrived <= i) (void)lci::progress_x().device(device_)();
      if (!is_sender()) send();
    }
  });
  return t / static_cast<double>(2 * n) * 1e9;
}

double sides::v1_latency(size_t n) {
  LCI_short_t word = {};
  const int peer = 1 - LCI_RANK;
  const double t = timed([&] {
    for (size_t i = 0; i < n; ++i) {
      const auto send = [&] {
        insist([&] { return LCI_puts(to_v1_handler_, word, peer, 1, LCI_DEFAULT_COMP_REMOTE) == LCI_ERR_RETRY; },
               v1_progress);
      };
      if (is_sender()) send();
      while (arrived <= i) v1_progress();
      if (!is_sender()) send();
    }
  });
  return t / static_cast<double>(2 * n) * 1e9;
}

double sides::core_rate(size_t n, size_t size) {
  return static_cast<double>(n) * 1e-6 / timed([&] {
           if (!is_sender())
             while (arrived < n) (void)lci::progress_x().device(device_)();
           for (size_t i = 0; is_sender() && i < n; ++i)
             insist(
                 [&] {
                   return lci::post_am_x(1, buffer_, size, lci::COMP_NULL_RETRY, to_handler_)
                       .device(device_)()
                       .is_retry();
                 },
                 [&] { (void)lci::progress_x().device(device_)(); });
         });
}

double sides::v1_puts_rate(size_t n) {
  LCI_short_t word = {};
  return static_cast<double>(n) * 1e-6 / timed([&] {
           if (!is_sender())
             while (arrived < n) v1_progress();
           for (size_t i = 0; is_sender() && i < n; ++i)
             insist([&] { return LCI_puts(to_v1_handler_, word, 1, 1, LCI_DEFAULT_COMP_REMOTE) == LCI_ERR_RETRY; },
                    v1_progress);
         });
}

double sides::core_send_rate(size_t n, size_t size) {
  std::vector<char> into(window * size);
  const auto progress = [&] { (void)lci::progress_x().device(device_)(); };
  return static_cast<double>(n) * 1e-6 / timed([&] {
           std::vector<bool> waits(window);
           for (size_t i = 0; i < n + window; ++i) {
             const size_t at = i % window;
             if (is_sender()) {
               if (i < n)
                 insist(
                     [&] {
                       return lci::post_send_x(1, buffer_, size, 1, lci::COMP_NULL_RETRY).device(device_)().is_retry();
                     },
                     progress);
               continue;
             }
             while (waits[at] && !lci::sync_test(core_syncs_[at], nullptr)) progress();
             waits[at] = false;
             if (i < n)
               insist(
                   [&] {
                     const lci::status_t s =
                         lci::post_recv_x(0, into.data() + at * size, size, 1, core_syncs_[at]).device(device_)();
                     waits[at] = s.is_posted();
                     return s.is_retry();
                   },
                   progress);
           }
         });
}

template <class Send, class Receive>
double sides::v1_matched_rate(size_t n, Send send, Receive receive) {
  LCI_request_t request;
  return static_cast<double>(n) * 1e-6 / timed([&] {
           for (size_t i = 0; i < n + window; ++i) {
             const size_t at = i % window;
             if (is_sender()) {
               if (i < n) insist([&] { return send() == LCI_ERR_RETRY; }, v1_progress);
               continue;
             }
             while (i >= window && LCI_sync_test(v1_syncs_[at], &request) == LCI_ERR_RETRY) v1_progress();
             if (i < n) insist([&] { return receive(at) == LCI_ERR_RETRY; }, v1_progress);
           }
         });
}

double sides::v1_sends_rate(size_t n) {
  LCI_short_t word = {};
  return v1_matched_rate(
      n, [&] { return LCI_sends(LCI_UR_ENDPOINT, word, 1, 1); },
      [&](size_t at) { return LCI_recvs(LCI_UR_ENDPOINT, 0, 1, v1_syncs_[at], nullptr); });
}

double sides::v1_sendm_rate(size_t n, size_t size) {
  std::vector<char> into(window * size);
  const LCI_mbuffer_t from{buffer_, size};
  return v1_matched_rate(
      n, [&] { return LCI_sendm(LCI_UR_ENDPOINT, from, 1, 1); },
      [&](size_t at) {
        const LCI_mbuffer_t to{into.data() + at * size, size};
        return LCI_recvm(LCI_UR_ENDPOINT, to, 0, 1, v1_syncs_[at], nullptr);
      });
}

double sides::core_queue_rate(size_t n, size_t size) {
  return static_cast<double>(n) * 1e-6 / timed([&] {
           for (size_t got = 0; !is_sender() && got < n;) {
             const lci::status_t s = lci::cq_pop(queue_);
             if (s.is_done()) {
               ++got;
               lci::put_upacket(s.buffer);
             } else {
               (void)lci::progress_x().device(device_)();
             }
           }
           for (size_t i = 0; is_sender() && i < n; ++i)
             insist(
                 [&] {
                   return lci::post_am_x(1, buffer_, size, lci::COMP_NULL_RETRY, to_queue_)
                       .device(device_)()
                       .is_retry();
                 },
                 [&] { (void)lci::progress_x().device(device_)(); });
         });
}

double sides::v1_putma_rate(size_t n, size_t size) {
  const LCI_mbuffer_t from{buffer_, size};
  LCI_request_t request;
  return static_cast<double>(n) * 1e-6 / timed([&] {
           for (size_t got = 0; !is_sender() && got < n;) {
             if (LCI_queue_pop(v1_queue_, &request) == LCI_OK) {
               ++got;
               LCI_mbuffer_free(request.data.mbuffer);
             } else {
               v1_progress();
             }
           }
           for (size_t i = 0; is_sender() && i < n; ++i)
             insist([&] { return LCI_putma(to_v1_queue_, from, 1, 1, LCI_DEFAULT_COMP_REMOTE) == LCI_ERR_RETRY; },
                    v1_progress);
         });
}

/// Long messages with a few outstanding at a time; `post(i)` returns whether it is to be called again.
template <class Post, class Progress, class Ended>
double sides::stream_of_long(size_t n, size_t size, Post post, Progress progress, Ended ended) {
  constexpr size_t outstanding = 8;
  const double t = timed([&] {
    for (size_t i = 0; i < n; ++i) {
      while (i >= ended() + outstanding) progress();
      insist([&] { return post(i); }, progress);
    }
    while (ended() < n) progress();
  });
  return static_cast<double>(n * size) * 1e-9 / t;
}

double sides::core_send_bandwidth(size_t n, size_t size) {
  const auto post = [&](size_t) {
    const lci::status_t s = is_sender() ? lci::post_send_x(1, buffer_, size, 1, counter_).mr(memory_).device(device_)()
                                        : lci::post_recv_x(0, buffer_, size, 1, counter_).mr(memory_).device(device_)();
    ended_here += s.is_done();
    return s.is_retry();
  };
  return stream_of_long(
      n, size, post, [&] { (void)lci::progress_x().device(device_)(); }, [] { return ended_here; });
}

double sides::v1_sendl_bandwidth(size_t n, size_t size) {
  const LCI_lbuffer_t b{v1_memory_, buffer_, size};
  const auto post = [&](size_t) {
    return (is_sender() ? LCI_sendl(LCI_UR_ENDPOINT, b, 1, 1, ended_, nullptr)
                        : LCI_recvl(LCI_UR_ENDPOINT, b, 0, 1, ended_, nullptr)) == LCI_ERR_RETRY;
  };
  return stream_of_long(n, size, post, v1_progress, [] { return ended_here; });
}

double sides::core_put_bandwidth(size_t n, size_t size) {
  const auto post = [&](size_t) {
    if (!is_sender()) return ++ended_here, false;
    const lci::status_t s = lci::post_put_x(1, buffer_, size, counter_, 0, peer_memory_).mr(memory_).device(device_)();
    ended_here += s.is_done();
    return s.is_retry();
  };
  return stream_of_long(
      n, size, post, [&] { (void)lci::progress_x().device(device_)(); }, [] { return ended_here; });
}

double sides::v1_putl_bandwidth(size_t n, size_t size) {
  const LCI_lbuffer_t from{v1_memory_, buffer_, size}, to{v1_peer_memory_, peer_buffer_, size};
  const auto post = [&](size_t) {
    if (!is_sender()) return ++ended_here, false;
    return LCI_putl(LCI_UR_ENDPOINT, from, ended_, 1, 1, to, LCI_NO_COMP_REMOTE, nullptr) == LCI_ERR_RETRY;
  };
  return stream_of_long(n, size, post, v1_progress, [] { return ended_here; });
}

double sides::core_am_bandwidth(size_t n, size_t size) {
  size_t got = 0;
  const auto progress = [&] {
    const lci::status_t s = lci::cq_pop(queue_);
    if (s.is_done()) {
      ++got;
      lci::put_upacket(s.buffer);
    } else {
      (void)lci::progress_x().device(device_)();
    }
  };
  const auto post = [&](size_t) {
    if (!is_sender()) return false;
    const lci::status_t s = lci::post_am_x(1, buffer_, size, counter_, to_queue_).mr(memory_).device(device_)();
    ended_here += s.is_done();
    return s.is_retry();
  };
  return stream_of_long(n, size, post, progress, [&] { return is_sender() ? ended_here : got; });
}

double sides::v1_putla_bandwidth(size_t n, size_t size) {
  const LCI_lbuffer_t b{v1_memory_, buffer_, size};
  size_t got = 0;
  const auto progress = [&] {
    LCI_request_t request;
    if (LCI_queue_pop(v1_queue_, &request) == LCI_OK) {
      ++got;
      LCI_lbuffer_free(request.data.lbuffer);
    } else {
      v1_progress();
    }
  };
  const auto post = [&](size_t) {
    if (!is_sender()) return false;
    return LCI_putla(to_v1_queue_, b, ended_, 1, 1, LCI_DEFAULT_COMP_REMOTE, nullptr) == LCI_ERR_RETRY;
  };
  return stream_of_long(n, size, post, progress, [&] { return is_sender() ? ended_here : got; });
}
