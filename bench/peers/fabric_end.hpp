// One thread's end of a pair, on libfabric's tagged messages.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include <string>

#include "bench/lci_perf/binding.hpp"
#include "bench/peers/two_sided.hpp"

namespace peers {

/// The process's fabric and domain, from which endpoints are opened.
class fabric_domain {
 public:
  fabric_domain(const std::string& provider, bool threads);
  ~fabric_domain();
  fabric_domain(const fabric_domain&) = delete;
  fabric_domain& operator=(const fabric_domain&) = delete;

  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
};

/// An endpoint with its queue and the partner's address. Thread-bound.
class fabric_end {
 public:
  /// The context of a completion. The library may store data in the first member.
  struct request {
    fi_context2 context{};
    bool done = true;
  };

  fabric_end(const fabric_domain& on, bool crowded);
  ~fabric_end();
  fabric_end(const fabric_end&) = delete;
  fabric_end& operator=(const fabric_end&) = delete;
  std::vector<char> address() const;
  void connect(const std::vector<char>& address);
  void progress();

  void post_send(const char* data, size_t size, request& r) { send(data, size, message_tag, r); }
  void post_recv(char* data, size_t size, request& r) { receive(data, size, message_tag, r); }
  void wait(request* all, size_t n) {
    for (size_t i = 0; i < n; ++i)
      while (!all[i].done) progress();
  }
  void send_now(const char* data, size_t size) {
    send(data, size, message_tag, own_);
    wait(&own_, 1);
  }
  void recv_now(char* data, size_t size) {
    receive(data, size, message_tag, own_);
    wait(&own_, 1);
  }
  void post_ack() {
    send(nullptr, 0, ack_tag, own_);
    wait(&own_, 1);
  }
  void wait_ack() {
    receive(nullptr, 0, ack_tag, own_);
    wait(&own_, 1);
  }

 private:
  static constexpr uint64_t message_tag = 1, ack_tag = 2;
  void send(const char* data, size_t size, uint64_t tag, request& r);
  void receive(char* data, size_t size, uint64_t tag, request& r);

  const size_t inject_size_;
  lci_perf::waiter waiter_;
  fid_ep* endpoint_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_av* peers_ = nullptr;
  fi_addr_t partner_ = FI_ADDR_UNSPEC;
  request own_;
};

}  // namespace peers
