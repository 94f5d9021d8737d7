// Receives that the program never gets a message for: LCI_finalize() frees them.
#pragma once

#include <lci.hpp>

namespace v1 {

/// Base of completion objects that free themselves when their operation ends. A list has those whose operation is
/// outstanding. Created and destroyed by any thread.
class unfinished : public lci::comp_impl_t {
 public:
  unfinished(const unfinished&) = delete;
  unfinished& operator=(const unfinished&) = delete;
  virtual ~unfinished();

  /// Frees all, at the end of the world: the core has none of them any more.
  static void free_all();

 protected:
  unfinished();

 private:
  // Neighbours in the list, under its lock.
  unfinished* next_;
  unfinished* previous_ = nullptr;
};

}  // namespace v1
