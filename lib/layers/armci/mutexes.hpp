// Mutexes: one word each, in shared memory of its owner. Processes of the owner's host use the word; those of other
// hosts ask the owner, which acts on their behalf.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/layers/armci/link.hpp"
#include "lib/layers/armci/memory.hpp"
#include "lib/layers/armci/remote.hpp"

namespace armci_layer {

/// A set of mutexes of some processes, as ARMCI_Create_mutexes makes one. Read-only.
struct mutex_set {
  struct of_process {
    int proc;     ///< rank of the world
    void* first;  ///< address at the owner
    int count;
  };
  std::vector<of_process> owners;  ///< by rank in the set's group
  void* mine = nullptr;            ///< this process's block
};

/// Thread-safe.
class mutexes {
 public:
  /// A word: 0, or the holder's rank plus one and these.
  static constexpr uint32_t someone_sleeps = 1u << 30, other_hosts_wait = 1u << 31;
  static constexpr uint32_t holder_bits = someone_sleeps - 1;
  static constexpr size_t spacing = 64;  ///< bytes from word to word

  mutexes(link& l, memory& m, remote& r) : link_(l), memory_(m), remote_(r) {}
  /// Makes `spacing` bytes of this process's shared memory a free mutex.
  static void prepare(void* at) { new (&holding_of(*new (at) word(0))) holding{}; }

  /// `function` is named by errors, which end the job.
  void lock(const char* function, const mutex_set& set, int mutex, int proc);
  bool try_lock(const char* function, const mutex_set& set, int mutex, int proc);
  void unlock(const char* function, const mutex_set& set, int mutex, int proc);
  /// Returns whether any mutex of this process's is held, or waited for.
  bool any_in_use(const mutex_set& set);

  // Requests of other processes, in receive().
  void asked_to_lock(int source, uint32_t token, uint64_t address, bool only_if_free);
  void asked_to_unlock(int source, uint64_t address);
  /// The word has been unlocked by a process of this host while others waited; or its holder may have died.
  void asked_to_look(uint64_t address, bool at_holder);

 private:
  using word = std::atomic<uint32_t>;
  struct waiting {
    int proc;
    uint32_t token;
  };
  const mutex_set::of_process& owner(const char* function, const mutex_set& set, int mutex, int proc) const;
  static void* address_of(const mutex_set::of_process& o, int mutex) {
    return static_cast<std::byte*>(o.first) + static_cast<size_t>(mutex) * spacing;
  }
  word& here(const mutex_set::of_process& o, int mutex) {
    return *reinterpret_cast<word*>(memory_.near_or_reach(o.proc, address_of(o, mutex), sizeof(word)));
  }
  /// Returns null if a message names no word of this process's.
  word* own_word(uint64_t address);
  void lock_slowly(word& w);
  /// In a job of one process: which thread holds a word, and how often it has locked it again. Behind the word.
  struct holding {
    std::atomic<const void*> thread{nullptr};  ///< null if the mutex is free
    int again = 0;                             ///< for the holder only
  };
  static holding& holding_of(word& w) {
    return *reinterpret_cast<holding*>(reinterpret_cast<std::byte*>(&w) + alignof(holding));
  }
  void lock_alone(word& w);
  void hold_alone(word& w);
  /// Takes the word from its holder, if that has died.
  bool take_from_dead(word& w, uint32_t seen, uint32_t mine, bool from_receiver);
  void release(word& w, uint64_t owner_address, int owner, bool from_receiver);
  /// Gives the word to the first that waits on another host, if it is free.
  void grant(uint64_t address, word& w);
  void answer(const waiting& to, bool got);

  link& link_;
  memory& memory_;
  remote& remote_;
  std::mutex mutex_;
  std::map<uint64_t, std::deque<waiting>> queues_;  // by address of the word; under mutex_
};

}  // namespace armci_layer
