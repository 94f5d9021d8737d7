// A job of several ranks on the simulated network, all in this thread, that runs a random mix of
// all operations and checks the result of each. One seed determines everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lci.hpp"
#include "network/sim/world.hpp"

namespace sim_test {

using lci::network::sim::random_source;

/// The parameters of a job.
struct mixed_options {
  int ranks = 2;
  int devices = 1;
  uint64_t seed = 1;
  size_t max_delay = 8, retry_percent = 10, max_poll = 4, max_inject = 64;
  bool preposted = false, rma = true;
  size_t packet_size = 1024, npackets = 1024, max_sends = 64, max_recvs = 16;
  size_t rdv_threshold = 0, rdv_chunk = 4096, max_msg_size = 8192;
  lci::attr_rdv_protocol_t protocol = lci::attr_rdv_protocol_t::auto_select;
  lci::attr_matching_engine_type_t matching = lci::attr_matching_engine_type_t::map;
  int operations = 300;
  int victim = -1;       // the rank that is killed
  int killed_after = 0;  // in rounds

  /// Options drawn from the seed.
  static mixed_options from_seed(uint64_t seed);
  std::string text() const;
};

/// The payload of operation `id`.
std::vector<std::byte> payload_of(uint64_t id, size_t size);

/// mixed_plan.cpp chooses the operations, mixed_job.cpp posts them, mixed_checks.cpp checks their results, and
/// mixed_death.cpp does what the death of a rank requires.
class mixed_job {
 public:
  explicit mixed_job(const mixed_options& options);
  ~mixed_job();
  mixed_job(const mixed_job&) = delete;
  mixed_job& operator=(const mixed_job&) = delete;

  /// Posts all operations and waits for them, then frees all resources. Returns the errors as text, or nothing.
  const std::vector<std::string>& run();

  enum class kind { am, echo, send, recv, put, put_signal, get, get_signal };
  enum class completion { cq, sync, counter, handler, custom, none };

 private:
  class notified;
  // Buffers and windows end with guard bytes, which no operation may write.
  static constexpr std::byte guard{0xa5};
  static constexpr size_t guard_size = 16;

  struct operation {
    kind what;
    uint64_t id;  // also the tag, unless tags are part of the matching
    int rank, peer;
    int device;
    size_t size;      // of the message
    size_t capacity;  // of the receive buffer
    lci::matching_policy_t policy = lci::matching_policy_t::rank_tag;
    lci::tag_t tag = 0;
    size_t slice = 0;  // offset in the peer's window
    int target_comp = 0;
    completion how = completion::cq;
    bool allow_done = true, allow_retry = true;
    bool user_packet = false;
    bool atomic = false;  // a get of one word, by an atomic fetch
    int stream = -1;      // index into the rank's streams
    uint64_t turn = 0;    // position among the messages of this stream to this peer
    lci::comp_semantic_t semantic = lci::comp_semantic_t::memory;
    std::vector<std::byte> memory;  // local buffer, followed by guard bytes
    void* buffer = nullptr;
    lci::mr_t mr;
    lci::comp_t comp;
    bool is_answer = false;  // posted when an echo arrives
    bool attempted = false;
    bool accepted = false;
    int completions = 0;
    int arrivals = 0;  // at the target's completion object
    bool expects_arrival = false;
  };
  struct device_state {
    lci::device_t device;
    lci::mr_t window_mr;
    lci::rmr_t window;
    int failures = 0;  // thrown by progress()
  };
  struct rank_state {
    lci::runtime_t runtime;
    std::vector<device_state> devices;
    std::vector<std::byte> window;
    size_t window_used = 0;
    lci::comp_t cq, am_cq, packet_cq, handler, am_handler, custom, am_custom, echo;
    std::unique_ptr<notified> custom_impl, am_custom_impl, echo_impl;
    std::vector<lci::rcomp_t> rcomps;
    std::vector<lci::stream_t> streams;
    std::map<std::pair<int, int>, uint64_t> posted, delivered;  // by peer and (its) stream
    bool alive = true;
  };

  void plan();
  size_t some_size();
  operation& add(kind what, int rank, int peer, size_t size);
  lci::comp_semantic_t some_semantic(const operation& op);
  void add_message();
  void add_matched_pair();
  void add_memory_access();
  /// Posts and makes progress on all ranks until all operations that can end have ended, or none ends any more.
  void drive();
  bool try_post(operation& op);
  lci::status_t post(operation& op);
  void prepare(operation& op);
  lci::comp_t local_comp(operation& op);
  void step(int rank);
  void poll_completions(int rank);

  void completed(int rank, const lci::status_t& status);
  void complete(operation& op, const lci::status_t& status);
  void check_received(operation& op, const lci::status_t& status);
  void arrived(int rank, int target_comp, const lci::status_t& status);
  void release_buffer(operation& op);
  bool finished(const operation& op) const;
  bool involves_dead(const operation& op) const;
  bool is_dead(int rank) const;
  void kill_victim();
  void isolate_victim();
  /// Returns whether all ranks have reported the failure and have no operation in flight.
  bool settled() const;
  int expected_failures(int rank) const;
  void check_death_is_known();
  void tear_down();
  void check_rank_at_end(int rank);
  void check_operations_at_end();
  void free_rank(int rank);
  void error(const operation& op, const std::string& what);
  void error(const std::string& what);
  std::string text(const operation& op) const;

  static void handler_function(lci::status_t status);
  static void am_handler_function(lci::status_t status);
  static mixed_job* current;

  const mixed_options options_;
  random_source random_;
  std::vector<rank_state> ranks_;
  std::shared_ptr<lci::network::sim::world> world_;
  std::deque<operation> operations_;
  std::vector<operation*> waiting_;  // to be posted
  int round_ = 0;
  std::vector<std::string> errors_;
  size_t inject_size_ = 0, eager_size_ = 0;
  bool user_packets_ = true;
  bool isolated_ = false;  // the victim continues without the other ranks
};

}  // namespace sim_test
