// A small job directly on the simulated network, without the core: one device for each rank, and a sink
// that records all events.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "network/sim/fabric.hpp"
#include "network/sim/world.hpp"

namespace sim_test {

using lci::errorcode_t;
using lci::network::net_op;
using lci::network::registration;
using lci::network::verb;

inline std::vector<std::byte> bytes(size_t size, uint64_t seed) {
  std::vector<std::byte> v(size);
  lci::network::sim::random_source random(seed);
  for (auto& b : v) b = static_cast<std::byte>(random.next());
  return v;
}

struct recorder final : lci::network::event_sink {
  struct message {
    int peer;
    std::vector<std::byte> data;
    void* buffer;
  };
  void on_recv(int peer, const std::byte* data, size_t size, void* recv_context) override {
    messages.push_back({peer, {data, data + size}, recv_context});
  }
  void on_complete(void* context) override { completed.push_back(context); }
  void on_remote_write(int peer, uint32_t imm) override { writes.push_back({peer, imm}); }
  void on_peer_failure(int peer, const char*) override { dead.push_back(peer); }
  void on_operation_failure(void* context, int peer) override { failed.push_back({context, peer}); }
  std::vector<message> messages;
  std::vector<void*> completed;
  std::vector<std::pair<int, uint32_t>> writes;
  std::vector<int> dead;
  std::vector<std::pair<void*, int>> failed;
};

struct net_job {
  struct node {
    std::unique_ptr<lci::network::address_exchange> exchange;
    std::unique_ptr<lci::network::context> context;
    std::unique_ptr<lci::network::device> device;
    recorder seen;
  };

  explicit net_job(lci::net_context_attr_t a, size_t eager_size = 4096, lci::device_attr_t d = device_attr())
      : attr(a) {
    for (size_t r = 0; r < attr.sim_ranks; ++r) {
      node n;
      n.exchange = fabric.own_exchange(attr);
      n.context = fabric.create(*n.exchange, attr);
      n.device = n.context->create_device(d, eager_size);
      nodes.push_back(std::move(n));
    }
    world = lci::network::sim::world::current();
  }

  static lci::net_context_attr_t net_attr(size_t ranks, uint64_t seed) {
    lci::net_context_attr_t a;
    a.max_msg_size = 1 << 20;
    a.sim_ranks = ranks;
    a.sim_seed = seed;
    a.sim_max_delay = 8;
    a.sim_retry_percent = 10;
    a.sim_max_poll = 4;
    a.sim_preposted_recvs = false;
    a.sim_rma = true;
    a.sim_max_inject = 64;
    return a;
  }
  /// A network without refused posts and without delays.
  static lci::net_context_attr_t calm(size_t ranks, uint64_t seed = 1) {
    auto a = net_attr(ranks, seed);
    a.sim_max_delay = a.sim_retry_percent = a.sim_max_poll = 0;
    return a;
  }
  static lci::device_attr_t device_attr() {
    lci::device_attr_t d;
    d.net_max_sends = 64;
    d.net_max_recvs = 16;
    return d;
  }

  lci::network::device& device(int rank) { return *nodes[rank].device; }
  recorder& seen(int rank) { return nodes[rank].seen; }

  /// The same operation with its segments registered until the job ends.
  net_op registered(int rank, net_op op) {
    for (int i = 0; i < op.n_segments && !op.inject; ++i)
      if (auto& s = op.segments[i]; s.lkey == 0) s.lkey = device(rank).register_memory(s.base, s.size).lkey;
    return op;
  }

  /// Posts until the operation is accepted; all devices are polled in between.
  errorcode_t post(int rank, const net_op& plain) {
    const net_op op = registered(rank, plain);
    for (;;) {
      const errorcode_t e = device(rank).post(op);
      if (!lci::error_t(e).is_retry()) return e;
      poll_all();
    }
  }
  void poll_all(int times = 1) {
    for (int i = 0; i < times; ++i)
      for (auto& n : nodes)
        if (n.device) n.device->poll(n.seen, 32);
  }
  /// Polls long enough for all operations in flight to end.
  void settle() { poll_all(static_cast<int>(20 * (attr.sim_max_delay + 10))); }

  lci::network::fabric fabric = lci::network::sim_fabric();
  lci::net_context_attr_t attr;
  std::shared_ptr<lci::network::sim::world> world;
  std::vector<node> nodes;
};

inline net_op send_op(int peer, const void* data, size_t size, void* context, bool inject = false) {
  net_op op;
  op.kind = verb::send;
  op.peer = peer;
  op.inject = inject;
  op.n_segments = 1;
  op.segments[0] = {const_cast<void*>(data), size};
  op.context = context;
  return op;
}

inline net_op memory_op(verb kind, int peer, void* local, size_t size, const void* remote, uint64_t rkey,
                        void* context) {
  net_op op = send_op(peer, local, size, context);
  op.kind = kind;
  op.remote_addr = reinterpret_cast<uint64_t>(remote);
  op.remote_key = rkey;
  return op;
}

/// A distinct context for the i-th operation.
inline void* id(size_t i) { return reinterpret_cast<void*>(i + 1); }

}  // namespace sim_test
