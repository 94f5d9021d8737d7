// The base class of completion objects, also of the user's own.
#pragma once

#include "lci/attributes.hpp"
#include "lci/types.hpp"

namespace lci {

/// A completion object: signalled once when an operation has ended (paper 3.2.5). For an object of your own,
/// derive from it and wrap a pointer as `comp_t(ptr)`; it must outlive the operations that use it.
class LCI_API comp_impl_t {
 public:
  using attr_t = comp_attr_t;

  comp_impl_t() = default;
  explicit comp_impl_t(const attr_t& a) : attr(a) {}
  comp_impl_t(const comp_impl_t&) = delete;
  comp_impl_t& operator=(const comp_impl_t&) = delete;
  virtual ~comp_impl_t() = default;

  /// Called by the thread that finds an operation complete, possibly by several threads at once.
  virtual void signal(status_t status) = 0;

  attr_t attr;
};

}  // namespace lci
