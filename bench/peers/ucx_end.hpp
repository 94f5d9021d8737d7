// One thread's end of a pair, on UCX's tagged messages or active messages.
#pragma once

#include "bench/peers/two_sided.hpp"
#include "bench/peers/ucx_worker.hpp"

namespace peers {

/// Tags or ids of one end of a pair: for messages and for acknowledgements.
constexpr unsigned ucx_number(place to, bool ack) {
  return static_cast<unsigned>(to.pair) * 4 + (to.sends ? 2 : 0) + (ack ? 1 : 0);
}
constexpr place partner_of(place where) { return {!where.sends, where.pair}; }

/// Tagged messages. Thread-bound.
class ucx_tag_end {
 public:
  using request = ucs_status_ptr_t;

  ucx_tag_end(ucx_worker& worker, place where, bool) : worker_(worker), where_(where) {}

  void post_send(const char* data, size_t size, request& r) { r = send(data, size, false); }
  void post_recv(char* data, size_t size, request& r) { r = receive(data, size, false); }
  void wait(request* all, size_t n) {
    for (size_t i = 0; i < n; ++i) worker_.wait(all[i]);
  }
  void send_now(const char* data, size_t size) { worker_.wait(send(data, size, false)); }
  void recv_now(char* data, size_t size) { worker_.wait(receive(data, size, false)); }
  void post_ack() { worker_.wait(send(nullptr, 0, true)); }
  void wait_ack() { worker_.wait(receive(nullptr, 0, true)); }

 private:
  request send(const char* data, size_t size, bool ack) {
    const ucp_request_param_t how{};
    return ucp_tag_send_nbx(worker_.endpoint, data, size, ucx_number(partner_of(where_), ack), &how);
  }
  request receive(char* data, size_t size, bool ack) {
    const ucp_request_param_t how{};
    return ucp_tag_recv_nbx(worker_.handle, data, size, ucx_number(where_, ack), ~uint64_t{0}, &how);
  }

  ucx_worker& worker_;
  const place where_;
};

/// Active messages: a handler counts arrivals, and a receive waits until the count is high enough.
class ucx_am_end {
 public:
  struct request {
    ucs_status_ptr_t sent = nullptr;
    uint64_t arrivals = 0;
  };

  ucx_am_end(ucx_worker& worker, place where, bool shared) : worker_(worker), where_(where) {
    messages_.shared = acks_.shared = shared;
    worker.deliver(ucx_number(where, false), messages_);
    worker.deliver(ucx_number(where, true), acks_);
  }

  void post_send(const char* data, size_t size, request& r) { r = {send(data, size, false), 0}; }
  void post_recv(char* data, size_t, request& r) {
    messages_.large = data;
    r = {nullptr, ++expected_};
  }
  void wait(request* all, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      await(messages_, all[i].arrivals);
      worker_.wait(all[i].sent);
    }
  }
  void send_now(const char* data, size_t size) { worker_.wait(send(data, size, false)); }
  void recv_now(char* data, size_t) {
    messages_.large = data;
    await(messages_, ++expected_);
  }
  void post_ack() { worker_.wait(send(nullptr, 0, true)); }
  void wait_ack() { await(acks_, ++expected_acks_); }

  /// `wanted`: stores what arrives in the receiver's buffer, instead of only reading it.
  void keep(bool wanted, char* where) {
    messages_.keep = wanted;
    messages_.large = where;
  }

 private:
  ucs_status_ptr_t send(const char* data, size_t size, bool ack) {
    const ucp_request_param_t how{};
    return ucp_am_send_nbx(worker_.endpoint, ucx_number(partner_of(where_), ack), nullptr, 0, data, size, &how);
  }
  void await(ucx_box& box, uint64_t n) {
    while (box.arrived.load(std::memory_order_acquire) < n) worker_.progress();  // A1: pairs with A2
  }

  ucx_worker& worker_;
  const place where_;
  ucx_box messages_, acks_;
  uint64_t expected_ = 0, expected_acks_ = 0;
};

}  // namespace peers
