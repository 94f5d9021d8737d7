// All of ARMCI in a process: made by the first ARMCI_Init, ended by the last ARMCI_Finalize.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/layers/armci/collectives.hpp"
#include "lib/layers/armci/domains.hpp"
#include "lib/layers/armci/errors.hpp"
#include "lib/layers/armci/groups.hpp"
#include "lib/layers/armci/handles.hpp"
#include "lib/layers/armci/inbox.hpp"
#include "lib/layers/armci/link.hpp"
#include "lib/layers/armci/memory.hpp"
#include "lib/layers/armci/mutexes.hpp"
#include "lib/layers/armci/remote.hpp"
#include "lib/layers/armci/server.hpp"
#include "lib/layers/common/number_table.hpp"

// Tests have several ranks in a process, each a thread with a context of its own.
#ifndef ARMCI_CONTEXT_STORAGE
#define ARMCI_CONTEXT_STORAGE
#endif

namespace armci_layer {

/// The mutexes of a group, which ARMCIX_Create_mutexes_hdl() has created.
struct group_mutexes {
  mutex_set set;
  group of;  ///< a copy, since the program may free its group before the mutexes
  uint64_t number = 0;
};

/// One rank. Making it, and its end, are collective. Thread-safe except where collective.
class context {
 public:
  /// `applies`: whether a thread applies queued accumulates of other hosts; empty: if this process has a processor for
  /// it. Throws if there is no memory and the job is this process. Ends any other job then.
  static context* make(std::optional<bool> applies);
  ~context();

  int me() const { return net.me(); }
  int size() const { return net.size(); }
  const group& world() const { return groups.world(); }
  void fence_all();
  /// Calls fence_all() before a collective operation. Returns the error if an earlier operation of this process was
  /// invalid, for example its address: the caller takes part in the collective operation first, then throws the error.
  /// Throws `error` if another process has failed.
  std::optional<error> fence_all_before_collective();

  // Collective on the group; `addresses` gets one for each member. Throws `error` at all members if one has no memory.
  void allocate(const group& g, void** addresses, armci_size_t bytes);
  /// A process whose arguments are invalid calls this instead of allocate(). It takes part in the collective
  /// allocation, so that this fails at the other members instead of waiting for ever, then throws `why`.
  [[noreturn]] void refuse_to_allocate(const group& g, const error& why);
  void free(const group& g, void* address);

  mutex_set create_mutexes(const group& g, int count);
  void destroy_mutexes(const group& g, mutex_set& set);

 private:
  explicit context(std::optional<bool> applies);
  void receive(link::box to, int source, const std::byte* bytes, size_t size);

 public:
  // In the order in which they need each other.
  link net;
  inbox messages;
  remote far;
  memory mem;
  domains hosts;
  mutexes locks;
  server served;
  collectives all;
  group_table groups;
  handle_table handles;
  std::optional<mutex_set> world_mutexes;  ///< of ARMCI_Create_mutexes
  layers::number_table<group_mutexes> mutex_sets;
  std::unique_ptr<std::atomic<uint32_t>[]> sent_notifications, awaited_notifications;
};

/// The process's context; null outside of ARMCI_Init and ARMCI_Finalize. The interface knows no other object, so this
/// is the layer's one variable, together with the count of calls in api_life.cpp.
extern ARMCI_CONTEXT_STORAGE context* the_context;

}  // namespace armci_layer
