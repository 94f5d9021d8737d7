// What peers have put: from the core's active messages to requests at completion objects.
#pragma once

#include <lci.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <lci.hpp>

#include "lib/concurrent/mpmc_array.hpp"
#include "lib/layers/v1/comp.hpp"
#include "lib/layers/v1/ids.hpp"

struct LCI_endpoint_s;

namespace v1 {

/// A message for a completion object: makes its request, and delivers that.
void arrive(comp& to, const lci::status_t& status);

/// The remote completion handle for a completion object of the target, which the program names by its number there. The
/// target looks the handle up, and reports an error if it has no such object. Throws if no rank can have that number.
lci::rcomp_t remote_handle(uintptr_t remote_completion);

/// The functions of endpoints that deliver to a handler, by the kind and id of a message's tag. An array for all tags,
/// so that on_short() needs no comparison; the system supplies its pages when they are used. Thread-safe.
class handler_functions {
 public:
  handler_functions();
  ~handler_functions() { std::free(of_); }
  handler_functions(const handler_functions&) = delete;
  handler_functions& operator=(const handler_functions&) = delete;

  /// The handler of the endpoint; null if it has none, or if the message is not a short one.
  LCI_handler_t of(lci::tag_t tag) const {
    return of_[static_cast<uint32_t>(tag) >> tag_bits].load(std::memory_order_acquire);  // A1
  }
  void set(unsigned id, LCI_handler_t function) {
    of_[id].store(function, std::memory_order_release);  // R1: pairs with A1, as the program has prepared its handler
  }

 private:
  static constexpr size_t n_tags = size_t{1} << (32 - tag_bits);

  std::atomic<LCI_handler_t>* const of_;
};

/// The remote completion handles behind LCI_DEFAULT_COMP_REMOTE, which are the same at all ranks, and the endpoints
/// that get their messages. A message for an endpoint that does not exist yet is stored. A member of the world.
/// Thread-safe.
class arrival_ports {
 public:
  /// Registers the handles. All ranks do this before they register others, so that the numbers are equal.
  void open(lci::runtime_t runtime);
  /// Frees what open() has allocated. No message may arrive any more.
  void close(lci::runtime_t runtime);

  // Remote completion handles to which peers send:
  /// short messages, puts into memory, and signals; read in place.
  lci::rcomp_t in_place = 0;
  /// medium messages; delivered in packets.
  lci::rcomp_t packets = 0;
  /// long messages; delivered in memory of malloc().
  lci::rcomp_t memory = 0;
  /// steps of iovecs.
  lci::rcomp_t steps = 0;

  /// Adds an endpoint, and delivers the messages that were stored for it.
  void add(LCI_endpoint_s* endpoint);
  void remove(LCI_endpoint_s* endpoint);
  /// Returns null if there is none. Takes no lock.
  LCI_endpoint_s* find(unsigned id) const { return endpoints_.get(id); }

 private:
  class port : public lci::comp_impl_t {
   public:
    enum class role : uint8_t { in_place, packets, memory, steps };
    port(arrival_ports& all, role what);
    void signal(lci::status_t status) override;

   private:
    arrival_ports& all_;
    const role role_;
  };
  /// The handler of messages for `in_place`. A function, which the core calls at less cost than a completion object.
  static void on_short(void* context, int rank, const void* data, size_t size, lci::tag_t tag);
  [[gnu::noinline]] static void on_other(void* context, int rank, const void* data, size_t size, lci::tag_t tag);
  friend class port;
  /// A message for an endpoint that this rank has yet to create.
  struct early {
    port::role role;
    lci::status_t status;
    std::vector<std::byte> data;  // of `in_place`
  };
  /// Gets messages for completion objects that do not exist.
  class unknown_port final : public lci::comp_impl_t {
   public:
    void signal(lci::status_t status) override;
  };

  static void deliver(LCI_endpoint_s& endpoint, port::role role, const lci::status_t& status);
  bool keep(port::role role, const lci::status_t& status);

  lci::mpmc_array<LCI_endpoint_s*> endpoints_;  // by id
  handler_functions functions_;                 // of endpoints that deliver to a handler
  std::mutex mutex_;
  std::vector<early> early_;  // under mutex_
  lci::comp_t short_handler_;
  port in_place_{*this, port::role::in_place};
  port packets_{*this, port::role::packets}, memory_{*this, port::role::memory}, steps_{*this, port::role::steps};
  unknown_port unknown_;
};

}  // namespace v1
