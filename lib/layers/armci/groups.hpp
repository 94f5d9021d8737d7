// Groups of processes: what an ARMCI_Group of the program's means.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "armci/armci_types.h"

namespace armci_layer {

/// Immutable.
struct group {
  group() = default;
  /// The group from the point of view of rank `proc` of the world.
  group(std::vector<int> processes, int proc);

  std::vector<int> members;  ///< ranks of the world, by rank in the group
  int me = -1;               ///< rank in the group; -1: this process is no member
  uint64_t key = 0;          ///< the same at all members, and different for other sets of members

  int size() const { return static_cast<int>(members.size()); }
  /// The rank of a process of the world in the group; -1: it is no member.
  int rank_of(int proc) const;
};

/// Makes communicators for groups where the program uses MPI, whose types this library does not know. By a plug-in.
struct communicators {
  /// Stores the world's communicator, or one of the listed processes, into the group's first bytes. Collective among
  /// those.
  void (*of_world)(void* comm);
  void (*of_members)(void* comm, const int* members, int n);
  void (*release)(void* comm);
  /// Returns whether the communicator has the processes of the world in their order.
  bool (*is_world)(const void* comm);
  /// Returns whether MPI is initialised, and not finalized yet.
  bool (*is_usable)();
};

/// Ids are not reused: the program may have copies of a variable whose group was freed, which must not mean another
/// group. Thread-safe.
class group_table {
 public:
  group_table(int me, int n);

  const group& world() const { return *the_world_; }
  /// Of the program's variable; null if it is none of ours.
  const group* find(const ARMCI_Group* g);
  /// `members` are ranks of the world. Collective among them if MPI is initialised.
  void make(const std::vector<int>& members, ARMCI_Group* out);
  void release(ARMCI_Group* g);
  /// The variable of the world, and of the default group.
  void world(ARMCI_Group* out);
  void get_default(ARMCI_Group* out);
  void set_default(const ARMCI_Group* g);

 private:
  /// Returns null if MPI is not initialised at present. A program may start it after ARMCI. Under mutex_.
  const communicators* usable_communicators();

  const int me_;
  const group* the_world_;  // owned by groups_
  std::mutex mutex_;
  const communicators* comms_ = nullptr;          // under mutex_; null: no MPI was found yet
  std::map<int, std::unique_ptr<group>> groups_;  // by id; under mutex_
  int latest_id_;                                 // the latest; under mutex_
  ARMCI_Group world_{}, default_{};               // under mutex_
};

/// The plug-in's functions if an MPI is initialised in this process; else null. Says so if it is missing.
const communicators* find_communicators();

}  // namespace armci_layer
