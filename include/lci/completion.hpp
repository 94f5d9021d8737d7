// The base of all completion objects, for users who bring their own.
#pragma once

#include "lci/attributes.hpp"
#include "lci/types.hpp"

namespace lci {

/// A completion object: whatever is told, once, that an operation has ended (paper 3.2.5). Derive
/// from it and wrap a pointer as `comp_t(ptr)` to bring your own.
class LCI_API comp_impl_t {
 public:
  using attr_t = comp_attr_t;

  comp_impl_t() = default;
  explicit comp_impl_t(const attr_t& a) : attr(a) {}
  comp_impl_t(const comp_impl_t&) = delete;
  comp_impl_t& operator=(const comp_impl_t&) = delete;
  virtual ~comp_impl_t() = default;

  /// Called by whichever thread finds the operation complete, possibly by several at once.
  virtual void signal(status_t status) = 0;

  attr_t attr;
};

}  // namespace lci
