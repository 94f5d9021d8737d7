// ARMCI in C++17: operations as functors (armci_operations.hpp, generated), and owners of what is collective. The
// program calls ARMCI_Init and ARMCI_Finalize, or has an armci::session. Errors are thrown as armci::error.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "armci.hpp needs C++17: compile with -std=c++17; armci.h is the interface for C and for earlier C++"
#endif

#include <memory>

#include <armci_objects.hpp>
#include <armci_operations.hpp>

namespace armci {

/// ARMCI from here to the end of the block. Collective. May be nested.
class session {
 public:
  session() { detail::check("session", ARMCI_Init()); }
  ~session() { ARMCI_Finalize(); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
};

inline int me() { return armci_msg_me(); }
inline int size() { return armci_msg_nproc(); }
/// Collective: a fence of all, and all processes meet.
inline void barrier() { ARMCI_Barrier(); }

/// Memory of all processes, of ARMCI_Malloc: `count` elements of this process's, which may differ; they are
/// value-initialised. Both ends are collective. Elements are not destroyed. Thread-safe after construction.
template <class T>
class region {
  static_assert(std::is_trivially_copyable_v<T>, "operations copy bytes");

 public:
  /// Throws `error` at all processes if one has no memory.
  explicit region(size_t count) : parts_(static_cast<size_t>(size()), nullptr), count_(count) {
    detail::check("region", ARMCI_Malloc(parts_.data(), static_cast<armci_size_t>(count * sizeof(T))));
    std::uninitialized_value_construct_n(data(), count);
    barrier();
  }
  ~region() { ARMCI_Free(data()); }
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// Element `i` of a process: an address for operations, not for loads and stores unless it is this process's.
  T* at(int proc, size_t i = 0) const { return static_cast<T*>(parts_[static_cast<size_t>(proc)]) + i; }
  T* data() const { return at(me()); }
  size_t size_here() const { return count_; }
  T* begin() const { return data(); }
  T* end() const { return data() + count_; }
  T& operator[](size_t i) const { return data()[i]; }

 private:
  std::vector<void*> parts_;
  size_t count_;
};

/// The program's mutexes, `count` of this process's; there is one set at a time. Both ends are collective.
class mutex_set {
 public:
  explicit mutex_set(int count) { detail::check("mutex_set", ARMCI_Create_mutexes(count)); }
  ~mutex_set() { ARMCI_Destroy_mutexes(); }
  mutex_set(const mutex_set&) = delete;
  mutex_set& operator=(const mutex_set&) = delete;
};

/// One mutex of a mutex_set, for std::lock_guard, std::unique_lock and std::scoped_lock. Who locks it sees all puts to
/// the mutex's process that were made while it was locked before. Only refers to the mutex: copies refer to the same.
class mutex {
 public:
  mutex(int number, int proc) : number_(number), proc_(proc) {}
  void lock() { ARMCI_Lock(number_, proc_); }
  void unlock() { ARMCI_Unlock(number_, proc_); }

 private:
  int number_, proc_;
};

/// A number in a process's memory that all count. A name: it owns nothing.
class counter {
 public:
  counter(long* at, int proc) : at_(at), proc_(proc) {}
  counter(const region<long>& r, int proc, size_t i = 0) : counter(r.at(proc, i), proc) {}
  /// The number before. `n` must be an int.
  long fetch_add(long n = 1) { return rmw_x(rmw_op::fetch_add, at_, n, proc_)(); }
  long swap(long n) { return rmw_x(rmw_op::swap, at_, n, proc_)(); }
  long load() const {
    long value;
    get_x(at_, &value, sizeof value, proc_)();
    return value;
  }

 private:
  long* at_;
  int proc_;
};

}  // namespace armci
