// Ping-pong and stream of messages between pairs of threads, for each library that has sends and receives.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/page_buffer.hpp"
#include "bench/peers/session.hpp"

namespace peers {

/// Where a thread stands: which pair it belongs to, and whether it is the sender of the pair.
struct place {
  bool sends = true;
  int pair = 0;
};

/// Fills a message with a pattern that depends on its number.
inline void fill(char* data, size_t size, uint64_t number) {
  for (size_t i = 0; i < size; ++i) data[i] = static_cast<char>(number * 31 + i * 7 + 1);
}
/// Ends the process unless the message has that pattern.
inline void compare(const char* data, size_t size, uint64_t number) {
  for (size_t i = 0; i < size; ++i)
    if (data[i] != static_cast<char>(number * 31 + i * 7 + 1)) die("check of a message", "wrong bytes arrived");
}

/// The benchmark. `End` wraps the library: it is what one thread of a pair uses to exchange messages with the other
/// one. It provides post_send, post_recv and wait for requests; send_now and recv_now, which block; post_ack and
/// wait_ack for empty messages in the opposite direction of a stream; and optionally keep(), which selects whether
/// messages are stored in the buffer.
///
/// Owns the Ends and buffers of this process's threads. Thread `i` uses side `i` only.
template <class End>
class two_sided : public workload {
 public:
  /// `make(place)` returns a pointer to an End. Called sequentially for each place.
  template <class Make>
  two_sided(const options& o, const job& all, Make make) : options_(o) {
    const size_t largest = *std::max_element(o.sizes.begin(), o.sizes.end());
    // As in lci_perf, rank 0's threads send; within one process, half of the threads do.
    for (const bool sends : {true, false}) {
      if (all.ranks == 2 && sends != (all.rank == 0)) continue;
      for (int pair = 0; pair < o.threads; ++pair) {
        sides_.push_back(std::make_unique<side>());
        side& s = *sides_.back();
        s.where = {sends, pair};
        s.end = make(s.where);
        s.requests.resize(static_cast<size_t>(o.window));
        s.out = lci_perf::make_page_buffer(largest, 1);
        s.in = lci_perf::make_page_buffer(largest, 2);
      }
    }
  }

  int threads() const override { return static_cast<int>(sides_.size()); }
  void bind(int i) override {
    const place where = sides_[static_cast<size_t>(i)]->where;
    lci_perf::bind_thread(options_.bind, where.sends ? 0 : 1, options_.threads, where.pair);
  }
  void prepare(int i, const round& r) override {
    side& s = *sides_[static_cast<size_t>(i)];
    if constexpr (requires { s.end->keep(true, nullptr); }) s.end->keep(r.check, s.in.get());
    if (s.where.sends || r.check || options_.metric == metric_kind::latency) return;
    for (uint64_t batch = 0; batch < in_flight; ++batch) post_batch(s, batch, r.size);
  }
  void run(int i, const round& r) override {
    side& s = *sides_[static_cast<size_t>(i)];
    if (r.check) {
      s.where.sends ? check_as_sender(s, r) : check_as_receiver(s, r);
    } else if (options_.metric == metric_kind::latency) {
      s.where.sends ? ping(s, r) : pong(s, r);
    } else {
      s.where.sends ? send_stream(s, r) : receive_stream(s, r);
    }
  }

 private:
  static constexpr uint64_t in_flight = 4;  // batches, each a quarter of a window

  /// What one thread uses; aligned, so that threads share no cache lines.
  struct alignas(128) side {
    place where;
    std::unique_ptr<End> end;
    std::vector<typename End::request> requests;
    lci_perf::page_buffer out, in;
  };

  size_t batch_size() const { return static_cast<size_t>(options_.window) / in_flight; }
  typename End::request* requests_of(side& s, uint64_t batch) const {
    return s.requests.data() + batch % in_flight * batch_size();
  }
  void post_batch(side& s, uint64_t batch, size_t size) {
    typename End::request* const at = requests_of(s, batch);
    for (size_t i = 0; i < batch_size(); ++i) {
      if (s.where.sends) {
        s.end->post_send(s.out.get(), size, at[i]);
      } else {
        s.end->post_recv(s.in.get(), size, at[i]);
      }
    }
  }

  void send_stream(side& s, const round& r) {
    const uint64_t batches = r.count / batch_size();  // at least in_flight: whole windows
    for (uint64_t batch = 0; batch < batches; ++batch) {
      if (batch >= in_flight) {
        s.end->wait_ack();
        s.end->wait(requests_of(s, batch), batch_size());
      }
      post_batch(s, batch, r.size);
    }
    s.end->wait(s.requests.data(), s.requests.size());
    for (uint64_t i = 0; i < in_flight; ++i) s.end->wait_ack();
  }
  void receive_stream(side& s, const round& r) {
    const uint64_t batches = r.count / batch_size();
    for (uint64_t batch = 0; batch < batches; ++batch) {
      s.end->wait(requests_of(s, batch), batch_size());
      if (batch + in_flight < batches) post_batch(s, batch + in_flight, r.size);
      s.end->post_ack();
    }
  }

  void ping(side& s, const round& r) {
    for (uint64_t i = 0; i < r.count; ++i) {
      s.end->send_now(s.out.get(), r.size);
      s.end->recv_now(s.in.get(), r.size);
    }
  }
  void pong(side& s, const round& r) {
    for (uint64_t i = 0; i < r.count; ++i) {
      s.end->recv_now(s.in.get(), r.size);
      s.end->send_now(s.out.get(), r.size);
    }
  }

  void check_as_sender(side& s, const round& r) {
    for (uint64_t i = 0; i < r.count; ++i) {
      fill(s.out.get(), r.size, i);
      s.end->send_now(s.out.get(), r.size);
      s.end->wait_ack();  // the receiver's buffer is reused
    }
  }
  void check_as_receiver(side& s, const round& r) {
    for (uint64_t i = 0; i < r.count; ++i) {
      s.end->recv_now(s.in.get(), r.size);
      compare(s.in.get(), r.size, i);
      s.end->post_ack();
    }
  }

  const options& options_;
  std::vector<std::unique_ptr<side>> sides_;
};

}  // namespace peers
