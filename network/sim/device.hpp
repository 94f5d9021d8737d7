// A device of the simulated network.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/base/insist_on_memory.hpp"
#include "network/sim/world.hpp"

namespace lci::network::sim {

/// Fault injection of a device's network, from the attributes of its context.
struct temper {
  uint64_t max_delay;
  size_t retry_percent;
  uint64_t max_poll;  // 0: no limit
};

/// Thread-safe, as network::device requires. The world's mutex protects everything; it is not held while the sink is
/// called.
class device final : public network::device {
 public:
  device(std::shared_ptr<world> w, int rank, const net_context_attr_t& context_attr, const device_attr_t& attr,
         size_t eager_size);
  ~device() override;

  errorcode_t post(const net_op& op) override;
  int poll(event_sink& sink, int max_events) override;
  errorcode_t post_recv(segment buffer, void* context) override;
  registration register_memory(void* base, size_t size) override;
  void deregister_memory(const registration& reg) override;
  void make_read_only(const registration& reg) override;
  void wait(int64_t timeout_us) override;
  void park(int64_t timeout_us) override;
  bool flushed() override;

 private:
  friend class world;

  /// A send in flight. Its buffer is read as late as possible, to expose buffers that are reused too early: on
  /// delivery, or when the sender learns that the buffer is free.
  struct message {
    net_op op;
    std::vector<std::byte> payload;
    bool read = false;    // `payload` holds the bytes; the segments of `op` are no longer read
    bool silent = false;  // no completion follows: delivery frees the sender's slot
    int source;           // station

    void read_buffer();
  };
  struct event {
    enum class kind { recv, complete, remote_write, peer_failure, operation_failure, departure, device_end };
    kind what;
    int peer;
    uint32_t imm = 0;
    void* context = nullptr;
    std::shared_ptr<message> msg = nullptr;  // recv; complete, operation_failure of a send
    departure how = departure::left;         // departure
    segment buffer{};                        // recv: the preposted buffer that was filled; `context` is its context
  };
  struct peer_state {
    size_t outstanding = 0;         // operations that occupy the send queue to this peer
    uint64_t last_put = 0;          // no send may overtake a put: see limits::put_then_send_ordered
    uint64_t last_ordered_put = 0;  // when the data of the last put with `ordered` is placed
  };
  struct receive_buffer {
    segment where;
    void* context;
  };

  size_t n_ids() const;

  // All of the following run under the world's mutex.
  /// How `op` violates the contract, or null.
  const char* fault_of(const net_op& op) const;
  const char* fault_of(const segment& s) const;
  errorcode_t send(const net_op& op, device& target);
  errorcode_t move_memory(const net_op& op);
  void schedule(uint64_t tick, event e) {
    insist_on_memory([&] { inbox_.emplace(world_->at(tick), std::move(e)); });
  }
  /// Allocates events for `n` calls of schedule_reserved(), besides those that `n_reserved_` counts.
  void reserve_events(size_t n);
  /// Schedules an event that reserve_events() has allocated. Needs no memory.
  void schedule_reserved(uint64_t tick, event e);
  /// The next event that is due and deliverable.
  bool next_event(event& out);
  void fill_receive_buffer(event& e);
  void fail_operation(int peer, void* context);
  void cut_off_from(int peer);
  /// Ends the connection with a peer outside of the job.
  void part_from(int peer, departure how);
  /// Completes or fails each operation in flight to the peer.
  void settle_under_way(int peer);
  bool anything_from(int peer) const;
  /// Returns whether it has yet to be reported that the peer freed its device.
  bool device_end_is_due(int peer) const;
  /// Our id at the station of `peer`, which is our id of it.
  int id_at(int peer, int station) const;
  /// Drops each message with this probability, in percent.
  void forget_messages_from(int peer, size_t percent);
  void free_slot(const message& m);
  void lose(message& m);

  static void tell(const event& e, event_sink& sink);

  const std::shared_ptr<world> world_;
  const int rank_;  // station
  const temper temper_;
  const size_t max_sends_;
  const size_t max_registrations_;  // of the rank; 0: no limit
  const bool check_mappings_;
  size_t index_;                    // among the devices of this rank
  std::vector<peer_state> peers_;   // by rank
  std::map<moment, event> inbox_;   // events for poll(), by due time
  std::map<moment, event> spares_;  // allocated for the events of puts and gets in flight; at least n_reserved_
  size_t n_reserved_ = 0;
  std::deque<receive_buffer> buffers_;  // posted by post_recv()
};

}  // namespace lci::network::sim
