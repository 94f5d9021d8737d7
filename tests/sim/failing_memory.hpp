// A job of simulated ranks in one thread, in which a test can make memory allocations fail.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "lci.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/direct_paths.hpp"
#include "network/fabric.hpp"
#include "tests/support/failing_memory.hpp"

namespace sim_test {

using lci_test::failing_memory;

/// An allocator that knows its blocks.
struct counting_allocator final : lci::allocator_base_t {
  void* allocate(size_t size) override {
    void* p = std::malloc(size);
    alive.insert(p);
    return p;
  }
  void deallocate(void* p) override {
    alive.erase(p);
    std::free(p);
  }
  std::set<void*> alive;
};

/// Ranks on a simulated network that never refuses a post.
class small_job {
 public:
  template <class Change>
  small_job(int n, Change change) : ranks_(static_cast<size_t>(n)) {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = n;
    attr.sim_retry_percent = 0;
    attr.packet_size = 1024;
    attr.npackets = 256;
    attr.close_timeout = 1;
    change(attr);
    lci::set_g_default_attr(attr);
    for (auto& rt : ranks_) rt = lci::alloc_runtime_x()();
    lci::set_g_default_attr(before);
  }
  explicit small_job(int n) : small_job(n, [](lci::global_attr_t&) {}) {}
  ~small_job() {
    for (auto& rt : ranks_) lci::free_runtime(&rt);
  }
  small_job(const small_job&) = delete;
  small_job& operator=(const small_job&) = delete;

  lci::runtime_t operator[](int rank) const { return ranks_[static_cast<size_t>(rank)]; }

  /// Each rank makes progress once. Returns how many of them have thrown resource_error.
  int turn() {
    int thrown = 0;
    for (auto& rt : ranks_) {
      try {
        (void)lci::progress_x().runtime(rt)();
      } catch (const lci::resource_error&) {
        ++thrown;
      }
    }
    return thrown;
  }
  /// Makes progress until f() returns true; returns false if it does not within `rounds` rounds.
  template <class F>
  bool until(F f, int rounds = 20'000) {
    for (int i = 0; i < rounds; ++i) {
      if (f()) return true;
      turn();
    }
    return f();
  }
  /// Makes progress until the operation with this status and synchronizer has ended; returns its final status.
  lci::status_t end_of(int rank, lci::status_t posted, lci::comp_t sync) {
    if (!posted.is_posted()) return posted;
    REQUIRE(until([&] { return lci::sync_test_x(sync, &posted).runtime((*this)[rank])(); }));
    return posted;
  }

 private:
  std::vector<lci::runtime_t> ranks_;
};

/// A device of the network that refuses all posts while `closed` is set, has no memory for one of them, and counts
/// registrations made through it.
class closing_network final : public lci::network::device {
 public:
  /// Puts one in front of the network device of the rank's default device, which owns it.
  static closing_network& before(lci::runtime_t rt) { return before(lci::get_default_device_x().runtime(rt)()); }
  static closing_network& before(lci::device_t device) {
    lci::core::device& d = *device.p_impl;
    auto made = std::make_unique<closing_network>(std::move(d.net));
    closing_network& it = *made;
    d.net = std::move(made);
    d.registrations.open(*d.net);
    lci::core::close_direct_paths(d);
    return it;
  }
  explicit closing_network(std::unique_ptr<lci::network::device> behind) : behind_(std::move(behind)) {
    limits_ = behind_->get_limits();
  }
  lci::errorcode_t post(const lci::network::net_op& op) override {
    if (until_throw >= 0 && until_throw-- == 0) throw std::bad_alloc();
    return closed ? lci::errorcode_t::retry_nomem : behind_->post(op);
  }
  int poll(lci::network::event_sink& sink, int max_events) override { return behind_->poll(sink, max_events); }
  lci::network::registration register_memory(void* base, size_t size) override {
    const lci::network::registration made = behind_->register_memory(base, size);
    ++registrations;
    return made;
  }
  void deregister_memory(const lci::network::registration& reg) override {
    behind_->deregister_memory(reg);
    --registrations;
  }
  void wait(int64_t timeout_us) override { behind_->wait(timeout_us); }
  lci::network::attention attention_of(int) override { return attention; }
  bool has_met(int peer) override { return behind_->has_met(peer); }
  bool flushed() override { return behind_->flushed(); }
  bool rma_waits_for(int) const override { return rma_waits; }

  bool closed = false;
  bool rma_waits = false;                                                // puts and gets are said to wait for the peer
  long until_throw = -1;                                                 // posts; negative: none throws
  lci::network::attention attention = lci::network::attention::unknown;  // of all peers
  int registrations = 0;                                                 // alive

 private:
  const std::unique_ptr<lci::network::device> behind_;
};

}  // namespace sim_test
