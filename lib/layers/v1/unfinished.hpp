// Completion objects that free themselves. LCI_finalize() frees those whose operation has never ended.
#pragma once

#include <lci.hpp>

namespace v1 {

/// Base of the completion objects of receives that a rank posts for its iovecs. The creator owns an object until the
/// receive is posted; after that the object owns itself, and deletes itself in signal(). A receive that no message
/// matches is never signalled. Therefore a list of the rank contains all objects that exist. Thread-safe, except
/// free_all().
class unfinished : public lci::comp_impl_t {
 public:
  unfinished(const unfinished&) = delete;
  unfinished& operator=(const unfinished&) = delete;
  virtual ~unfinished();

  /// Frees all objects. Requires that the runtime has been freed, so that the core no longer refers to any of them, and
  /// that no other thread of the rank is in this library.
  static void free_all();

 protected:
  unfinished();

 private:
  // Neighbours in the list; accessed under the lock of the list.
  unfinished* next_;
  unfinished* previous_ = nullptr;
};

}  // namespace v1
