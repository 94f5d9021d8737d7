// Ranks of one process whose devices communicate through shared memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "network/shm/device.hpp"

namespace lci_test {

using namespace lci::network;
using lci::errorcode_t;

struct shm_blackboard {
  std::vector<std::vector<std::string>> offers;  // by rank
};

struct shm_member final : address_exchange {
  shm_member(shm_blackboard& b, int r) : board(b), own(r) {}
  int rank() const override { return own; }
  int size() const override { return static_cast<int>(board.offers.size()); }
  offer_id offer(const std::string& blob) override {
    auto& mine = board.offers[static_cast<size_t>(own)];
    mine.push_back(blob);
    return {0, static_cast<uint32_t>(mine.size() - 1)};
  }
  void publish() override {}
  std::string read(offer_id t, int r) override { return board.offers[static_cast<size_t>(r)][t.part]; }
  std::vector<std::string> read_all(offer_id t) override {
    std::vector<std::string> all;
    for (int r = 0; r < size(); ++r) all.push_back(read(t, r));
    return all;
  }
  shm_blackboard& board;
  const int own;
};

struct shm_recorder final : event_sink {
  void on_recv(int, const std::byte* data, size_t size, void*) override {
    uint64_t number = 0;
    if (size == sizeof(message_head) + sizeof number) std::memcpy(&number, data + sizeof(message_head), sizeof number);
    got.push_back(number);
  }
  void on_complete(void*) override {}
  void on_remote_write(int, uint32_t) override {}
  void on_peer_failure(int peer, const char*) override { failures.push_back(peer); }
  void on_device_end(int peer) override {
    ends.push_back(peer);
    if (throws) throw std::runtime_error("a handler's");
  }
  void on_operation_failure(void*, int) override {}
  bool throws = false;
  std::vector<int> failures, ends;
  std::vector<uint64_t> got;
};

/// A thread that calls one function after the other.
class helper_thread {
 public:
  helper_thread()
      : thread_([this] {
          std::unique_lock guard(mutex_);
          while (true) {
            changed_.wait(guard, [this] { return next_ != nullptr || over_; });
            if (next_ == nullptr) return;
            next_();
            next_ = nullptr;
            changed_.notify_all();
          }
        }) {}
  ~helper_thread() {
    {
      std::lock_guard guard(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  /// Returns when `f` has.
  void call(std::function<void()> f) {
    std::unique_lock guard(mutex_);
    next_ = std::move(f);
    changed_.notify_all();
    changed_.wait(guard, [this] { return next_ == nullptr; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> next_;  // under mutex_
  bool over_ = false;           // under mutex_
  std::thread thread_;
};

/// Ranks of one process, each with a device.
struct shm_job {
  explicit shm_job(int n) {
    board.offers.resize(static_cast<size_t>(n));
    for (int r = 0; r < n; ++r) {
      members.push_back(std::make_unique<shm_member>(board, r));
      lci::net_context_attr_t attr;
      attr.shm_cma = true;
      contexts.push_back(std::make_unique<shm::context>(*members.back(), attr));
    }
    for (auto& c : contexts) {
      c->settle(acquaintance::all_at_once);
      devices.push_back(c->create_device({}, 1024));
    }
  }
  ~shm_job() { devices.clear(); }
  /// Rank 0 gets a word from the memory of `peer`.
  errorcode_t get_from(int peer) {
    net_op op;
    op.kind = verb::get;
    op.peer = peer;
    op.n_segments = 1;
    op.segments[0] = {&here, sizeof here, 0};
    op.remote_addr = reinterpret_cast<uint64_t>(&there);
    return devices[0]->post(op);
  }
  /// Rank 0 sends to `peer`.
  errorcode_t send_to(int peer) { return devices[0]->inject(peer, message_head{}, nullptr, 0); }
  /// Polls so often that some of the polls look for peers that have freed their devices.
  void poll(shm_recorder& sink) {
    for (int i = 0; i < 20'000; ++i) {
      try {
        devices[0]->poll(sink, 64);
      } catch (const std::runtime_error&) {
      }
    }
  }
  uint64_t here = 0, there = 7;
  shm_blackboard board;
  std::vector<std::unique_ptr<shm_member>> members;
  std::vector<std::unique_ptr<shm::context>> contexts;
  std::vector<std::unique_ptr<lci::network::device>> devices;
};

}  // namespace lci_test
