// Ordered active messages at their target: delivery by sequence number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>

#include "lci/errors.hpp"
#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;
class runtime;

/// A message of a stream that has arrived completely.
struct ordered_message {
  rcomp_t comp = 0;  // 0: it can't be delivered, but its number is counted
  tag_t tag = 0;
  void* data = nullptr;
  size_t size = 0;
  allocator_base_t* allocator = nullptr;  // of `data`, if `owned`; null: the runtime's
  bool owned = false;                     // `data` was allocated for this message
  bool asks = false;                      // for credit
  bool acked = false;                     // delivery is acknowledged:
  int device_uid = 0;                     // through this device,
  uint32_t operation = 0;                 // to this operation of the sender
};

/// The messages of one stream of one peer. Thread-safe. One thread at a time delivers: the one that receives the
/// next message. Messages that arrive meanwhile or too early wait in a map, which the sender's window bounds.
/// Handlers run outside of the lock.
class incoming_stream {
 public:
  incoming_stream(runtime* rt, int peer, uint16_t id) : rt_(*rt), peer_(peer), id_(id) {}
  ~incoming_stream();
  incoming_stream(const incoming_stream&) = delete;
  incoming_stream& operator=(const incoming_stream&) = delete;

  /// Delivers the message and those that waited for it, or stores it until its turn. If `number` is not valid now,
  /// drops the message and returns false. A message that can't be stored for want of memory is lost, which is reported;
  /// the stream continues after it.
  bool arrive(device& d, uint32_t number, ordered_message m);

  /// arrive() of the most common message: its object gets it in place, by a call of `function` with `to`, and the
  /// sender waits neither for an ack nor for credit. If it is not this message's turn, returns false, without effect.
  bool deliver_at_once(device& d, am_handler_t function, void* to, uint32_t number, int peer, const std::byte* data,
                       size_t size, tag_t tag);

  /// The peer's id has been given to another peer: drops what waits, and restarts the numbers.
  void begin_anew();

 private:
  bool is_turn(uint32_t number) const { return number == next_ && !delivering_; }
  /// Copies the payload, so that the message can wait. Returns false if there is no memory.
  bool keep_copy(ordered_message& m);
  /// Acknowledges the loss of a message to its sender. Returns the exception to throw here if the sender waits for no
  /// acknowledgement.
  resource_error report_lost(device& d, const ordered_message& m);
  /// arrive() of a message that can't be stored: it is lost, but its number is counted, so that later messages are
  /// delivered.
  bool arrive_without_memory(device& d, uint32_t number, const ordered_message& m);
  /// A range of sequence numbers whose messages were lost. The stream skips them in order. Needs no memory.
  struct lost_turns {
    uint32_t first = 0, count = 0;
    uint64_t bytes = 0;
    bool asks = false;  // one of them, for credit
  };
  // Under lock_:
  void look_for_disturbance() { disturbed_ = !waiting_.empty() || n_lost_ > 0 || n_outdated_ > 0; }
  bool is_lost(uint32_t number) const;
  /// Returns false if there are too many gaps between lost messages.
  bool note_lost(uint32_t number, const ordered_message& m);
  /// Counts the lost messages whose turn has come. Returns true if one of them asked for credit.
  bool pass_lost();
  /// Counts a message that was delivered, and sends credit if it or a lost one behind it asks for that. Returns true if
  /// `m` is now the next message, which waited, and the caller must deliver it.
  bool end_turn(device& d, ordered_message& m, uint32_t connection);
  // These end the turn of a message of deliver_at_once(), and deliver those that waited for it. They are functions of
  // their own, so that deliver_at_once() has no variables in memory.
  LCI_NOINLINE void end_turns(device& d, size_t size, uint32_t connection);
  /// The same in a handler of exceptions, whose exception it throws again.
  [[noreturn]] LCI_NOINLINE void end_turns_by_exception(device& d, size_t size, uint32_t connection);
  /// Delivers the message and those that waited for it, and throws the first exception of all, `thrown` before others.
  void take_turns(device& d, ordered_message m, uint32_t connection, std::exception_ptr thrown);
  void deliver(device& d, const ordered_message& m);
  void drop(const ordered_message& m);

  runtime& rt_;
  const int peer_;
  const uint16_t id_;
  spinlock lock_;
  uint32_t next_ = 0;                            // number of the next message to be delivered; under lock_
  uint64_t bytes_ = 0;                           // of the messages before it; under lock_
  bool delivering_ = false;                      // under lock_
  uint32_t connection_ = 0;                      // how often the peer's id has been reused; under lock_
  std::map<uint32_t, ordered_message> waiting_;  // by number; under lock_
  std::array<lost_turns, 4> lost_;               // under lock_
  unsigned n_lost_ = 0;                          // used entries of lost_; under lock_
  unsigned n_outdated_ = 0;                      // threads that deliver for an earlier connection_; under lock_
  /// Says whether the end of a turn may have to do more than to count its message. Under lock_.
  bool disturbed_ = false;
};

/// Completion object of a stream's large message during its rendezvous. Deletes itself.
class ordered_transfer final : public comp_impl_t {
 public:
  ordered_transfer(device& d, incoming_stream& in, uint32_t number, const ordered_message& m)
      : device_(d), in_(in), number_(number), message_(m) {}
  void signal(status_t status) override;

 private:
  device& device_;
  incoming_stream& in_;
  const uint32_t number_;
  ordered_message message_;
};

}  // namespace lci::core
